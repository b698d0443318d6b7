"""`evaluate` on own documents: outcomes by hand, the content of the index, the table, the comparison of two runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from evaluation.bench import Bench
from evaluation.made_runs import made_run, result
from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import Outcome
from hoptrail.evaluation.run_folder import Run
from hoptrail_papers.comparing.run_comparison import compare
from hoptrail_papers.comparing.run_tables import tables_of
from hoptrail_papers.error_analysis import analyse_errors

FILES = {
    "pump.md": "# Pump\n\nUnit cost: 212 GBP\n",
    "people/team.md": "# Team\n\nOrla Finch leads the workshop.\n",
    "log.jsonl": '{"id": "l1", "title": "Log", "text": "The boiler was mended in May."}\n',
}


def question_line(
    number: int, question: str, kind: str, accepted: str = "", document: str = "", settling: str = ""
) -> dict[str, Any]:
    """A line of questions.jsonl; an empty string stands for no value."""
    lists = {"answers": accepted, "documents": document, "shows": settling}
    return {"id": f"n{number}", "question": question, "type": kind} | {
        key: [text] for key, text in lists.items() if text
    }


QUESTIONS = [
    question_line(1, "Unit cost of the pump?", "one-hop", "212 GBP", "pump.md", "Unit cost: 212 GBP"),
    question_line(
        2, "Who leads the workshop?", "one-hop", "Orla Finch", "people/team.md", "Orla Finch leads the workshop."
    ),
    question_line(3, "When was the boiler mended?", "one-hop", "May", "log.jsonl", "The boiler was mended in May."),
    question_line(4, "Who earns what?", "unanswerable"),
    question_line(5, "Is the Finch a bird?", "yes-no", "no", "people/team.md", "nothing of the kind"),
]
REPLIES = [
    {"task": "answer", "reply": {"answer": "212 GBP", "confidence": 0.9}},
    {"task": "answer", "reply": {"answer": "Finch", "confidence": 0.6}},
    {"task": "answer", "reply": {"answer": None}},
    {"task": "answer", "reply": {"answer": None}},
    {"task": "answer", "fail": "overloaded"},
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    for name, text in FILES.items():
        path = bench.data / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    bench.write("questions.jsonl", QUESTIONS)
    return bench


def test_outcomes_by_hand(bench: Bench) -> None:
    """Right, wrong, missed, rightly unanswered, failed. The first two are sure; no hit settles the last."""
    found = bench.result(replies=REPLIES)
    assert found["outcomes"] == {"right": 2 / 5, "shown": 1 / 5, "missed": 1 / 5, "wrong": 1 / 5}
    third = pytest.approx(1 / 3)
    assert found["by_type"] == {
        "one-hop": {"right": third, "shown": third, "missed": 0.0, "wrong": third},
        "unanswerable": {"right": 1.0, "shown": 0.0, "missed": 0.0, "wrong": 0.0},
        "yes-no": {"right": 0.0, "shown": 0.0, "missed": 1.0, "wrong": 0.0},
    }
    assert found["questions_by_type"] == {"one-hop": 3, "unanswerable": 1, "yes-no": 1}
    assert found["outcome_intervals"]["right"] == list(Share(2, 5).interval)
    sure = found["sure"]
    assert {key: sure[key] for key in ("confidence", "answers", "coverage", "precision")} == {
        "confidence": 0.5,
        "answers": 2,
        "coverage": 2 / 5,
        "precision": 1 / 2,
    }
    assert found["shows@5"] == 3 / 4
    assert [found[key] for key in ("n", "failed", "abstained")] == [5, 1, 2]
    assert found["retrieval"]["recall@5"] == 3 / 4, "documents count as passages, and a failed question has found none"
    assert "em" not in found


def test_outcomes_survive_writing_and_reading(bench: Bench) -> None:
    bench.run(replies=REPLIES)
    run = bench.only_run()
    assert run.header.rule is None
    assert [run.results[name].outcome for name in ("n1", "n2", "n3", "n4", "n5")] == [
        Outcome.RIGHT,
        Outcome.WRONG,
        Outcome.SHOWN,
        Outcome.RIGHT,
        None,
    ]
    assert [run.results[name].settled for name in ("n1", "n4", "n5")] == [True, None, None]
    assert run.questions[0].shows == ("Unit cost: 212 GBP",)
    with pytest.raises(UsageError, match="no gold steps"):
        analyse_errors(run)


def test_retrieval_alone_has_no_outcomes(bench: Bench) -> None:
    found = bench.result(replies=None, retrieval_only=True)
    assert found["shows@5"] == 3 / 4
    assert not {"outcomes", "by_type", "sure", "em"} & set(found)


def test_a_reused_index_drops_deleted_documents(bench: Bench) -> None:
    bench.run(replies=None, retrieval_only=True)
    (bench.data / "documents" / "pump.md").unlink()
    bench.write("questions.jsonl", QUESTIONS[2:4])
    found = bench.result(replies=None, retrieval_only=True)
    assert (found["pool_size"], found["shows@5"]) == (2, 1.0)


def test_unreadable_documents_are_reported_and_the_others_evaluated(bench: Bench) -> None:
    (bench.data / "documents" / "broken.jsonl").write_text("{\n", encoding="utf-8")
    report = bench.run(replies=None, retrieval_only=True)
    assert [failure.source.rpartition("/")[2] for failure in report.unread] == ["broken.jsonl, line 1"]
    for name in FILES:
        (bench.data / "documents" / name).unlink()
    bench.write("questions.jsonl", QUESTIONS[3:4])
    with pytest.raises(DataError, match="could not be read"):
        bench.run(replies=None, retrieval_only=True)


def test_the_oracle_is_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="own documents"):
        bench.run(replies=None, language="oracle")


# --- the command


def test_the_command_prints_outcomes_and_types_and_compares_runs(
    bench: Bench, command: Hoptrail, tmp_path: Path
) -> None:
    (bench.data / "documents" / "broken.jsonl").write_text("{\n", encoding="utf-8")
    script, out = bench.write("script.jsonl", REPLIES), tmp_path / "out.json"
    given = ("evaluate", bench.data, "--work", bench.work, "--recipes")
    scripted = command(*given, "bm25", "--language", f"scripted:{script}", "--out", out)
    assert scripted.code == 4
    assert "broken.jsonl" in scripted.err
    assert re.search(r"bm25 +5 +1 +2 +0\.400 +0\.12-0\.77 +0\.200 +\S+ +0\.200 +0\.200 +0\.750 ", scripted.out)
    assert re.search(r"confidence of 0\.5 or more .*\nbm25 +2 +0\.400 +0\.500 +0\.09-0\.91\n", scripted.out)
    assert re.search(r"one-hop +3 +0\.333 +0\.333 +0\.000 +0\.333", scripted.out)
    assert json.loads(out.read_text())["recipes"]["bm25"]["outcomes"]["right"] == 2 / 5
    offline = command(*given, "bm25", "--language", "offline")
    runs = [re.findall(r"^run: (.+)$", one.out, re.MULTILINE)[0] for one in (scripted, offline)]
    compared = command("compare", *runs)
    assert compared.code == 0, compared.err
    assert "shows@5" in compared.out
    assert "right" in compared.out


# --- comparing


def test_right_and_wrong_are_tested_between_runs() -> None:
    questions = [Question(f"q{number}", "Who?", ("x",), "one-hop", shows=("x",)) for number in range(12)]

    def run(name: str, outcome: Outcome) -> Run:
        given = replace(result("q", 0, confidence=0.6), score=None, outcome=outcome, settled=True)
        results = [replace(given, question=one.id) for one in questions]
        made = made_run(name, questions, results)
        return replace(made, header=replace(made.header, rule=None))

    comparison = compare([run("bm25", Outcome.WRONG), run("trail", Outcome.RIGHT)])
    means = {score.measure: score for score in comparison.scores if score.run == "trail"}
    assert (means["right"].mean, means["wrong"].mean, means["shows@5"].mean) == (1.0, 0.0, 1.0)
    assert "em" not in means
    tested = {name for name, score in means.items() if score.significant}
    assert tested == {"right", "wrong"}
    assert [one.risk for one in comparison.confidences] == [1.0, 0.0]
    assert tables_of(comparison)[0].header[1:5] == ("right", "shown", "wrong", "shows@5")
