"""How the nodes of one level fall into groups: all at once the first time, and with as little change as possible later.

Later, a node without a group is placed into the nearest one, so that one new leaf costs the summaries on its way up and no
other. Many new nodes are clustered among themselves, because that makes fewer, better groups than scattering them. A group
that has grown too large is split, and the largest part keeps its place in the tree.

Pure: vectors and ids go in, groups come out. Knows neither store nor texts. Nodes are rows of their level here, and groups
columns; in memory are some 20 bytes a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ID, Rows, id_rows, in_order, rows_among
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.clustering import Clusterer, Groups
from hoptrail.structures.tree_memberships import TOGETHER, Group, Grouped, Ids, Taken, group_id, runs_of, texts
from hoptrail.structures.tree_nodes import Level, middles

SMALLEST_GROUP = 2
"""A summary of one node would say the same again."""

_BLOCK = 1 << 13
_CENTRES = 1 << 11
"""Nodes, and centres that they are compared with, at a time: 64 MiB of cosines. All centres are read again for each block."""

_MEMBER = np.dtype([("group", ID), ("row", ">u4")])
"""The high byte first, so that members in order of their bytes are in order of their groups, then of their rows."""


def pruned(groups: Grouped, standing: Ids) -> Iterator[Group]:
    """The groups that lose children, because these no longer stand, and those that have fewer than two, with what they keep."""
    for part in groups.parts():
        stands = rows_among(part.members, standing) >= 0
        places = part.starts - part.starts[0]
        kept = np.bincount(part.numbers[stands], minlength=len(part))
        for number in np.flatnonzero((kept < part.sizes) | (kept < SMALLEST_GROUP)):
            own = slice(*places[number : number + 2])
            yield Group(part.ids[number].decode(), tuple(texts(part.members[own][stands[own]])))


def ungrouped(groups: Grouped, nodes: Level) -> Rows:
    """Those nodes that are in no group, rising."""
    alone = np.ones(len(nodes), np.bool_)
    for part in groups.parts():
        rows = nodes.rows_of(part.members)
        alone[rows[rows >= 0]] = False
    return np.flatnonzero(alone).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Members:
    """The groups that have a child among the nodes, by rising id. The rows of group i, rising, stand at `starts[i]` to
    `starts[i + 1]` of `rows`.
    """

    ids: Ids
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, number: int) -> str:
        return str(self.ids[number], "ascii")

    def of(self, number: int) -> Rows:
        """The rows of one group."""
        found: Rows = self.rows[self.starts[number] : self.starts[number + 1]].astype(np.int32)
        return found

    def centres(self, nodes: Level) -> FloatMatrix:
        """Their unit centroids: shape (groups, dimension)."""
        found = np.zeros((len(self), nodes.matrix.shape[1]), np.float32)
        for first in range(0, len(self), _CENTRES):
            starts = self.starts[first : first + _CENTRES + 1]
            vectors = nodes.gathered(self.rows[starts[0] : starts[-1]])
            found[first : first + _CENTRES] = middles(vectors, starts[:-1] - starts[0])
        return found


@dataclass(frozen=True, slots=True)
class Grouper:
    """Finds the groups of one level of a tree.

    A group that takes in newcomers is split, where the clusterer can, once it has more than `most_nodes` nodes or
    `most_words` words. When more than the share `newcomers` of all nodes is in no group, these are clustered by themselves.
    """

    tree: str
    level: int
    clusterer: Clusterer
    most_nodes: int
    most_words: int
    newcomers: float

    def regroup(self, groups: Grouped, nodes: Level) -> Iterator[Group]:
        """What is new or has other children, in no order: with that, every node is in at least one group, if there is a group at
        all. A group that was there keeps its id.
        """
        loose, clusters = ungrouped(groups, nodes), Groups.of([])
        if not len(groups) or len(loose) > self.newcomers * len(nodes):
            clusters = self._clusters(loose, nodes)
            loose = _without(loose, clusters.rows, len(nodes))
        if not len(loose) and not len(clusters):
            return
        members = self._members(groups, clusters, nodes)
        homes = _nearest(loose, members.centres(nodes), nodes) if len(loose) and len(members) else loose[:0]
        whole = rows_among(members.ids, groups.ids) < 0
        whole[homes] = False
        for number in map(int, np.flatnonzero(whole)):
            yield Group(members.name(number), nodes.names(members.of(number)))
        loose, taken = loose[np.argsort(homes, kind="stable")], Taken(groups.ids, members.ids)
        numbers, counts = np.unique(homes, return_counts=True)
        ends = np.cumsum(counts)
        for number, first, last in np.stack([numbers, ends - counts, ends], axis=1)[::-1].tolist():
            newcomers = loose[first:last]
            name, rows = members.name(number), np.union1d(members.of(number), newcomers)
            before = Group(name, tuple(groups.weights_of(name)))
            parts = self._split(name, rows, nodes.absent(before.children), nodes, taken)
            yield from (part for part in parts if part != before)

    def _members(self, groups: Grouped, clusters: Groups, nodes: Level) -> _Members:
        """Those of `groups`, and of new groups, each of which is a cluster."""

        def portions() -> Iterator[NDArray[np.void]]:
            for part in groups.parts():
                rows = nodes.rows_of(part.members)
                yield _members(part.ids[part.numbers[rows >= 0]], rows[rows >= 0])
            taken = Taken(groups.ids)
            for some in clusters.parts(TOGETHER):
                ids = id_rows(group_id(self.tree, self.level, nodes.names(rows), taken) for rows in some.each())
                yield _members(np.repeat(ids, np.diff(some.starts)), some.rows)

        found = in_order(_MEMBER, portions())
        return _Members(*runs_of(found["group"]), found["row"])

    def _clusters(self, rows: Rows, nodes: Level) -> Groups:
        """Groups of at least two of some rows (rising), without repeats; a row may be in several groups or in none."""
        if len(rows) < SMALLEST_GROUP:
            return Groups.of([])
        found = self.clusterer.cluster(nodes.vectors(rows), nodes.words[rows])
        proper = found.where(np.diff(found.starts) >= SMALLEST_GROUP)
        return Groups(rows[proper.rows], proper.starts)

    def _split(self, group: str, rows: Rows, absent: list[str], nodes: Level, taken: Taken) -> Iterator[Group]:
        """A group, or what it is divided into where it is too large: the largest part keeps its id, and with it the parents, and
        the children that are not among the nodes.
        """
        waiting = [(group, rows, absent)]
        while waiting:
            group, rows, absent = waiting.pop()
            parts = self._parts(rows, nodes) if self._too_large(rows, absent, nodes) else []
            if not parts:
                yield Group(group, tuple(sorted([*nodes.names(rows), *absent])))
                continue
            for part in parts[1:]:
                name = group_id(self.tree, self.level, nodes.names(part), taken)
                taken.add(name)
                waiting.append((name, part, []))
            waiting.append((group, parts[0], absent))

    def _too_large(self, rows: Rows, absent: Sequence[str], nodes: Level) -> bool:
        return len(rows) + len(absent) > self.most_nodes or int(nodes.words[rows].sum()) > self.most_words

    def _parts(self, rows: Rows, nodes: Level) -> list[Rows]:
        """A group's rows in parts that are each smaller than the whole, the largest first; none if it is not divided."""
        clusters = self._clusters(rows, nodes)
        parts = list(clusters.each())
        loose = np.setdiff1d(rows, clusters.rows)
        if len(loose) and parts:
            homes = _nearest(loose, middles(nodes.gathered(clusters.rows), clusters.starts[:-1]), nodes)
            parts = [np.union1d(part, loose[homes == number]) for number, part in enumerate(parts)]
        if any(len(part) == len(rows) for part in parts):
            return []
        return sorted(parts, key=lambda part: (-len(part), part.tolist()))


def _without(rows: Rows, others: Rows, count: int) -> Rows:
    """Those rows that are not among others, of `count` in all."""
    left = np.ones(count, np.bool_)
    left[others] = False
    return rows[left[rows]]


def _members(groups: NDArray[np.bytes_], rows: Rows) -> NDArray[np.void]:
    """Rows of `_MEMBER`."""
    found = np.empty(len(rows), _MEMBER)
    found["group"], found["row"] = groups, rows
    return found


def _nearest(rows: Rows, centres: FloatMatrix, nodes: Level) -> Rows:
    """The number of the centre that is nearest to each of some nodes, the first of equal ones."""
    found = np.zeros(len(rows), np.int32)
    for start in range(0, len(rows), _BLOCK):
        vectors = nodes.matrix[rows[start : start + _BLOCK]]
        best = np.full(len(vectors), -np.inf, np.float32)
        for first in range(0, len(centres), _CENTRES):
            likeness = vectors @ centres[first : first + _CENTRES].T
            nearest = np.argmax(likeness, axis=1)
            values = likeness[np.arange(len(vectors)), nearest]
            nearer = values > best
            found[start : start + _BLOCK][nearer] = first + nearest[nearer]
            best[nearer] = values[nearer]
    return found
