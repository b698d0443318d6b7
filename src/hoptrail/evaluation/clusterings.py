"""Measures of clusterings of passages, without a model: the analyses of SiReRAG (Zhang et al. 2025).

A clustering is represented by the pairs of passages within its groups (section 3, table 1); gold pairs are passages that one
question needs. `tper` relates time to size (section 5.3). More groups per passage, or larger groups, cover more gold pairs
trivially, so report the number of pairs beside a coverage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import Question

Pair = tuple[str, str]
"""Two passage ids in sorted order."""


def pairs_of(groups: Iterable[Iterable[str]]) -> frozenset[Pair]:
    """All pairs of passages within a group. Time and memory grow with the square of a group's size."""
    return frozenset(pair for group in groups for pair in combinations(sorted(set(group)), 2))


def gold_pairs(questions: Iterable[Question], *, with_candidates: bool = False) -> frozenset[Pair]:
    """All pairs of passages that support the same question; `with_candidates` adds those in its context (the paper's "all")."""
    return pairs_of(question.supporting + (question.candidates if with_candidates else ()) for question in questions)


def coverage(predicted: Collection[Pair], gold: Collection[Pair]) -> float:
    """The share of the gold pairs that are predicted.

    Raises:
        UsageError: there are no gold pairs.
    """
    if not gold:
        raise UsageError("coverage is not defined without gold pairs: no question has two gold passages")
    return len(set(gold).intersection(predicted)) / len(set(gold))


def overlap(one: Collection[Pair], other: Collection[Pair], gold: Collection[Pair]) -> float:
    """Among the gold pairs that `one` covers, the share that `other` covers as well: the paper's overlap@one.

    Raises:
        UsageError: `one` covers no gold pair.
    """
    correct = set(gold).intersection(one)
    if not correct:
        raise UsageError("overlap is not defined where the first clustering covers no gold pair")
    return len(correct.intersection(other)) / len(correct)


def tper(seconds_per_query_a: float, pool_a: int, seconds_per_query_b: float, pool_b: int) -> float:
    """The time-pool efficiency ratio (equation 1): time per query of A over that of B, divided by the same ratio of pool sizes.

    Below 1, time grows more slowly than the pool. A slow language makes the ratio small whatever the retrieval does.

    Raises:
        UsageError: a value is not above 0.
    """
    if min(seconds_per_query_a, pool_a, seconds_per_query_b, pool_b) <= 0:
        raise UsageError("the time-pool efficiency ratio needs seconds and pool sizes above 0")
    return (seconds_per_query_a / seconds_per_query_b) / (pool_a / pool_b)
