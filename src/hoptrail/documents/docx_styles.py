"""What a paragraph of a Word file is, told by its style, outline level and numbering.

Styles inherit from each other; what a paragraph says of itself goes before what its style says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE = re.compile(r".*\btitle\b.*", re.IGNORECASE)
_CODE = re.compile(r".*\b(code|preformatted|verbatim|macro text|listing)\b.*", re.IGNORECASE)
_QUOTE = re.compile(r"(intense )?quote|quotations?|block ?(text|quote)", re.IGNORECASE)
_DEEPEST_STYLE = 20
"""Styles that stand on each other; more are a circle."""
_DEEPEST_HEADING = 6


def _named(tag: str) -> str:
    return f"{_NAMESPACE}{tag}"


@dataclass(frozen=True, slots=True)
class Role:
    """The kind of block that a paragraph is, with its level and order."""

    kind: BlockKind
    level: int = 0
    ordered: bool = False


class Styles:
    """The styles and lists of a document, looked up by the paragraph."""

    def __init__(self, document: WordDocument) -> None:
        self._styles = {style.get(_named("styleId")): style for style in document.styles.element.iter(_named("style"))}
        self._default = next((name for name, style in self._styles.items() if _is_default(style)), None)
        self._ordered = _list_levels(document)
        self._roles: dict[str | None, Role] = {}

    def is_title(self, paragraph: Any) -> bool:
        """Whether its style is Title, or is called a title and based on that: authors and dates are based on it too."""
        chain = list(self._chain(_style_of(paragraph)))
        named = bool(chain) and _TITLE.fullmatch(_style_name(chain[0])) is not None
        return named and any(_style_name(style) == "Title" for style in chain)

    def role(self, paragraph: Any) -> Role:
        """What kind of block a paragraph is."""
        own = paragraph.find(_named("pPr"))
        name = _style_of(paragraph)
        role = self._roles.get(name)
        if role is None:
            title = self.is_title(paragraph)
            role = self._roles[name] = Role(BlockKind.HEADING, 1) if title else self._role_of_style(name)
        if own is None or role.kind is BlockKind.HEADING:
            return role
        level = _outline_level(own)
        if level:
            return Role(BlockKind.HEADING, level)
        numbering = own.find(_named("numPr"))
        return role if numbering is None else self._item(numbering, name) or Role(BlockKind.PARAGRAPH)

    def _role_of_style(self, name: str | None) -> Role:
        for style in self._chain(name):
            called = _style_name(style)
            heading = _HEADING.fullmatch(called)
            properties = style.find(_named("pPr"))
            level = int(heading[1]) if heading else _outline_level(properties)
            if level:
                return Role(BlockKind.HEADING, min(level, _DEEPEST_HEADING))
            if _CODE.fullmatch(called):
                return Role(BlockKind.CODE)
            if _QUOTE.fullmatch(called):
                return Role(BlockKind.QUOTE)
            numbering = None if properties is None else properties.find(_named("numPr"))
            if numbering is not None:
                return self._item(numbering, name) or Role(BlockKind.PARAGRAPH)
        return Role(BlockKind.PARAGRAPH)

    def _item(self, numbering: Any, style: str | None) -> Role | None:
        """A list item; None where the numbering says that it is in no list. A style such as `List Bullet 2` tells the depth."""
        number = _value(numbering, "numId") or self._number_of(style)
        if number in {None, "0"}:
            return None
        depth = int(_value(numbering, "ilvl") or 0)
        called = _style_name(self._styles[style]) if style in self._styles else ""
        named = re.fullmatch(r"List (?:Bullet|Number|Continue)? ?(\d)", called)
        ordered = self._ordered.get((number or "", depth), False)
        return Role(BlockKind.ITEM, max(depth + 1, int(named[1]) if named else 1), ordered)

    def _number_of(self, style: str | None) -> str | None:
        found = (element.find(f"{_named('pPr')}/{_named('numPr')}") for element in self._chain(style))
        return next((_value(numbering, "numId") for numbering in found if numbering is not None), None)

    def _chain(self, name: str | None) -> Iterator[Any]:
        """A style and those that it is based on."""
        style = self._styles.get(name or self._default)
        for _ in range(_DEEPEST_STYLE):
            if style is None:
                return
            yield style
            style = self._styles.get(_value(style, "basedOn"))


def _is_default(style: Any) -> bool:
    return style.get(_named("type")) == "paragraph" and style.get(_named("default")) in {"1", "true"}


def _style_of(paragraph: Any) -> str | None:
    own = paragraph.find(_named("pPr"))
    return None if own is None else _value(own, "pStyle")


def _style_name(style: Any) -> str:
    return _value(style, "name") or ""


def _value(element: Any, tag: str) -> str | None:
    found = element.find(_named(tag))
    return None if found is None else found.get(_named("val"))


def _outline_level(properties: Any) -> int:
    """1 to 6; 0 for body text."""
    said = None if properties is None else _value(properties, "outlineLvl")
    return min(int(said) + 1, _DEEPEST_HEADING) if said and said.isdigit() and int(said) < 9 else 0


def _list_levels(document: WordDocument) -> dict[tuple[str, int], bool]:
    """By number of a list and depth from 0: whether its items are numbered."""
    from docx.opc.constants import RELATIONSHIP_TYPE

    if not any(relation.reltype == RELATIONSHIP_TYPE.NUMBERING for relation in document.part.rels.values()):
        return {}
    root = document.part.numbering_part.element
    kinds: dict[str, dict[int, bool]] = {}
    for abstract in root.iter(_named("abstractNum")):
        formats = {level.get(_named("ilvl")): _value(level, "numFmt") for level in abstract.iter(_named("lvl"))}
        kinds[abstract.get(_named("abstractNumId"))] = {
            int(depth): kind not in {"bullet", "none", None} for depth, kind in formats.items() if str(depth).isdigit()
        }
    lists = ((found.get(_named("numId")), _value(found, "abstractNumId")) for found in root.iter(_named("num")))
    return {
        (str(number), depth): ordered
        for number, abstract in lists
        for depth, ordered in kinds.get(abstract or "", {}).items()
    }
