"""The nearest rows of rows, by cosine: exact where there are few, within neighbouring cells where there are many.

The exact way costs a product of all with all. Above `exact_up_to` rows, a row is compared with those of the `probes` cells
nearest to it (`cells.py`): that takes n log n, and a few neighbours are missed. Which way is taken depends on
the number of rows alone, so that a stopped build comes to the same end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Rows, bounds_of, joined, paired, unpaired
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.vector_cells import DECIMALS, Cells

PARTS = 16
PART = 25_000
"""So many parts of all rows, or so many rows, are looked at together: each part reads all vectors again, so that their number
must not grow with the corpus."""

BLOCK = 1 << 23
"""Cosines held at a time: 32 MiB."""


Least = NDArray[np.float64]
"""Of every row the weight from which on an edge back to what it is compared with is wanted, inf for none."""

Block = tuple[Rows, Rows, Least | None]
"""Rows in any order, those that they are compared with, rising, and `Least` of the latter if edges back are wanted."""


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
    executor: Executor = LOCAL_EXECUTOR

    def of(self, rows: Rows, least: Least | None = None) -> Directed:
        """Edges from each of `rows` (rising) to its nearest; with `least` also from others to `rows` that they want."""
        return joined(list(self.portions(rows, least)))

    def portions(self, rows: Rows, least: Least | None = None) -> Iterator[Directed]:
        """The same, some of `rows` at a time: all edges from one of these come together."""
        size = len(self.vectors)
        if size <= self.exact_up_to:
            yield self._best(self._blocks(rows, np.arange(size, dtype=np.int32), least))
            return
        for part in parts_of(self._cells.together(rows), size, PART):
            found = self._best(self._blocks_in_cells(part, least))
            yield found if least is None else self._probed(found, np.flatnonzero(least[found.sources] < np.inf))

    def _best(self, blocks: Iterator[Block]) -> Directed:
        """By rising source."""
        return best_of(joined(list(self.executor.map(self._work, blocks))), self.count)

    def _blocks_in_cells(self, rows: Rows, least: Least | None) -> Iterator[Block]:
        """Of each cell those of `rows` that it is near to."""
        visits = self._visits(rows)
        bounds = itertools.pairwise(bounds_of(visits, len(self._cells.members)).tolist())
        for members, (start, end) in zip(self._cells.members, bounds, strict=True):
            yield from self._blocks(rows[unpaired(visits[start:end])[1]], members, least)

    def _visits(self, rows: Rows) -> NDArray[np.int64]:
        """The cells near to each of `rows`: cell and place in `rows` as one number each, rising."""
        cells = self._cells.near(self.vectors, rows, self.probes)
        places = np.broadcast_to(np.arange(len(rows))[:, np.newaxis], cells.shape)
        return np.sort(paired(cells, places).ravel())

    def _probed(self, edges: Directed, back: NDArray[np.intp]) -> Directed:
        """Those edges whose source would look for its target where it is, so that nothing hangs on which of the two came first.

        Asked only of the edges at the places `back`.
        """
        if not len(back):
            return edges
        rows, places = np.unique(edges.sources[back], return_inverse=True)
        probed = self._cells.near(self.vectors, rows, self.probes)
        homes = self._cells.homes[edges.targets[back]]
        kept = np.ones(len(edges.sources), dtype=bool)
        for probe in probed.T:  # a column at a time, because there may be very many edges
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
        """One for all blocks, so that the vectors travel once."""
        return Work("comparing", partial(_strongest, self.vectors, self.count), _name)

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of(self.vectors, self.seed)


def parts_of(rows: Rows, size: int, least: int) -> Iterator[Rows]:
    """Runs of `rows`, which are among `size` in all: each of `least` of them or a sixteenth of all, whichever is more."""
    step = max(least, -(-size // PARTS))
    return (rows[start : start + step] for start in range(0, len(rows), step))


def best_of(edges: Directed, count: int, ties: NDArray[np.signedinteger[Any]] | None = None) -> Directed:
    """The `count` edges of greatest weight from each source; among equals those of least `ties`, then of least target."""
    order = np.lexsort((edges.targets, *([] if ties is None else [ties]), -edges.weights, edges.sources))
    return edges.where(order[_rank_in_group(edges.sources[order]) < count])


def _name(block: Block) -> str:
    return f"rows {block[0].min()} to {block[0].max()} with {len(block[1])} others"


def _strongest(vectors: FloatMatrix, count: int, block: Block) -> Directed:
    """Edges from rows to the `count` nearest of the candidates that are not the row itself, and all that are wanted back."""
    rows, candidates, least_back = block
    cosines = vectors[rows] @ vectors[candidates].T
    cosines *= DECIMALS
    np.rint(cosines, out=cosines)
    places = np.minimum(np.searchsorted(candidates, rows), len(candidates) - 1)
    own = candidates[places] == rows
    cosines[np.flatnonzero(own), places[own]] = -np.inf
    count = min(count, len(candidates))
    least = np.partition(cosines, -count, axis=1)[:, -count][:, np.newaxis]
    np.maximum(least, np.finfo(cosines.dtype).min, out=least)  # so that the row itself is not among them
    sources, columns = np.nonzero(cosines >= least)
    values = cosines[sources, columns]
    ties = values == least[sources, 0]
    room = count - np.bincount(sources[~ties], minlength=len(rows))
    kept = ~ties
    kept[ties] = _rank_in_group(sources[ties]) < room[sources[ties]]
    there = Directed(rows[sources[kept]], candidates[columns[kept]], values[kept].astype(np.float64) / DECIMALS)
    if least_back is None or np.isinf(least_back).all():
        return there
    sources, columns = np.nonzero(cosines >= np.rint(least_back * DECIMALS))
    values = cosines[sources, columns]
    return joined([there, Directed(candidates[columns], rows[sources], values.astype(np.float64) / DECIMALS)])


def _rank_in_group(groups: NDArray[np.signedinteger[Any]]) -> NDArray[np.intp]:
    """How many of the same group stand before each; `groups` is rising."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups)
