"""Retrieval measures: by hand, against ir-measures, and by provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import UsageError
from hoptrail.evaluation.retrieval_measures import (
    CUTOFFS,
    DEEPEST_CUTOFF,
    TOKEN_BUDGETS,
    RetrievalMeans,
    Showing,
    measured_at,
    packed_recall,
    project_to_passages,
    recall_at,
    score_retrieval,
    shown_documents,
    summarise_retrieval,
)
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Document, Hit, Kind, Span, Unit, Usage
from world import FACTS, HashingEncoder, make_document, make_passage

PASSAGES = [f"p{number}" for number in range(30)]
RANKED = st.permutations(PASSAGES).flatmap(lambda ids: st.integers(0, 30).map(lambda length: ids[:length]))
NAMES = ["recall@2", "recall@5", "recall@10", "recall@20", "full@5", "full@10"]
GOLD = st.sets(st.sampled_from([*PASSAGES, "never indexed"]), min_size=1, max_size=8)


@settings(max_examples=40)
@given(found=RANKED, gold=GOLD)
def test_measures_equal_ir_measures(found: list[str], gold: set[str]) -> None:
    theirs = {"recall": ir_measures.R, "hits": ir_measures.Success, "map": ir_measures.AP, "mrr": ir_measures.RR}
    ours = {theirs[name] @ k: name for name, cutoffs in CUTOFFS.items() if name in theirs for k in cutoffs}
    judgements = [ir_measures.Qrel("q", passage, 1) for passage in gold]
    run = [ir_measures.ScoredDoc("q", passage, 100.0 - rank) for rank, passage in enumerate(found)]

    for measure, value in ir_measures.calc_aggregate(list(ours), judgements, run).items():
        assert measured_at(measure["cutoff"], found, gold)[ours[measure]] == pytest.approx(value, abs=1e-12)


def test_by_hand() -> None:
    found = ["a", "x", "b", "y", "z", "w", "c"]

    assert [recall_at(k, found, ["a", "b", "c"]) for k in (1, 2, 3, 7, 100)] == [1 / 3, 1 / 3, 2 / 3, 1, 1]
    assert [measured_at(k, found, ["a", "b", "c"])["full"] for k in (3, 6, 7)] == [0, 0, 1]
    assert recall_at(5, [], ["a"]) == 0
    assert recall_at(2, found, ["a", "a", "b"]) == 0.5  # a repeated gold passage is one passage


def test_names_carry_the_cutoffs() -> None:
    assert list(score_retrieval(["a"], ["a"])) == NAMES
    assert DEEPEST_CUTOFF == 20


@pytest.mark.parametrize("measure", [recall_at, measured_at])
def test_no_measure_without_gold(measure: Callable[[int, list[str], list[str]], object]) -> None:
    with pytest.raises(UsageError, match="without gold"):
        measure(5, ["a"], [])


def test_means_overall_and_by_hops() -> None:
    rankings = [
        (("a", "b"), ("a", "b")),
        ((), ("a", "b")),  # failed: nothing found
        (("a", "x", "b", "y", "z"), ("a", "b", "c", "d")),
        (("a",), ()),  # a question without gold passages
    ]

    assert summarise_retrieval(rankings) == {
        0: RetrievalMeans(3, dict(zip(NAMES, (1.25 / 3, 0.5, 0.5, 0.5, 1 / 3, 1 / 3), strict=True))),
        2: RetrievalMeans(2, dict.fromkeys(NAMES, 0.5)),
        4: RetrievalMeans(1, dict(zip(NAMES, (0.25, 0.5, 0.5, 0.5, 0.0, 0.0), strict=True))),
    }
    assert summarise_retrieval(rankings[3:]) == {}


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


DOCUMENTS = {title: make_document(title, text) for title, text in FACTS.items()}
BY_ID = {document.id: document for document in DOCUMENTS.values()}


def fetch(ids: set[str]) -> Mapping[str, Document]:
    return {name: BY_ID[name] for name in ids}


def summary(text: str, *titles: str) -> Unit:
    spans = tuple(Span(DOCUMENTS[title].id, 0, len(DOCUMENTS[title].text)) for title in titles)
    return Unit("s2x", Kind.SUMMARY, "", text, spans)


def titles(found: tuple[str, ...]) -> list[str]:
    return [BY_ID[name].title for name in found]


def test_a_summary_shows_only_what_it_keeps_word_for_word() -> None:
    kept = summary("Dunmere is a port. Rivers flow.", "Isk", "Dunmere", "Lindeth")
    assert titles(shown_documents(kept, fetch)) == ["Dunmere"]
    assert shown_documents(summary("All of them are places.", "Isk", "Dunmere"), fetch) == ()


def test_a_title_in_place_of_a_pronoun_counts_as_the_same_sentence() -> None:
    turned = summary("Orla Finch designed the Tallow Bridge in 1871.", "Orla Finch", "Dunmere")
    assert titles(shown_documents(turned, fetch)) == ["Orla Finch"]
    assert shown_documents(summary("Orla Finch is a port.", "Orla Finch", "Dunmere"), fetch) == ()


def test_other_kinds_show_their_sources() -> None:
    spans = tuple(Span(DOCUMENTS[title].id, 0, 5) for title in ("Isk", "Dunmere", "Isk"))
    assert titles(shown_documents(Unit("a1", Kind.AGGREGATE, "x", "1\n2\n3", spans), fetch)) == ["Isk", "Dunmere"]


@pytest.fixture
def showing(tmp_path: Path) -> Showing:
    encoder = HashingEncoder()
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(list(DOCUMENTS.values()))
        writer.publish(Usage())
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    return Showing(corpus, {document.id: [title] for title, document in DOCUMENTS.items()})


def test_units_beyond_the_budget_do_not_count(showing: Showing) -> None:
    long = "word " * 4 * TOKEN_BUDGETS[0]
    units = [make_passage(DOCUMENTS["Isk"]), Unit("p0", Kind.PASSAGE, "", long, (Span("d0", 0, len(long)),))]
    units.append(make_passage(DOCUMENTS["Dunmere"]))
    ranking = tuple(Hit(unit, 1.0 / place, "test") for place, unit in enumerate(units, 1))
    assert packed_recall(ranking, ["Isk", "Dunmere"], showing) == (1.0, 1.0)
    assert packed_recall(ranking[1:], ["Isk", "Dunmere"], showing) == (0.0, 0.0)
    assert packed_recall(ranking[:1], ["Isk", "Dunmere"], showing) == (0.5, 0.5)


def test_without_gold_or_without_hits(showing: Showing) -> None:
    assert packed_recall((), [], showing) == ()
    assert packed_recall((), ["Isk"], showing) == (0.0, 0.0)
