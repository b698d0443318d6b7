"""Search by vectors and by words, in terms of unit ids. Nearest neighbours are exact: products with the mapped vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Numbers, Places, numbers_of, rows_of
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.segments import Family, Segment, Segments, live_column
from hoptrail.corpus.texts import Found, Texts, Units
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind, Unit

BLOCK = 512
"""Vectors that are multiplied at a time."""


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """The vectors of a kind in memory: `ids` are sorted; row i of `matrix` is the vector of the unit `ids[i]`."""

    ids: tuple[str, ...]
    matrix: FloatMatrix


def top_rows(scores: FloatMatrix, limit: int) -> list[int]:
    """The rows of the `limit` highest scores, highest first, equal ones by rising row."""
    limit = min(limit, len(scores))
    if limit < 1:
        return []
    candidates = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    rows: list[int] = candidates[np.lexsort((candidates, -scores[candidates]))][:limit].tolist()
    return rows


class Searching:
    """Search by vectors and by words, in terms of unit ids."""

    def __init__(self, segments: Segments, texts: Texts, units: Units, keywords: Keywords, dimension: int) -> None:
        """`dimension`: the length of vectors, where none is stored."""
        self._segments = segments
        self._texts = texts
        self._units = units
        self._keywords = keywords
        self._dimension = dimension
        self._mirrors: dict[Kind, VectorMirror] = {}
        self._making = Lock()

    def vectors(self, kind: Kind) -> VectorMirror:
        """All vectors of a kind, read once."""
        with self._making:
            if kind not in self._mirrors:
                ids = sorted(self._units.ids(kind))
                self._mirrors[kind] = VectorMirror(tuple(ids), self.vectors_in_order([kind], ids))
            return self._mirrors[kind]

    def matrix(self, kind: Kind) -> Matrix:
        """All vectors of a kind, left in the mapped segments."""
        return Matrix(self._segments.of(Family.UNITS, kind))

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """The `limit` units of a kind, of all or `among` these ids, nearest to each row of `vectors`, with exact cosines."""
        few = None if among is None else self._units.numbers(kind, among)
        parts = [(part, _chosen(part, few)) for part in self._segments.of(Family.UNITS, kind)]
        if not parts:
            return [[] for _ in vectors]
        numbers = np.concatenate(
            [part.arrays["numbers"][slice(None) if rows is None else rows] for part, rows in parts]
        )
        scores = (np.concatenate([_products(*part, few is not None, vector) for part in parts]) for vector in vectors)
        return [self._texts.best(numbers, cosines, limit) for cosines in scores]

    def keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 scores for `words`, by falling score, then rising id.

        There are no operators, quotes or wildcards. Statistics are those of all passages; other kinds have no keyword index.
        """
        found = self._keywords.search(words, limit)
        units = self._texts.in_order([id_ for id_, _ in found])
        return list(zip(units, (score for _, score in found), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units, in the order of `ids`: shape (len(ids), dimension). Raises: KeyError: some have no vector."""
        parts = [part for kind in kinds for part in self._segments.of(Family.UNITS, kind)]
        width = parts[0].arrays["vectors"].shape[1] if parts else self._dimension
        matrix = np.zeros((len(ids), width), np.float32)
        numbers = self._texts.numbers(list(ids))
        filled = 0
        for part in parts:
            rows = rows_of(numbers, part.arrays["numbers"])
            here = np.flatnonzero(rows >= 0)
            here = here if part.alive is None else here[part.alive[rows[here]]]
            matrix[here] = part.arrays["vectors"][rows[here]]
            filled += len(here)
        if filled < len(ids):
            raise KeyError(f"{len(ids) - filled} of {len(ids)} units have no vector")
        return matrix


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
        """The vectors of these rows, or of a single one. Rows of one segment that follow one another are not copied."""
        if isinstance(rows, int | np.integer):
            vector: FloatMatrix = self[np.array([rows])][0]
            return vector
        part_of, row_of = self._part_of[rows], self._row_of[rows]
        if len(row_of) and (part_of == part_of[0]).all():
            vectors: FloatMatrix = self._parts[part_of[0]][0]
            in_one_piece = (row_of == np.arange(row_of[0], row_of[0] + len(row_of))).all()
            return vectors[row_of[0] : row_of[-1] + 1] if in_one_piece else vectors[row_of]
        width = self._parts[0][0].shape[1] if self._parts else 0
        chosen = np.zeros((len(row_of), width), np.float32)
        for part in np.unique(part_of).tolist():
            here = part_of == part
            chosen[here] = self._parts[part][0][row_of[here]]
        return chosen

    def __matmul__(self, other: FloatMatrix) -> FloatMatrix:
        """The products of all rows with the columns of another matrix."""
        products = np.zeros((len(self), other.shape[1]), np.float32)
        for vectors, rows, places in self._parts:
            found = _blockwise(vectors, other)
            products[places] = found if len(rows) == len(vectors) else found[rows]
        return products


def _blockwise(vectors: FloatMatrix, columns: FloatMatrix) -> FloatMatrix:
    """The product of two matrices, the second with few columns. A block stays in the processor cache while it meets all columns:
    a third less time than one product, which copies the first matrix into another order.
    """
    products = np.empty((len(vectors), columns.shape[1]), np.float32)
    contiguous = np.ascontiguousarray(columns.T)
    for first in range(0, len(vectors), BLOCK):
        block = vectors[first : first + BLOCK]
        for place, column in enumerate(contiguous):
            products[first : first + BLOCK, place] = block @ column
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
