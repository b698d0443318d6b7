"""Exact dense search: the cosine of the question's vector with every unit's, by one matrix product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Kind, Ranking

CHANNEL = "dense"


def dense_search(corpus: Corpus, question: str, limit: int, kinds: tuple[Kind, ...] = (Kind.PASSAGE,)) -> Ranking:
    """The `limit` units of `kinds` nearest to the question; scores are cosines, -1 to 1."""
    vector = corpus.encoder.encode([question])[0]
    hits = [hit for kind in kinds for hit in nearest(corpus, vector, limit, kind)]
    return ranked(hits, limit)


def nearest(
    corpus: Corpus, vector: FloatMatrix, limit: int, kind: Kind, rows: NDArray[np.intp] | None = None
) -> Ranking:
    """The `limit` units of one kind nearest to `vector` (shape (dimension,), length 1), of all or of those in `rows`.

    Rows are those of the snapshot's vectors of that kind, in rising order.
    """
    mirror = corpus.snapshot.vectors(kind)
    scores = mirror.matrix @ vector
    best = top_rows(scores, limit) if rows is None else [int(rows[at]) for at in top_rows(scores[rows], limit)]
    wanted = {mirror.ids[row]: float(scores[row]) for row in best}
    return ranked(Hit(unit, wanted[unit.id], CHANNEL) for unit in corpus.snapshot.units(kind, wanted))


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
