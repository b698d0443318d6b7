"""What belongs together in evidence: the items of a list, the rows of a table, paragraphs in a row.

A table that was cut into several passages is one group again, its rows in the order of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Block, BlockKind, Unit

_LONGEST_LEAD = 120
"""Characters of a line before a list that names what the list is of."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members in order; of a paragraph its first statement. `heading`: what they stand under."""

    kind: BlockKind
    heading: str
    members: tuple[Said, ...]
    ordered: bool = False

    @property
    def headers(self) -> frozenset[str]:
        block = self.members[0].block
        return content_stems(" ".join(cell.header for cell in block.cells)) if block else frozenset()


def groups_of(units: Sequence[Unit]) -> tuple[Group, ...]:
    """The groups of units, in the order in which they were found."""
    parts: dict[tuple[object, ...], list[tuple[Said, Block]]] = {}
    for unit in units:
        previous: Block | None = None
        key: tuple[object, ...] = ()
        for said in statements_of(unit):
            block = said.block
            if block is None or block == previous:
                continue
            if previous is None or not _together(previous, block):
                headers = tuple(cell.header for cell in block.cells)
                key = (unit.document, said.path, headers) if headers else (unit.id, said.start)
            parts.setdefault(key, []).append((said, block))
            previous = block
    return tuple(map(_group, parts.values()))


def _together(one: Block, other: Block) -> bool:
    """Whether two blocks that follow each other belong to one group; rows may differ in a column or two."""
    near = one.kind is other.kind and one.path == other.path and other.start <= one.end
    first, second = ({cell.header for cell in block.cells} for block in (one, other))
    return near and (one.kind is not BlockKind.ROW or 2 * len(first & second) > max(len(first), len(second)))


def _group(found: Sequence[tuple[Said, Block]]) -> Group:
    first, block = found[0]
    above = " ".join(dict.fromkeys((first.unit.title, *block.path)))
    lead = block.lead or (_line_before(first) if block.kind is BlockKind.ITEM else "")
    members = [said for said, _ in (sorted(found, key=lambda one: one[1].start) if block.cells else found)]
    return Group(block.kind, f"{above} {lead}", tuple(members), block.ordered)


def _line_before(said: Said) -> str:
    """The line that stands right before a list, where it is short."""
    text = said.unit.text[: said.start].rstrip().rpartition("\n")[2]
    return text if len(text) < _LONGEST_LEAD else ""
