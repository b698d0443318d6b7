"""Rows of vectors in cells by where they lie, so that a row's nearest are sought in a few cells and not everywhere.

Spherical k-means on a sample finds the centres. Then all rows go where they are nearest, and the centres to the middle of their
rows, twice. Each row is compared with all centres: with a million rows that costs as much again as comparing rows within cells.
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

SETTLING_ROUNDS = 2
ROUNDS = 8
SAMPLE = 40
"""k-means: rounds, and rows a centre that it learns from."""

BLOCK = 1 << 22
"""Cosines with centres that are held at a time: 16 MiB."""

DECIMALS = 100_000
"""Cosines are compared to five decimals: what differs by rounding alone, as repeated sentences do, is a tie."""


@dataclass(frozen=True)
class Cells:
    """`members` of each cell, rising, and its centre; the parts of an overfull cell have one centre."""

    members: tuple[Rows, ...]
    centres: FloatMatrix

    @classmethod
    def of(cls, vectors: FloatMatrix, seed: int) -> Cells:
        """Cells of about CELL rows by spherical k-means, the same for the same seed; each row is in one cell."""
        centres = _learnt_centres(vectors, np.random.default_rng(seed))
        homes = np.zeros(len(vectors), np.int32)
        for _ in range(SETTLING_ROUNDS):
            centres = _settled(vectors, centres, homes)
        most = CELL * OVERFULL
        members: list[Rows] = []
        owners: list[int] = []
        for cell, rows in enumerate(_by_home(homes, len(centres))):
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

    def together(self, rows: Rows) -> Rows:
        """The same rows, those of a cell together, cell by cell."""
        return rows[np.lexsort((rows, self.homes[rows]))]

    def near(self, vectors: FloatMatrix, rows: Rows, probes: int) -> Rows:
        """The `probes` cells nearest to the vector of each of `rows`, in no order, or all where there are fewer."""
        count = min(probes, len(self.members))
        nearest = np.zeros((len(rows), count), np.int32)
        for block in _blocks(len(rows), len(self.members)):
            cosines = np.rint((vectors[rows[block]] @ self.centres.T) * DECIMALS)
            nearest[block] = np.argpartition(cosines, -count, axis=1)[:, -count:]
        return nearest


def _learnt_centres(vectors: FloatMatrix, chance: np.random.Generator) -> FloatMatrix:
    """Spherical k-means on a sample of the vectors, which has a cell's share of them for each centre."""
    count = max(1, len(vectors) // CELL)
    size = min(len(vectors), count * SAMPLE)
    sample = vectors[np.sort(chance.choice(len(vectors), size, replace=False))]
    centres = sample[np.sort(chance.choice(size, count, replace=False))]
    for _ in range(ROUNDS):
        centres = _settled(sample, centres, np.zeros(size, np.int32))
    return centres


def _settled(vectors: FloatMatrix, centres: FloatMatrix, homes: Rows) -> FloatMatrix:
    """Write down the centre that is nearest to each vector; gives the middle of what is near to each, and where nothing is, the
    centre as it was.
    """
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


def _by_home(homes: Rows, count: int) -> list[NDArray[np.int32]]:
    rows = np.argsort(homes, kind="stable").astype(np.int32)
    return np.split(rows, np.searchsorted(homes[rows], np.arange(1, count)))


def _blocks(rows: int, centres: int) -> Iterator[slice]:
    step = max(1, BLOCK // centres)
    return (slice(start, start + step) for start in range(0, rows, step))
