"""What stands in the cells of tables and after the colon of `key: value` lines: a value, and what its row, title and headings say
that it is of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.text.dates import dates_said
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Kind, Span, Unit

_KEYED = re.compile(r"^(?:[-*+•]\s+)?(?P<key>[^\W_][^:=|\n]{0,50}?)\s*(?::|\|)\s+(?P<value>\S[^\n|]{0,160})$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with what it is, in stems: its `attribute`, the rest of its row (`subject`) with the first cell (`key`), and
    what stands above. `support` is the whole row or line, `date` the ISO date that holds for it (empty: none).
    """

    value: str
    attribute: frozenset[str]
    key: frozenset[str]
    subject: frozenset[str]
    above: frozenset[str]
    support: tuple[Span, ...]
    date: str = ""


def cells_of(units: Sequence[Unit], *, dated: bool = False) -> Iterator[Cell]:
    """The cells of tables and of `key: value` lines in passages and sentences; `dated`: with the dates of their rows as words."""
    for unit in units:
        if unit.kind not in {Kind.PASSAGE, Kind.SENTENCE}:
            continue
        for said in statements_of(unit):
            yield from _of_row(said, dated=dated) if said.block and said.block.cells else _of_line(said)


def _of_row(said: Said, *, dated: bool) -> Iterator[Cell]:
    block, first = said.block, said.unit.sources[0].start
    if block is None:
        return
    values = [said.unit.text[max(0, cell.start - first) : max(0, cell.end - first)] for cell in block.cells]
    above = content_stems(" ".join((said.unit.title, *block.path)))
    support = said.support
    key = content_stems(values[0])
    dates = dates_said(" ".join((*block.path, *values))) if dated else frozenset[str]()
    for at, (cell, value) in enumerate(zip(block.cells, values, strict=True)):
        if value.strip():
            others = content_stems(" ".join(other for place, other in enumerate(values) if place != at))
            yield Cell(
                value.strip(), content_stems(cell.header), key | dates, others | dates, above, support, said.date
            )


def _of_line(said: Said) -> Iterator[Cell]:
    found = _KEYED.match(said.text.strip())
    if found is None:
        return
    above = content_stems(" ".join((said.unit.title, *said.path, said.block.lead if said.block else "")))
    support = said.support
    yield Cell(
        *(
            found["value"].strip().rstrip("."),
            content_stems(found["key"]),
            frozenset[str](),
            frozenset[str](),
            above,
            support,
        ),
        date=said.date,
    )
