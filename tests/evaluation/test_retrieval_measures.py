"""Retrieval measures: by hand, against ir-measures, and by provenance."""

from __future__ import annotations

from collections.abc import Sequence

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.errors import UsageError
from hoptrail.evaluation.retrieval_measures import (
    DEEPEST_CUTOFF,
    FULL_CUTOFFS,
    RECALL_CUTOFFS,
    JudgedRanking,
    RetrievalMeans,
    RetrievalScores,
    average_precision_at,
    full_at,
    hit_at,
    project_to_passages,
    recall_at,
    reciprocal_rank_at,
    score_retrieval,
    summarise_retrieval,
)
from hoptrail.types import Hit, Kind, Span, Unit

PASSAGES = [f"p{number}" for number in range(30)]
RANKED = st.permutations(PASSAGES).flatmap(lambda ids: st.integers(0, 30).map(lambda length: ids[:length]))
GOLD = st.sets(st.sampled_from([*PASSAGES, "never indexed"]), min_size=1, max_size=8)


@given(found=RANKED, gold=GOLD)
def test_recall_equals_ir_measures(found: list[str], gold: set[str]) -> None:
    measures = {k: ir_measures.R @ k for k in RECALL_CUTOFFS}
    judgements = [ir_measures.Qrel("q", passage, 1) for passage in gold]
    run = [ir_measures.ScoredDoc("q", passage, 100.0 - rank) for rank, passage in enumerate(found)]

    theirs = ir_measures.calc_aggregate(list(measures.values()), judgements, run)

    ours = score_retrieval(found, gold).recall
    assert ours == tuple(pytest.approx(theirs[measures[k]], abs=1e-12) for k in RECALL_CUTOFFS)


@given(found=RANKED, gold=GOLD)
def test_hits_map_and_mrr_equal_ir_measures(found: list[str], gold: set[str]) -> None:
    measures = [ir_measures.Success @ 4, ir_measures.AP @ 10, ir_measures.RR @ 10]
    judgements = [ir_measures.Qrel("q", passage, 1) for passage in gold]
    run = [ir_measures.ScoredDoc("q", passage, 100.0 - rank) for rank, passage in enumerate(found)]

    theirs = ir_measures.calc_aggregate(measures, judgements, run)

    ours = [hit_at(4, found, gold), average_precision_at(10, found, gold), reciprocal_rank_at(10, found, gold)]
    assert ours == [pytest.approx(theirs[measure], abs=1e-12) for measure in measures]


@given(found=RANKED, gold=GOLD)
def test_full_is_one_if_no_gold_passage_is_missing(found: list[str], gold: set[str]) -> None:
    expected = tuple(float(all(passage in found[:k] for passage in gold)) for k in FULL_CUTOFFS)

    assert score_retrieval(found, gold).full == expected


def test_by_hand() -> None:
    found = ["a", "x", "b", "y", "z", "w", "c"]

    assert [recall_at(k, found, ["a", "b", "c"]) for k in (1, 2, 3, 7, 100)] == [1 / 3, 1 / 3, 2 / 3, 1, 1]
    assert [full_at(k, found, ["a", "b", "c"]) for k in (3, 6, 7)] == [0, 0, 1]
    assert recall_at(5, [], ["a"]) == 0
    assert recall_at(2, found, ["a", "a", "b"]) == 0.5  # a repeated gold passage is one passage


def test_names_carry_the_cutoffs() -> None:
    scores = RetrievalScores(recall=(0.1, 0.2, 0.3, 0.4), full=(0.5, 0.6))

    assert scores.named() == {
        "recall@2": 0.1,
        "recall@5": 0.2,
        "recall@10": 0.3,
        "recall@20": 0.4,
        "full@5": 0.5,
        "full@10": 0.6,
    }
    assert DEEPEST_CUTOFF == 20


@pytest.mark.parametrize("measure", [recall_at, full_at])
def test_no_measure_without_gold(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(UsageError, match="without gold"):
        measure(5, ["a"], [])


def test_means_overall_and_by_hops() -> None:
    rankings = [
        JudgedRanking(("a", "b"), frozenset({"a", "b"}), 2),
        JudgedRanking((), frozenset({"a", "b"}), 2),  # failed: nothing found
        JudgedRanking(("a", "x", "b", "y", "z"), frozenset({"a", "b", "c", "d"}), 4),
        JudgedRanking(("a",), frozenset(), 0),  # a question without gold passages
    ]

    summary = summarise_retrieval(rankings)

    two = RetrievalMeans(2, RetrievalScores((0.5, 0.5, 0.5, 0.5), (0.5, 0.5)))
    four = RetrievalMeans(1, RetrievalScores((0.25, 0.5, 0.5, 0.5), (0.0, 0.0)))
    assert summary.by_hops == ((2, two), (4, four))
    assert summary.overall == RetrievalMeans(3, RetrievalScores((1.25 / 3, 0.5, 0.5, 0.5), (1 / 3, 1 / 3)))
    assert summary.without_gold == 1


def test_no_question_has_gold() -> None:
    summary = summarise_retrieval([JudgedRanking(("a",), frozenset(), 0)])

    assert (summary.overall, summary.by_hops, summary.without_gold) == (None, (), 1)


def unit(identifier: str, kind: Kind, documents: Sequence[str]) -> Unit:
    return Unit(identifier, kind, "", identifier, tuple(Span(document, 0, 5) for document in documents))


def test_units_count_for_the_passages_they_were_made_from() -> None:
    units = [
        unit("summary", Kind.SUMMARY, ["d3", "d1"]),
        unit("sentence", Kind.SENTENCE, ["d1"]),
        unit("passage", Kind.PASSAGE, ["d2"]),
        unit("aggregate", Kind.AGGREGATE, ["d2", "d4", "d3"]),
    ]
    ranking = tuple(Hit(unit, 1.0 - rank / 10, "test") for rank, unit in enumerate(units))

    passages = project_to_passages(ranking, lambda unit: [span.document for span in unit.sources])

    assert passages == ["d3", "d1", "d2", "d4"]


def test_a_unit_without_a_passage_takes_no_rank() -> None:
    ranking = tuple(Hit(unit(name, Kind.PASSAGE, [name]), 1.0, "test") for name in ("known", "foreign", "other"))

    passages = project_to_passages(ranking, lambda unit: [] if unit.id == "foreign" else [unit.id])

    assert passages == ["known", "other"]


@given(st.lists(st.sampled_from(PASSAGES), max_size=40))
def test_a_ranking_of_passages_alone_is_unchanged_but_for_repeats(found: list[str]) -> None:
    ranking = tuple(Hit(unit(name, Kind.PASSAGE, [name]), 1.0, "test") for name in found)

    passages = project_to_passages(ranking, lambda unit: [unit.id])

    assert passages == sorted(set(found), key=found.index)
