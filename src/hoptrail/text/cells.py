"""Values in table cells and `key: value` lines, with the words of their row, title and headings that describe them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.text.dates import dates_said
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Block, Kind, Span, Unit

_KEYED = re.compile(r"^(?:[-*+•]\s+)?(?P<key>[^\W_][^:=|\n]{0,50}?)\s*(?::|\|)\s+(?P<value>\S[^\n|]{0,160})$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with the stems of its column header or key (`attribute`), the first cell of the row (`key`), all other cells
    (`subject`), and title, headings and lead (`above`). `support` is the whole row or line, `date` its ISO date or empty.
    """

    value: str
    attribute: frozenset[str]
    key: frozenset[str]
    subject: frozenset[str]
    above: frozenset[str]
    support: tuple[Span, ...]
    date: str = ""


def cells_of(units: Sequence[Unit], *, dated: bool = False) -> Iterator[Cell]:
    """Yield the cells of table rows and `key: value` lines; `dated` adds the dates of a row to their stems."""
    for unit in units:
        if unit.kind not in {Kind.PASSAGE, Kind.SENTENCE}:
            continue
        for said in statements_of(unit):
            block = said.block
            yield from _row_cells(said, block, dated=dated) if block and block.cells else _line_cells(said)


def _row_cells(said: UnitStatement, block: Block, *, dated: bool) -> Iterator[Cell]:
    first = said.unit.sources[0].start
    values = [said.unit.text[max(0, cell.start - first) : max(0, cell.end - first)] for cell in block.cells]
    above = content_stems(" ".join((said.unit.title, *block.path)))
    key = content_stems(values[0])
    dates = dates_said(" ".join((*block.path, *values))) if dated else frozenset[str]()
    for column, (cell, value) in enumerate(zip(block.cells, values, strict=True)):
        if value.strip():
            others = content_stems(" ".join(values[:column] + values[column + 1 :]))
            yield Cell(
                value=value.strip(),
                attribute=content_stems(cell.header),
                key=key | dates,
                subject=others | dates,
                above=above,
                support=said.support,
                date=said.date,
            )


def _line_cells(said: UnitStatement) -> Iterator[Cell]:
    match = _KEYED.match(said.text.strip())
    if match is not None:
        yield Cell(
            value=match["value"].strip().rstrip("."),
            attribute=content_stems(match["key"]),
            key=frozenset(),
            subject=frozenset(),
            above=content_stems(" ".join((said.unit.title, *said.path, said.block.lead if said.block else ""))),
            support=said.support,
            date=said.date,
        )
