"""The groups of a tree as columns: which nodes are in which group, by their ids.


Links are the groups: one leads from a group to each of its children. Levels are counted as the paper counts them: leaves stand
on level 1, summaries of leaves on level 2; a group's id says its level.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import LINK, id_rows, in_order, ranges, rows_among
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.executing.executor import batched
from hoptrail.types import content_id

LEAVES = 1
"""The level of the leaves: summaries start on the one above."""

HIGHEST_LEVEL = 9
"""A level is one digit of an id."""

TOGETHER = 256
"""Groups that are held as records at a time: high up, a group has thousands of sources."""

MANY = 1 << 14
"""Groups whose children are looked up at a time."""

Ids = NDArray[np.bytes_]
"""Ids as rows of `ID`, rising, none twice."""


def group_id(tree: str, level: int, children: Iterable[str], taken: Container[str] = ()) -> str:
    """The id of a new group of `level` with these children (ids, rising): not one of those `taken`.

    It stands for the group, whose children may change later; another group may then be formed of the first ones.
    """
    parts = [tree, *children]
    while (found := content_id(f"s{level}", *parts)) in taken:
        parts.append("again")
    return found


def level_of(group: str) -> int:
    return int(group[1])


def texts(ids: NDArray[np.bytes_]) -> list[str]:
    """Ids as strings."""
    return [id_.decode() for id_ in ids.tolist()]


@dataclass(frozen=True, slots=True)
class Group:
    """Ids of a group and of its children, rising."""

    id: str
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups by rising id. The children of group i, rising, stand at `starts[i]` to `starts[i + 1]` of `children`, and beside
    them the weights of their links.
    """

    ids: Ids
    starts: NDArray[np.int64]
    """One more than there are groups; the first may be above 0."""
    children: NDArray[np.bytes_]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, links: NDArray[np.void]) -> Grouped:
        """The groups that links, rows of `LINK` in order, lead from."""
        ids, starts = runs_of(links["source"])
        return cls(ids, starts, links["target"], links["weight"])

    @classmethod
    def gathered(cls, groups: Iterable[Group]) -> Grouped:
        """Some that come in any order. Nothing is known of their weights."""

        def portions() -> Iterator[NDArray[np.void]]:
            for some in batched(groups, TOGETHER):
                links = np.zeros(sum(len(group.children) for group in some), LINK)
                links["source"] = np.repeat(
                    id_rows(group.id for group in some), [len(group.children) for group in some]
                )
                links["target"] = id_rows(child for group in some for child in group.children)
                yield links

        return cls.of(in_order(LINK, portions()))

    def __len__(self) -> int:
        return len(self.ids)

    def level(self, level: int) -> Grouped:
        """Those of one level."""
        digit = ord(str(level))
        first, last = (int(np.searchsorted(self.ids, f"s{chr(sign)}".encode())) for sign in (digit, digit + 1))
        return self.part(first, last)

    def part(self, first: int, last: int) -> Grouped:
        """Those with these numbers."""
        return Grouped(self.ids[first:last], self.starts[first : last + 1], self.children, self.weights)

    def some(self, numbers: NDArray[np.integer]) -> Grouped:
        """A few of them, with these numbers, rising."""
        sizes = self.starts[numbers + 1] - self.starts[numbers]
        _, every = ranges(self.starts[numbers], sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Grouped(self.ids[numbers], starts, self.children[every], self.weights[every])

    def parts(self, most: int | None = None) -> Iterator[Grouped]:
        """All of them in order, `most` or else MANY at a time."""
        most = most or MANY
        return (self.part(first, min(first + most, len(self))) for first in range(0, len(self), most))

    @property
    def members(self) -> NDArray[np.bytes_]:
        """The children of all of them, one group's after the other's."""
        return self.children[self.starts[0] : self.starts[-1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many children each has."""
        return np.diff(self.starts)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of the group of each of `members`."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def weights_of(self, id_: str) -> dict[str, float]:
        """The weights of the links from one group, by child, rising; none where the group is not here."""
        [number] = rows_among(id_rows([id_]), self.ids).tolist()
        place = slice(*self.starts[number : number + 2].tolist()) if number >= 0 else slice(0)
        return dict(zip(texts(self.children[place]), self.weights[place].tolist(), strict=True))

    def __iter__(self) -> Iterator[Group]:
        for part in self.parts(TOGETHER):
            children = texts(part.members)
            places = pairwise((part.starts - part.starts[0]).tolist())
            for id_, (first, last) in zip(texts(part.ids), places, strict=True):
                yield Group(id_, tuple(children[first:last]))


def groups_of(snapshot: Snapshot, tree: str) -> Iterator[Group]:
    """The groups of a tree by rising id."""
    return iter(Grouped.of(snapshot.graph.in_order(tree)))


def runs_of(rising: NDArray[np.bytes_]) -> tuple[Ids, NDArray[np.int64]]:
    """Each of some ids once, with where it begins, and the end."""
    first = np.ones(len(rising), dtype=bool)
    first[1:] = rising[1:] != rising[:-1]
    starts = np.flatnonzero(first)
    return rising[starts], np.append(starts, len(rising))


class Taken(Container[str]):
    """Ids that groups have: those of some columns, and those that were added."""

    def __init__(self, *columns: Ids) -> None:
        self._columns = columns
        self._added: set[str] = set()

    def add(self, id_: str) -> None:
        self._added.add(id_)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._added or any(rows_among(id_rows([str(id_)]), column)[0] >= 0 for column in self._columns)
