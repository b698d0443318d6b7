"""Determines what a paragraph of a Word file is, by its style, outline level and numbering; properties of the paragraph override
those of its style. The automatic numbers of headings, clauses and list items (`2.1`, `(b)`, `Article 3`) are computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Piece
from hoptrail.documents.office_package import Package
from hoptrail.documents.office_text import inherited, roman
from hoptrail.types import BlockKind

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
_CONTENTS = re.compile(r"toc \d|table of figures", re.IGNORECASE)
_CODE = re.compile(r"\b(code|preformatted|verbatim|macro text|listing)\b", re.IGNORECASE)
_QUOTE = re.compile(r"(intense )?quote|quotations?|block ?(text|quote)", re.IGNORECASE)


def tag(name: str) -> str:
    return f"{WORD}{name}"


def find(element: Any, *tags: str) -> Any | None:
    """The descendant that these tags lead to, one for each level."""
    return element.find("/".join(map(tag, tags)))


def value(element: Any, *tags: str) -> str | None:
    found = find(element, *tags)
    return None if found is None else found.get(tag("val"))


def is_on(element: Any, *tags: str) -> str:
    """`on` or `off` if the descendant that these tags lead to is there and says so; else empty."""
    mark = find(element, *tags)
    if mark is None:
        return ""
    return "off" if mark.get(tag("val")) in {"0", "false", "off"} else "on"


def integer(text: str | None) -> int:
    """A number in digits; 0 for anything else."""
    return int(text) if text and text.isdigit() else 0


class Styles:
    """The styles and lists of a document, looked up by the paragraph. A role is a piece without text: a kind, level and order."""

    def __init__(self, package: Package) -> None:
        roots = package.parts(package.main, "styles")
        self._styles = {style.get(tag("styleId")): style for root in roots for style in root.iter(tag("style"))}
        of_paragraphs = (name for name, style in self._styles.items() if style.get(tag("type")) == "paragraph")
        defaults = (name for name in of_paragraphs if self._styles[name].get(tag("default")) in {"1", "true"})
        self._default = next(defaults, None)
        self._lists = _lists_of(*package.parts(package.main, "numbering"))
        self._roles: dict[str | None, Piece] = {}
        self._mark_of_style = cache(self._find_mark)

    def is_title(self, paragraph: Any) -> bool:
        """Whether its style is or is based on Title and has `title` in its name: styles for authors may be based on it too."""
        names = list(map(_style_name, self._chain(_style_of(paragraph))))
        return "Title" in names and _TITLE.search(names[0]) is not None

    def is_contents(self, paragraph: Any) -> bool:
        style = self._styles.get(_style_of(paragraph))
        return style is not None and _CONTENTS.fullmatch(_style_name(style)) is not None

    def role(self, paragraph: Any) -> Piece:
        name = _style_of(paragraph)
        if name not in self._roles:
            is_title = self.is_title(paragraph)
            self._roles[name] = Piece(BlockKind.HEADING, level=1) if is_title else self._role_of_style(name)
        role, level = self._roles[name], _outline_level(paragraph)
        if role.kind is BlockKind.HEADING:
            return role
        return Piece(BlockKind.HEADING, level=level) if level else self._item(paragraph, name) or role

    def is_marked(self, run: Any, paragraph: Any, mark: str) -> bool:
        """Whether a run is bold (`b`), struck out (`strike`, `dstrike`) or hidden (`vanish`), by itself or by a style."""
        own = is_on(run, "rPr", mark) or self._mark_of_style(value(run, "rPr", "rStyle"), mark)
        return (own or self._mark_of_style(_style_of(paragraph), mark)) == "on"

    def _find_mark(self, name: str | None, mark: str) -> str:
        marks = (is_on(one, "rPr", mark) for one in self._chain(name)) if name else ()
        return next(filter(None, marks), "")

    def label(self, paragraph: Any) -> str:
        """The automatic number of a paragraph, unless it is that of an ordinary list. To be asked for all in order."""
        known, depth = self._place_in_list(paragraph, _style_of(paragraph))
        if known is None:
            return ""
        label, is_heading = known.label(depth), self.role(paragraph).kind is BlockKind.HEADING
        return label if is_heading or not known.is_plain(depth) else ""

    def _place_in_list(self, element: Any, style: str | None) -> tuple[_List | None, int]:
        """The list of a paragraph and its depth in it, by itself or its style; None if it has none."""
        around = [element, *self._chain(style)]
        numbers = (value(one, "pPr", "numPr", "numId") for one in around)
        number = next((number for number in numbers if number is not None), "0")
        if number == "0":
            return None, 0
        known = self._lists.get(number, _List())
        depth = next(filter(None, (value(one, "pPr", "numPr", "ilvl") for one in around)), "")
        if depth.isdigit():
            return known, int(depth)
        by_style = {value(level, "pStyle"): deep for deep, level in known.levels.items()}
        names = (one.get(tag("styleId")) for one in around[1:])
        return known, next((by_style[name] for name in names if name in by_style), 0)

    def _role_of_style(self, name: str | None) -> Piece:
        for style in self._chain(name):
            style_name = _style_name(style)
            heading = _HEADING.fullmatch(style_name)
            level = int(heading[1]) if heading else _outline_level(style)
            if level:
                return Piece(BlockKind.HEADING, level=min(level, DEEPEST_HEADING))
            if _CODE.search(style_name):
                return Piece(BlockKind.CODE)
            if _QUOTE.fullmatch(style_name):
                return Piece(BlockKind.QUOTE)
            if item := self._item(style, name):
                return item
        return Piece(BlockKind.PARAGRAPH)

    def _item(self, element: Any, style: str | None) -> Piece | None:
        """A list item if a paragraph or style has a numbering, or a paragraph if that removes it from lists; else None."""
        if find(element, "pPr", "numPr") is None:
            return None
        known, depth = self._place_in_list(element, style)
        if known is None:
            return Piece(BlockKind.PARAGRAPH)
        style_name = _style_name(self._styles[style]) if style in self._styles else ""
        match = re.fullmatch(r"List (?:Bullet|Number|Continue)? ?(\d)", style_name)
        level = max(depth + 1, int(match[1]) if match else 1)
        return Piece(BlockKind.ITEM, level=level, ordered=known.kind(depth) not in {"", "bullet", "none"})

    def _chain(self, name: str | None) -> Iterator[Any]:
        first = self._styles.get(name or self._default)
        return inherited(first, lambda style: self._styles.get(value(style, "basedOn")))


def _style_of(paragraph: Any) -> str | None:
    return value(paragraph, "pPr", "pStyle")


def _style_name(style: Any) -> str:
    return value(style, "name") or ""


def _outline_level(element: Any) -> int:
    """That of a paragraph or style: 1 to 6; 0 for body text."""
    level = value(element, "pPr", "outlineLvl")
    return min(int(level) + 1, DEEPEST_HEADING) if level and level.isdigit() and int(level) < 9 else 0


_PLACEHOLDER = re.compile(r"%(\d)")
_BOXES = "☐☑☒"
_PLAIN = re.compile(r"\s*%\d\s*[.):]?\s*")  # the number of an item of an ordinary list


@dataclass(frozen=True, slots=True)
class _List:
    """A list with its levels, as elements, by depth. Lists that continue each other share the numbers reached. `starts`: numbers
    with which a level begins again, once.
    """

    levels: dict[int, Any] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)

    def kind(self, depth: int) -> str:
        """How a level is numbered; empty if there is none."""
        return (value(self.levels[depth], "numFmt") or "decimal") if depth in self.levels else ""

    def label(self, depth: int) -> str:
        """Count a paragraph, and give its number or box as it is shown; empty if it has none."""
        level, kind = self.levels.get(depth), self.kind(depth)
        if level is None or kind == "bullet":
            sign = "" if level is None else value(level, "lvlText")
            return sign if sign and sign in _BOXES else ""
        before = self.reached.get(depth, integer(value(level, "start")) - 1)
        self.reached[depth] = self.starts.pop(depth, before + 1)
        for deep in [deep for deep in self.reached if deep > depth and value(self.levels[deep], "lvlRestart") != "0"]:
            del self.reached[deep]
        in_digits = is_on(level, "isLgl") == "on"
        text = value(level, "lvlText") or ""
        return _PLACEHOLDER.sub(lambda match: self._shown(int(match[1]) - 1, depth, in_digits), text).strip()

    def is_plain(self, depth: int) -> bool:
        """Whether the number is one of an ordinary list, to which no other text refers."""
        texts = {number: value(level, "lvlText") or "" for number, level in self.levels.items()}
        nested = any(len(_PLACEHOLDER.findall(text)) > 1 for text in texts.values())
        return not nested and _PLAIN.fullmatch(texts.get(depth, "")) is not None

    def _shown(self, depth: int, asked: int, in_digits: bool) -> str:
        depth = depth if depth in self.levels else asked
        number = self.reached.setdefault(depth, integer(value(self.levels[depth], "start")))
        kind = "decimal" if in_digits else self.kind(depth)
        if kind == "none":
            return ""
        if kind.endswith("Letter") and number > 0:
            text = chr(ord("a") + (number - 1) % 26) * (1 + (number - 1) // 26)
        elif kind.endswith("Roman"):
            text = roman(number)
        else:
            return f"{number:02}" if kind == "decimalZero" else str(number)
        return text.upper() if kind.startswith("upper") else text


def _lists_of(*roots: Any) -> dict[str, _List]:
    lists: dict[str, _List] = {}
    for root in roots:
        abstract = {one.get(tag("abstractNumId")): one for one in root.iter(tag("abstractNum"))}
        linked = {value(one, "styleLink"): one for one in abstract.values() if value(one, "styleLink")}
        reached = {name: dict[int, int]() for name in abstract}
        for number in root.iter(tag("num")):
            name = value(number, "abstractNumId")
            if name in abstract:
                one = linked.get(value(abstract[name], "numStyleLink"), abstract[name])
                overrides = ((one, value(one, "startOverride") or "") for one in number.iter(tag("lvlOverride")))
                starts = {integer(one.get(tag("ilvl"))): int(start) for one, start in overrides if start.isdigit()}
                levels = {integer(level.get(tag("ilvl"))): level for level in one.iter(tag("lvl"))}
                lists[number.get(tag("numId"), "")] = _List(levels, reached[name], starts)
    return lists
