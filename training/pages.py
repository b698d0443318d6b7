"""Whole passages as texts to learn from: title and headings, then one line for each statement, a row as `header: value`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.types import Block, Unit


@dataclass(frozen=True, slots=True)
class Part:
    """A statement and its offsets in a page."""

    start: int
    end: int
    said: UnitStatement


@dataclass(frozen=True, slots=True)
class Page:
    """A unit's text for reading. `headers` are the offsets of the headers of its rows."""

    unit: Unit
    text: str
    parts: tuple[Part, ...]
    headers: tuple[tuple[int, int], ...]


def page_of(unit: Unit, longest: int) -> Page:
    """The page of a unit, at most `longest` characters."""
    lines = [unit.title] if unit.title else []
    at = len(unit.title) + 1 if unit.title else 0
    parts: list[Part] = []
    headers: list[tuple[int, int]] = []
    above: tuple[str, ...] = ()
    for said in statements_of(unit):
        heading = " > ".join(part for part in said.path if part != unit.title)
        if said.path != above and heading:
            lines.append(heading)
            at += len(heading) + 1
        above, line = said.path, said.alone
        if at + len(line) > longest:
            break
        parts.append(Part(at, at + len(line), said))
        headers += ((at + start, at + end) for start, end in _headers(said.block, line))
        lines.append(line)
        at += len(line) + 1
    return Page(unit, "\n".join(lines), tuple(parts), tuple(headers))


def _headers(block: Block | None, line: str) -> Iterator[tuple[int, int]]:
    """The offsets of a table row's headers in its line."""
    at = 0
    for cell in block.cells if block is not None else ():
        if cell.header and (found := line.find(f"{cell.header}: ", at)) >= 0:
            at = found + len(cell.header) + 1
            yield found, at
