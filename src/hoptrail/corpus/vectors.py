"""The vectors of units, and which are nearest to a vector: one exact product with all that are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Numbers, Places, numbers_of, rows_of
from hoptrail.corpus.segments import Family, Segment, Segments
from hoptrail.corpus.texts import Texts
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class Ranked:
    """Units by falling score, equal ones by rising id."""

    numbers: Numbers
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.numbers)


def best(texts: Texts, numbers: Numbers, scores: NDArray[np.floating], limit: int) -> Ranked:
    """The `limit` highest scores. Ids are looked up only where a tie hangs on them."""
    limit = min(limit, len(scores))
    if limit < 1:
        return Ranked(NONE, np.zeros(0))
    if limit < len(scores):
        kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
        numbers, scores = numbers[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    numbers, scores = numbers[order], scores[order]
    tied = np.zeros(len(scores), np.bool_)
    tied[1:] = scores[1:] == scores[:-1]
    tied[:-1] |= tied[1:]
    if tied.any():
        names = np.zeros(len(scores), object)
        names[:] = ""
        names[tied] = texts.ids(numbers[tied])
        order = np.array(sorted(range(len(scores)), key=lambda row: (-scores[row], names[row])))
        numbers, scores = numbers[order], scores[order]
    return Ranked(numbers_of(numbers[:limit]), np.asarray(scores[:limit], np.float64))


class Vectors:
    """The vectors of a snapshot."""

    def __init__(self, segments: Segments, texts: Texts) -> None:
        self._segments = segments
        self._texts = texts

    def nearest(self, kind: Kind, vectors: FloatMatrix, limit: int, among: Numbers | None = None) -> list[Ranked]:
        """Of each row of `vectors` (unit length) the `limit` nearest units of a kind, with their cosines; `among` limits it to
        some units.
        """
        parts = [(part, _chosen(part, among)) for part in self._segments.of(Family.UNITS, kind)]
        numbers = [part.arrays["numbers"] if rows is None else part.arrays["numbers"][rows] for part, rows in parts]
        if not parts:
            return [Ranked(NONE, np.zeros(0)) for _ in vectors]
        found = []
        for vector in vectors:
            scores = [_products(part, rows, among is not None, vector) for part, rows in parts]
            found.append(best(self._texts, np.concatenate(numbers), np.concatenate(scores), limit))
        return found

    def matrix(self, kind: Kind) -> Matrix:
        """All vectors of a kind."""
        return Matrix(self._segments.of(Family.UNITS, kind))

    def of(self, kind: Kind, numbers: Numbers) -> FloatMatrix:
        """The vectors of units of a kind, in the order asked for: shape (len(numbers), dimension).

        Raises:
            KeyError: some have none.
        """
        matrix: FloatMatrix | None = None
        found = 0
        for part in self._segments.of(Family.UNITS, kind):
            stored = part.arrays["vectors"]
            matrix = np.zeros((len(numbers), stored.shape[1]), np.float32) if matrix is None else matrix
            rows = rows_of(numbers, part.arrays["numbers"])
            here = np.flatnonzero(rows >= 0)
            here = here if part.alive is None else here[part.alive[rows[here]]]
            matrix[here] = stored[rows[here]]
            found += len(here)
        if found < len(numbers):
            raise KeyError(f"{len(numbers) - found} of {len(numbers)} units have no vector")
        return np.zeros((0, 0), np.float32) if matrix is None else matrix


class Matrix:
    """The vectors of all units of a kind as one matrix, by rising number, read where they lie."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        parts = [(segment, segment.living()) for segment in segments]
        numbers = np.concatenate([NONE, *(segment.arrays["numbers"][rows] for segment, rows in parts)])
        order = np.argsort(numbers, kind="stable")
        places = np.empty(len(order), np.intp)
        places[order] = np.arange(len(order))
        self.numbers: Numbers = numbers_of(numbers[order])
        ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
        self._parts = [
            (segment.arrays["vectors"], rows, places[first:last])
            for (segment, rows), first, last in zip(parts, ends[:-1], ends[1:], strict=True)
        ]
        """The vectors of a segment, those of its rows that count, and the rows here that these are."""
        self._part_of = np.repeat(np.arange(len(parts)), np.diff(ends))[order]
        self._row_of = np.concatenate([np.zeros(0, np.intp), *(rows for _, rows in parts)])[order]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: int | NDArray[np.integer]) -> FloatMatrix:
        """The vectors of some rows, or that of one."""
        if isinstance(rows, int | np.integer):
            found: FloatMatrix = self[np.array([rows])][0]
            return found
        of, row = self._part_of[rows], self._row_of[rows]
        chosen = np.zeros((len(row), self._width), np.float32)
        for number in np.unique(of).tolist():
            here = of == number
            chosen[here] = self._parts[number][0][row[here]]
        return chosen

    def __matmul__(self, other: FloatMatrix) -> FloatMatrix:
        """The products of all rows with the columns of another matrix."""
        found = np.zeros((len(self), *other.shape[1:]), np.float32)
        for vectors, rows, places in self._parts:
            found[places] = vectors @ other if len(rows) == len(vectors) else (vectors @ other)[rows]
        return found

    @property
    def _width(self) -> int:
        return int(self._parts[0][0].shape[1]) if self._parts else 0


def _chosen(segment: Segment, among: Numbers | None) -> Places | None:
    """The rows of a segment that are compared; None: all."""
    if among is not None:
        rows = rows_of(among, segment.arrays["numbers"])
        return segment.counting(rows[rows >= 0])
    return None if segment.alive is None else segment.living()


def _products(segment: Segment, rows: Places | None, few: bool, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The products of rows: of a few these are fetched, of most all are multiplied."""
    matrix: FloatMatrix = segment.arrays["vectors"]
    if rows is None:
        return matrix @ vector
    return matrix[rows] @ vector if few else (matrix @ vector)[rows]
