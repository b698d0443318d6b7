"""A flat pool: units of several kinds and of all levels of trees that are ranked as one list (`pool_search.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.structures.tree_nodes import LEAVES, level_of
from hoptrail.types import Kind, Unit


@dataclass(frozen=True, slots=True)
class Pool:
    """Units of these `kinds`, and summaries of these `trees`; of trees in `lowest` only the first level."""

    kinds: tuple[Kind, ...]
    trees: tuple[str, ...] = ()
    lowest: tuple[str, ...] = ()

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        """All units of the pool, in no particular order."""
        for kind in self.kinds:
            yield from snapshot.units(kind)
        if self.trees:
            yield from snapshot.units(Kind.SUMMARY, summaries_of(snapshot, self))

    def size(self, snapshot: Snapshot) -> int:
        """The number of units in the pool."""
        summaries = summaries_of(snapshot, self).intersection(snapshot.table.ids(Kind.SUMMARY)) if self.trees else ()
        return sum(snapshot.count(kind) for kind in self.kinds) + len(summaries)


@cached_per_snapshot
def summaries_of(snapshot: Snapshot, pool: Pool) -> frozenset[str]:
    """Group ids of a pool's trees, including groups whose summary is not made yet."""
    groups = ((tree, link.source) for tree in pool.trees for link in snapshot.links(tree))
    return frozenset(group for tree, group in groups if tree not in pool.lowest or level_of(group) == LEAVES + 1)
