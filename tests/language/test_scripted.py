from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.errors import TaskFailed, UsageError
from hoptrail.language.factory import open_language
from hoptrail.language.listener import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, Quote, QuotedReading, QuotedStep, ScriptedLanguage, ScriptedReply
from hoptrail.language.tasks import (
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Extract,
    Integrate,
    Read,
    Reading,
    Recall,
    Step,
)
from hoptrail.types import Span, Unit, Usage

MakeUnit = Callable[[str, str], Unit]


@pytest.fixture
def unit(passage: MakeUnit) -> Unit:
    return passage("Isk", "The Isk is a river. It rises in the Grey Hills.")


def script(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return path


def test_replies_come_in_order_and_count_as_calls() -> None:
    language = ScriptedLanguage([Decomposition(("a", "b")), (Complete, "done"), ScriptedReply(0.5, Assess, 10, 2)])
    assert language.perform(Decompose("q")).value == Decomposition(("a", "b"))
    assert language.perform(Complete("q", ())).value == "done"
    reply = language.perform(Assess("q", ()))
    assert reply.value == 0.5
    assert reply.usage == Usage(1, 10, 2)
    assert language.remaining == 0


def test_an_empty_queue_and_a_reply_for_another_task_fail_and_say_so() -> None:
    with pytest.raises(TaskFailed, match="no reply left, but decompose was asked for"):
        ScriptedLanguage([]).perform(Decompose("q"))
    language = ScriptedLanguage([(Read, Reading("a"))])
    with pytest.raises(TaskFailed, match="Reading for answer, but integrate"):
        language.perform(Integrate("q", ()))
    with pytest.raises(TaskFailed, match="Reading for answer, but complete"):
        language.perform(Complete("q", ()))
    assert language.perform(Read("q", ())).value.answer == "a"


def test_a_reply_may_be_a_failure() -> None:
    language = ScriptedLanguage([Failure("no capacity"), "fine"])
    with pytest.raises(TaskFailed, match="no capacity"):
        language.perform(Complete("q", ()))
    assert language.perform(Complete("q", ())).value == "fine"


def test_quotes_become_spans_of_the_evidence(unit: Unit) -> None:
    quoted = QuotedReading(
        "the Grey Hills", (QuotedStep("q", "the Grey Hills", (Quote("It rises in the Grey Hills."),)),), 0.9
    )
    reading = ScriptedLanguage([quoted]).perform(Read("q", (unit,))).value
    span = Span(unit.document, 27, 54)
    assert unit.text[span.start - 7 : span.end - 7] == "It rises in the Grey Hills."
    assert reading == Reading("the Grey Hills", (Step("q", "the Grey Hills", (span,)),), 0.9)


@pytest.mark.parametrize("quote", ["It rises in the Blue Hills.", ""])
def test_a_quote_that_is_not_there_fails_the_task(quote: str, unit: Unit) -> None:
    quoted = QuotedReading("x", (QuotedStep("q", "x", (Quote(quote),)),))
    with pytest.raises(TaskFailed, match="does not stand in the 1 units"):
        ScriptedLanguage([quoted]).perform(Read("q", (unit,)))


def test_a_script_file(tmp_path: Path, unit: Unit) -> None:
    path = script(
        tmp_path / "script.jsonl",
        {"task": "decompose", "reply": {"questions": ["a", "b"]}, "prompt_tokens": 7, "completion_tokens": 3},
        {
            "task": "answer",
            "reply": {"answer": "x", "steps": [{"question": "q", "answer": "x", "support": [{"quote": "a river"}]}]},
        },
        {"task": "answer", "fail": "no capacity"},
        {
            "task": "extract",
            "reply": {"entities": ["Isk"], "facts": [{"text": "t", "entities": [], "source": {"quote": "The Isk"}}]},
        },
        {"task": "assess", "reply": 1},
        {"task": "recall", "reply": {"answer": None}},
    )
    language = open_language(f"scripted:{path}")
    assert language.perform(Decompose("q")).usage == Usage(1, 7, 3)
    assert language.perform(Read("q", (unit,))).value.steps[0].support == (Span(unit.document, 18, 25),)
    with pytest.raises(TaskFailed, match="no capacity"):
        language.perform(Read("q", (unit,)))
    assert language.perform(Extract(unit)).value.facts[0].source == Span(unit.document, 7, 14)
    assert language.perform(Assess("q", ())).value == 1.0
    assert language.perform(Recall("q")).value.answer is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"task": "answr", "reply": {}}, "no task is called 'answr'"),
        ({"task": "answer"}, "either a reply or a reason"),
        ({"task": "answer", "reply": {"answer": "x"}, "fail": "y"}, "either a reply or a reason"),
        ({"task": "answer", "reply": {"answer": 5}}, "script.jsonl:2"),
        ({"task": "answer", "reply": {"answer": "x", "step": []}}, "script.jsonl:2"),
        ({"task": "assess", "reply": "0.5"}, "script.jsonl:2"),
        ({"task": "complete", "reply": "x", "cost": 5}, "script.jsonl:2"),
        ("not an object", "script.jsonl:2"),
    ],
)
def test_a_bad_line_of_a_script_is_named(row: object, message: str, tmp_path: Path) -> None:
    path = script(tmp_path / "script.jsonl", {"task": "complete", "reply": "fine"}, row)
    with pytest.raises(UsageError, match=message):
        ScriptedLanguage.from_file(path)


def test_a_script_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("missing.jsonl", "bytes"):
        with pytest.raises(UsageError, match=f"{name} cannot be read"):
            ScriptedLanguage.from_file(tmp_path / name)


def test_a_meter_adds_up_and_counts_failures() -> None:
    meter = Meter(ScriptedLanguage([ScriptedReply("a", None, 5, 1), Failure("no"), ScriptedReply("b", None, 6, 2)]))
    assert meter.perform(Complete("q", ())) == "a"
    with pytest.raises(TaskFailed):
        meter.perform(Complete("q", ()))
    assert meter.perform(Complete("q", ())) == "b"
    assert (meter.usage.calls, meter.usage.prompt_tokens, meter.usage.completion_tokens) == (2, 11, 3)
    assert meter.usage.seconds > 0
    assert meter.failures == 1
    assert meter.name == "scripted"


def test_languages_open_by_name() -> None:
    assert isinstance(open_language("offline"), OfflineLanguage)


@pytest.mark.parametrize("name", ["chatt", "", "offline:x", "scripted", "Offline"])
def test_unknown_languages_are_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError, match=r"available: offline, scripted:FILE"):
        open_language(name)
