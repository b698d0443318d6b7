"""A flat pool: which units, of several kinds and from whatever level of a tree, are ranked as one list (`pool_search.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.structures.tree_nodes import LEAVES, level_of
from hoptrail.types import Kind, Unit


@dataclass(frozen=True, slots=True)
class Pool:
    """Units of these kinds; of summaries only those of these `trees`, and of trees that are `lowest` their first level alone."""

    kinds: tuple[Kind, ...]
    trees: tuple[str, ...] = ()
    lowest: tuple[str, ...] = ()

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        """All of them, in no particular order."""
        for kind in self.kinds:
            yield from snapshot.units(kind)
        if self.trees:
            yield from snapshot.units(Kind.SUMMARY, summaries_of(snapshot, self))

    def size(self, snapshot: Snapshot) -> int:
        """How many units there are to choose from."""
        made = summaries_of(snapshot, self).intersection(snapshot.table.ids(Kind.SUMMARY)) if self.trees else ()
        return sum(snapshot.count(kind) for kind in self.kinds) + len(made)

    def has(self, tree: str, summary: str) -> bool:
        """Whether a summary of one of its trees, by the id of its group, is in it."""
        return tree not in self.lowest or level_of(summary) == LEAVES + 1


@made_once
def summaries_of(snapshot: Snapshot, pool: Pool) -> frozenset[str]:
    """Ids of the groups of a pool's trees; one whose summary is still to be made is among them."""
    found = ((tree, link.source) for tree in pool.trees for link in snapshot.links(tree))
    return frozenset(group for tree, group in found if pool.has(tree, group))
