"""Search by vectors and by words, in terms of unit ids; vectors in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.texts import Texts, Units
from hoptrail.corpus.vectors import Ranked, Vectors
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind, Unit

Found = list[tuple[str, float]]
"""Ids of units with scores, ordered by falling score, then rising id."""


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """The vectors of a kind: `ids` are sorted; row i of `matrix` is the vector of the unit `ids[i]`."""

    ids: tuple[str, ...]
    matrix: FloatMatrix


def top_rows(scores: FloatMatrix, limit: int) -> list[int]:
    """The rows of the `limit` highest scores, highest first, equal ones by rising row."""
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
    """Search by vectors and by words, in terms of unit ids."""

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
        """The `limit` units of a kind nearest to each row of `vectors` (unit length), with exact cosines.

        `among` restricts the search to units with these ids.
        """
        numbers = None if among is None else np.unique(self._units.numbers(kind, among))
        return [self._by_id(ranked) for ranked in self._vectors.nearest(kind, vectors, limit, numbers)]

    def keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 scores for `words`, by falling score, then rising id.

        There are no operators, quotes or wildcards. Statistics are those of all passages; other kinds have no keyword index.
        """
        ranked = self._keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.units(ranked.numbers), ranked.scores.tolist(), strict=True))

    def keyword_scores(self, words: str, limit: int) -> Found:
        """The ids and scores of `keywords`, without reading texts."""
        return self._by_id(self._keywords.search(Kind.PASSAGE, words, limit))

    def _by_id(self, ranked: Ranked) -> Found:
        return list(zip(self._texts.ids(ranked.numbers), ranked.scores.tolist(), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units of these kinds, in the order of `ids`: shape (len(ids), dimension).

        Raises:
            KeyError: some units are not stored.
        """
        matrix = np.zeros((len(ids), self._dimension), np.float32)
        numbers = self._texts.numbers(list(ids))
        filled = 0
        for kind in kinds:
            rows = np.flatnonzero(np.isin(numbers, self._texts.origins(kind).numbers))
            if len(rows):
                matrix[rows] = self._vectors.of(kind, numbers[rows])
            filled += len(rows)
        if filled < len(ids):
            raise KeyError(f"{len(ids) - filled} of {len(ids)} units have no vector")
        return matrix
