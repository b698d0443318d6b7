"""Coverage and overlap of pairs of passages: worked examples."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import Dataset, Question
from hoptrail_papers.sirerag.tree_coverage import coverage, gold_pairs, measure_tree_coverage, overlap, pairs_of

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
    assert coverage(frozenset(), {("a", "b")}) == 0


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
    forth, back = overlap(first, second, target), overlap(second, first, target)
    if forth is not None and back is not None:
        there = forth * coverage(first, target)
        back *= coverage(second, target)
        assert math.isclose(there, back)
        assert math.isclose(there, coverage(first & second, target))


def test_there_is_no_overlap_where_nothing_is_covered() -> None:
    assert overlap({("a", "c")}, {("a", "b")}, {("a", "b")}) is None


def test_groups_are_not_measured_without_gold_pairs() -> None:
    dataset = Dataset("one", Path(), 1, (make_question("a"),), None)
    with pytest.raises(UsageError, match="no question of one has two gold passages"):
        measure_tree_coverage(None, dataset, {})  # type: ignore[arg-type]
