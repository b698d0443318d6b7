"""What is nearest to a vector or to words, by the ids of units; vectors held in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.texts import Texts, Units
from hoptrail.corpus.vectors import Vectors
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind, Unit

Found = list[tuple[str, float]]
"""Ids of units with cosines, by falling cosine, then rising id."""


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """`ids` rise; row i of `matrix` is the vector of unit i."""

    ids: tuple[str, ...]
    matrix: FloatMatrix


def top_rows(scores: FloatMatrix, limit: int) -> list[int]:
    """Rows of the `limit` highest scores, highest first; among equal scores the lower row comes first."""
    if limit < 1 or not len(scores):
        return []
    if limit < len(scores):
        threshold = np.partition(scores, -limit)[-limit]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(len(scores))
    order = np.lexsort((candidates, -scores[candidates]))
    return [int(row) for row in candidates[order][:limit]]


class Searching:
    """What is nearest, by vectors and by words, by the ids of units. `dimension`: of vectors."""

    def __init__(self, texts: Texts, units: Units, vectors: Vectors, keywords: Keywords, dimension: int) -> None:
        self._texts = texts
        self._units = units
        self._vectors = vectors
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

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """Of each row of `vectors` (unit length) the ids of the `limit` nearest units of a kind, with their exact cosines.

        `among` limits it to units of these ids.
        """
        some = None if among is None else np.unique(self._units.numbers(kind, among))
        found = self._vectors.nearest(kind, vectors, limit, some)
        return [list(zip(self._texts.ids(one.numbers), one.scores.tolist(), strict=True)) for one in found]

    def keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 score for `words`, by falling score, then rising id.

        The words are looked up as they are: no operator, quote or wildcard has a meaning. Statistics are those of all
        passages; units of other kinds have no keyword index.
        """
        found = self._keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.units(found.numbers), found.scores.tolist(), strict=True))

    def keyword_scores(self, words: str, limit: int) -> Found:
        """The same by id, without texts."""
        found = self._keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.ids(found.numbers), found.scores.tolist(), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units of some kinds: shape (len(ids), dimension).

        Raises:
            KeyError: some are not stored.
        """
        matrix = np.zeros((len(ids), self._dimension), np.float32)
        numbers = self._texts.numbers(list(ids))
        found = 0
        for kind in kinds:
            own = self._texts.origins(kind).numbers
            rows = np.flatnonzero(np.isin(numbers, own))
            if len(rows):
                matrix[rows] = self._vectors.of(kind, numbers[rows])
            found += len(rows)
        if found < len(ids):
            raise KeyError(f"{len(ids) - found} of {len(ids)} units have no vector")
        return matrix
