"""Grouping the nodes of one level: by clustering the first time, and with as few changes as possible later.

Later, a node without a group joins the nearest one, so that a new leaf costs only the summaries above it. Many new nodes are
clustered among themselves, which makes fewer and better groups than distributing them. A group that has become too large is
split, and the largest part keeps its place in the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail_papers.sirerag.clustering import Cluster
from hoptrail_papers.sirerag.tree_nodes import Level, Members, group_id, members_of

SMALLEST_GROUP = 2
"""A summary of a single node would only repeat it."""

_BLOCK = 1 << 24
"""Cosines of nodes with centres in memory at a time: 64 MiB."""

Changed = dict[str, tuple[str, ...]]
"""The children, sorted, of groups that are new or have other children than before."""


def pruned(groups: Members, existing: Collection[str]) -> Changed:
    """The groups that lose children, because these no longer exist, or have fewer than two, with their remaining children."""
    kept = {group: tuple(child for child in children if child in existing) for group, children in groups.items()}
    return {group: left for group, left in kept.items() if len(left) < max(len(groups[group]), SMALLEST_GROUP)}


def ungrouped(groups: Members, nodes: Level) -> Rows:
    """The nodes that are in no group, sorted."""
    grouped = members_of(groups)
    return np.array([row for row, id_ in enumerate(nodes.ids) if id_ not in grouped], np.int32)


@dataclass(frozen=True, slots=True)
class Grouper:
    """Finds the groups of one level of a tree. A group that gets new nodes is split, if possible, once it has more than
    `most_nodes` nodes or `most_words` words. If more than the share `newcomers` of all nodes is in no group, these are clustered
    among themselves.
    """

    tree: str
    level: int
    cluster: Cluster
    most_nodes: int
    most_words: int
    newcomers: float

    def regroup(self, groups: Members, nodes: Level) -> Changed:
        """The groups that are new or have other children, so that every node is in at least one group if there is any."""
        loose = ungrouped(groups, nodes)
        rows_of = {group: rows for group, children in groups.items() if len(rows := nodes.rows(children))}
        changed: Changed = {}
        if not groups or len(loose) > self.newcomers * len(nodes):
            clusters = self._clusters(loose, nodes)
            loose = _in_none(loose, clusters)
            for rows in clusters:
                children = nodes.names(rows)
                group = group_id(self.tree, self.level, children, groups)
                rows_of[group], changed[group] = rows, children
        if not len(loose) or not rows_of:
            return changed
        names = sorted(rows_of)
        homes = _nearest(loose, _centres([rows_of[group] for group in names], nodes), nodes)
        taken = {*groups, *names}
        for number in np.unique(homes)[::-1].tolist():
            group = names[number]
            changed.pop(group, None)
            rows = np.union1d(rows_of[group], loose[homes == number])
            before = tuple(groups.get(group, ()))
            parts = self._split(group, rows, [child for child in before if child not in nodes], nodes, taken)
            changed |= {name: children for name, children in parts if name != group or children != before}
        return changed

    def _clusters(self, rows: Rows, nodes: Level) -> list[Rows]:
        """Groups of at least two of these rows (sorted), without repeats; a row may be in several groups or in none."""
        if len(rows) < SMALLEST_GROUP:
            return []
        vectors = nodes.matrix if len(rows) == len(nodes) else nodes.matrix[rows]
        groups = self.cluster(vectors, nodes.words[rows])
        return [rows[list(group)] for group in groups if len(group) >= SMALLEST_GROUP]

    def _split(
        self, group: str, rows: Rows, absent: list[str], nodes: Level, taken: set[str]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """A group, or its parts if it is too large. The largest keeps its id, and so its parents, and the `absent` children."""
        waiting = [(group, rows, absent)]
        while waiting:
            group, rows, absent = waiting.pop()
            too_large = len(rows) + len(absent) > self.most_nodes or nodes.words[rows].sum() > self.most_words
            parts = self._parts(rows, nodes) if too_large else []
            if not parts:
                yield group, tuple(sorted([*nodes.names(rows), *absent]))
                continue
            for part in parts[1:]:
                name = group_id(self.tree, self.level, nodes.names(part), taken)
                taken.add(name)
                waiting.append((name, part, []))
            waiting.append((group, parts[0], absent))

    def _parts(self, rows: Rows, nodes: Level) -> list[Rows]:
        """The parts of a group, each smaller than the whole, the largest first; none if it cannot be divided."""
        parts = self._clusters(rows, nodes)
        loose = _in_none(rows, parts)
        if len(loose) and parts:
            homes = _nearest(loose, _centres(parts, nodes), nodes)
            parts = [np.union1d(part, loose[homes == number]) for number, part in enumerate(parts)]
        if any(len(part) == len(rows) for part in parts):
            return []
        return sorted(parts, key=lambda part: (-len(part), part.tolist()))


def _centres(groups: Sequence[Rows], nodes: Level) -> FloatMatrix:
    """The centroids of groups of rows, of unit length: shape (groups, dimension)."""
    starts = np.cumsum([0, *map(len, groups[:-1])])
    return unit_length(np.add.reduceat(nodes.matrix[np.concatenate(groups)], starts, axis=0))


def _in_none(rows: Rows, groups: Sequence[Rows]) -> Rows:
    return np.setdiff1d(rows, np.concatenate([rows[:0], *groups]))


def _nearest(rows: Rows, centres: FloatMatrix, nodes: Level) -> Rows:
    """The number of the centre nearest to each of these nodes, the first of equal ones."""
    step = max(1, _BLOCK // len(centres))
    blocks = (nodes.matrix[rows[start : start + step]] for start in range(0, len(rows), step))
    return np.concatenate([np.argmax(vectors @ centres.T, axis=1) for vectors in blocks]).astype(np.int32)
