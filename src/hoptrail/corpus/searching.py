"""Search by vectors and by words, in terms of unit ids. Nearest neighbours are exact: products with the mapped vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Numbers, Places, highest, numbers_of, rows_of
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.segments import Family, Segment, Segments, live_column
from hoptrail.corpus.units import Found, NumberedUnits, Units
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind, Unit

BLOCK = 512  # vectors that are multiplied at a time


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """The vectors of a kind in memory: `ids` are sorted; row i of `matrix` is the vector of the unit `ids[i]`."""

    ids: tuple[str, ...]
    matrix: FloatMatrix


def top_rows(scores: FloatMatrix, limit: int) -> list[int]:
    """The rows of the `limit` highest scores, highest first, equal ones by rising row."""
    candidates = highest(scores, limit)
    rows: list[int] = candidates[np.lexsort((candidates, -scores[candidates]))][:limit].tolist()
    return rows


class Searching:
    """Search by vectors and by words, in terms of unit ids."""

    def __init__(
        self, segments: Segments, numbered: NumberedUnits, units: Units, keywords: Keywords, dimension: int
    ) -> None:
        """`dimension`: the length of vectors, where none is stored."""
        self._segments = segments
        self._numbered = numbered
        self._units = units
        self._keywords = keywords
        self._dimension = dimension
        self._matrices: dict[Kind, Matrix] = {}

    def vectors(self, kind: Kind) -> VectorMirror:
        ids = sorted(self._units.ids(kind))
        return VectorMirror(tuple(ids), self.vectors_in_order([kind], ids))

    def matrix(self, kind: Kind) -> Matrix:
        if kind not in self._matrices:
            self._matrices[kind] = Matrix(self._segments.of(Family.UNITS, kind), self._dimension)
        return self._matrices[kind]

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """The `limit` units of a kind, of all or `among` these ids, nearest to each row of `vectors`, with exact cosines."""
        matrix = self.matrix(kind)
        if among is None:
            numbers, products = matrix.numbers, matrix @ vectors.T
        else:  # only these are read
            numbers = self._units.numbers(kind, among)
            products = matrix.products(rows_of(numbers, matrix.numbers), vectors.T)
        return [self._numbered.best(numbers, cosines, limit) for cosines in products.T]

    def keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 scores for `words`, without operators, by falling score, then rising id."""
        found = self._keywords.search(words, limit)
        units = self._numbered.in_order([id_ for id_, _ in found])
        return list(zip(units, (score for _, score in found), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units, in the order of `ids`: shape (len(ids), dimension). Raises: KeyError: some have no vector."""
        matrices = [self.matrix(kind) for kind in kinds]
        width = next((matrix.width for matrix in matrices if len(matrix)), self._dimension)
        vectors = np.zeros((len(ids), width), np.float32)
        numbers = self._numbered.numbers(list(ids))
        found = np.zeros(len(ids), np.bool_)
        for matrix in matrices:
            rows = rows_of(numbers, matrix.numbers)
            here = np.flatnonzero(rows >= 0)
            vectors[here] = matrix[rows[here]]
            found[here] = True
        if not found.all():
            raise KeyError(f"{np.count_nonzero(~found)} of {len(ids)} units have no vector")
        return vectors


class Matrix:
    """The vectors of all units of a kind as one matrix, ordered by number; the rows stay in the mapped segments."""

    def __init__(self, segments: Sequence[Segment], width: int = 0) -> None:
        """`width`: the length of vectors, where none is stored."""
        self._parts = [segment.arrays for segment in segments]
        self.width = self._parts[0].shape("vectors")[1] if self._parts else width
        self._firsts = np.cumsum([0, *(segment.rows for segment in segments)])
        numbers = live_column(segments, "numbers")
        order = np.argsort(numbers, kind="stable")
        self.numbers: Numbers = numbers_of(numbers[order])
        live = [first + segment.live_rows() for first, segment in zip(self._firsts, segments, strict=False)]
        self._places: Places = np.concatenate([np.zeros(0, np.intp), *live])[order]
        """Where each row is among those of all segments."""

    @cached_property
    def _in_order(self) -> bool:
        """Whether rows are in the order of the segments. Found on first use, because sentences are too many and never need it."""
        return np.array_equal(self._places, np.arange(self._firsts[-1]))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: NDArray[np.integer]) -> FloatMatrix:
        """The vectors of these rows. Rows of one segment that follow one another are not copied."""
        part_of = np.searchsorted(self._firsts, self._places[rows], side="right") - 1
        row_of = self._places[rows] - self._firsts[part_of]
        if len(row_of) and (part_of == part_of[0]).all():
            in_one_piece = (row_of == np.arange(row_of[0], row_of[0] + len(row_of))).all()
            piece = slice(row_of[0], row_of[-1] + 1) if in_one_piece else row_of
            vectors: FloatMatrix = self._parts[part_of[0]].rows("vectors", piece)
            return vectors
        chosen = np.zeros((len(row_of), self.width), np.float32)
        for part in np.unique(part_of).tolist():
            here = part_of == part
            chosen[here] = self._parts[part].rows("vectors", row_of[here])
        return chosen

    def __matmul__(self, other: FloatMatrix) -> FloatMatrix:
        """The products of all rows with the columns of another matrix."""
        products = _columns(int(self._firsts[-1]), other.shape[1])
        for first, part in zip(self._firsts, self._parts, strict=False):
            vectors = part["vectors"]
            _blockwise(vectors.__getitem__, other, products[first : first + len(vectors)])
        return products if self._in_order else np.asfortranarray(products[self._places])

    def products(self, rows: NDArray[np.integer], other: FloatMatrix) -> FloatMatrix:
        """The products of some rows with the columns of another matrix: shape (len(rows), columns)."""
        products = _columns(len(rows), other.shape[1])
        _blockwise(lambda block: self[rows[block]], other, products)
        return products


def _columns(rows: int, columns: int) -> FloatMatrix:
    """An empty matrix whose columns are contiguous, because few columns are written and read one by one."""
    return np.empty((rows, columns), np.float32, order="F")


def _blockwise(read: Callable[[slice], FloatMatrix], columns: FloatMatrix, products: FloatMatrix) -> None:
    """Writes the product of a matrix, of which `read` returns a part, with another one of few columns. A block stays in the
    processor cache while it meets all columns: a third less time than one product, which copies the first matrix into another
    order.
    """
    contiguous = np.ascontiguousarray(columns.T)
    for first in range(0, len(products), BLOCK):
        block = read(slice(first, first + BLOCK))
        for place, column in enumerate(contiguous):
            np.matmul(block, column, out=products[first : first + BLOCK, place])
