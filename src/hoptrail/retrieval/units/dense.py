"""Dense search: the units whose vectors have the highest cosine with the question's, all compared exactly."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.ranking import ranked, ranked_units
from hoptrail.types import Kind, Ranking

CHANNEL = "dense"


def dense_search(corpus: Corpus, question: str, limit: int, kinds: tuple[Kind, ...] = (Kind.PASSAGE,)) -> Ranking:
    """The `limit` units of `kinds` nearest to the question; scores are cosines, -1 to 1."""
    vector = corpus.encoder.encode([question])[0]
    hits = [hit for kind in kinds for hit in nearest(corpus, vector, limit, kind)]
    return ranked(hits, limit)


def nearest(
    corpus: Corpus, vector: FloatMatrix, limit: int, kind: Kind, among: Collection[str] | None = None
) -> Ranking:
    """The `limit` units of one kind nearest to `vector` (shape (dimension,), length 1), optionally only `among` these ids."""
    cosines = dict(corpus.snapshot.search.nearest(kind, vector[np.newaxis], limit, among)[0])
    return ranked_units(corpus.snapshot, kind, cosines, CHANNEL)
