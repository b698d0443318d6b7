"""Stopped evaluation runs resume, and outdated results are not reused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.bench import CORPUS, QUESTIONS, REPLIES, Bench, stopping_after
from hoptrail import Answer, Index, Settings
from hoptrail.errors import IndexDamaged, IndexUnavailable, Interrupted
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.evaluation.runner import evaluate
from hoptrail.index.indexing import Watcher
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.recipes.single_pass import Bm25

# --- going on


def test_a_resumed_run_asks_only_the_remaining_questions(bench: Bench) -> None:
    with pytest.raises(Interrupted, match="same --work"):
        bench.run(watcher=stopping_after(2))
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2"]
    result = bench.result()
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2", "q3", "q4"]
    # The same script from its beginning, so the third question gets the first reply.
    assert (result["em"], result["calls"], result["tokens"]) == (1 / 4, 4, 2 * 35)
    assert sum("\n" in text for text in bench.encoder.texts) == 3, "passages, with their titles, are encoded once"


def test_finished_questions_are_not_asked_again_but_failed_ones_are(bench: Bench) -> None:
    bench.run()
    result = bench.result()
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2", "q3", "q4", "q4"]
    assert (result["failed"], result["em"], bench.stored_results()[-1]["prediction"]) == (0, 1 / 4, "Isk")
    before = (bench.work / "results" / "tiny-bm25.jsonl").read_bytes()
    assert bench.result()["em"] == 1 / 4
    assert (bench.work / "results" / "tiny-bm25.jsonl").read_bytes() == before


def test_an_index_without_a_needed_structure_ends_the_run_at_its_first_question(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every question would meet the same error, and none causes it."""
    monkeypatch.setattr("hoptrail.index.indexing.check_recipes", lambda *_: None)
    with pytest.raises(IndexUnavailable, match="Set lemmas = true"):
        bench.run("comprag:lemmatised", replies=None)
    assert list((bench.work / "results").glob("*.jsonl")) == []


@pytest.mark.parametrize(
    "error", [IndexDamaged("a file went away"), MemoryError("full")], ids=["foreseen", "unforeseen"]
)
def test_a_run_that_ends_with_an_error_keeps_finished_results(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    answer = Bm25.answer

    def breaking(self: Bm25, question: str) -> Answer:
        if question == "Zeppelin?":
            raise error
        return answer(self, question)

    with monkeypatch.context() as patched:
        patched.setattr(Bm25, "answer", breaking)
        with pytest.raises(type(error), match=str(error)):
            bench.run()
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2"]
    assert bench.result()["failed"] == 0


def test_more_questions_later_ask_only_the_new_ones(bench: Bench) -> None:
    assert bench.result(limit=2)["n"] == 2
    assert bench.result()["calls"] == 4
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2", "q3", "q4"]


# --- nothing old passed off as new


def repeated_questions(bench: Bench, **more: Any) -> list[str]:
    """The questions that a second run asks."""
    before = len(bench.stored_results())
    bench.run(replies=None, **more)
    return [row["question"] for row in bench.stored_results()[before:]]


@pytest.fixture
def finished(bench: Bench) -> Bench:
    bench.run(replies=None)
    assert repeated_questions(bench) == []
    return bench


def test_other_settings(finished: Bench) -> None:
    """Those of the recipe and of passages change results; those of another recipe do not."""
    recipes, everything = RecipeSettings(), ["q1", "q2", "q3", "q4"]
    for settings, asked in (
        (Settings(recipes=replace(recipes, bm25=PassageSettings(k=1))), everything),
        (Settings(), []),
        (Settings(recipe="dense", recipes=replace(recipes, selfask=replace(recipes.selfask, k=1))), []),
        (Settings(passages=replace(Settings().passages, words=3, short_document_words=0)), everything),
    ):
        finished.settings = settings
        assert repeated_questions(finished) == asked


def test_another_language_and_retrieval_only(finished: Bench) -> None:
    assert repeated_questions(finished, retrieval_only=True) == ["q1", "q2", "q3", "q4"]
    before = len(finished.stored_results())
    finished.run(replies=REPLIES)
    assert len(finished.stored_results()) == before + 4


def test_another_content_of_the_scripted_file(bench: Bench) -> None:
    bench.run()
    bench.run(replies=REPLIES[:3] * 2)
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2", "q3", "q4"] * 2


@pytest.mark.parametrize("language", ["offline", "oracle"])
def test_another_code(bench: Bench, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    def run(settings: Settings) -> int:
        index = Index(bench.work / "index", settings)
        index.encoder = bench.encoder
        evaluate(load_dataset(bench.data), ["bm25"], index, bench.work, language, Watcher())
        return len(bench.stored_results())

    assert run(Settings()) == run(Settings()) == 4
    with monkeypatch.context() as patched:
        patched.setattr("hoptrail.evaluation.runner.digest_with", lambda _: "another")
        assert run(Settings()) == 8
    other = Settings(offline=OfflineSettings(least_confidence=0.9))
    assert run(other) == run(other) == (12 if language == "offline" else 8)


def test_a_passage_more(finished: Bench) -> None:
    finished.write("corpus.jsonl", [*CORPUS, {"id": "e", "title": "Zeppelin", "text": "A zeppelin flies."}])
    assert repeated_questions(finished) == ["q1", "q2", "q3", "q4"]
    assert finished.stored_results()[-2]["passages"] == ["e"]


def test_a_passage_less(finished: Bench) -> None:
    """It must not be found any more, although the index of the last run has it."""
    finished.write("corpus.jsonl", CORPUS[1:])
    finished.write("questions.jsonl", [{**QUESTIONS[0], "supporting": ["b"]}, *QUESTIONS[1:]])
    result = finished.result(replies=None)
    assert result["pool_size"] == 2
    assert [row["passages"] for row in finished.stored_results()[4:]] == [[], ["b", "b2"], [], ["c"]]


def test_one_of_two_equal_passages_less(finished: Bench) -> None:
    finished.write("corpus.jsonl", [*CORPUS[:2], CORPUS[3]])
    finished.write("questions.jsonl", [{**QUESTIONS[1], "supporting": ["b"]}])
    assert finished.result(replies=None)["retrieval"]["recall@2"] == 1.0
    assert finished.stored_results()[-1]["passages"] == ["b"]


def test_another_text_of_a_passage(finished: Bench) -> None:
    finished.write("corpus.jsonl", [{**CORPUS[0], "text": "Orla Finch was born in Lindeth."}, *CORPUS[1:]])
    assert repeated_questions(finished) == ["q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("change", [{"question": "Finch Orla?"}, {"answers": ["Arrow"]}, {"supporting": ["c"]}])
def test_a_corrected_question(finished: Bench, change: dict[str, Any]) -> None:
    finished.write("questions.jsonl", [{**QUESTIONS[0], **change}, *QUESTIONS[1:]])
    assert repeated_questions(finished) == ["q1"]
    assert repeated_questions(finished) == []


def test_another_data_set_of_the_same_name(finished: Bench, tmp_path: Path) -> None:
    elsewhere = Bench(tmp_path / "elsewhere", encoder=finished.encoder)
    elsewhere.write("corpus.jsonl", [{"id": "z", "title": "Isk", "text": "The Isk is long."}])
    elsewhere.write("questions.jsonl", [{**QUESTIONS[1], "supporting": ["z"]}])
    index = Index(finished.work / "index")
    index.encoder = finished.encoder
    report = evaluate(load_dataset(elsewhere.data), ["bm25"], index, finished.work, "offline", Watcher())
    ((_, result),) = report.recipes
    assert result.content["pool_size"] == 1
    assert finished.stored_results()[-1]["passages"] == ["z"]
