"""The nearest rows of rows, by cosine: exact where there are few, within neighbouring cells where there are many.

The exact way costs a product of all with all. Above `exact_up_to` rows, spherical k-means cuts them into cells of about CELL
rows, and a row is compared with those of the `probes` cells nearest to it: time grows with the number of rows, and a few
neighbours are missed. Which way is taken depends on the number of rows alone, so that a stopped build comes to the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import HERE, Executor, Work
from hoptrail.models.encoder import FloatMatrix

Rows = NDArray[np.int32]

CELL = 400
"""Rows of a cell on average; none has more than OVERFULL times as many, whatever repeats itself."""

OVERFULL = 4
ROUNDS = 8
SAMPLE = 40
"""k-means: rounds, and rows a cell that it learns from."""

PART = 25_000
"""Rows whose neighbours in several cells are held at a time."""

HELD = 1 << 21
"""Edges that are held before those are dropped that are not the best: 32 MiB."""

BLOCK = 1 << 23
"""Cosines held at a time: 32 MiB."""

DECIMALS = 100_000
"""Cosines are compared to five decimals: what differs by rounding alone, as repeated sentences do, is a tie."""


Block = tuple[Rows, Rows]
"""Rows and those that they are compared with, both rising."""


@dataclass(frozen=True, slots=True)
class Directed:
    """Edges from `sources` to `targets`, arrays of one length."""

    sources: Rows
    targets: Rows
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Nearest:
    """Finds the `count` nearest other rows of `vectors` (unit length), or all others where there are fewer.

    Ties go to the lower row. `pause` is called between blocks, which are compared on `executor`.
    """

    vectors: FloatMatrix
    count: int
    exact_up_to: int
    probes: int
    seed: int
    pause: Callable[[], None] = lambda: None
    executor: Executor = HERE

    def of(self, rows: Rows) -> Directed:
        """Edges from each of `rows` (rising) to its nearest."""
        size = len(self.vectors)
        if size <= self.exact_up_to:
            return joined(list(self.executor.map(self._work, self._blocks(rows, np.arange(size, dtype=np.int32)))))
        parts = (rows[start : start + PART] for start in range(0, len(rows), PART))
        return joined([self._in_cells(part) for part in parts])

    def _in_cells(self, rows: Rows) -> Directed:
        probed = self._cells.near(self.vectors[rows], self.probes)
        blocks = (
            block
            for cell, members in enumerate(self._cells.members)
            for block in self._blocks(rows[(probed == cell).any(axis=1)], members)
        )
        return self._best(self.executor.map(self._work, blocks))

    def _best(self, parts: Iterable[Directed]) -> Directed:
        """The best of all edges, of which about HELD are kept at a time."""
        waiting: list[Directed] = []
        room = HELD
        for part in parts:
            waiting.append(part)
            room -= len(part.sources)
            if room < 0:
                waiting, room = [self._best_of(waiting)], HELD
        return self._best_of(waiting)

    def _best_of(self, parts: list[Directed]) -> Directed:
        edges = joined(parts)
        return best_of(edges, self.count, edges.targets)

    def _blocks(self, rows: Rows, candidates: Rows) -> Iterator[Block]:
        step = max(1, BLOCK // max(1, len(candidates)))
        for start in range(0, len(rows), step):
            self.pause()
            yield rows[start : start + step], candidates

    @cached_property
    def _work(self) -> Work[Block, Directed]:
        """One for all blocks, so that the vectors travel once."""
        return Work("comparing", partial(_strongest, self.vectors, self.count), _name)

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of(self.vectors, self.seed)


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows by where they lie: `members` of each cell, rising, and its centre. Parts of an overfull cell have one centre."""

    members: tuple[Rows, ...]
    centres: FloatMatrix

    @classmethod
    def of(cls, vectors: FloatMatrix, seed: int) -> Cells:
        centres = _learnt_centres(vectors, max(1, len(vectors) // CELL), seed)
        homes = _nearest_centres(vectors, centres)
        order = np.argsort(homes, kind="stable").astype(np.int32)
        parts: list[Rows] = []
        owners: list[int] = []
        for centre, members in enumerate(np.split(order, np.searchsorted(homes[order], np.arange(1, len(centres))))):
            for start in range(0, len(members), CELL * OVERFULL):
                parts.append(members[start : start + CELL * OVERFULL])
                owners.append(centre)
        return cls(tuple(parts), centres[owners])

    def near(self, vectors: FloatMatrix, probes: int) -> NDArray[np.intp]:
        """The `probes` cells nearest to each vector, or all: shape (len(vectors), probes)."""
        probes = min(probes, len(self.members))
        step = max(1, BLOCK // len(self.members))
        blocks = [
            # Copied, because a view would keep the order of all cells.
            np.argpartition(-(vectors[start : start + step] @ self.centres.T), probes - 1, axis=1)[:, :probes].copy()
            for start in range(0, len(vectors), step)
        ]
        return np.concatenate(blocks)


def is_among(numbers: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of `numbers` are among `others`, which rise."""
    if not len(others):
        return np.zeros(len(numbers), dtype=bool)
    places = np.searchsorted(others, numbers)
    places[places == len(others)] = 0
    found: NDArray[np.bool_] = others[places] == numbers
    return found


def joined(parts: list[Directed]) -> Directed:
    if not parts:
        none = np.zeros(0, dtype=np.int32)
        return Directed(none, none, np.zeros(0))
    return Directed(
        np.concatenate([part.sources for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def best_of(edges: Directed, count: int, ties: NDArray[np.signedinteger[Any]]) -> Directed:
    """The `count` edges of greatest weight from each source; among equals those of least `ties`, then of least target."""
    order = np.lexsort((edges.targets, ties, -edges.weights, edges.sources))
    kept = order[_rank_in_group(edges.sources[order]) < count]
    return Directed(edges.sources[kept], edges.targets[kept], edges.weights[kept])


def _name(block: Block) -> str:
    return f"rows {block[0][0]} to {block[0][-1]} with {len(block[1])} others"


def _strongest(vectors: FloatMatrix, count: int, block: Block) -> Directed:
    """Edges from rows to the `count` nearest of the candidates that are not the row itself."""
    rows, candidates = block
    cosines = np.rint((vectors[rows] @ vectors[candidates].T) * DECIMALS)
    places = np.minimum(np.searchsorted(candidates, rows), len(candidates) - 1)
    own = candidates[places] == rows
    cosines[np.flatnonzero(own), places[own]] = -np.inf
    count = min(count, len(candidates))
    least = np.partition(cosines, -count, axis=1)[:, -count][:, np.newaxis]
    sources, columns = np.nonzero((cosines >= least) & (cosines > -np.inf))
    values = cosines[sources, columns]
    ties = values == least[sources, 0]
    room = count - np.bincount(sources[~ties], minlength=len(rows))
    kept = ~ties
    kept[ties] = _rank_in_group(sources[ties]) < room[sources[ties]]
    return Directed(rows[sources[kept]], candidates[columns[kept]], values[kept].astype(np.float64) / DECIMALS)


def _rank_in_group(groups: NDArray[np.signedinteger[Any]]) -> NDArray[np.intp]:
    """How many of the same group stand before each; `groups` is rising."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


def _learnt_centres(vectors: FloatMatrix, count: int, seed: int) -> FloatMatrix:
    """Spherical k-means on a sample. A centre that nothing is near to stays where it was."""
    chance = np.random.default_rng(seed)
    size = min(len(vectors), count * SAMPLE)
    sample = vectors[np.sort(chance.choice(len(vectors), size, replace=False))]
    centres = sample[np.sort(chance.choice(size, count, replace=False))]
    for _ in range(ROUNDS):
        homes = _nearest_centres(sample, centres)
        order = np.argsort(homes, kind="stable")
        present, starts = np.unique(homes[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[present] = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres[present])
    return centres


def _nearest_centres(vectors: FloatMatrix, centres: FloatMatrix) -> NDArray[np.intp]:
    step = max(1, BLOCK // len(centres))
    blocks = [np.argmax(vectors[start : start + step] @ centres.T, axis=1) for start in range(0, len(vectors), step)]
    return np.concatenate(blocks)
