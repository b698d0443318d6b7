"""Evaluation runs: values worked out by hand, the report's keys, invalid calls, the command."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from evaluation.bench import CORPUS, QUESTIONS, REPLIES, Bench
from fakeai.brains import by_task
from fakeai.clients import point_at
from fakeai.server import FakeAI, serving
from hoptrail import Kind, Settings, Span, Unit
from hoptrail.errors import DataError, HoptrailError, UsageError
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.index.indexing import Watcher
from hoptrail.models.chat import ChatSettings
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.registry import recipe_names

REPORT = ["data", "questions", "language", "recipes"]
COUNTS = ["n", "failed", "abstained"]
ANSWERS = ["em", "f1", "precision", "recall", "intervals", "answers_by_hops", "answers_by_turns"]
RETRIEVAL = ["retrieval", "by_hops", "questions_by_hops", "without_gold"]
COSTS = ["packed", "pool_size", "seconds_per_question", "calls", "tokens", "tasks", "fingerprint", "changed", "run"]
MEASURES = ["recall@2", "recall@5", "recall@10", "recall@20", "full@5", "full@10"]

SELFASK = [
    {"task": "decompose", "reply": {"questions": ["Where was Orla Finch born?"]}, "prompt_tokens": 5},
    {"task": "answer", "reply": {"answer": "Wrenmouth"}, "prompt_tokens": 7, "completion_tokens": 2},
]


# --- values


def test_a_tiny_case_by_hand(bench: Bench) -> None:
    """Keyword search finds [a], [b, b2], [] and [c]; the answers score (1, 1), (0, 2/3) and zero, and one fails."""
    report = bench.run()
    given = report.to_json()
    assert {key: given[key] for key in REPORT[:3]} == {"data": "tiny", "questions": 4, "language": given["language"]}
    result = given["recipes"]["bm25"]
    assert list(given) == REPORT
    assert list(result) == COUNTS + ANSWERS + RETRIEVAL + COSTS
    assert [result[key] for key in COUNTS] == [4, 1, 1]
    assert result["em"] == 1 / 4
    assert result["f1"] == pytest.approx((1 + 2 / 3) / 4)
    assert result["precision"] == pytest.approx((1 + 1 / 2) / 4)
    assert result["recall"] == pytest.approx((1 + 1) / 4)
    recall, full = (1 / 2 + 1 + 0) / 3, (0 + 1 + 0) / 3
    assert result["retrieval"] == pytest.approx(dict.fromkeys(MEASURES[:4], recall) | dict.fromkeys(MEASURES[4:], full))
    assert list(result["retrieval"]) == MEASURES
    assert result["by_hops"]["2"] == dict.fromkeys(MEASURES[:4], 1 / 2) | dict.fromkeys(MEASURES[4:], 0.0)
    assert result["by_hops"]["1"] == dict.fromkeys(MEASURES, 1 / 2)
    assert (result["questions_by_hops"], result["without_gold"]) == ({"1": 2, "2": 1}, 1)
    assert (result["pool_size"], result["calls"], result["tokens"]) == (3, 3, 35)
    assert list(result["seconds_per_question"]) == ["retrieval", "language"]
    assert all(seconds > 0 for seconds in result["seconds_per_question"].values())
    assert json.loads(json.dumps(given)) == given


def test_a_failed_question_is_reported_with_its_reason_and_counts_as_zero(bench: Bench) -> None:
    ((_, report),) = bench.run().recipes
    ((question, reason),) = report.failures
    assert question == "q4"
    assert "overloaded" in reason
    assert [row["error"] is None for row in bench.stored_results()] == [True, True, True, False]


def test_a_failed_question_has_found_nothing_and_has_the_cost_of_its_tasks(bench: Bench) -> None:
    """Its passages are stored for inspection."""
    failing = [*SELFASK[:2], {"task": "decompose", "fail": "overloaded"}]
    result = bench.result("selfask", replies=failing, limit=1)
    assert (result["failed"], result["calls"], result["tokens"]) == (1, 2, 14)
    assert set(result["retrieval"].values()) == set(result["packed"].values()) == {0.0}
    ((kept),) = bench.stored_results("selfask")
    assert kept["passages"]


def test_retrieval_alone_has_the_cost_of_its_tasks(bench: Bench) -> None:
    replies = [*SELFASK, {"task": "decompose", "reply": {"questions": []}, "prompt_tokens": 5}]
    result = bench.result("selfask", replies=replies, limit=1, retrieval_only=True)
    assert result["calls"] == result["tasks"] > 0
    assert result["tokens"] == 19


def test_the_cost_of_a_recipe_does_not_depend_on_earlier_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two recipes with the same requests report the same cost, as does a repeat under other settings; it is paid once."""
    bench.write("corpus.jsonl", CORPUS[:1])
    bench.write("questions.jsonl", [{**QUESTIONS[0], "supporting": ["a"]}])
    with serving(FakeAI(by_task({"answer": {"steps": [], "answer": "Isk", "confidence": 0.5}}))) as fake:
        point_at(fake, monkeypatch)
        both = bench.run("dense", "hybrid", replies=None, language="chat", limit=1)
        bench.settings = replace(bench.settings, recipes=replace(bench.settings.recipes, dense=PassageSettings(k=9)))
        again = bench.run("dense", replies=None, language="chat", limit=1)
    costs = {(report.content["calls"], report.content["tokens"]) for _, report in (*both.recipes, *again.recipes)}
    assert costs == {(1, fake.bill.prompt_tokens + fake.bill.completion_tokens)}
    assert fake.bill.calls == 1


def test_an_incomplete_structure_is_reported_and_its_results_are_separate(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run repeats failed extractions; its results are not mixed with those without them."""
    bench.write("corpus.jsonl", CORPUS[:2])
    bench.write("questions.jsonl", QUESTIONS[:1])
    bench.settings = Settings(language="chat", chat=ChatSettings(attempts=1))
    says = by_task({"extract": {"entities": ["Wrenmouth"], "facts": []}, "summarise": {"summary": "Orla Finch."}})
    with serving(FakeAI(says, choose=lambda _, body: "500" if "Isk" in str(body["messages"]) else None)) as fake:
        point_at(fake, monkeypatch)
        first = bench.run("sirerag", replies=None)
        fake.choose = lambda *_: None
        second = bench.run("sirerag", replies=None)
    assert any("Wrenmouth" in note for note in first.notes)
    assert second.notes == ()
    assert len({row["fingerprint"] for row in bench.stored_results("sirerag")}) == 2


def test_an_invalid_question_does_not_affect_others(bench: Bench) -> None:
    bench.write("questions.jsonl", [{**QUESTIONS[0], "question": "Why? " * 3000}, QUESTIONS[1]])
    ((_, report),) = bench.run(replies=REPLIES[:1]).recipes
    assert [(name, "at most 8,000" in reason) for name, reason in report.failures] == [("q1", True)]
    content = report.content
    assert (content["n"], content["failed"], content["abstained"]) == (2, 1, 0)
    assert content["em"] == 1 / 2
    assert content["retrieval"]["recall@20"] == 1 / 2


def test_a_failed_hop_is_no_failed_question(bench: Bench) -> None:
    """selfask continues after a failed hop, and its answer counts."""
    replies = [
        {"task": "decompose", "reply": {"questions": ["Isk?"]}},
        {"task": "answer", "reply": {"answer": "Isk"}},
        {"task": "decompose", "fail": "overloaded"},
        {"task": "integrate", "reply": {"answer": "Isk"}},
    ]
    result = bench.result("selfask", replies=replies, limit=1)
    assert (result["failed"], result["em"], result["calls"]) == (0, 1.0, 3)


def test_passages_that_repeat_under_two_ids_count_for_both(bench: Bench) -> None:
    for gold in (["b"], ["b2"], ["b", "b2"]):
        bench.write("questions.jsonl", [{**QUESTIONS[1], "supporting": gold}])
        result = bench.result(retrieval_only=True)
        assert result["retrieval"] == dict.fromkeys(MEASURES, 1.0)
    assert [row["passages"] for row in bench.stored_results()] == [["b", "b2"]] * 3


def test_units_made_from_several_documents_count_for_the_passages_of_each() -> None:
    ids = {"d1": ["a"], "d2": ["b", "b2"]}
    spans = (Span("d2", 0, 5), Span("d1", 0, 5), Span("d2", 7, 9), Span("d9", 0, 1))
    summary = Unit("s1", Kind.SUMMARY, "", "both", spans)
    assert corpus_ids(summary, ids) == ["b", "b2", "a"]
    assert corpus_ids(replace(summary, sources=spans[3:]), ids) == []


def test_several_recipes_are_reported_in_order_with_separate_results(bench: Bench) -> None:
    report = bench.run("hybrid", "bm25", "dense", replies=None).to_json()
    assert list(report["recipes"]) == ["hybrid", "bm25", "dense"]
    assert report["language"] == "offline"
    assert {result["pool_size"] for result in report["recipes"].values()} == {3}
    assert len({result["fingerprint"] for result in report["recipes"].values()}) == 3


def test_retrieval_only_gives_the_same_retrieval_and_no_answers(bench: Bench) -> None:
    retrieved = bench.run(*recipe_names(), replies=None, retrieval_only=True).to_json()["recipes"]
    answered = bench.run(*recipe_names(), replies=None).to_json()["recipes"]
    for recipe, alone in retrieved.items():
        assert list(alone) == COUNTS + RETRIEVAL + COSTS
        assert [alone[key] for key in COUNTS] == [4, 0, 0]
        assert (alone["calls"], alone["tokens"]) == (0, 0)
        assert alone["retrieval"] is not None
        assert {key: alone[key] for key in RETRIEVAL} == {key: answered[recipe][key] for key in RETRIEVAL}


def test_seconds_of_language_and_retrieval_are_separate(bench: Bench) -> None:
    assert bench.result(replies=None, retrieval_only=True)["seconds_per_question"]["language"] == 0.0
    assert bench.result(replies=None)["seconds_per_question"]["language"] > 0.0


# --- refusing


def test_wrong_calls_cost_nothing(bench: Bench) -> None:
    for recipes in (("wonder",), ("bm25", "wonder")):
        with pytest.raises(UsageError, match="there is no recipe wonder"):
            bench.run(*recipes)
    assert bench.encoder.texts == []


def test_a_passage_that_cannot_be_read_stops_the_run(bench: Bench) -> None:
    bench.write("corpus.jsonl", [*CORPUS, {"id": "e", "title": "No text"}])
    with pytest.raises(DataError, match=r"1 passages of .*corpus\.jsonl could not be read.*line 5: has no `text`"):
        bench.run()


def test_two_runs_at_once_are_refused(bench: Bench) -> None:
    met: list[str] = []

    def again(what: str, *_: int) -> None:
        if what == "bm25" and not met:
            met.append("")
            try:
                bench.run(replies=None)
            except HoptrailError as error:
                met[0] = str(error)

    bench.run(replies=None, watcher=Watcher(again))
    assert "in use by another evaluation" in met[0]


# --- the command


def test_evaluate_follows_the_contract(bench: Bench, command: Hoptrail, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out.json"
    script = bench.write("script.jsonl", REPLIES)
    ended = command("evaluate", bench.data, "--recipes", "bm25", "--language", f"scripted:{script}", "--out", out)
    assert ended.code == 0
    given = json.loads(out.read_text(encoding="utf-8"))
    assert list(given) == REPORT
    assert list(given["recipes"]["bm25"]) == COUNTS + ANSWERS + RETRIEVAL + COSTS
    assert given["recipes"]["bm25"]["em"] == 1 / 4
    assert "failed: bm25, question q4: " in ended.err
    assert "overloaded" in ended.err
    assert " ".join(ended.out.split()).startswith("tiny: 4 questions, language scripted")
    assert "0.250" in ended.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "tiny"]


def test_questions_limit_work_and_retrieval_only(bench: Bench, command: Hoptrail, tmp_path: Path) -> None:
    other = bench.write("other.jsonl", list(reversed(QUESTIONS)))
    out, work = tmp_path / "out.json", tmp_path / "work"
    options = ["--recipes", "bm25,dense", "--retrieval-only", "--work", work, "--out", out]
    assert command("evaluate", bench.data, *options, "--questions", other, "--limit", 3).code == 0
    given = json.loads(out.read_text(encoding="utf-8"))
    assert given["questions"] == 3
    assert [row["question"] for row in bench.stored_results()] == ["q4", "q3", "q2"]
    assert "em" not in given["recipes"]["dense"]
    encoded = len(bench.encoder.texts)
    before = out.read_bytes()
    assert command("evaluate", bench.data, *options, "--questions", other, "--limit", 3).code == 0
    assert out.read_bytes() == before
    assert len(bench.encoder.texts) == encoded


def test_one_work_folder_serves_several_data_sets(bench: Bench, command: Hoptrail, tmp_path: Path) -> None:
    bench.data.rename(tmp_path / "first")
    second = bench.write("corpus.jsonl", [{"id": "z", "title": "Isk", "text": "The Isk is long."}]).parent
    bench.write("questions.jsonl", [{**QUESTIONS[1], "supporting": ["z"]}])
    pools = []
    for data in (tmp_path / "first", second, tmp_path / "first"):
        options = ["--recipes", "bm25", "--retrieval-only", "--work", tmp_path / "work", "--out", tmp_path / "out.json"]
        assert command("evaluate", data, *options).code == 0
        pools.append(json.loads((tmp_path / "out.json").read_text())["recipes"]["bm25"]["pool_size"])
    assert pools == [3, 1, 3]
    assert len(bench.encoder.texts) == 4


def test_a_signal_keeps_finished_results(
    bench: Bench, command: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoptrail.recipes.single_pass import Bm25

    answer = Bm25.answer

    def interrupted(self: Bm25, question: str) -> Any:
        if question == "Isk?":
            os.kill(os.getpid(), signal.SIGINT)
        return answer(self, question)

    options = ["--recipes", "bm25", "--work", tmp_path / "work", "--out", tmp_path / "out.json"]
    with monkeypatch.context() as patched:
        patched.setattr(Bm25, "answer", interrupted)
        ended = command("evaluate", bench.data, *options)
    assert (ended.code, ended.out) == (3, "")
    assert "same --work" in ended.err
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2"]
    assert not (tmp_path / "out.json").exists()
    assert command("evaluate", bench.data, *options).code == 0
    assert [row["question"] for row in bench.stored_results()] == ["q1", "q2", "q3", "q4"]
