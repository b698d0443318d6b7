"""BM25 equals the textbook's, after every kind of change, and takes any question as plain words."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.words import keyword_words
from hoptrail.corpus.writer import writing_to
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import keyword_search
from hoptrail.types import Document, Unit, Usage
from world import HashingEncoder, make_document, make_passage

K1, B = 1.2, 0.75
WORDS = [f"word{number}" for number in range(60)]


def textbook(question: list[str], texts: dict[str, list[str]]) -> dict[str, float]:
    """Robertson's BM25 with Lucene's idf, written out; only texts that hold a word of the question."""
    mean = sum(map(len, texts.values())) / len(texts)
    holding = Counter(word for text in texts.values() for word in set(text))
    scores: dict[str, float] = {}
    for name, text in texts.items():
        counts = Counter(text)
        for word in question:
            if counts[word]:
                idf = math.log(1 + (len(texts) - holding[word] + 0.5) / (holding[word] + 0.5))
                weight = counts[word] * (K1 + 1) / (counts[word] + K1 * (1 - B + B * len(text) / mean))
                scores[name] = scores.get(name, 0.0) + idf * weight
    return scores


def random_documents(chance: random.Random, count: int, start: int = 0) -> list[Document]:
    return [
        make_document(
            f"T{number}", " ".join(chance.choices(WORDS, weights=range(60, 0, -1), k=chance.randint(3, 40))) + "."
        )
        for number in range(start, start + count)
    ]


def publish(folder: Path, encoder: HashingEncoder, documents: list[Document], removed: list[Document]) -> None:
    with writing_to(folder, encoder.identity) as writer:
        units = [make_passage(document) for document in documents]
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.remove_documents([document.id for document in removed])
        writer.publish(Usage())


def test_scores_equal_the_textbook_after_adding_and_removing(tmp_path: Path, encoder: HashingEncoder) -> None:
    chance = random.Random(3)
    held: list[Document] = []
    for turn in range(4):
        added = random_documents(chance, 120, start=200 * turn)
        removed = chance.sample(held, 30) if held else []
        publish(tmp_path, encoder, added, removed)
        held = [document for document in [*held, *added] if document not in removed]
        check_against_textbook(tmp_path, encoder, [make_passage(document) for document in held], chance)


def check_against_textbook(folder: Path, encoder: HashingEncoder, units: list[Unit], chance: random.Random) -> None:
    corpus = Corpus(Snapshot.open(folder), lambda: encoder)
    texts = {unit.id: unit.searchable.lower().replace(".", "").split() for unit in units}
    for _ in range(10):
        question = chance.sample(WORDS, chance.randint(1, 6))
        expected = textbook(question, texts)
        ranking = keyword_search(corpus, " ".join(question), 20)
        order = sorted(expected, key=lambda name: (-round(expected[name], 4), name))[:20]
        assert [hit.unit.id for hit in ranking] == order or all(
            math.isclose(expected[hit.unit.id], expected[name], rel_tol=1e-5)
            for hit, name in zip(ranking, order, strict=True)
        )
        for hit in ranking:
            assert hit.score == pytest.approx(expected[hit.unit.id], rel=1e-5)


def test_words_are_cut_as_documented() -> None:
    assert keyword_words("The Cafés of São-Paulo's 2nd x_ray") == ["cafes", "sao", "paulo", "2nd", "x", "ray"]
    assert keyword_words("Who is his son? die der") == ["son", "die", "der"]
    assert keyword_words("runs running") == ["runs", "running"]
    japanese = keyword_words("東京は日本の首都です")
    assert len(japanese) > 2
    assert "日本" in japanese


def test_titles_are_searched_too(tmp_path: Path, encoder: HashingEncoder) -> None:
    publish(tmp_path, encoder, [make_document("Quernstone", "A thing."), make_document("Other", "A thing.")], [])
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    assert [hit.unit.title for hit in keyword_search(corpus, "quernstone", 5)] == ["Quernstone"]


ODD = [
    '"',
    "a AND OR NOT b",
    "title:x*",
    "(((",
    "word1~2 +word2 -word3",
    "\\",
    "*",
    "word1^5",
    "the of and",
    "%_'; DROP TABLE units; --",
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("small")
    encoder = HashingEncoder()
    publish(folder, encoder, random_documents(random.Random(5), 30), [])
    return Corpus(Snapshot.open(folder), lambda: encoder)


@pytest.mark.parametrize("question", ODD)
def test_operators_and_quotes_have_no_meaning(small: Corpus, question: str) -> None:
    plain = "".join(character if character.isalnum() else " " for character in question)
    assert keyword_search(small, question, 30) == keyword_search(small, plain, 30)


@given(st.text(max_size=200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_is_a_question(small: Corpus, question: str) -> None:
    ranking = keyword_search(small, question.encode("utf-8", "replace").decode(), 5)
    assert len(ranking) <= 5


def test_equal_scores_come_in_order_of_id(tmp_path: Path, encoder: HashingEncoder) -> None:
    publish(tmp_path, encoder, [make_document(f"A{number}", "Same words here.") for number in range(40)], [])
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    ids = [hit.unit.id for hit in keyword_search(corpus, "same words", 40)]
    assert len(ids) == 40
    assert ids == sorted(ids)
    assert [hit.unit.id for hit in keyword_search(corpus, "same words", 40)] == ids


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
