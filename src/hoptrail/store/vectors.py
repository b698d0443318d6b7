"""Vectors of units by their ids, held in memory, and which of them are nearest to a vector."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hoptrail.models.encoder import FloatMatrix

Found = list[tuple[str, float]]
"""Ids of units with cosines, by falling cosine, then rising id."""


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """`ids` rise; row i of `matrix` is the vector of unit i."""

    ids: tuple[str, ...]
    matrix: FloatMatrix

    def of(self, ids: Iterable[str]) -> VectorMirror:
        """Those of some ids; one that is not here has none."""
        places = ((id_, bisect_left(self.ids, id_)) for id_ in sorted(set(ids)))
        rows = [row for id_, row in places if row < len(self.ids) and self.ids[row] == id_]
        return VectorMirror(tuple(self.ids[row] for row in rows), self.matrix[rows])

    def nearest(self, vectors: FloatMatrix, limit: int) -> list[Found]:
        """Of each row of `vectors` the `limit` nearest."""
        products = [self.matrix @ vector for vector in vectors]
        return [[(self.ids[row], float(scores[row])) for row in top_rows(scores, limit)] for scores in products]


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
