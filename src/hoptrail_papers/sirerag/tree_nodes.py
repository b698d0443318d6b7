"""The nodes of one level of a tree, without their texts, and their groups, in terms of ids.

Groups are stored as links, one from the group to each child. As in the paper, leaves are on level 1 and summaries of leaves on
level 2; the id of a group contains its level.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class Node:
    """A unit without its text. `sources` are hashes: a summary high up in a large tree has tens of thousands of sources."""

    id: str
    words: int
    first: Span
    sources: tuple[int, ...]

    @classmethod
    def of(cls, unit: Unit) -> Node:
        """The node of a unit."""
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
        """The ids of these rows."""
        return tuple(self.ids[row] for row in rows.tolist())


LEAVES = 1
"""The level of the leaves: summaries start on the one above."""

HIGHEST_LEVEL = 9
"""A level is one digit of an id."""

Members = Mapping[str, Collection[str]]
"""The children of groups, sorted, by the ids of the groups, sorted too."""

Weights = dict[str, dict[str, float]]
"""`Members` with the weights of the links."""


def group_id(tree: str, level: int, children: Iterable[str], taken: Collection[str] = ()) -> str:
    """The id of a new group of `level` with these children (sorted ids), other than those `taken`.
    The children of a group may change later, and another group may then be made of its first ones.
    """
    parts = [tree, *children]
    while (found := content_id(f"s{level}", *parts)) in taken:
        parts.append("again")
    return found


def level_of(group: str) -> int:
    """The level of a group, from its id."""
    return int(group[1])


def groups_of(snapshot: Snapshot, tree: str) -> Weights:
    """The groups of a tree."""
    groups: Weights = {}
    for source, target, weight in sorted((link.source, link.target, link.weight) for link in snapshot.links(tree)):
        groups.setdefault(source, {})[target] = weight
    return groups


def members_of(groups: Members) -> set[str]:
    """The children of all these groups."""
    return {child for children in groups.values() for child in children}
