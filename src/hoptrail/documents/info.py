"""Parses GNU manuals in the Info format: nodes with underlined headings, items, examples.

Left out are what serves navigation only: menus, indexes, the headers of nodes, the entry for the directory and the tag table.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import unwrapped
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_OPENS, _CLOSES = b"\0\x08[", b"\0\x08]"
"""What encloses the mark of an index, a picture or the like."""
_SHOWN = re.compile(rb'(?:text|alt)="(?P<shown>(?:[^"\\]|\\.){0,5000})"', re.DOTALL)
_INDEX = b"\x0e"
"""Stands for the mark of an index until the node that contains it is left out."""
_TAGS = re.compile(rb"\n[\x1f\x0c]\nTag Table:")
_CODING = re.compile(rb"\ncoding: ([\w-]{1,40})\nEnd:")
_HEADER = re.compile(r"File: (?P<file>[^,\n]+),[ \t]+Node: (?P<node>[^,\n]+)")
_RULE = re.compile(r"(?P<sign>[*=.-])(?P=sign)*[ \t]*")
_LEVELS = "*=-."
_ENTRY = re.compile(r"\* [^\n]*:")
_DIRECTORY = re.compile(
    r"^(?:INFO-DIR-SECTION|START-INFO-DIR-ENTRY|\* |END-INFO-DIR-ENTRY).*(?:\n[^\n]+)*", re.MULTILINE
)
"""The rest of a paragraph with the entry for the directory of manuals."""
_REFERENCE = re.compile(r"\*(?P<note>[Nn]ote)\s{1,80}(?P<text>[^:*]{1,300})(?:::|:\s{1,80}[^.,:*]{1,300}(?=[.,]))")
_MARK = re.compile(r"(?P<indent> *)(?:[*•+-]|(?P<number>\(?\w{1,3}[.)]))[ \t]+(?=\S)")
_QUOTED = re.compile(r"[‘'`](?P<text>[^‘’'`]+)[’']")
_STEP = 5
"""Columns by which an example, and the text of an item below its tag, is indented."""
_FULL = 55
"""Columns of a line that was wrapped, less its indentation: the lines of an example are shorter."""


_Paragraph = tuple[int, list[str]]
"""The number of the first line, and lines without a blank one."""


@dataclass(slots=True)
class _Reader:
    """Reads the nodes of a manual. `_bodies`: the columns at which the texts of the open items begin."""

    title: str = ""
    _bodies: list[int] = field(default_factory=list)

    def read(self, text: str) -> Iterator[Piece]:
        """Yield the pieces. A paragraph before the first node is often repeated in it, and then left out."""
        number, waiting = 1, list[_Paragraph]()
        for node in re.split("[\x1f\x0c]\n", text):
            lines = node.split("\n")
            header = _HEADER.match(node)
            if header is not None and _INDEX.decode() not in node:
                paragraphs = _without_menu(list(_paragraphs(lines[1:], number + 1)))
                found = {tuple(part) for _, part in paragraphs}
                waiting, about = [], [one for one in waiting if tuple(one[1]) not in found]
                if not self.title:
                    top = header["node"] == "Top" and bool(paragraphs) and _is_heading(paragraphs[0][1])
                    self.title = paragraphs[0][1][0] if top else header["file"].removesuffix(".info")
                self._bodies.clear()
                for first, part in about + paragraphs:
                    yield from self._paragraph(first, part)
            elif number == 1:
                waiting = [
                    one
                    for one in _paragraphs(
                        _DIRECTORY.sub(lambda entry: "\n" * entry[0].count("\n"), node).split("\n"), 1
                    )
                    if not _is_origin(one[1])
                ]
            number += len(lines) - 1
        for first, part in waiting:
            yield from self._paragraph(first, part)

    def _paragraph(self, number: int, lines: list[str]) -> Iterator[Piece]:
        if _is_heading(lines):
            self._bodies.clear()
            level = _LEVELS.index(lines[1][0]) + 1
            yield Piece(BlockKind.HEADING, lines[0].strip(), level, place=f"line {number}")
            number, lines = number + 2, lines[2:]
        if not lines:
            return
        if (mark := _MARK.match(lines[0])) is not None and (mark["number"] is None or mark["number"][:-1].isdigit()):
            yield from self._marked(number, lines)
            return
        indent, place = min(map(_indent, lines)), f"line {number}"
        self._close(indent)
        outer = self._bodies[-1] if self._bodies else 0
        tags = _tags(lines) if indent < outer + _STEP else 0
        kind, text = BlockKind.PARAGRAPH, _joined(lines)
        if tags:
            self._bodies.append(_indent(lines[tags]))
            tag = ", ".join(_QUOTED.sub(r"\g<text>", line.strip()).removeprefix("-- ") for line in lines[:tags])
            kind, text = BlockKind.ITEM, f"{tag}: {_joined(lines[tags:])}"
        elif indent >= outer + _STEP and not all(len(line) - indent >= _FULL for line in lines[:-1] or lines):
            kind, text = BlockKind.CODE, textwrap.dedent("\n".join(line.expandtabs() for line in lines))
        yield Piece(kind, text, len(self._bodies), place=place)

    def _marked(self, number: int, lines: list[str]) -> Iterator[Piece]:
        """Yield the items of a paragraph whose lines begin with bullets or numbers."""
        starts = [at for at, line in enumerate(lines) if at == 0 or _MARK.match(line)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            mark = _MARK.match(lines[start])
            if mark is None:
                continue
            self._close(len(mark["indent"]))
            self._bodies.append(mark.end())
            text = _joined([lines[start] if mark["number"] else lines[start][mark.end() :], *lines[start + 1 : end]])
            ordered, place = mark["number"] is not None, f"line {number + start}"
            yield Piece(BlockKind.ITEM, text, len(self._bodies), ordered, place=place)

    def _close(self, indent: int) -> None:
        """End the items whose text is indented more."""
        while self._bodies and self._bodies[-1] > indent:
            self._bodies.pop()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _paragraphs(lines: list[str], number: int) -> Iterator[_Paragraph]:
    """Yield the paragraphs; `number` is that of the first line."""
    for has_text, run in groupby(enumerate(lines, number), lambda line: bool(line[1].strip())):
        if has_text:
            numbers, texts = zip(*run, strict=True)
            yield numbers[0], [text.rstrip() for text in texts]


def _is_heading(lines: list[str]) -> bool:
    title, below, *_ = [*lines, ""]
    if title.startswith(" ") or not _RULE.fullmatch(below):
        return False
    return len(below) >= min(3, len(title)) and abs(len(below) - len(title)) <= len(title) // 2


def _is_origin(lines: list[str]) -> bool:
    return lines[0].startswith("This is ") and "produced by" in " ".join(lines[:3])


def _without_menu(paragraphs: list[_Paragraph]) -> list[_Paragraph]:
    """The paragraphs without those from the start of a menu to its last entry."""
    start = next((at for at, one in enumerate(paragraphs) if one[1][0].startswith("* Menu:")), None)
    if start is None:
        return paragraphs
    last = max(at for at, one in enumerate(paragraphs) if at == start or any(map(_ENTRY.match, one[1])))
    return [*paragraphs[:start], *paragraphs[last + 1 :]]


def _tags(lines: list[str]) -> int:
    """How many lines at the start are tags: they have the same indentation, and the lines below them more."""
    first = _indent(lines[0])
    tags = next((at for at, line in enumerate(lines) if _indent(line) != first), 0)
    step = _STEP - lines[0].startswith(" -- ")
    return tags if tags and all(_indent(line) >= first + step for line in lines[tags:]) else 0


def _joined(lines: list[str]) -> str:
    """The text of lines without their indentation, and with cross-references as they are read."""
    text = unwrapped("\n".join(map(squeeze, lines)), "\n".join(lines))
    return _REFERENCE.sub(lambda match: ("See " if match["note"] == "Note" else "") + match["text"], text)


def _without_marks(data: bytes) -> bytes:
    """The bytes with what each mark shows, which is the text of a picture."""
    first, *marked = data.split(_OPENS)
    parts = [first]
    for part in marked:
        mark, end, after = part.partition(_CLOSES)
        shown = _SHOWN.search(mark) if mark.startswith(b"image") else None
        if not end:
            parts.append(mark)
        elif mark.startswith(b"index"):
            parts.append(_INDEX)
        elif shown is not None:
            parts.append(shown["shown"].replace(b'\\"', b'"'))
        parts.append(after)
    return b"".join(parts)


def parse_info(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a manual, or a part of one: title (that of the whole, else the manual's name) and blocks."""
    coding = _CODING.search(data, max(0, len(data) - 500))
    tags = _TAGS.search(data)
    text = _without_marks(data[: tags.start()] if tags is not None else data).replace(b"\x1f", b"\x0c")
    decoded = decode(text, coding[1].decode() if coding is not None else None)
    reader = _Reader()
    pieces = list(reader.read(decoded.text))
    return assemble(reader.title, pieces, decoded.notes, limits.text)
