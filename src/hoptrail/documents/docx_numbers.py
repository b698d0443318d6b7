"""Computes the automatic numbers of headings, clauses and list items of a Word file: `2.1`, `(b)`, `Article 3`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hoptrail.documents.docx_xml import is_on, tag, value

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
