"""What adaptive reranking reads passages with: scores between 0 and 1 for any passages, by id, whatever found them.

hybrid        cosine and BM25, held in memory or looked up: next to nothing a passage
a reranker    reads question and passage together (`models.rerankers`): what a budget is for
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.passages.adaptive import Scorer
from hoptrail.retrieval.passages.keywords import PassageKeywords
from hoptrail.types import Hit, Kind, Unit

HYBRID = "hybrid"


class PassageScoring(Protocol):
    def scorer(self, question: str) -> Scorer:
        """Scores of passages for this question."""
        ...


@dataclass(frozen=True)
class HybridScoring:
    """`dense_weight` times the cosine and the rest times BM25 as a share of the best in the corpus; negative cosines are 0."""

    corpus: Corpus
    dense_weight: float = 0.5

    def scorer(self, question: str) -> Scorer:
        snapshot = self.corpus.snapshot
        vector = self.corpus.encoder.encode([question])
        shares_of = _keywords(snapshot, question)

        def score(names: Sequence[str]) -> list[float]:
            cosines = dict(snapshot.search.nearest(Kind.PASSAGE, vector, len(names), among=names)[0])
            return [
                self.dense_weight * min(max(cosines[name], 0.0), 1.0) + (1 - self.dense_weight) * share
                for name, share in zip(names, shares_of(names), strict=True)
            ]

        return score


def _keywords(snapshot: Snapshot, question: str) -> Scorer:
    keywords = PassageKeywords(snapshot)
    [scores] = keywords.scores([question])
    highest = float(scores.max(initial=0)) or 1.0
    return lambda names: [score / highest for score in scores[keywords.rows(names)].tolist()]


@dataclass(frozen=True)
class RerankerScoring:
    """A reranker's scores through the logistic function: whether they are logits or shares is the model's affair."""

    reranker: Reranker
    snapshot: Snapshot

    def scorer(self, question: str) -> Scorer:
        def score(names: Sequence[str]) -> list[float]:
            units = passages_by_id(self.snapshot, names)
            hits = tuple(Hit(units[name], 0.0, "") for name in names)
            ranking = self.reranker.rerank(question, hits, len(hits))
            scores = {hit.unit.id: squashed(hit.score) for hit in ranking}
            return [scores[name] for name in names]

        return score


def open_scoring(name: str, corpus: Corpus) -> PassageScoring:
    """The scoring called `name`: `hybrid`, or a reranker as `models.rerankers.open_reranker` takes it.

    Raises:
        UsageError, ModelUnavailable: as that says.
    """
    if name == HYBRID:
        return HybridScoring(corpus)
    return RerankerScoring(open_reranker(name, corpus.encoder), corpus.snapshot)


def passages_by_id(snapshot: Snapshot, names: Sequence[str]) -> Mapping[str, Unit]:
    return {unit.id: unit for unit in snapshot.units(Kind.PASSAGE, set(names))}


def squashed(score: float) -> float:
    """The logistic function: between 0 and 1, so that dividing by more than 1 never raises a score."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))
