"""Determines what a paragraph of a Word file is, by its style, outline level and numbering.

Styles inherit from each other; properties of the paragraph override those of its style.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Piece
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
_CODE = re.compile(r"\b(code|preformatted|verbatim|macro text|listing)\b", re.IGNORECASE)
_QUOTE = re.compile(r"(intense )?quote|quotations?|block ?(text|quote)", re.IGNORECASE)
_DEEPEST_STYLE = 20
"""Styles in a chain of inheritance; a longer chain is a cycle."""


def _tag(tag: str) -> str:
    return f"{NAMESPACE}{tag}"


class Styles:
    """The styles and lists of a document, looked up by the paragraph. A role is a piece without text: a kind, level and order."""

    def __init__(self, document: WordDocument) -> None:
        self._styles = {style.get(_tag("styleId")): style for style in document.styles.element.iter(_tag("style"))}
        defaults = (name for name, style in self._styles.items() if style.get(_tag("default")) in {"1", "true"})
        self._default = next((name for name in defaults if self._styles[name].get(_tag("type")) == "paragraph"), None)
        self._ordered = _list_levels(document)
        self._roles: dict[str | None, Piece] = {}

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
        styled = self._bold_by_style(_style_of(paragraph)) or "off"
        visible = (run for run in runs if run.text.strip())
        marks = (_bold(run) or self._bold_by_style(_value(run, "rPr", "rStyle")) or styled for run in visible)
        return set(marks) == {"on"}

    def _bold_by_style(self, name: str | None) -> str:
        return next(filter(None, map(_bold, self._chain(name))), "") if name else ""

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
        numbering = _find(element, "pPr", "numPr")
        if numbering is None:
            return None
        numbers = (_value(one, "pPr", "numPr", "numId") for one in self._chain(style))
        number = _value(numbering, "numId") or next(filter(None, numbers), None)
        if number in {None, "0"}:
            return Piece(BlockKind.PARAGRAPH)
        depth = int(_value(numbering, "ilvl") or 0)
        style_name = _style_name(self._styles[style]) if style in self._styles else ""
        match = re.fullmatch(r"List (?:Bullet|Number|Continue)? ?(\d)", style_name)
        level = max(depth + 1, int(match[1]) if match else 1)
        return Piece(BlockKind.ITEM, level=level, ordered=self._ordered.get((number, depth), False))

    def _chain(self, name: str | None) -> Iterator[Any]:
        style = self._styles.get(name or self._default)
        for _ in range(_DEEPEST_STYLE):
            if style is None:
                return
            yield style
            style = self._styles.get(_value(style, "basedOn"))


def _heading(level: int) -> Piece:
    return Piece(BlockKind.HEADING, level=level)


def _find(element: Any, *tags: str) -> Any | None:
    return element.find("/".join(map(_tag, tags)))


def _value(element: Any, *tags: str) -> str | None:
    """The value of the descendant that these tags lead to, one for each level."""
    found = _find(element, *tags)
    return None if found is None else found.get(_tag("val"))


def _style_of(paragraph: Any) -> str | None:
    return _value(paragraph, "pPr", "pStyle")


def _style_name(style: Any) -> str:
    return _value(style, "name") or ""


def _bold(element: Any) -> str:
    """`on` or `off` if the properties of a run or style say whether its text is bold; else empty."""
    mark = _find(element, "rPr", "b")
    if mark is None:
        return ""
    return "off" if mark.get(_tag("val")) in {"0", "false", "off"} else "on"


def _outline_level(element: Any) -> int:
    """That of a paragraph or style: 1 to 6; 0 for body text."""
    value = _value(element, "pPr", "outlineLvl")
    return min(int(value) + 1, DEEPEST_HEADING) if value and value.isdigit() and int(value) < 9 else 0


def _list_levels(document: WordDocument) -> dict[tuple[str | None, int], bool]:
    """Whether the items are numbered, by the number of a list and depth from 0."""
    from docx.opc.constants import RELATIONSHIP_TYPE

    if not any(relation.reltype == RELATIONSHIP_TYPE.NUMBERING for relation in document.part.rels.values()):
        return {}
    root = document.part.numbering_part.element
    kinds: dict[str, dict[int, bool]] = {}
    for abstract in root.iter(_tag("abstractNum")):
        formats = {level.get(_tag("ilvl")): _value(level, "numFmt") for level in abstract.iter(_tag("lvl"))}
        kinds[abstract.get(_tag("abstractNumId"))] = {
            int(depth): kind not in {"bullet", "none", None} for depth, kind in formats.items() if str(depth).isdigit()
        }
    lists = ((number.get(_tag("numId")), _value(number, "abstractNumId")) for number in root.iter(_tag("num")))
    return {
        (number, depth): is_ordered for number, name in lists for depth, is_ordered in kinds.get(name or "", {}).items()
    }
