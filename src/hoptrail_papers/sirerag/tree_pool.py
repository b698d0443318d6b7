"""A pool with the summaries of trees, of all their levels (`pool_search.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.retrieval.units.pool import Pool
from hoptrail.types import Kind, Unit
from hoptrail_papers.sirerag.tree_nodes import LEAVES, level_of


@dataclass(frozen=True, slots=True)
class TreePool(Pool):
    """Units of these `kinds`, and summaries of these `trees`; of trees in `lowest` only the first level."""

    trees: tuple[str, ...] = ()
    lowest: tuple[str, ...] = ()

    @classmethod
    def of(cls, pool: Pool) -> TreePool:
        """The pool, without summaries if it has no trees."""
        return pool if isinstance(pool, TreePool) else cls(pool.kinds)

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        return chain(Pool.units(self, snapshot), snapshot.units(Kind.SUMMARY, summaries_of(snapshot, self)))

    def size(self, snapshot: Snapshot) -> int:
        summaries = summaries_of(snapshot, self).intersection(snapshot.table.ids(Kind.SUMMARY)) if self.trees else ()
        return Pool.size(self, snapshot) + len(summaries)


@cached_per_snapshot
def summaries_of(snapshot: Snapshot, pool: TreePool) -> frozenset[str]:
    """Group ids of a pool's trees, including groups whose summary is not made yet."""
    groups = ((tree, link.source) for tree in pool.trees for link in snapshot.links(tree))
    return frozenset(group for tree, group in groups if tree not in pool.lowest or level_of(group) == LEAVES + 1)
