"""What groups of passages hold together, without asking a model: the analyses of SiReRAG (Zhang et al. 2025).

A clustering is seen as the pairs of passages that it puts into a group (section 3, table 1); gold pairs are those of the
passages that one question needs. `tper` sets time against size (section 5.3). More groups a passage, or larger ones, cover more
gold pairs for nothing: give the number of pairs beside a coverage. Pure functions over passage ids; knows nothing of how groups
are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import Question

Pair = tuple[str, str]
"""Two passage ids, the lesser first."""


def pairs_of(groups: Iterable[Iterable[str]]) -> frozenset[Pair]:
    """Every two passages that stand together in a group. Time and memory grow with the square of a group."""
    return frozenset(pair for group in groups for pair in combinations(sorted(set(group)), 2))


def gold_pairs(questions: Iterable[Question], *, with_candidates: bool = False) -> frozenset[Pair]:
    """Every two passages that support the same question, or stand in its context (the paper's "all") where that is given."""
    chosen = (question.supporting + (question.candidates if with_candidates else ()) for question in questions)
    return pairs_of(chosen)


def coverage(predicted: Collection[Pair], gold: Collection[Pair]) -> float:
    """The share of the gold pairs that are predicted.

    Raises:
        UsageError: there are no gold pairs.
    """
    if not gold:
        raise UsageError("coverage is not defined without gold pairs: no question has two gold passages")
    return len(set(gold).intersection(predicted)) / len(set(gold))


def overlap(one: Collection[Pair], other: Collection[Pair], gold: Collection[Pair]) -> float:
    """The share of the gold pairs that `one` covers which `other` covers too: the paper's overlap@one.

    Raises:
        UsageError: `one` covers no gold pair.
    """
    correct = set(gold).intersection(one)
    if not correct:
        raise UsageError("overlap is not defined where the first clustering covers no gold pair")
    return len(correct.intersection(other)) / len(correct)


def tper(seconds_per_query_a: float, pool_a: int, seconds_per_query_b: float, pool_b: int) -> float:
    """How much longer A takes than B for a query, over how much larger its pool is (equation 1, time-pool efficiency ratio).

    Below 1 time grows more slowly than the pool; a language that answers slowly makes it small whatever the retrieval does.

    Raises:
        UsageError: a value is not above 0.
    """
    if min(seconds_per_query_a, pool_a, seconds_per_query_b, pool_b) <= 0:
        raise UsageError("the time-pool efficiency ratio needs seconds and pool sizes above 0")
    return (seconds_per_query_a / seconds_per_query_b) / (pool_a / pool_b)
