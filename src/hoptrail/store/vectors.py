"""Finding the vectors nearest to a vector: exactly, by one product with all of them, or by the store's own index.

Up to `StorageSettings.exact_up_to` vectors of a kind a reader holds them in memory. Above it the table has an index that cuts
the vectors into cells and keeps some bits of each number (RaBitQ, SIGMOD 2024), and a search compares those of the cells
nearest to it: memory does not grow with the corpus, a few of the nearest are missed, and the cosines of those found are exact.
Which of the two it is stands in the table itself.

Knows rows and vectors; knows nothing of encoders and texts.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from hoptrail.models.encoder import FloatMatrix

if TYPE_CHECKING:
    from lancedb.index import IvfFlat, IvfRq
    from lancedb.query import LanceVectorQueryBuilder
    from lancedb.table import Table

Found = list[tuple[str, float]]
"""Ids of units with cosines, by falling cosine, then rising id."""

PROBES = 6
"""Cells that are compared, times the square root of all cells, which are as many as the square root of the vectors."""

BITS = 4
"""Kept of each number of a vector, which has 32: a seventh of the index, and as near to exact as with all of them."""

MORE = 16
"""Found by these bits beyond what is asked for and a quarter of it, and put in order by the whole vectors."""

SAMPLE = 64
ROUNDS = 10
"""How cells are learnt: vectors a cell, and rounds of k-means."""


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """Vectors of one kind: `ids` in rising order, `matrix` of shape (len(ids), dimension)."""

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


def vector_index(count: int, dimension: int) -> IvfRq | IvfFlat:
    """How `count` vectors are cut into cells; whole where the store can't keep bits of them, which it does by eight numbers."""
    from lancedb.index import IvfFlat, IvfRq

    cells = _cells(count)
    if dimension % 8:
        return IvfFlat(distance_type="dot", num_partitions=cells, max_iterations=ROUNDS, sample_rate=SAMPLE)
    return IvfRq(distance_type="dot", num_partitions=cells, num_bits=BITS, max_iterations=ROUNDS, sample_rate=SAMPLE)


def has_vector_index(table: Table) -> bool:
    return any("vector" in index.columns for index in table.list_indices())


def nearest_by_index(table: Table, vectors: FloatMatrix, limit: int) -> list[Found]:
    """Of each row of `vectors` the `limit` nearest that the table's index finds.

    It goes by some bits and breaks ties as it likes, so somewhat more is read than is given, and the cosines are computed anew
    from the vectors.
    """
    found = []
    probes = math.ceil(PROBES * math.sqrt(_cells(int(table.count_rows()))))
    for vector in vectors:
        # Its declared type is that of any search, be it for vectors or words.
        search = cast("LanceVectorQueryBuilder", table.search(vector, "vector", query_type="vector"))
        query = search.distance_type("dot").nprobes(probes)
        rows = query.limit(limit + limit // 4 + MORE).select(["id", "vector", "_distance"]).to_arrow().combine_chunks()
        matrix = rows.column("vector").combine_chunks().flatten().to_numpy().reshape(len(rows), -1)
        pairs = zip(rows.column("id").to_pylist(), (matrix @ vector).tolist(), strict=True)
        found.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit])
    return found


def _cells(count: int) -> int:
    return max(1, math.isqrt(count))
