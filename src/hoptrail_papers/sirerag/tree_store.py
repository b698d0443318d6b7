"""Growing, reading and writing trees in terms of ids: the nodes of one level, without their texts, and their groups.

Groups are stored as links, one from the group to each child; a unit of kind summary is the finished text of the group with the
same id. So the index has the whole state of a stopped build. As in the paper, leaves are on level 1 and summaries of leaves on
level 2; the id of a group contains its level.

The nodes of a level are grouped by clustering the first time, and with as few changes as possible later. Then a node without a
group joins the nearest one, so that a new leaf costs only the summaries above it. Many new nodes are clustered among themselves,
which makes fewer and better groups than distributing them. A group that has become too large is split, and the largest part keeps
its place in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import ENTITY_TREE, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.corpus.writer import Writer
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.types import Kind, Link, Span, Unit, content_id
from hoptrail_papers.sirerag.clustering import Cluster


@dataclass(frozen=True, slots=True)
class Node:
    """A unit without its text. `sources` are hashes: a summary high up in a large tree has tens of thousands of sources."""

    id: str
    words: int
    first: Span
    sources: tuple[int, ...]

    @classmethod
    def of(cls, unit: Unit) -> Node:
        return cls(unit.id, len(unit.text.split()), unit.sources[0], tuple(map(hash, unit.sources)))


Nodes = Mapping[str, Node]


class Level:
    """The nodes of which the groups of one level are made; their rows are their positions, sorted by id.
    `vectors` returns their vectors, shape (len(ids), dimension), of unit length; it is called once, when they are first needed.
    """

    def __init__(self, words: Mapping[str, int], vectors: Callable[[Sequence[str]], FloatMatrix]) -> None:
        """`words`: the number of words of each node, by id."""
        self.ids = sorted(words)
        self.words = np.array([words[id_] for id_ in self.ids], np.int64)
        self._vectors = vectors
        self._rows = {id_: row for row, id_ in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._rows

    @cached_property
    def matrix(self) -> FloatMatrix:
        """The vectors of all nodes, in the order of `ids`."""
        return self._vectors(self.ids)

    def rows(self, ids: Iterable[str]) -> Rows:
        """The rows of these ids, in their order; ids that are not on this level are left out."""
        return np.array([self._rows[id_] for id_ in ids if id_ in self._rows], np.int32)

    def names(self, rows: Rows) -> tuple[str, ...]:
        return tuple(self.ids[row] for row in rows.tolist())


LEAVES = 1  # the level of the leaves: summaries start on the one above
HIGHEST_LEVEL = 9  # a level is one digit of an id

Members = Mapping[str, Collection[str]]  # the children of groups, sorted, by the ids of the groups, sorted too

Weights = dict[str, dict[str, float]]  # `Members` with the weights of the links


def group_id(tree: str, level: int, children: Iterable[str], taken: Collection[str] = ()) -> str:
    """The id of a new group of `level` with these children (sorted ids), other than those `taken`.
    The children of a group may change later, and another group may then be made of its first ones.
    """
    parts = [tree, *children]
    while (found := content_id(f"s{level}", *parts)) in taken:
        parts.append("again")
    return found


def level_of(group: str) -> int:
    return int(group[1])


def groups_of(snapshot: Snapshot, tree: str) -> Weights:
    groups: Weights = {}
    for source, target, weight in sorted((link.source, link.target, link.weight) for link in snapshot.links(tree)):
        groups.setdefault(source, {})[target] = weight
    return groups


def members_of(groups: Members) -> set[str]:
    return {child for children in groups.values() for child in children}


TREES = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
"""The kinds of links from summaries to their children."""

KINDS = (Kind.PASSAGE, Kind.AGGREGATE, Kind.SUMMARY)  # the kinds of units that are nodes
WRITTEN = 65_536  # links written at a time
_DIGITS = 5  # decimals of the weight of a link: those that do not depend on the machine's order of summation


class TreeStore:
    """The units and the groups of all trees. Sees changes of groups at once, new summaries after `refresh`."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._trees: dict[str, Weights] = {}
        self.refresh()

    def refresh(self) -> None:
        """See everything that was written."""
        self.snapshot = self._writer.snapshot()

    def groups(self, tree: str, level: int | None = None) -> Weights:
        """The groups of a tree, all or those of one level, with or without a finished summary."""
        if tree not in self._trees:
            self._trees[tree] = groups_of(self.snapshot, tree)
        groups = self._trees[tree]
        return groups if level is None else {group: own for group, own in groups.items() if level_of(group) == level}

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """The nodes that have a text, by id."""
        return {unit.id: Node.of(unit) for unit in self.units(ids)}

    def units(self, ids: Collection[str]) -> Iterator[Unit]:
        """The units of nodes, in no order."""
        return (unit for kind in KINDS for unit in self.snapshot.units(kind, ids))

    def write_groups(self, tree: str, before: Weights, changed: Members, nodes: Level | None = None) -> None:
        """Write the groups that are new or have other children than `before`.
        The weight of a new link is the cosine between the child and the centre of its group, from `nodes`; others keep theirs.
        """
        if not changed:
            return
        self._writer.links.remove(tree, changed.keys() & before.keys())
        links = (
            Link(group, child, tree, weight)
            for group, children in sorted(changed.items())
            for child, weight in _weighted(children, before.get(group, {}), nodes)
        )
        for batch in batched(links, WRITTEN):
            self._writer.links.put(batch)
        self._trees.pop(tree, None)
        self.refresh()

    def remove_groups(self, ids: Iterable[str]) -> None:
        """Remove groups with their summaries, and the links from and to them."""
        if self._writer.remove_units(Kind.SUMMARY, ids):
            self._trees.clear()
            self.refresh()

    def remove_strays(self) -> None:
        """Remove summaries without a group: all its children were removed, and its links with them."""
        groups = {group for tree in TREES for group in self.groups(tree)}
        self.remove_groups([id_ for id_ in self.snapshot.table.ids(Kind.SUMMARY) if id_ not in groups])


def _weighted(
    children: Collection[str], known: Mapping[str, float], nodes: Level | None
) -> Iterator[tuple[str, float]]:
    """The children of a group with the weights of their links, some of which are `known`."""
    present = [child for child in children if nodes is not None and child in nodes]
    new = [place for place, child in enumerate(present) if child not in known]
    weights = dict(known)
    if nodes is not None and new:
        vectors = nodes.matrix[nodes.rows(present)]
        cosines = (vectors[new] @ unit_length(vectors.sum(axis=0))).tolist()
        weights |= {present[place]: round(cosine, _DIGITS) for place, cosine in zip(new, cosines, strict=True)}
    return ((child, weights[child]) for child in children)


SMALLEST_GROUP = 2  # a summary of a single node would only repeat it
_BLOCK = 1 << 24  # cosines of nodes with centres in memory at a time: 64 MiB

Changed = dict[str, tuple[str, ...]]  # the children, sorted, of groups that are new or have other children than before


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
