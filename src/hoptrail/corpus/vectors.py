"""The vectors of units, and exact nearest-neighbour search: one matrix product over the mapped vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Numbers, Places, numbers_of, rows_of
from hoptrail.corpus.segments import Family, Segment, Segments, live_column
from hoptrail.corpus.texts import Texts
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class Ranked:
    """Units ordered by falling score, then rising id."""

    numbers: Numbers
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.numbers)


def best(texts: Texts, numbers: Numbers, scores: NDArray[np.floating], limit: int) -> Ranked:
    """The units with the `limit` highest scores. Ids are looked up only to break ties."""
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
    """The vectors of a snapshot, by number of their units."""

    def __init__(self, segments: Segments, texts: Texts) -> None:
        self._segments = segments
        self._texts = texts

    def nearest(self, kind: Kind, vectors: FloatMatrix, limit: int, among: Numbers | None = None) -> list[Ranked]:
        """The `limit` units of a kind nearest to each row of `vectors` (unit length), with their cosines. `among` restricts the
        search to these units.
        """
        parts = [(part, _chosen(part, among)) for part in self._segments.of(Family.UNITS, kind)]
        if not parts:
            return [Ranked(NONE, np.zeros(0)) for _ in vectors]
        numbers = [part.arrays["numbers"] if rows is None else part.arrays["numbers"][rows] for part, rows in parts]
        rankings = []
        for vector in vectors:
            scores = [_products(part, rows, among is not None, vector) for part, rows in parts]
            rankings.append(best(self._texts, np.concatenate(numbers), np.concatenate(scores), limit))
        return rankings

    def matrix(self, kind: Kind) -> Matrix:
        """All vectors of a kind."""
        return Matrix(self._segments.of(Family.UNITS, kind))

    def of(self, kind: Kind, numbers: Numbers) -> FloatMatrix:
        """The vectors of units of a kind, in the order of `numbers`: shape (len(numbers), dimension).

        Raises:
            KeyError: some units have no vector.
        """
        matrix: FloatMatrix | None = None
        filled = 0
        for part in self._segments.of(Family.UNITS, kind):
            stored = part.arrays["vectors"]
            matrix = np.zeros((len(numbers), stored.shape[1]), np.float32) if matrix is None else matrix
            rows = rows_of(numbers, part.arrays["numbers"])
            here = np.flatnonzero(rows >= 0)
            here = here if part.alive is None else here[part.alive[rows[here]]]
            matrix[here] = stored[rows[here]]
            filled += len(here)
        if filled < len(numbers):
            raise KeyError(f"{len(numbers) - filled} of {len(numbers)} units have no vector")
        return np.zeros((0, 0), np.float32) if matrix is None else matrix


class Matrix:
    """The vectors of all units of a kind as one matrix, ordered by number; the rows stay in the mapped segments."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        parts = [(segment, segment.live_rows()) for segment in segments]
        numbers = live_column(segments, "numbers")
        order = np.argsort(numbers, kind="stable")
        places = np.empty(len(order), np.intp)
        places[order] = np.arange(len(order))
        self.numbers: Numbers = numbers_of(numbers[order])
        ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
        self._parts = [
            (segment.arrays["vectors"], rows, places[first:last])
            for (segment, rows), first, last in zip(parts, ends[:-1], ends[1:], strict=True)
        ]
        """The vectors of a segment, its live rows, and their rows in this matrix."""
        self._part_of = np.repeat(np.arange(len(parts)), np.diff(ends))[order]
        self._row_of = np.concatenate([np.zeros(0, np.intp), *(rows for _, rows in parts)])[order]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: int | NDArray[np.integer]) -> FloatMatrix:
        """The vectors of these rows, or of a single one."""
        if isinstance(rows, int | np.integer):
            vector: FloatMatrix = self[np.array([rows])][0]
            return vector
        part_of, row_of = self._part_of[rows], self._row_of[rows]
        width = self._parts[0][0].shape[1] if self._parts else 0
        chosen = np.zeros((len(row_of), width), np.float32)
        for part in np.unique(part_of).tolist():
            here = part_of == part
            chosen[here] = self._parts[part][0][row_of[here]]
        return chosen

    def __matmul__(self, other: FloatMatrix) -> FloatMatrix:
        """The products of all rows with the columns of another matrix."""
        products = np.zeros((len(self), *other.shape[1:]), np.float32)
        for vectors, rows, places in self._parts:
            products[places] = vectors @ other if len(rows) == len(vectors) else (vectors @ other)[rows]
        return products


def _chosen(segment: Segment, among: Numbers | None) -> Places | None:
    """The rows of a segment to compare; None for all."""
    if among is not None:
        rows = rows_of(among, segment.arrays["numbers"])
        return segment.live(rows[rows >= 0])
    return None if segment.alive is None else segment.live_rows()


def _products(segment: Segment, rows: Places | None, few: bool, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The products of a vector with rows of a segment. Only with `few` rows these are copied out before multiplying."""
    matrix: FloatMatrix = segment.arrays["vectors"]
    if rows is None:
        return matrix @ vector
    return matrix[rows] @ vector if few else (matrix @ vector)[rows]
