"""Groups of neighbouring statements in evidence: the items of a list, the rows of a table, consecutive paragraphs.

A table that was split over several passages becomes one group again, its rows in document order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Block, BlockKind, Unit

_LONGEST_LEAD = 120
"""Characters. A longer line before a list is not taken for its lead."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members in order, a paragraph represented by its first statement. `heading`: title, headings and lead above them."""

    kind: BlockKind
    heading: str
    members: tuple[UnitStatement, ...]
    ordered: bool = False

    @property
    def headers(self) -> frozenset[str]:
        """The stems of the column headers; empty unless the members are rows."""
        block = self.members[0].block
        return content_stems(" ".join(cell.header for cell in block.cells)) if block else frozenset()


def groups_of(units: Sequence[Unit]) -> tuple[Group, ...]:
    """Group the statements of `units`, in order of first appearance."""
    parts: dict[tuple[object, ...], list[tuple[UnitStatement, Block]]] = {}
    for unit in units:
        previous: Block | None = None
        key: tuple[object, ...] = ()
        for said in statements_of(unit):
            block = said.block
            if block is None or block == previous:
                continue
            if previous is None or not _same_group(previous, block):
                headers = tuple(cell.header for cell in block.cells)
                key = (unit.document, said.path, headers) if headers else (unit.id, said.start)
            parts.setdefault(key, []).append((said, block))
            previous = block
    return tuple(map(_build_group, parts.values()))


def _same_group(one: Block, other: Block) -> bool:
    """Whether two consecutive blocks belong to one group: rows need more than half of their columns in common."""
    alike = one.kind is other.kind and one.path == other.path and other.start <= one.end
    first, second = ({cell.header for cell in block.cells} for block in (one, other))
    return alike and (one.kind is not BlockKind.ROW or 2 * len(first & second) > max(len(first), len(second)))


def _build_group(statements: Sequence[tuple[UnitStatement, Block]]) -> Group:
    first, block = statements[0]
    above = " ".join(dict.fromkeys((first.unit.title, *block.path)))
    line_before = first.unit.text[: first.start].rstrip().rpartition("\n")[2]
    is_lead = block.kind is BlockKind.ITEM and len(line_before) < _LONGEST_LEAD
    lead = block.lead or (line_before if is_lead else "")
    ordered = sorted(statements, key=lambda pair: pair[1].start) if block.cells else statements
    members = [said for said, _ in ordered]
    return Group(block.kind, f"{above} {lead}", tuple(members), block.ordered)
