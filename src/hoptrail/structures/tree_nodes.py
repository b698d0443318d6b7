"""What the store holds for trees: the nodes without their texts, and the groups of every tree.

Links are the groups: one leads from a group to each of its children. A unit of kind summary is the finished text of the
group of the same id. So nothing is kept beside the store, and a stopped build finds its state there. Levels are counted as
the paper counts them: leaves stand on level 1, summaries of leaves on level 2; a group's id says its level.

Knows the store; does not know how groups are found or summaries are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.executing.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.names import ENTITY_TREE, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.types import Kind, Link, Span, Unit, content_id

TREES = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
"""The kinds of links that summaries hang on."""
HIGHEST_LEVEL = 9
"""A level is one digit of an id."""

WRITTEN = 65_536
"""Links held as records at a time."""

_DIGITS = 5
"""Of a link's weight: those that do not depend on the machine's order of adding."""

Children = dict[str, tuple[str, ...]]
"""The ids of a group's children, rising, by the group's id."""
Weights = dict[str, float]
"""The weights of the links from one group, by child."""


def group_id(tree: str, level: int, children: Iterable[str], taken: Collection[str] = ()) -> str:
    """The id of a new group of `level` with these children (ids, rising): not one of those `taken`.

    It stands for the group, whose children may change later; another group may then be formed of the first ones.
    """
    parts = [tree, *children]
    while (found := content_id(f"s{level}", *parts)) in taken:
        parts.append("again")
    return found


def level_of(group: str) -> int:
    return int(group[1])


@dataclass(frozen=True, slots=True)
class Node:
    """A unit as trees see it. `places` are its sources, each a line: a fifth of what they take as records, of which an index
    may have millions.
    """

    kind: Kind
    places: str
    words: int

    @classmethod
    def of(cls, unit: Unit) -> Node:
        return cls(unit.kind, "\n".join(map(_line, unit.sources)), len(unit.text.split()))

    @property
    def first(self) -> Span:
        """The first of its sources."""
        document, start, end = self.places.partition("\n")[0].rsplit("\t", 2)
        return Span(document, int(start), int(end))


def _line(span: Span) -> str:
    return f"{span.document}\t{span.start}\t{span.end}"


class Level:
    """The nodes that the groups of one level are made of: those that have a text, by rising id.

    `vectors` gives their vectors, shape (len(ids), dimension); it is asked once, and only when they are needed.
    """

    def __init__(self, ids: Sequence[str], words: Sequence[int], vectors: Callable[[], FloatMatrix]) -> None:
        self.ids = tuple(ids)
        self.words = tuple(words)
        self.rows = {node: row for row, node in enumerate(self.ids)}
        self._vectors = vectors

    @cached_property
    def matrix(self) -> FloatMatrix:
        return self._vectors()

    def centroid(self, children: Iterable[str]) -> FloatMatrix:
        """Unit vector of shape (dimension,) in the middle of those children that are here: at least one."""
        return _unit_length(self.matrix[[self.rows[child] for child in children if child in self.rows]].sum(axis=0))


class Grove:
    """The nodes of the kinds `leaves` and all summaries, the groups of all trees, and the way to change them.

    What is written is seen here at once; the vectors of new summaries after `renew`.
    """

    def __init__(self, writer: Writer, leaves: Iterable[Kind]) -> None:
        self._writer = writer
        self._snapshot = writer.snapshot()
        units = (unit for kind in (*leaves, Kind.SUMMARY) for unit in self._snapshot.units(kind))
        self.nodes = {sys.intern(unit.id): Node.of(unit) for unit in units}
        self._trees = {tree: _weights(self._snapshot.links(tree)) for tree in TREES}

    def renew(self) -> None:
        self._snapshot = self._writer.snapshot()

    def of_kind(self, kind: Kind) -> set[str]:
        return {id_ for id_, node in self.nodes.items() if node.kind is kind}

    def groups(self, tree: str, level: int | None = None) -> Children:
        """The groups of a tree, all or those of one level, whether or not their summaries are made."""
        found = {group: weights for group, weights in self._trees[tree].items() if level in {None, level_of(group)}}
        return {group: tuple(sorted(found[group])) for group in sorted(found)}

    def members(self, tree: str, level: int | None = None) -> set[str]:
        """The children of those groups."""
        return {child for children in self.groups(tree, level).values() for child in children}

    def vectors(self, ids: tuple[str, ...]) -> FloatMatrix:
        """The stored vectors of nodes, whose ids rise: shape (len(ids), dimension)."""
        return self._snapshot.vectors_in_order(sorted({self.nodes[id_].kind for id_ in ids}), ids)

    def units(self, ids: Collection[str]) -> dict[str, Unit]:
        """Nodes with their texts."""
        wanted: dict[Kind, set[str]] = {}
        for id_ in ids:
            wanted.setdefault(self.nodes[id_].kind, set()).add(id_)
        return {unit.id: unit for kind, some in wanted.items() for unit in self._snapshot.units(kind, some)}

    def entities(self) -> dict[str, tuple[str, ...]]:
        """The entities of the passages that have a stored extraction."""
        return {passage: found.entities for passage, found in self._snapshot.extractions()}

    def write_groups(self, tree: str, before: Children, after: Children, nodes: Level | None = None) -> None:
        """Let `after` take the place of `before`; a group that is left out goes with its summary.

        A new link weighs the cosine between child and centre of its group, out of `nodes`; the others keep their weights.
        """
        gone = before.keys() - after.keys()
        changed = sorted(group for group, children in after.items() if before.get(group) != children)
        weights = {group: self._weighed(self._trees[tree].get(group, {}), after[group], nodes) for group in changed}
        if gone:
            self.remove_summaries(gone)
        if regrouped := before.keys() & changed:
            self._writer.remove_links(tree, regrouped)
        links = (Link(group, child, tree, weights[group][child]) for group in changed for child in after[group])
        for batch in batched(links, WRITTEN):
            self._writer.add_links(batch)
        kept = {group: found for group, found in self._trees[tree].items() if group not in gone}
        self._trees[tree] = kept | weights

    def remove_summaries(self, ids: Collection[str]) -> None:
        """Remove summaries that have no group any more, with the links from and to them."""
        self._writer.remove_units(Kind.SUMMARY, ids)
        for id_ in ids:
            self.nodes.pop(id_, None)

    def put_summaries(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        self._writer.put_units(units, vectors)
        self.nodes.update({unit.id: Node.of(unit) for unit in units})

    def strays(self) -> set[str]:
        """Summaries whose group is gone: all its children were removed, and its links with them."""
        return self.of_kind(Kind.SUMMARY) - {group for groups in self._trees.values() for group in groups}

    def _weighed(self, known: Weights, children: Sequence[str], nodes: Level | None) -> Weights:
        weights = {child: known[child] for child in children if child in known}
        new = [child for child in children if child not in known]
        if new and nodes is not None:
            near = nodes.matrix[[nodes.rows[child] for child in new]] @ nodes.centroid(children)
            weights |= {child: round(float(cosine), _DIGITS) for child, cosine in zip(new, near, strict=True)}
        return weights


def groups_of(snapshot: Snapshot, tree: str) -> Children:
    """The groups of a tree by id."""
    return {group: tuple(sorted(children)) for group, children in _weights(snapshot.links(tree)).items()}


def centroids(groups: Mapping[str, Sequence[str]], nodes: Level) -> tuple[list[str], FloatMatrix]:
    """The groups that have a child among `nodes`, by rising id, and their unit centroids: shape (groups, dimension)."""
    rows = {group: [nodes.rows[child] for child in groups[group] if child in nodes.rows] for group in sorted(groups)}
    rows = {group: found for group, found in rows.items() if found}
    if not rows:
        return [], nodes.matrix[:0]
    starts = np.cumsum([0, *(len(found) for found in rows.values())])[:-1]
    every = np.concatenate([np.array(found) for found in rows.values()])
    return list(rows), _unit_length(np.add.reduceat(nodes.matrix[every], starts, axis=0))


def _unit_length(vectors: FloatMatrix) -> FloatMatrix:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatMatrix = vectors / np.maximum(norms, np.finfo(np.float32).tiny)
    return scaled


def _weights(links: Iterable[Link]) -> dict[str, Weights]:
    found: dict[str, Weights] = {}
    for link in links:
        found.setdefault(link.source, {})[sys.intern(link.target)] = link.weight
    return found
