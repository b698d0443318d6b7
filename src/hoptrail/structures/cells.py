"""Rows of vectors in cells by where they lie, so that a row's nearest are sought in a few cells and not everywhere.

Spherical k-means cuts a sample of the rows into parts, these again, down to as many as there are to be cells: a tree of centres.
Then all rows go where they are nearest, and the centres of the cells to the middle of their rows, twice: without that, what a
tree cuts at its top stays cut, and more of what is near is missed. What is near to a vector is found by going down from the
BEAM likeliest nodes of each depth, so that making the cells, and finding those near to every row, costs n log n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.models.encoder import FloatMatrix

CELL = 400
"""Rows of a cell on average; none has more than OVERFULL times as many, whatever repeats itself."""

OVERFULL = 4

BRANCHES = 1024
"""Children of a node on average, at most: up to 400,000 rows there is one depth."""

BEAM = 24
"""Nodes of each depth that a search goes on from,"""
SETTLING_BEAM = 8
"""and that rows go on from while the cells find their places."""

SETTLING_ROUNDS = 2
ROUNDS = 8
SAMPLE = 40
"""k-means: rounds, and rows a centre that it learns from."""

BLOCK = 1 << 22
MOST_ROWS = 1 << 14
"""Cosines with centres (16 MiB), and rows, that are held at a time."""

DECIMALS = 100_000
"""Cosines are compared to five decimals: what differs by rounding alone, as repeated sentences do, is a tie."""


@dataclass(frozen=True)
class Level:
    """The nodes of one depth by their centres, those of one parent together; `starts`: where each parent's begin, and the end."""

    centres: FloatMatrix
    starts: NDArray[np.int64]

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """How many children each parent has."""
        return np.diff(self.starts)

    def nearest(self, vectors: FloatMatrix, parents: Rows, count: int) -> Rows:
        """The nodes nearest to each of n vectors among the children of its `parents`: shape (n, any), -1 for none.

        Shape (n, `count`) or less, in no order, -1 where a vector has fewer.
        """
        order = np.argsort(parents, axis=None, kind="stable")
        present, firsts = np.unique(parents.ravel()[order], return_index=True)
        kept = min(count, int(self.widths[present[present >= 0]].max(initial=1)))  # of each parent's children
        likeness = np.full((parents.size, kept), -np.inf, dtype=np.float32)
        nodes = np.full((parents.size, kept), -1, dtype=np.int32)
        for parent, places in zip(present.tolist(), np.split(order, firsts[1:]), strict=True):
            if parent >= 0:
                start, end = self.starts[parent : parent + 2].tolist()
                cosines = np.rint((vectors[places // parents.shape[1]] @ self.centres[start:end].T) * DECIMALS)
                best = _greatest(cosines, kept)
                likeness[places, : best.shape[1]] = np.take_along_axis(cosines, best, axis=1)
                nodes[places, : best.shape[1]] = start + best
        likeness, nodes = likeness.reshape(len(vectors), -1), nodes.reshape(len(vectors), -1)
        found: Rows = np.take_along_axis(nodes, _greatest(likeness, count), axis=1)
        return found


@dataclass(frozen=True)
class Cells:
    """`members` of each cell, rising. The nodes of the last of `levels` are the cells; parts of an overfull one are alike."""

    members: tuple[Rows, ...]
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, vectors: FloatMatrix, seed: int) -> Cells:
        levels = _grown(vectors, np.random.default_rng(seed))
        homes = np.zeros(len(vectors), np.int32)
        for _ in range(SETTLING_ROUNDS):
            middles = _settle(vectors, levels, homes)
            levels = (*levels[:-1], Level(middles, levels[-1].starts))
        most, last = CELL * OVERFULL, levels[-1]
        members: list[Rows] = []
        owners: list[int] = []
        for node, rows in enumerate(_by_home(homes, len(last.centres))):
            members += [rows[start : start + most] for start in range(0, len(rows), most)]
            owners += [node] * (len(members) - len(owners))
        starts = np.searchsorted(np.array(owners), last.starts)
        return cls(tuple(members), (*levels[:-1], Level(last.centres[owners], starts)))

    @cached_property
    def homes(self) -> Rows:
        """The cell of each row."""
        homes = np.zeros(sum(map(len, self.members)), np.int32)
        for cell, rows in enumerate(self.members):
            homes[rows] = cell
        return homes

    def together(self, rows: Rows) -> Rows:
        """The same rows, those of a cell together, cell by cell."""
        return rows[np.lexsort((rows, self.homes[rows]))]

    def near(self, vectors: FloatMatrix, rows: Rows, probes: int) -> Rows:
        """The `probes` cells near to the vector of each of `rows`, -1 where fewer are found: shape (len(rows), probes)."""
        nearest = np.full((len(rows), probes), -1, dtype=np.int32)
        for part in _parts(self.levels, len(rows), BEAM, probes):
            cells = _down(self.levels, vectors[rows[part]], probes, BEAM)
            nearest[part, : cells.shape[1]] = cells
        return nearest


def _grown(vectors: FloatMatrix, chance: np.random.Generator) -> tuple[Level, ...]:
    """A tree over a sample: at each depth a node is divided as evenly as brings forth the cells that it has rows for."""
    wanted = max(1, len(vectors) // CELL)
    size = min(len(vectors), wanted * SAMPLE)
    groups = [np.sort(chance.choice(len(vectors), size, replace=False)).astype(np.int32)]
    levels: list[Level] = []
    for below in range(_depth(wanted), 0, -1):
        parts = [max(1, round((len(rows) * wanted / size) ** (1 / below))) for rows in groups]
        divided = [list(_divided(vectors, *node, chance)) for node in zip(groups, parts, strict=True)]
        groups = [rows for parts in divided for _, rows in parts]
        centres = np.stack([centre for parts in divided for centre, _ in parts])
        levels.append(Level(centres, np.cumsum([0, *map(len, divided)])))
    return tuple(levels)


def _depth(cells: int) -> int:
    depth = 1
    while BRANCHES**depth < cells:
        depth += 1
    return depth


def _divided(
    vectors: FloatMatrix, rows: Rows, count: int, chance: np.random.Generator
) -> Iterator[tuple[FloatMatrix, Rows]]:
    """Parts of `rows`, `count` or less because none is empty, each with its centre."""
    centres = _learnt_centres(vectors, rows, count, chance)
    homes = _nearest_centres(vectors, rows, centres)
    order = np.argsort(homes, kind="stable")
    present, firsts = np.unique(homes[order], return_index=True)
    yield from zip(centres[present], np.split(rows[order], firsts[1:]), strict=True)


def _learnt_centres(vectors: FloatMatrix, rows: Rows, count: int, chance: np.random.Generator) -> FloatMatrix:
    """Spherical k-means on a sample of `rows`. A centre that nothing is near to stays where it was."""
    size = min(len(rows), count * SAMPLE)
    sample = vectors[rows[np.sort(chance.choice(len(rows), size, replace=False))]]
    centres = sample[np.sort(chance.choice(size, count, replace=False))]
    for _ in range(ROUNDS):
        homes = _nearest_centres(sample, np.arange(size, dtype=np.int32), centres)
        sums = np.zeros_like(centres)
        _add(sums, sample, homes)
        centres = _middles(sums, centres)
    return centres


def _nearest_centres(vectors: FloatMatrix, rows: Rows, centres: FloatMatrix) -> NDArray[np.intp]:
    step = max(1, BLOCK // len(centres))
    blocks = [np.argmax(vectors[rows[at : at + step]] @ centres.T, axis=1) for at in range(0, len(rows), step)]
    return np.concatenate(blocks)


def _by_home(homes: Rows, count: int) -> list[Rows]:
    """The rows of each of `count` homes, rising."""
    rows = np.argsort(homes, kind="stable").astype(np.int32)
    return np.split(rows, np.searchsorted(homes[rows], np.arange(1, count)))


def _settle(vectors: FloatMatrix, levels: tuple[Level, ...], homes: Rows) -> FloatMatrix:
    """Write down the cell that each row goes to; gives the middles of the cells then. Reads the vectors once, in their order."""
    centres = levels[-1].centres
    sums = np.zeros_like(centres)
    for part in _parts(levels, len(vectors), SETTLING_BEAM, 1):
        homes[part] = _down(levels, vectors[part], 1, SETTLING_BEAM)[:, 0]
        _add(sums, vectors[part], homes[part])
    return _middles(sums, centres)


def _down(levels: tuple[Level, ...], vectors: FloatMatrix, count: int, beam: int) -> Rows:
    """The `count` cells, or fewer, that are found going down from the `beam` likeliest nodes of each depth."""
    nodes: Rows = np.zeros((len(vectors), 1), dtype=np.int32)
    for level in levels[:-1]:
        nodes = level.nearest(vectors, nodes, beam)
    return levels[-1].nearest(vectors, nodes, count)


def _greatest(values: FloatMatrix, count: int) -> NDArray[np.intp]:
    """The places of the `count` greatest of each row, in no order, or of all where there are fewer."""
    if count >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, -count, axis=1)[:, -count:]


def _parts(levels: tuple[Level, ...], size: int, beam: int, count: int) -> Iterator[slice]:
    """Runs of rows, each as long as BLOCK admits for cosines with the children of one node, and for what is kept of all."""
    widest = max(int(level.widths.max()) for level in levels)
    step = min(MOST_ROWS, max(1, BLOCK // max(widest, beam * min(widest, max(beam, count)))))
    return (slice(start, start + step) for start in range(0, size, step))


def _add(sums: FloatMatrix, vectors: FloatMatrix, homes: NDArray[np.signedinteger]) -> None:
    """Add each vector to the sum of its home."""
    order = np.argsort(homes, kind="stable")
    present, firsts = np.unique(homes[order], return_index=True)
    sums[present] += np.add.reduceat(vectors[order], firsts, axis=0)


def _middles(sums: FloatMatrix, centres: FloatMatrix) -> FloatMatrix:
    """Sums at unit length; where there is none, the centre as it was."""
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    middles: FloatMatrix = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return middles
