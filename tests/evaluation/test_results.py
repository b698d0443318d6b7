"""Results: crash-safe lines, a file that resumes, and the report's exact keys."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filling import files_below
from hoptrail.errors import DataError, StorageError, UsageError
from hoptrail.evaluation.answer_scores import MISSED, AnswerScore
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.lines import line_of
from hoptrail.evaluation.reports import EvaluationReport, summarise_recipe
from hoptrail.evaluation.results import QuestionResult, open_results

PERFECT = AnswerScore(1.0, 1.0, 1.0, 1.0)
ANSWERED = QuestionResult(
    question="q1",
    prediction="Visby",
    abstained=False,
    error=None,
    score=PERFECT,
    passages=("p2", "p1"),
    packed=(0.5, 1.0),
    seconds_retrieval=0.25,
    seconds_language=1.5,
    calls=3,
    tokens=420,
)
ABSTAINED = replace(ANSWERED, question="q2", prediction=None, abstained=True, score=MISSED, passages=("p3",), packed=())
FAILED = replace(
    ANSWERED,
    question="q3",
    prediction=None,
    error="no reply after 5 tries",
    score=MISSED,
    passages=(),
    packed=(),
    calls=5,
)

TEXT = st.text('aé7 \n"\\\ud83d\u2028', max_size=8)  # a model's reply may hold a lone surrogate
SHARE = st.floats(0, 1)
SCORES = st.builds(AnswerScore, SHARE, SHARE, SHARE, SHARE)
RESULTS = st.builds(
    QuestionResult,
    question=TEXT,
    prediction=st.none() | TEXT,
    abstained=st.booleans(),
    error=st.none() | TEXT,
    score=st.none() | SCORES,
    passages=st.lists(TEXT, max_size=3).map(tuple),
    packed=st.lists(SHARE, max_size=2).map(tuple),
    seconds_retrieval=SHARE,
    seconds_language=SHARE,
    calls=st.integers(0, 9),
    tokens=st.integers(0, 9999),
)


@given(result=RESULTS)
def test_a_record_goes_through_its_line_unchanged(result: QuestionResult) -> None:
    line = line_of(result.to_line("f"), "here")

    assert line.content.pop("fingerprint") == "f"
    assert line.read_as(QuestionResult) == result


def test_a_reopened_file_continues(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    with open_results(path, "f") as results:
        assert results.finished == {}
        assert not path.exists()
        results.append(ANSWERED)
    with open_results(path, "f") as results:
        assert results.finished == {"q1": ANSWERED}
        results.append(ABSTAINED)
        results.append(FAILED)
        assert results.finished == {"q1": ANSWERED, "q2": ABSTAINED, "q3": FAILED}
    with open_results(path, "f") as results:
        assert results.finished == {"q1": ANSWERED, "q2": ABSTAINED, "q3": FAILED}


def test_a_question_asked_again_replaces_its_record(tmp_path: Path) -> None:
    again = replace(FAILED, error=None, prediction="Visby", score=PERFECT)
    with open_results(tmp_path / "results.jsonl", "f") as results:
        results.append(FAILED)
        results.append(again)
    with open_results(tmp_path / "results.jsonl", "f") as results:
        assert results.finished == {"q3": again}


def test_records_of_other_settings_are_kept_but_invisible(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_results(path, "before") as results:
        results.append(ANSWERED)
    with open_results(path, "after") as results:
        assert results.finished == {}
        results.append(replace(ANSWERED, prediction="Oslo"))
    with open_results(path, "before") as results:
        assert results.finished == {"q1": ANSWERED}


def test_a_torn_last_line_is_dropped_and_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_results(path, "f") as results:
        results.append(ANSWERED)
        results.append(ABSTAINED)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole), 7):
        path.write_bytes(whole[:length])
        with open_results(path, "f") as results:
            assert results.finished == {"q1": ANSWERED}, length
            results.append(FAILED)
        with open_results(path, "f") as results:
            assert results.finished == {"q1": ANSWERED, "q3": FAILED}, length


def test_a_tail_of_zeros_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(ANSWERED.to_line("f").encode() + b"\n" + bytes(4096))
    with open_results(path, "f") as results:
        results.append(ABSTAINED)
    assert path.read_text().splitlines() == [ANSWERED.to_line("f"), ABSTAINED.to_line("f")]


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b'{"fingerprint": "f"}\n', b"\xff\n"])
def test_an_altered_line_is_named_and_nothing_is_lost(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "results.jsonl"
    altered = ANSWERED.to_line("f").encode() + b"\n" + line + ABSTAINED.to_line("f").encode() + b"\n"
    path.write_bytes(altered)
    with pytest.raises(DataError, match=r"results\.jsonl, line 2: .*remove the line"), open_results(path, "f"):
        pass
    assert path.read_bytes() == altered


def test_only_one_process_may_open_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with (
        open_results(path, "f"),
        pytest.raises(StorageError, match="in use by another evaluation"),
        open_results(path, "f"),
    ):
        pass
    with open_results(path, "f"):
        pass


def test_an_unusable_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path, message in (
        ("file/results.jsonl", "cannot be kept in"),
        ("folder", "folder cannot be read: Is a directory"),
    ):
        with pytest.raises(StorageError, match=message), open_results(tmp_path / path, "f"):
            pass


def test_append_is_thread_safe(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    many = [replace(ANSWERED, question=f"q{number}") for number in range(60)]
    with open_results(path, "f") as results, ThreadPoolExecutor(8) as pool:
        list(pool.map(results.append, many))
    with open_results(path, "f") as results:
        assert results.finished == {result.question: result for result in many}


APPENDING = """
import sys
from pathlib import Path
from hoptrail.evaluation.results import QuestionResult, ResultsFile
results = ResultsFile(Path(sys.argv[1]), "f")
print(len(results.finished), flush=True)
for number in range(len(results.finished), 100_000):
    results.append(QuestionResult(f"q{number}", "x" * 500, False, None, None, ()))
    print(number, flush=True)
"""


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    acknowledged = 0
    for round_number in range(2):
        command = [sys.executable, "-c", APPENDING, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert int(process.stdout.readline()) >= acknowledged
            for _ in range(20 + round_number):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            numbers = process.stdout.read().split()
        acknowledged += 20 + round_number + len(numbers)
        with open_results(path, "f") as results:
            # Written but not yet acknowledged when the kill came: at most one more a round.
            assert acknowledged <= len(results.finished) <= acknowledged + 1
            acknowledged = len(results.finished)
            assert set(results.finished) == {f"q{number}" for number in range(acknowledged)}


def test_a_full_disk_is_reported_and_leaves_the_file_whole(tmp_path: Path) -> None:
    path, long = tmp_path / "results.jsonl", replace(ANSWERED, prediction="x" * 500)
    with open_results(path, "f") as results:
        results.append(replace(long, question="before"))
        refusal = f"the result of question refused could not be written to {re.escape(str(path))}: File too large"
        with files_below(1000), pytest.raises(StorageError, match=refusal):
            results.append(replace(long, question="refused"))
        results.append(replace(long, question="after"))
        assert list(results.finished) == ["before", "after"]
    with open_results(path, "f") as results:
        assert list(results.finished) == ["before", "after"]


QUESTIONS = [
    Question("q1", "?", ("Visby",), supporting=("p1", "p2")),
    Question("q2", "?", ("Oslo",), supporting=("p1", "p3", "p4", "p5")),
    Question("q3", "?", ("Bergen",), supporting=("p1", "p4")),
    Question("q4", "?", ("Malmö",), supporting=("p1", "p4")),
    Question("q5", "?", ("Lund",)),
]
IDENTITY = {"fingerprint": "f1", "changed": [], "run": ""}
GIVEN = {result.question: result for result in (ANSWERED, ABSTAINED, FAILED, replace(ANSWERED, question="q5"))}


def test_a_report_has_exactly_the_documented_keys_and_counts_missing_results() -> None:
    report = summarise_recipe(QUESTIONS, GIVEN, pool_size=5, identity=IDENTITY)

    report_json = EvaluationReport("musique", 5, "offline", (("bm25", report),)).to_json()

    recipe = report_json["recipes"].pop("bm25")
    assert report_json == {"data": "musique", "questions": 5, "language": "offline", "recipes": {}}
    intervals = recipe.pop("intervals")
    assert list(intervals) == ["em", "f1"]
    assert all(low <= 0.4 <= high for low, high in intervals.values())
    recalls, fulls = ("recall@2", "recall@5", "recall@10", "recall@20"), ("full@5", "full@10")
    third = dict.fromkeys((*recalls, *fulls), 1 / 3)
    quarter = dict.fromkeys(recalls, 0.25) | dict.fromkeys(fulls, 0.0)
    means = {"em": 0.4, "f1": 0.4, "precision": 0.4, "recall": 0.4}
    assert recipe == {
        "n": 5,
        "failed": 2,  # q3 failed, q4 has no result
        "abstained": 1,
        **means,
        "answers_by_hops": {"2": dict.fromkeys(means, 1 / 3), "4": dict.fromkeys(means, 0.0)},
        "answers_by_turns": {},
        "retrieval": dict.fromkeys(recalls, 1.25 / 4) | dict.fromkeys(fulls, 0.25),
        "by_hops": {"2": third, "4": quarter},
        "questions_by_hops": {"2": 3, "4": 1},
        "without_gold": 1,
        "packed": {"recall@2000": 0.125, "recall@4000": 0.25},
        "pool_size": 5,
        "seconds_per_question": {"retrieval": 0.25, "language": 1.5},
        "calls": 14,
        "tokens": 1680,
        "tasks": 0,
        **IDENTITY,
    }
    assert json.loads(json.dumps(recipe)) == recipe


def test_with_retrieval_only_there_are_no_answer_scores() -> None:
    results = {name: replace(result, prediction=None, score=None) for name, result in GIVEN.items()}

    recipe = summarise_recipe(QUESTIONS, results, pool_size=5, identity=IDENTITY, retrieval_only=True).content

    assert {"em", "f1", "precision", "recall", "intervals", "answers_by_hops"}.isdisjoint(recipe)
    assert recipe["retrieval"]["recall@2"] == 1.25 / 4


def test_without_any_gold_passage_retrieval_is_null_not_zero() -> None:
    recipe = summarise_recipe(QUESTIONS[4:], GIVEN, pool_size=5, identity=IDENTITY).content

    assert (recipe["retrieval"], recipe["by_hops"], recipe["without_gold"]) == (None, {}, 1)
    assert recipe["packed"] is None


def test_a_failed_question_scores_zero_whatever_its_record_says() -> None:
    results = {"q1": replace(ANSWERED, error="the evidence could not be verified")}

    report = summarise_recipe(QUESTIONS[:1], results, pool_size=5, identity=IDENTITY).content

    assert report["failed"] == 1
    assert report.items() >= asdict(MISSED).items()


def test_neither_results_of_other_questions_nor_their_order_change_a_report() -> None:
    def summarise(given: dict[str, QuestionResult]) -> object:
        return summarise_recipe(QUESTIONS, given, pool_size=5, identity=IDENTITY)

    more = GIVEN | {"foreign": replace(ANSWERED, question="foreign")}
    assert summarise(dict(reversed(more.items()))) == summarise(GIVEN)


def test_no_questions_give_no_means() -> None:
    with pytest.raises(UsageError, match="at least one value"):
        summarise_recipe([], {}, pool_size=5, identity=IDENTITY)
