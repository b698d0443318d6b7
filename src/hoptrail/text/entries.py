"""Entries: a term with what is said of it, in glossaries, lists of options and tables of two columns.

An entry is a list item or a paragraph (`bare repository: A bare repository is …`), a line of preformatted text whose columns
stand apart (`RESTIC_KEY_HINT    ID of the key to try first`), or a table row by its first two cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.types import Block, BlockKind, Unit

_ITEM = re.compile(r"\s*(?P<terms>[^:\n]{1,80}):\s+(?P<description>\S.*)", re.DOTALL)
_EXPLAINED = re.compile(r"\s*(?:-{1,2}\w|[^:\n]{1,120}:\s)")
_LINE = re.compile(r"^[ \t]*(?P<terms>\S+(?: \S+){0,3})(?:[ ]{2,}|\t+)(?P<description>\S.*)$", re.MULTILINE)
_MARK = re.compile(r"^\s*[*+•‣◦▪·-]\s+")
_PARAMETER = re.compile(r"[=\[(<].*")
"""What follows the name of an option: `=<date>`, ` <branch>`, `[=when]`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement with its terms (several spellings of one thing), its offsets in the unit (the description begins at
    `described`) and, if it is a row, its headers.
    """

    said: UnitStatement
    terms: tuple[str, ...]
    start: int
    described: int
    end: int
    headers: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What is said of the terms, without white space around it."""
        return self.said.unit.text[self.described : self.end].strip()

    @property
    def first_sentence(self) -> str:
        """The first sentence of the description."""
        unit = self.said.unit
        start, end = next(iter(unit_sentences(unit, self.described, self.end)), (self.described, self.end))
        return squeeze(unit.text[start:end])


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


def _entries(said: UnitStatement, block: Block) -> Iterator[Entry]:
    unit, first = said.unit, said.unit.sources[0].start
    start, end = max(0, block.start - first), min(len(unit.text), block.end - first)
    if block.kind is BlockKind.CODE:
        for line in _LINE.finditer(unit.text, start, end):
            yield Entry(said, _terms(line["terms"]), line.start(), line.start("description"), line.end())
    elif block.kind in {BlockKind.ITEM, BlockKind.PARAGRAPH} and (item := _ITEM.match(unit.text, start, end)):
        yield Entry(said, _terms(item["terms"]), said.start, item.start("description"), end)
    elif block.kind is BlockKind.ROW and len(block.cells) > 1:
        term, description = ((max(0, cell.start - first), max(0, cell.end - first)) for cell in block.cells[:2])
        headers = tuple(cell.header for cell in block.cells[:2])
        yield Entry(said, (unit.text[slice(*term)].strip(),), term[0], *description, headers)


def _terms(text: str) -> tuple[str, ...]:
    """`-c <new>, --create <new>` names `-c` and `--create`. The text itself where nothing else is left of it."""
    bare = _MARK.sub("", text)
    names = (_PARAMETER.sub("", term).strip() for term in re.split(r",\s+|\s+or\s+", bare))
    return tuple(filter(None, names)) or (bare.strip(),)
