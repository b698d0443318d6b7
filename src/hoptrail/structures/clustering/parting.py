"""Rows in parts of bounded size, by where they lie, so that what clustering holds does not grow with the number of rows.

Rows are cut in two again and again: spherical k-means finds two centres in a sample, and each row goes to the nearer one. Where
that leaves one of them with few rows, the border is moved to the middle of the rows' places on the line between the centres.
Places are worked out in double precision without BLAS and rounded, so that neither the number of threads nor (but for what lies
within rounding of a border) the machine moves them: equal vectors come into one part, unless they alone are too many for one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix

SAMPLE = 4096
ROUNDS = 8
"""k-means: rows that it learns from, and rounds."""

FEWEST = 0.25
"""The share of the rows that the smaller of two parts has at least, where rows at the same place allow it."""

_BLOCK = 4096
"""Vectors read at a time."""

_DECIMALS = 9

PartRows = NDArray[np.int32]
"""Row numbers of a part, rising."""

Places = NDArray[np.float64]
"""Where each of some vectors lies, equal for equal ones."""


def parts_of(vectors: FloatMatrix, most: int, seed: int) -> Iterator[PartRows]:
    """All rows in parts of at most `most`; one part where there are no more. Vectors are read in their order."""
    waiting = [np.arange(len(vectors), dtype=np.int32)]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            yield rows
        else:
            waiting += _parted(vectors, rows, seed)


def _parted(vectors: FloatMatrix, rows: PartRows, seed: int) -> list[PartRows]:
    """Two parts, none of them empty."""
    line = _line(vectors, rows, seed)
    places = np.zeros(len(rows))
    for block in _blocks(len(rows)):
        places[block] = _along(line, vectors[rows[block]])
    first: NDArray[np.bool_] = places < 0
    if not FEWEST <= first.mean() <= 1 - FEWEST:
        if not places.min() < places.max():
            for block in _blocks(len(rows)):
                places[block] = _scattered(vectors[rows[block]])
        if not places.min() < places.max():  # one vector, too often for a part
            places[:] = np.arange(len(rows))
        first = _lower_half(places)
    return [rows[first], rows[~first]]


def _line(vectors: FloatMatrix, rows: PartRows, seed: int) -> Places:
    """From one centre of a sample to the other: shape (d,)."""
    chance = np.random.default_rng(seed)
    drawn = np.sort(chance.choice(len(rows), min(SAMPLE, len(rows)), replace=False))
    sample = vectors[rows[drawn]].astype(np.float64)
    first = sample[_along(sample.mean(axis=0), sample).argmin()]
    second = sample[_along(first, sample).argmin()]
    for _ in range(ROUNDS):
        nearer = _along(second - first, sample) < 0
        if nearer.all() or not nearer.any():
            break
        first, second = _middle(sample[nearer]), _middle(sample[~nearer])
    line: Places = second - first
    return line


def _along(line: Places, vectors: NDArray[np.floating]) -> Places:
    found: Places = np.einsum("ij,j->i", vectors.astype(np.float64), line).round(_DECIMALS)
    return found


def _middle(vectors: Places) -> Places:
    total = vectors.sum(axis=0)
    found: Places = total / max(float(np.linalg.norm(total)), 1e-12)
    return found


def _scattered(vectors: FloatMatrix) -> Places:
    """Places without meaning, for vectors that no line was found to tell apart."""
    bits = (np.ascontiguousarray(vectors, np.float32) + np.float32(0)).view(np.uint32)  # of the two zeros one
    factors = np.random.default_rng(0).integers(1, 1 << 63, bits.shape[1], dtype=np.uint64)
    found: Places = (bits * factors).sum(axis=1).astype(np.float64)
    return found


def _lower_half(places: Places) -> NDArray[np.bool_]:
    """Which of the places, not all of them equal, are below a border as near to their middle as can be."""
    half = len(places) // 2
    rising = np.partition(places, half)
    below: NDArray[np.bool_] = places < rising[half]
    through: NDArray[np.bool_] = places <= rising[half]
    before, behind = half - int(below.sum()), int(through.sum()) - half
    if before == half:  # no place is lower
        return through
    return through if behind < min(before, len(places) - half) else below


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))
