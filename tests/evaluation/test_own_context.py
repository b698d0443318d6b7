"""Each question over its own passages, and stand-alone sub-questions as questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from evaluation.bench import CORPUS, QUESTIONS, Bench
from hoptrail import Index
from hoptrail.errors import DataError, Interrupted
from hoptrail.evaluation.datasets import load_dataset, single_hops_of
from hoptrail.evaluation.runner import evaluate_own_contexts
from hoptrail.index.indexing import Watcher

OWN: list[dict[str, Any]] = [
    QUESTIONS[0] | {"candidates": ["a", "c"], "supporting": ["a"]},
    QUESTIONS[1] | {"candidates": ["b2", "c"]},
    QUESTIONS[3],
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.write("corpus.jsonl", CORPUS)
    bench.write("questions.jsonl", OWN)
    return bench


def run(bench: Bench, *recipes: str, watcher: Watcher | None = None, **more: Any) -> dict[str, Any]:
    index = Index(bench.work / "index", bench.settings)
    index.encoder = bench.encoder
    dataset = load_dataset(bench.data)
    names = recipes or ("dense",)
    report = evaluate_own_contexts(dataset, names, index, bench.work, "offline", watcher or Watcher(), **more)
    return report.to_json()


def test_a_question_finds_its_own_passages_and_no_others(bench: Bench) -> None:
    report = run(bench, "dense", "bm25", retrieval_only=True)
    assert (report["data"], report["questions"]) == ("tiny-own", 2)
    assert report["recipes"]["dense"]["pool_size"] == 2
    assert report["recipes"]["dense"]["retrieval"]["recall@2"] == 1.0
    stored = [line for line in bench.stored_results("own-dense") if line["question"] == "q1"]
    assert set(stored[0]["passages"]) == {"a", "c"}, "never b, which is nearest to the river"


def test_every_recipe_has_the_structures_of_its_own_corpus(bench: Bench) -> None:
    report = run(bench, "chainrag:paper", "sunar")
    assert [one["failed"] for one in report["recipes"].values()] == [0, 0]


def test_a_stopped_run_resumes(bench: Bench) -> None:
    calls = iter([False, *[True] * 99])
    with pytest.raises(Interrupted):
        run(bench, "bm25", retrieval_only=True, watcher=Watcher(stopped=lambda: next(calls)))
    before = len(bench.stored_results("own-bm25")) if (bench.work / "results" / "tiny-own-bm25.jsonl").exists() else 0
    run(bench, "bm25", retrieval_only=True)
    assert before < 2
    run(bench, "bm25", retrieval_only=True)
    assert len(bench.stored_results("own-bm25")) == 2, "what was done is not done again"


def test_questions_without_candidates_are_refused(bench: Bench) -> None:
    bench.write("questions.jsonl", QUESTIONS)
    with pytest.raises(DataError, match="no question of tiny has candidates"):
        run(bench)


def test_the_command_asks_own_contexts(bench: Bench, hoptrail: Hoptrail) -> None:
    done = hoptrail("evaluate", str(bench.data), "--recipes", "bm25", "--retrieval-only", "--own-context")
    assert done.code == 0
    assert hoptrail("evaluate", str(bench.data), "--recipes", "bm25", "--own-context", "--threads", "2").code == 2


def test_stand_alone_sub_questions_become_questions(bench: Bench) -> None:
    steps = [
        {"question": "Orla Finch >> place of birth", "answer": "Wrenmouth", "supporting": "a"},
        {"question": "Which river flows through #1?", "answer": "Isk", "supporting": "b"},
        {"question": "Who is she?", "answer": None},
    ]
    bench.write("questions.jsonl", [QUESTIONS[0] | {"decomposition": steps}, QUESTIONS[1] | {"decomposition": steps}])
    (single,) = single_hops_of(load_dataset(bench.data)).questions
    assert (single.id, single.question) == ("q1#1", "What is the place of birth of Orla Finch?")
    assert (single.answers, single.supporting) == (("Wrenmouth",), ("a",))
    bench.write("questions.jsonl", QUESTIONS)
    with pytest.raises(DataError, match="stand alone"):
        single_hops_of(load_dataset(bench.data))


def test_scores_by_turns(bench: Bench) -> None:
    (report,) = run(bench, "bm25")["recipes"].values()
    turns = report["answers_by_turns"]
    assert set(turns) == {"1"}
    assert turns["1"]["n"] == 2
    assert turns["1"]["em"] == report["em"]
