"""Coverage, overlap and the time-pool ratio: worked examples, and the published figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.errors import UsageError
from hoptrail.evaluation.clusterings import coverage, gold_pairs, overlap, pairs_of, tper
from hoptrail.evaluation.datasets import Question

GROUPS = st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=6), max_size=5)


def make_question(*supporting: str, candidates: tuple[str, ...] = ()) -> Question:
    return Question("q", "Who?", ("she",), supporting=supporting, candidates=candidates)


def test_the_papers_example() -> None:
    assert pairs_of([["1", "2", "3"], ["3", "5"]]) == {("1", "2"), ("1", "3"), ("2", "3"), ("3", "5")}


def test_a_pair_counts_once_whatever_the_order_and_never_with_itself() -> None:
    assert pairs_of([["b", "a", "a"], ["a", "b"], ["c"], []]) == {("a", "b")}


def test_gold_pairs_are_within_a_question() -> None:
    questions = [make_question("b", "a"), make_question("c", "d", candidates=("e", "d")), make_question("f")]
    assert gold_pairs(questions) == {("a", "b"), ("c", "d")}
    assert gold_pairs(questions, with_candidates=True) == {("a", "b"), ("c", "d"), ("c", "e"), ("d", "e")}


def test_coverage_by_hand() -> None:
    predicted = pairs_of([["1", "2", "3"], ["3", "5"]])
    assert coverage(predicted, pairs_of([["3", "5"], ["5", "1"], ["2", "1", "4"]])) == 2 / 5
    assert coverage([], {("a", "b")}) == 0


def test_overlap_is_taken_over_the_correct_pairs_of_the_first() -> None:
    gold = pairs_of([["1", "2", "3", "4"]])
    similar = pairs_of([["1", "2", "3"], ["8", "9"]])  # correct: 1-2, 1-3, 2-3
    related = pairs_of([["2", "3", "8", "9"], ["4", "7"], ["3", "4"]])  # correct: 2-3, 3-4
    assert overlap(similar, related, gold) == 1 / 3
    assert overlap(related, similar, gold) == 1 / 2


@given(one=GROUPS, other=GROUPS, gold=GROUPS)
def test_overlap_both_ways_counts_the_same_pairs(
    one: list[set[str]], other: list[set[str]], gold: list[set[str]]
) -> None:
    first, second, target = pairs_of(one), pairs_of(other), pairs_of(gold)
    if first & target and second & target:
        there = overlap(first, second, target) * coverage(first, target)
        back = overlap(second, first, target) * coverage(second, target)
        assert math.isclose(there, back)
        assert math.isclose(there, coverage(first & second, target))


def test_undefined_measures_are_refused() -> None:
    with pytest.raises(UsageError, match="no question has two gold passages"):
        coverage({("a", "b")}, gold_pairs([make_question("a")]))
    with pytest.raises(UsageError, match="covers no gold pair"):
        overlap({("a", "c")}, {("a", "b")}, {("a", "b")})
    with pytest.raises(UsageError, match="above 0"):
        tper(1.0, 100, 0.0, 100)


@pytest.mark.parametrize(
    ("seconds", "pool", "seconds_before", "pool_before", "published"),
    [(2.653, 35070, 1.560, 12371, 0.600), (1.974, 19100, 1.437, 6939, 0.499), (2.319, 29934, 1.502, 10031, 0.517)],
    ids=["MuSiQue", "2Wiki", "HotpotQA"],
)
def test_the_published_ratios(
    seconds: float, pool: int, seconds_before: float, pool_before: int, published: float
) -> None:
    """SiReRAG against RAPTOR: queries from table 7, pools from appendix C."""
    assert round(tper(seconds, pool, seconds_before, pool_before), 3) == published
