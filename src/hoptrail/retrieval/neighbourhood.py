"""A neighbourhood graph as retrieval walks it: who is next to a passage, nearest first.

Read whole into arrays, once a snapshot; or looked up step by step where the corpus is so large that its vectors are searched
by the store's index (`Snapshot.searches_vectors`), so that memory does not grow with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import UsageError
from hoptrail.store.columns import Rows
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Kind, Link


class Neighbourhood(Protocol):
    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        """The `most` nearest neighbours of each passage, or as many as are stored.

        Raises:
            UsageError: one is not a passage of this graph.
        """
        ...


def open_neighbourhood(snapshot: Snapshot, structure: str) -> Neighbourhood:
    """The graph that the structure of this name has stored."""
    if snapshot.searches_vectors(Kind.PASSAGE):
        return LookedUpNeighbourhood(snapshot, structure)
    return snapshot.derived(("neighbourhood", structure), lambda: HeldNeighbourhood.read(snapshot, structure))


@dataclass(frozen=True)
class HeldNeighbourhood:
    """`ids` in rising order; the neighbours of row r stand at `starts[r]` to `starts[r + 1]` of `targets`, nearest first."""

    ids: Sequence[str]
    starts: NDArray[np.intp]
    targets: Rows

    @classmethod
    def read(cls, snapshot: Snapshot, structure: str) -> HeldNeighbourhood:
        ids = snapshot.vectors(Kind.PASSAGE).ids
        edges = snapshot.link_rows(structure, ids)
        order = np.lexsort((edges.targets, -edges.weights, edges.sources))
        order = order[edges.sources[order] != edges.targets[order]]
        return cls(ids, np.searchsorted(edges.sources[order], np.arange(len(ids) + 1)), edges.targets[order])

    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        return {name: self._around(name, most) for name in names}

    def _around(self, name: str, most: int) -> tuple[str, ...]:
        row = bisect_left(self.ids, name)
        if row == len(self.ids) or self.ids[row] != name:
            raise _stranger(name, len(self.ids))
        targets = self.targets[self.starts[row] : self.starts[row + 1]][:most]
        return tuple(self.ids[target] for target in targets.tolist())


@dataclass(frozen=True)
class LookedUpNeighbourhood:
    """The same by look-ups, one for all passages that are asked for together."""

    snapshot: Snapshot
    structure: str

    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        found: defaultdict[str, list[Link]] = defaultdict(list)
        for link in self.snapshot.links_from(set(names), self.structure):
            found[link.source].append(link)
        if alone := set(names) - found.keys():
            strangers = alone - {unit.id for unit in self.snapshot.units(Kind.PASSAGE, alone)}
            if strangers:
                raise _stranger(min(strangers), self.snapshot.count(Kind.PASSAGE))
        return {name: _nearest(found[name], most) for name in names}


def _nearest(links: Sequence[Link], most: int) -> tuple[str, ...]:
    """A link to itself closes a passage's list (`structures/neighbours.py`)."""
    others = (link for link in links if link.target != link.source)
    ordered = sorted(others, key=lambda link: (-link.weight, link.target))
    return tuple(link.target for link in ordered[:most])


def _stranger(name: str, size: int) -> UsageError:
    return UsageError(f"{name!r} is not among the {size:,} passages of this graph.")
