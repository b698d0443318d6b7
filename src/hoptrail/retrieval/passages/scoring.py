"""Scorers for adaptive reranking: scores between 0 and 1 for any passages by id.

hybrid        cosine and BM25 from the index: almost free
a reranker    reads question and passage together (`models.rerankers`): needs a budget
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.passages.adaptive import Scorer
from hoptrail.types import Hit, Kind, Unit

HYBRID = "hybrid"


Scoring = Callable[[str], Scorer]
"""Scores of passages for a question."""


def _hybrid_scorer(corpus: Corpus, question: str) -> Scorer:
    """The mean of the cosine (negative: 0) and the BM25 score as a share of the best in the corpus."""
    snapshot = corpus.snapshot
    vector = corpus.encoder.encode([question])
    passages = snapshot.texts.origins(Kind.PASSAGE).numbers
    [scores] = snapshot.keywords.scores(Kind.PASSAGE, [question], passages)
    all_shares = scores / (float(scores.max(initial=0)) or 1.0)

    def score(names: Sequence[str]) -> list[float]:
        cosines = dict(snapshot.search.nearest(Kind.PASSAGE, vector, len(names), among=names)[0])
        shares = all_shares[rows_of(snapshot.texts.numbers(names), passages)].tolist()
        return [(min(max(cosines[name], 0.0), 1.0) + share) / 2 for name, share in zip(names, shares, strict=True)]

    return score


def _reranking_scorer(reranker: Reranker, snapshot: Snapshot, question: str) -> Scorer:
    """A reranker's scores (logits or shares, depending on the model) through the logistic function."""

    def score(names: Sequence[str]) -> list[float]:
        units = passages_by_id(snapshot, names)
        hits = tuple(Hit(units[name], 0.0, "") for name in names)
        scores = {hit.unit.id: logistic(hit.score) for hit in reranker.rerank(question, hits, len(hits))}
        return [scores[name] for name in names]

    return score


def open_scoring(name: str, corpus: Corpus) -> Scoring:
    """The scoring called `name`: `hybrid`, or a reranker for `models.rerankers.open_reranker`.

    Raises:
        UsageError, ModelUnavailable: from `open_reranker`.
    """
    if name == HYBRID:
        return partial(_hybrid_scorer, corpus)
    return partial(_reranking_scorer, open_reranker(name, corpus.encoder), corpus.snapshot)


def passages_by_id(snapshot: Snapshot, names: Sequence[str]) -> Mapping[str, Unit]:
    """Passages by their ids."""
    return {unit.id: unit for unit in snapshot.units(Kind.PASSAGE, set(names))}


def logistic(score: float) -> float:
    """The logistic function, computed without overflow."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))
