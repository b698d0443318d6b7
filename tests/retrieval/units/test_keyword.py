"""Keyword search takes any question as plain words, and equals come in order of id. (Scores: `corpus/test_keywords.py`.)"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.worlds import made
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import keyword_search
from hoptrail.types import Document, Usage
from world import HashingEncoder, make_document, make_passage


def publish(folder: Path, encoder: HashingEncoder, documents: list[Document], removed: list[Document]) -> None:
    with writing_to(folder, encoder.identity) as writer:
        units = [make_passage(document) for document in documents]
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.remove_documents([document.id for document in removed])
        writer.publish(Usage())


def test_titles_are_searched_too(tmp_path: Path, encoder: HashingEncoder) -> None:
    publish(tmp_path, encoder, [make_document("Quernstone", "A thing."), make_document("Other", "A thing.")], [])
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    assert [hit.unit.title for hit in keyword_search(corpus, "quernstone", 5)] == ["Quernstone"]


ODD = [
    '"',
    "a AND OR NOT b",
    "title:x*",
    "(((",
    "w1~2 +w2 -w3",
    "\\",
    "*",
    "w1^5",
    "the of and",
    "%_'; DROP TABLE units; --",
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("small")
    encoder = HashingEncoder()
    publish(folder, encoder, made(30), [])
    return Corpus(Snapshot.open(folder), lambda: encoder)


@pytest.mark.parametrize("question", ODD)
def test_operators_and_quotes_have_no_meaning(small: Corpus, question: str) -> None:
    plain = "".join(character if character.isalnum() else " " for character in question)
    assert keyword_search(small, question, 30) == keyword_search(small, plain, 30)


@given(st.text(st.sampled_from("aW1 \"'()*:^~+-\\%_;\0\ud800é東"), max_size=60))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_is_a_question(small: Corpus, question: str) -> None:
    ranking = keyword_search(small, question.encode("utf-8", "replace").decode(), 5)
    assert len(ranking) <= 5


def test_which_of_very_many_equals_come_does_not_hang_on_the_order_of_adding(
    tmp_path: Path, encoder: HashingEncoder
) -> None:
    equal = [make_document(f"A{number}", "Same words here.") for number in range(500)]
    better = [make_document(f"B{number}", "Same rare words.") for number in range(2)]
    best, rest = (sorted(make_passage(document).id for document in some) for some in (better, equal))
    for name, documents in (("one", [*equal, *better]), ("other", [*better, *equal[::-1]])):
        publish(tmp_path / name, encoder, documents, [])
        snapshot = Snapshot.open(tmp_path / name)
        for limit in (1, 2, 3, 20, 501):
            found = snapshot.search.keywords("same rare", limit)
            assert [unit.id for unit, _ in found] == [*best, *rest][:limit]
            assert {unit for unit, _ in found} <= {make_passage(document) for document in documents}
