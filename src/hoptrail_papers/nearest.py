"""Nearest neighbours of rows by cosine: exact for few rows, within nearby cells for many.

Above `exact_up_to` rows, a row is compared with those in the `probes` cells nearest to it: that takes n log n, and misses a few
neighbours. The choice depends on the number of rows alone, so that a stopped build has the same result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Rows, bounds_of, joined, paired, rows_of, unpaired
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work
from hoptrail.models.encoder import FloatMatrix

PARTS = 16
PART = 25_000
"""Rows are processed in parts of a PARTS-th of all rows, or of PART rows if that is more: each part reads all vectors again, so
the number of parts must not grow with the corpus."""

BLOCK = 1 << 23  # cosines in memory at a time: 32 MiB
PROBES = 24  # cells to look into where speed is not all
CELL = 400  # rows of a cell on average; none has more than OVERFULL times as many, whatever repeats itself
OVERFULL = 4

SETTLING_ROUNDS = 2
ROUNDS = 8
SAMPLE = 40  # k-means: rounds, and rows a centre that it learns from
CENTRES_BLOCK = 1 << 22  # cosines with centres in memory at a time: 16 MiB
DECIMALS = 100_000
"""Cosines are compared to five decimals: what differs by rounding alone, as repeated sentences do, is a tie."""

Least = NDArray[np.float64]
"""The least weight of each row at which it wants an edge back to a row that is compared with it; inf for none."""

Block = tuple[Rows, Rows, Least | None]
"""Rows in any order, the rows to compare them with, sorted, and `Least` of the latter if edges back are wanted."""


@dataclass(frozen=True)
class Nearest:
    """Finds the `count` nearest other rows of `vectors` (unit length), or all others if there are fewer.
    Ties go to the lower row. `pause` is called between blocks, which are compared on `executor`.
    """

    vectors: FloatMatrix
    count: int
    exact_up_to: int
    probes: int
    pause: Callable[[], None] = lambda: None
    executor: Executor = LOCAL_EXECUTOR

    def of(self, rows: Rows, least: Least | None = None) -> Directed:
        """Edges from each of `rows` (sorted) to its nearest; with `least` also the edges that other rows want to `rows`, which
        want none themselves: their `least` is inf.
        """
        return joined(list(self.portions(rows, least)))

    def portions(self, rows: Rows, least: Least | None = None) -> Iterator[Directed]:
        """The edges of `of` in portions: all edges from one of `rows` are in the same portion."""
        size = len(self.vectors)
        if size <= self.exact_up_to:
            yield self._best(self._blocks(rows, np.arange(size, dtype=np.int32), least))
            return
        ordered = rows[np.lexsort((rows, self._cells.homes[rows]))]  # those of a cell together
        step = max(PART, -(-size // PARTS))
        for part in (ordered[start : start + step] for start in range(0, len(ordered), step)):
            found = self._best(self._blocks_in_cells(part, least))
            yield found if least is None else self._probed(found, np.flatnonzero(least[found.sources] < np.inf))

    def _best(self, blocks: Iterator[Block]) -> Directed:
        return best_of(joined(list(self.executor.map(self._work, blocks))), self.count)

    def _blocks_in_cells(self, rows: Rows, least: Least | None) -> Iterator[Block]:
        """For each cell, the `rows` to compare with its members."""
        cells = self._cells.near(self.vectors, rows, self.probes)
        places = np.broadcast_to(np.arange(len(rows))[:, np.newaxis], cells.shape)
        visits = np.sort(paired(cells, places).ravel())
        bounds = itertools.pairwise(bounds_of(visits, len(self._cells.members)).tolist())
        for members, (start, end) in zip(self._cells.members, bounds, strict=True):
            yield from self._blocks(rows[unpaired(visits[start:end])[1]], members, least)

    def _probed(self, edges: Directed, back: NDArray[np.intp]) -> Directed:
        """Drop edges at the positions `back` whose source would not search the cell of its target: the result must not depend on
        which of the two rows came first.
        """
        if not len(back):
            return edges
        rows, places = np.unique(edges.sources[back], return_inverse=True)
        probed = self._cells.near(self.vectors, rows, self.probes)
        homes = self._cells.homes[edges.targets[back]]
        kept = np.ones(len(edges.sources), dtype=bool)
        for probe in probed.T:  # one column at a time, to limit memory
            missed = probe[places] != homes
            back, places, homes = back[missed], places[missed], homes[missed]
        kept[back] = False
        return edges.where(kept)

    def _blocks(self, rows: Rows, candidates: Rows, least: Least | None) -> Iterator[Block]:
        step = max(1, BLOCK // max(1, len(candidates)))
        for start in range(0, len(rows), step):
            self.pause()
            yield rows[start : start + step], candidates, None if least is None else least[candidates]

    @cached_property
    def _work(self) -> Work[Block, Directed]:
        """One work for all blocks, so that the vectors are sent to other processes once."""
        function = partial(_strongest, self.vectors, self.count)
        return Work("comparing", function, lambda it: f"rows {it[0].min()} to {it[0].max()} with {len(it[1])} others")

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of(self.vectors)


def best_of(edges: Directed, count: int, ties: NDArray[np.signedinteger[Any]] | None = None) -> Directed:
    """The `count` edges of greatest weight from each source; among equal ones those with the least `ties`, then target."""
    order = np.lexsort((edges.targets, *([] if ties is None else [ties]), -edges.weights, edges.sources))
    return edges.where(order[_rank_in_group(edges.sources[order]) < count])


def _strongest(vectors: FloatMatrix, count: int, block: Block) -> Directed:
    """Edges from rows to the `count` nearest candidates other than the row itself, and the edges wanted back."""
    rows, candidates, least_back = block
    cosines = vectors[rows] @ vectors[candidates].T
    cosines *= DECIMALS
    np.rint(cosines, out=cosines)
    places = rows_of(rows, candidates)
    own = places >= 0
    cosines[np.flatnonzero(own), places[own]] = -np.inf
    count = min(count, len(candidates))
    least = np.partition(cosines, -count, axis=1)[:, -count][:, np.newaxis]
    np.maximum(least, np.finfo(cosines.dtype).min, out=least)  # excludes the row itself
    sources, columns = np.nonzero(cosines >= least)
    values = cosines[sources, columns]
    ties = values == least[sources, 0]
    room = count - np.bincount(sources[~ties], minlength=len(rows))
    kept = ~ties
    kept[ties] = _rank_in_group(sources[ties]) < room[sources[ties]]
    forward = Directed(rows[sources[kept]], candidates[columns[kept]], values[kept].astype(np.float64) / DECIMALS)
    if least_back is None or np.isinf(least_back).all():
        return forward
    sources, columns = np.nonzero(cosines >= np.rint(least_back * DECIMALS))
    values = cosines[sources, columns]
    return joined([forward, Directed(candidates[columns], rows[sources], values.astype(np.float64) / DECIMALS)])


def _rank_in_group(groups: NDArray[np.signedinteger[Any]]) -> NDArray[np.intp]:
    """The position of each element within its group; `groups` is sorted."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)


@dataclass(frozen=True)
class Cells:
    """Rows of vectors in cells by where they lie: `members` of each cell, rising, and its centre (one for the parts of an
    overfull cell). Spherical k-means on a sample finds the centres. Then all rows go where they are nearest, and the centres to
    the middle of their rows, twice. With a million rows that costs as much again as comparing rows within cells.
    """

    members: tuple[Rows, ...]
    centres: FloatMatrix

    @classmethod
    def of(cls, vectors: FloatMatrix) -> Cells:
        """Cells of about CELL rows, always the same ones; each row is in one cell."""
        centres = _learnt_centres(vectors)
        homes = np.zeros(len(vectors), np.int32)
        for _ in range(SETTLING_ROUNDS):
            centres = _settled(vectors, centres, homes)
        most = CELL * OVERFULL
        order = np.argsort(homes, kind="stable").astype(np.int32)
        members: list[Rows] = []
        owners: list[int] = []
        for cell, rows in enumerate(np.split(order, np.searchsorted(homes[order], np.arange(1, len(centres))))):
            members += [rows[start : start + most] for start in range(0, len(rows), most)]
            owners += [cell] * (len(members) - len(owners))
        return cls(tuple(members), centres[owners])

    @cached_property
    def homes(self) -> Rows:
        """The cell of each row."""
        homes = np.zeros(sum(map(len, self.members)), np.int32)
        for cell, rows in enumerate(self.members):
            homes[rows] = cell
        return homes

    def near(self, vectors: FloatMatrix, rows: Rows, probes: int) -> Rows:
        """The `probes` cells nearest to the vector of each of `rows`, in no order, or all where there are fewer."""
        count = min(probes, len(self.members))
        nearest = np.zeros((len(rows), count), np.int32)
        for block in _blocks(len(rows), len(self.members)):
            cosines = np.rint((vectors[rows[block]] @ self.centres.T) * DECIMALS)
            nearest[block] = np.argpartition(cosines, -count, axis=1)[:, -count:]
        return nearest


def _learnt_centres(vectors: FloatMatrix) -> FloatMatrix:
    """Spherical k-means on a sample of the vectors, which has a cell's share of them for each centre."""
    chance = np.random.default_rng(0)
    count = max(1, len(vectors) // CELL)
    size = min(len(vectors), count * SAMPLE)
    sample = vectors[np.sort(chance.choice(len(vectors), size, replace=False))]
    centres = sample[np.sort(chance.choice(size, count, replace=False))]
    for _ in range(ROUNDS):
        centres = _settled(sample, centres, np.zeros(size, np.int32))
    return centres


def _settled(vectors: FloatMatrix, centres: FloatMatrix, homes: Rows) -> FloatMatrix:
    """Enter the nearest centre of each vector in `homes`. Returns for each centre the middle of what is near to it, or itself."""
    sums = np.zeros_like(centres)
    for block in _blocks(len(vectors), len(centres)):
        own = np.rint((vectors[block] @ centres.T) * DECIMALS).argmax(axis=1)
        homes[block] = own
        order = np.argsort(own, kind="stable")
        present, firsts = np.unique(own[order], return_index=True)
        sums[present] += np.add.reduceat(vectors[block][order], firsts, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    middles: FloatMatrix = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return middles


def _blocks(rows: int, centres: int) -> Iterator[slice]:
    step = max(1, CENTRES_BLOCK // centres)
    return (slice(start, start + step) for start in range(0, rows, step))
