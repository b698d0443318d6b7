"""Retrieval measures: recall@k, full@k, hits@k, MAP@k and MRR@k over ranked passage ids.

`project_to_passages` first turns a ranking of units of any kind into passages by provenance, so that a summary or a triple counts
for the passages it was made from. Passages are compared by id, because titles repeat. Not covered: graded relevance and token
budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail.types import Ranking, Unit

RECALL_CUTOFFS = (2, 5, 10, 20)
FULL_CUTOFFS = (5, 10)
"""The cutoffs of recall and full, in results, tables and charts."""

HIT_CUTOFFS = (4, 10)
RANK_CUTOFF = 10
"""The cutoffs of hits, and of MAP and MRR, as in MultiHop-RAG."""

DEEPEST_CUTOFF = max(*RECALL_CUTOFFS, *FULL_CUTOFFS)
"""Passages below this rank change no measure."""


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Recall at each of `RECALL_CUTOFFS` and full at each of `FULL_CUTOFFS`, of one question or as means over many."""

    recall: tuple[float, ...]
    full: tuple[float, ...]

    def named(self) -> dict[str, float]:
        """The scores by name: `recall@2`, ..., `full@10`."""
        recall = {f"recall@{k}": value for k, value in zip(RECALL_CUTOFFS, self.recall, strict=True)}
        full = {f"full@{k}": value for k, value in zip(FULL_CUTOFFS, self.full, strict=True)}
        return recall | full


@dataclass(frozen=True, slots=True)
class JudgedRanking:
    """The passage ids found for one question (best first, without repeats), its gold passages and its number of hops."""

    found: tuple[str, ...]
    gold: frozenset[str]
    hops: int


@dataclass(frozen=True, slots=True)
class RetrievalMeans:
    """Means over `questions` questions."""

    questions: int
    scores: RetrievalScores


@dataclass(frozen=True, slots=True)
class RetrievalSummary:
    """Means over all questions with gold passages, and by number of hops (rising).

    `without_gold` counts the questions without gold passages, which are in no mean; `overall` is None if all are.
    """

    overall: RetrievalMeans | None
    by_hops: tuple[tuple[int, RetrievalMeans], ...]
    without_gold: int


def project_to_passages(ranking: Ranking, passages_of: Callable[[Unit], Sequence[str]]) -> list[str]:
    """The passage ids behind a ranking, best first, each at the rank of the first unit that was made from it.

    `passages_of` gives the passages that a unit was made from, in the order in which they count.
    """
    return list(dict.fromkeys(passage for hit in ranking for passage in passages_of(hit.unit)))


def recall_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """The share of the gold passages among the first `k` found (R@k).

    Raises:
        UsageError: there are no gold passages.
    """
    if not gold:
        raise UsageError("recall is not defined without gold passages")
    relevant = set(gold)
    return len(relevant.intersection(found[:k])) / len(relevant)


def full_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """1 if every gold passage is among the first `k` found, else 0; so 0 if there are more than `k` of them.

    Raises:
        UsageError: there are no gold passages.
    """
    return float(recall_at(k, found, gold) == 1)


def hit_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """1 if any gold passage is among the first `k` found, else 0 (Hits@k of MultiHop-RAG, Tang and Yang 2024).

    Raises:
        UsageError: there are no gold passages.
    """
    return float(recall_at(k, found, gold) > 0)


def reciprocal_rank_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """1 / the rank of the first gold passage, 0 if none is among the first `k` (its mean is MRR@k).

    Raises:
        UsageError: there are no gold passages.
    """
    ranks = _ranks(k, found, gold)
    return 1 / ranks[0] if ranks else 0.0


def average_precision_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """The sum of the precisions at the rank of each gold passage among the first `k`, over the number of gold passages.

    Its mean is MAP@k as in trec_eval. MultiHop-RAG's own script sums the new gold passages at a rank over the rank instead.

    Raises:
        UsageError: there are no gold passages.
    """
    return sum(place / rank for place, rank in enumerate(_ranks(k, found, gold), start=1)) / len(set(gold))


def _ranks(k: int, found: Sequence[str], gold: Collection[str]) -> list[int]:
    """The ranks, from 1, of gold passages among the first `k`."""
    if not gold:
        raise UsageError("ranks are not defined without gold passages")
    relevant = set(gold)
    return [rank for rank, passage in enumerate(found[:k], start=1) if passage in relevant]


def score_retrieval(found: Sequence[str], gold: Collection[str]) -> RetrievalScores:
    """All measures of one question.

    Raises:
        UsageError: there are no gold passages.
    """
    return RetrievalScores(
        recall=tuple(recall_at(k, found, gold) for k in RECALL_CUTOFFS),
        full=tuple(full_at(k, found, gold) for k in FULL_CUTOFFS),
    )


def summarise_retrieval(rankings: Sequence[JudgedRanking]) -> RetrievalSummary:
    """Means overall and by number of hops. Pass failed questions with nothing found."""
    judged = [ranking for ranking in rankings if ranking.gold]
    hops = sorted({ranking.hops for ranking in judged})
    return RetrievalSummary(
        overall=_means(judged) if judged else None,
        by_hops=tuple((count, _means([ranking for ranking in judged if ranking.hops == count])) for count in hops),
        without_gold=len(rankings) - len(judged),
    )


def _means(judged: Sequence[JudgedRanking]) -> RetrievalMeans:
    scores = [score_retrieval(ranking.found, ranking.gold) for ranking in judged]
    return RetrievalMeans(
        questions=len(judged),
        scores=RetrievalScores(
            recall=tuple(mean([score.recall[place] for score in scores]) for place in range(len(RECALL_CUTOFFS))),
            full=tuple(mean([score.full[place] for score in scores]) for place in range(len(FULL_CUTOFFS))),
        ),
    )
