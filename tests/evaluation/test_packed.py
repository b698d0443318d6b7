"""What units show, and recall at an equal budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.evaluation.packed import TOKEN_BUDGETS, Showing, packed_recall, shown_documents
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Document, Hit, Kind, Span, Unit, Usage
from world import FACTS, HashingEncoder, make_document, make_passage

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
