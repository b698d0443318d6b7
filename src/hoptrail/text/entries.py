"""Entries: a term with what is said of it, in glossaries, lists of options and tables of two columns.

An entry is a list item (`bare repository: A bare repository is …`), a line of preformatted text whose columns stand apart
(`RESTIC_KEY_HINT    ID of the key to try first`), or a table row by its first two cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.text.statements import Said, statements_of
from hoptrail.types import Block, BlockKind, Unit

_ITEM = re.compile(r"\s*(?P<terms>[^:\n]{1,80}):\s+(?P<description>\S.*)", re.DOTALL)
_EXPLAINED = re.compile(r"\s*(?:-{1,2}\w|[^:\n]{1,120}:\s)")
_LINE = re.compile(r"^[ \t]*(?P<terms>\S+(?: \S+){0,3})(?:[ ]{2,}|\t+)(?P<description>\S.*)$", re.MULTILINE)
_MARK = re.compile(r"^\s*[*+•‣◦▪·-]\s+")
_PARAMETER = re.compile(r"[=\[(<].*")
"""What follows the name of an option: `=<date>`, ` <branch>`, `[=when]`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Terms (several spellings of one thing), the description, its headers if it is a row, and where it stands in its unit."""

    said: Said
    terms: tuple[str, ...]
    description: str
    headers: tuple[str, ...]
    start: int
    end: int


def entries_of(unit: Unit) -> Iterator[Entry]:
    """The entries of a unit, in order."""
    seen: Block | None = None
    for said in statements_of(unit):
        if said.block is not None and said.block is not seen:  # the first statement of each block
            seen = said.block
            yield from _entries(said, said.block)


def is_entry(text: str) -> bool:
    """Whether a list item explains a term or an option."""
    return _EXPLAINED.match(text) is not None


def _entries(said: Said, block: Block) -> Iterator[Entry]:
    unit, first = said.unit, said.unit.sources[0].start
    start, end = max(0, block.start - first), min(len(unit.text), block.end - first)
    if block.kind is BlockKind.CODE:
        for line in _LINE.finditer(unit.text, start, end):
            if terms := _terms(line["terms"]):
                yield Entry(said, terms, line["description"].strip(), (), line.start(), line.end())
    elif block.kind is BlockKind.ITEM and (item := _ITEM.match(unit.text, start, end)):
        if terms := _terms(_MARK.sub("", item["terms"])):
            yield Entry(said, terms, item["description"].strip(), (), said.start, end)
    elif block.kind is BlockKind.ROW and len(block.cells) > 1:
        term, description = (
            unit.text[max(0, cell.start - first) : cell.end - first].strip() for cell in block.cells[:2]
        )
        headers = tuple(cell.header for cell in block.cells[:2])
        yield Entry(said, (term,), description, headers, said.start, said.end)


def _terms(text: str) -> tuple[str, ...]:
    """`-c <new>, --create <new>` names `-c` and `--create`."""
    names = (_PARAMETER.sub("", term).strip() for term in re.split(r",\s+|\s+or\s+", text))
    return tuple(filter(None, names))
