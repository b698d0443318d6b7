"""Keyword rankings are those of the formula, whatever came and went before."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from corpus.worlds import VOCABULARY, add, indexed, made, ranked
from counting import steps
from hoptrail.corpus.keywords import keyword_words
from hoptrail.corpus.segments import Family
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.types import Document
from world import make_document


def check(snapshot: Snapshot, documents: list[Document], seed: int) -> None:
    draw = Random(seed)
    for _ in range(5):
        question = " ".join(draw.choices([*VOCABULARY, "title", "unheard"], k=4))
        found = snapshot.keywords.search(question, 10)
        wanted = ranked(documents, question, 10)
        ids, scores = [id_ for id_, _ in found], [score for _, score in found]
        assert ids == [id_ for id_, _ in wanted], question
        assert np.allclose(scores, [score for _, score in wanted])
        numbers = snapshot.numbered.numbers(ids)
        [same] = snapshot.keywords.scores([question], np.sort(numbers))
        assert np.allclose(same[np.argsort(np.argsort(numbers))], scores)


def test_rankings_after_many_commits_are_those_of_the_formula(tmp_path: Path) -> None:
    draw, standing, seed = Random(1), list[Document](), 0
    with writing_to(tmp_path) as writer:
        for turn in range(24):
            new = made(draw.choice([1, 1, 2, 30]), seed := seed + 1)
            gone = draw.sample(standing, min(len(standing), draw.choice([0, 1, 8])))
            add(writer, new)
            writer.remove_documents([document.id for document in gone])
            standing = [document for document in (*standing, *new) if document not in gone]
            writer.commit()
            if turn % 4 == 0:
                check(writer.snapshot(), standing, turn)
    with Snapshot.open(tmp_path) as snapshot:
        check(snapshot, standing, 99)
        assert snapshot.keywords.frequencies(["title"]).tolist() == [len(standing)]


def test_small_segments_are_merged(tmp_path: Path) -> None:
    documents = made(70)
    with writing_to(tmp_path) as writer:
        for document in documents:
            add(writer, [document])
            writer.commit()
        count = len(writer._segments.of(Family.KEYWORDS, "passage"))
        assert count == 70 // 64 + 6 % 64
        check(writer.snapshot(), documents, 3)


def test_equal_scores_are_in_the_order_of_ids(tmp_path: Path) -> None:
    twins = [make_document("Twin", f"isk {'x' * row}.") for row in range(1, 40)]
    indexed(tmp_path, twins)
    with Snapshot.open(tmp_path) as snapshot:
        ids = [id_ for id_, _ in snapshot.keywords.search("isk", 7)]
        assert ids == [id_ for id_, _ in ranked(twins, "isk", 7)] == sorted(ids)


@pytest.mark.parametrize("question", ["", "the of", '"(*', "unheard"])
def test_questions_without_a_known_word_find_nothing(tmp_path: Path, question: str) -> None:
    indexed(tmp_path, made(3))
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.keywords.search(question, 5)) == 0


def test_one_more_passage_costs_the_same_in_a_larger_corpus(tmp_path: Path) -> None:
    def work(passages: int) -> int:
        folder = tmp_path / str(passages)
        indexed(folder, made(passages))
        with writing_to(folder) as writer:

            def add_one(seed: int) -> None:
                add(writer, made(1, seed))
                writer.commit()

            add_one(1)
            return steps(lambda: add_one(2))

    assert work(2000) < 1.2 * work(200)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Tallow Bridge, 1,000 m", ["tallow", "bridge", "1", "000", "m"]),
        ("Łódź: Ærø, straße and Şişli", ["lodz", "aero", "strasse", "sisli"]),
        ("O'Neill's e-mail snake_case", ["o", "neill", "e", "mail", "snake", "case"]),
        ("東京都 の駅", ["東京", "京都", "の駅"]),
        ("हिन्दी में", ["हिनदी", "में"]),
        ("à la " + "x" * 41, ["a", "la"]),
        ("soft\u00adhyphen ２０２０", ["softhyphen", "2020"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert keyword_words(text) == words
