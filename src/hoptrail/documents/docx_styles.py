"""Determines what a paragraph of a Word file is, by its style, outline level and numbering.

Styles inherit from each other; properties of the paragraph override those of its style. The automatic numbers of headings,
clauses and list items (`2.1`, `(b)`, `Article 3`) are computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Piece
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
_CODE = re.compile(r"\b(code|preformatted|verbatim|macro text|listing)\b", re.IGNORECASE)
_QUOTE = re.compile(r"(intense )?quote|quotations?|block ?(text|quote)", re.IGNORECASE)
_DEEPEST_STYLE = 20
"""Styles in a chain of inheritance; a longer chain is a cycle."""


def tag(name: str) -> str:
    """The tag of an element or attribute of WordprocessingML."""
    return f"{_WORD}{name}"


def find(element: Any, *tags: str) -> Any | None:
    """The descendant that these tags lead to, one for each level."""
    return element.find("/".join(map(tag, tags)))


def value(element: Any, *tags: str) -> str | None:
    """The value of the descendant that these tags lead to."""
    found = find(element, *tags)
    return None if found is None else found.get(tag("val"))


def is_on(element: Any, *tags: str) -> str:
    """`on` or `off` if the descendant that these tags lead to is there and says so; else empty."""
    mark = find(element, *tags)
    if mark is None:
        return ""
    return "off" if mark.get(tag("val")) in {"0", "false", "off"} else "on"


class Styles:
    """The styles and lists of a document, looked up by the paragraph. A role is a piece without text: a kind, level and order."""

    def __init__(self, document: WordDocument) -> None:
        self._styles = {style.get(tag("styleId")): style for style in document.styles.element.iter(tag("style"))}
        defaults = (name for name, style in self._styles.items() if style.get(tag("default")) in {"1", "true"})
        self._default = next((name for name in defaults if self._styles[name].get(tag("type")) == "paragraph"), None)
        self._numbering = AutomaticNumbers(document)
        self._roles: dict[str | None, Piece] = {}
        self._marks: dict[tuple[str, str], str] = {}

    def is_title(self, paragraph: Any) -> bool:
        """Whether its style is or is based on Title and has `title` in its name: styles for authors may be based on it too."""
        names = list(map(_style_name, self._chain(_style_of(paragraph))))
        return "Title" in names and _TITLE.search(names[0]) is not None

    def role(self, paragraph: Any) -> Piece:
        """The kind of block that a paragraph is."""
        name = _style_of(paragraph)
        if name not in self._roles:
            self._roles[name] = _heading(1) if self.is_title(paragraph) else self._role_of_style(name)
        role = self._roles[name]
        if role.kind is BlockKind.HEADING:
            return role
        level = _outline_level(paragraph)
        return _heading(level) if level else self._item(paragraph, name) or role

    def is_bold(self, paragraph: Any, runs: Iterable[Any]) -> bool:
        """Whether all text of a paragraph's runs is bold, by themselves or by the paragraph's style."""
        visible = [run for run in runs if run.text.strip()]
        return bool(visible) and all(self.is_marked(run, paragraph, "b") for run in visible)

    def is_marked(self, run: Any, paragraph: Any, mark: str) -> bool:
        """Whether the text of a run is bold (`b`), struck out (`strike`, `dstrike`) or hidden (`vanish`), by itself or by a
        style.
        """
        own = is_on(run, "rPr", mark) or self._mark_of_style(value(run, "rPr", "rStyle"), mark)
        return (own or self._mark_of_style(_style_of(paragraph), mark)) == "on"

    def _mark_of_style(self, name: str | None, mark: str) -> str:
        if name and (name, mark) not in self._marks:
            self._marks[name, mark] = next(filter(None, (is_on(one, "rPr", mark) for one in self._chain(name))), "")
        return self._marks[name, mark] if name else ""

    def label(self, paragraph: Any) -> str:
        """The automatic number of a paragraph, if it is more than that of an item of an ordinary list; else empty. To be asked
        for every paragraph in order.
        """
        place = self._place_in_list(paragraph, _style_of(paragraph))
        if place is None:
            return ""
        label = self._numbering.label(*place)
        is_heading = self.role(paragraph).kind is BlockKind.HEADING
        return label if label and (is_heading or not self._numbering.is_plain(*place)) else ""

    def _place_in_list(self, element: Any, style: str | None) -> tuple[str, int] | None:
        """The list of a paragraph and its depth in it, by itself or its style; None if it has none."""
        around = [element, *self._chain(style)]
        numbers = (value(one, "pPr", "numPr", "numId") for one in around)
        number = next((number for number in numbers if number is not None), "0")
        if number == "0":
            return None
        depths = (value(one, "pPr", "numPr", "ilvl") for one in around)
        depth = next(filter(None, depths), None)
        if depth is None or not depth.isdigit():
            names = [one.get(tag("styleId"), "") for one in around[1:]]
            return number, self._numbering.depth_of(number, names)
        return number, int(depth)

    def _role_of_style(self, name: str | None) -> Piece:
        for style in self._chain(name):
            style_name = _style_name(style)
            heading = _HEADING.fullmatch(style_name)
            level = int(heading[1]) if heading else _outline_level(style)
            if level:
                return _heading(min(level, DEEPEST_HEADING))
            if _CODE.search(style_name):
                return Piece(BlockKind.CODE)
            if _QUOTE.fullmatch(style_name):
                return Piece(BlockKind.QUOTE)
            if item := self._item(style, name):
                return item
        return Piece(BlockKind.PARAGRAPH)

    def _item(self, element: Any, style: str | None) -> Piece | None:
        """A list item if a paragraph or style has a numbering, or a paragraph if that removes it from lists; else None. A style
        name such as `List Bullet 2` has the depth.
        """
        if find(element, "pPr", "numPr") is None:
            return None
        place = self._place_in_list(element, style)
        if place is None:
            return Piece(BlockKind.PARAGRAPH)
        number, depth = place
        style_name = _style_name(self._styles[style]) if style in self._styles else ""
        match = re.fullmatch(r"List (?:Bullet|Number|Continue)? ?(\d)", style_name)
        level = max(depth + 1, int(match[1]) if match else 1)
        return Piece(BlockKind.ITEM, level=level, ordered=self._numbering.is_ordered(number, depth))

    def _chain(self, name: str | None) -> Iterator[Any]:
        style = self._styles.get(name or self._default)
        for _ in range(_DEEPEST_STYLE):
            if style is None:
                return
            yield style
            style = self._styles.get(value(style, "basedOn"))


def _heading(level: int) -> Piece:
    return Piece(BlockKind.HEADING, level=level)


def _style_of(paragraph: Any) -> str | None:
    return value(paragraph, "pPr", "pStyle")


def _style_name(style: Any) -> str:
    return value(style, "name") or ""


def _outline_level(element: Any) -> int:
    """That of a paragraph or style: 1 to 6; 0 for body text."""
    level = value(element, "pPr", "outlineLvl")
    return min(int(level) + 1, DEEPEST_HEADING) if level and level.isdigit() and int(level) < 9 else 0


if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_PLACEHOLDER = re.compile(r"%(\d)")
_PLAIN = re.compile(r"\s*%\d\s*[.):]?\s*")
"""The number of an item of an ordinary list."""
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str
    text: str
    start: int
    restarts: bool
    in_digits: bool


@dataclass(slots=True)
class _List:
    """A list definition, shared by the lists that continue each other, with the numbers reached."""

    levels: dict[int, _Level] = field(default_factory=dict)
    by_style: dict[str, int] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)


class AutomaticNumbers:
    """The lists of a document. Labels are asked for in the order of its paragraphs."""

    def __init__(self, document: WordDocument) -> None:
        from docx.opc.constants import RELATIONSHIP_TYPE

        self._lists: dict[str, _List] = {}
        self._starts: dict[tuple[str, int], int] = {}
        if all(relation.reltype != RELATIONSHIP_TYPE.NUMBERING for relation in document.part.rels.values()):
            return
        root = document.part.numbering_part.element
        abstract = list(root.iter(tag("abstractNum")))
        linked = {value(one, "styleLink"): one for one in abstract if value(one, "styleLink")}
        known = {
            one.get(tag("abstractNumId")): _list_of(linked.get(value(one, "numStyleLink"), one)) for one in abstract
        }
        for number in root.iter(tag("num")):
            name = number.get(tag("numId"), "")
            self._lists[name] = known.get(value(number, "abstractNumId") or "", _List())
            for override in number.iter(tag("lvlOverride")):
                if (start := value(override, "startOverride")) and start.isdigit():
                    self._starts[name, _integer(override.get(tag("ilvl")))] = int(start)

    def depth_of(self, number: str | None, styles: list[str]) -> int:
        """The depth from 0 at which a list numbers paragraphs of one of these styles."""
        by_style = self._lists.get(number or "", _List()).by_style
        return next((by_style[style] for style in styles if style in by_style), 0)

    def is_ordered(self, number: str, depth: int) -> bool:
        """Whether the items of a list at this depth are numbered."""
        level = self._lists.get(number, _List()).levels.get(depth)
        return level is not None and level.kind not in {"bullet", "none"}

    def label(self, number: str, depth: int) -> str:
        """Count a paragraph of a list, and give its number as it is shown; empty if it has none."""
        known = self._lists.get(number, _List())
        level = known.levels.get(depth)
        if level is None or level.kind == "bullet":
            return ""
        start = self._starts.pop((number, depth), None)
        known.reached[depth] = known.reached.get(depth, level.start - 1) + 1 if start is None else start
        known.reached = {
            deep: reached for deep, reached in known.reached.items() if deep <= depth or not known.levels[deep].restarts
        }
        return _PLACEHOLDER.sub(lambda match: _shown(known, int(match[1]) - 1, level), level.text).strip()

    def is_plain(self, number: str, depth: int) -> bool:
        """Whether the number is one of an ordinary list, to which no other text refers."""
        levels = self._lists.get(number, _List()).levels
        nested = any(len(_PLACEHOLDER.findall(level.text)) > 1 for level in levels.values())
        return not nested and _PLAIN.fullmatch(levels[depth].text) is not None


def _list_of(abstract: Any) -> _List:
    known = _List()
    for level in abstract.iter(tag("lvl")):
        depth = _integer(level.get(tag("ilvl")))
        known.levels[depth] = _Level(
            value(level, "numFmt") or "decimal",
            value(level, "lvlText") or "",
            _integer(value(level, "start")),
            value(level, "lvlRestart") != "0",
            is_on(level, "isLgl") == "on",
        )
        if style := value(level, "pStyle"):
            known.by_style[style] = depth
    return known


def _integer(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _shown(known: _List, depth: int, asked: _Level) -> str:
    level = known.levels.get(depth, asked)
    number = known.reached.setdefault(depth, level.start)
    kind = "decimal" if asked.in_digits else level.kind
    if kind == "none":
        return ""
    if kind.endswith("Letter") and number > 0:
        text = chr(ord("a") + (number - 1) % 26) * (1 + (number - 1) // 26)
    elif kind.endswith("Roman"):
        text = roman(number)
    else:
        return f"{number:02}" if kind == "decimalZero" else str(number)
    return text.upper() if kind.startswith("upper") else text


def roman(number: int) -> str:
    """The number in small Roman numerals; from 100 on in digits."""
    return _TENS[number // 10] + _ONES[number % 10] if number < 100 else str(number)
