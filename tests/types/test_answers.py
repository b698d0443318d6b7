"""An answer is printed, and written as JSON, as scripts and people rely on: its text, and what it rests on."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.types import (
    LIKELY,
    SURE,
    Answer,
    AnswerKind,
    Evidence,
    Guess,
    Hit,
    Hop,
    Kind,
    Span,
    Statement,
    Trail,
    Unit,
    Usage,
    Verdict,
    certainty,
)
from hoptrail.types.answer import evidence_json, hit_json, hop_json

UNIT = Unit("p1", Kind.PASSAGE, "Birds", "Gulls nest here.", (Span("d1", 0, 16),))
HIT = Hit(UNIT, 0.5, "bm25")
CITED: dict[str, Any] = {
    "document": "d1",
    "title": "Birds",
    "start": 0,
    "end": 16,
    "text": "Gulls nest here.",
    "unit": "p1",
}


def evidence(said: str, hop: int = 0, **more: Any) -> Evidence:
    return Evidence(**CITED, said=said, kind=Kind.PASSAGE, hop=hop, **more)


def statement(said: str, **more: Any) -> Statement:
    return Statement(**CITED, said=said, **more)


def hop(answer: str | None = "May", verdict: Verdict = Verdict.ANSWERED, hits: tuple[Hit, ...] = (HIT,)) -> Hop:
    return Hop("When then?", "When do gulls hatch?", hits, answer, verdict)


def answer(text: str | None = "May", **more: Any) -> Answer:
    return Answer("When do gulls hatch?", text, "trail", "offline", **more)


# --- what an answer says of itself


def test_a_question_is_asked_as_it_is_written_unless_it_was_completed() -> None:
    assert answer().asked == "When do gulls hatch?"
    assert answer(asked="When do gulls hatch in Foss?").asked == "When do gulls hatch in Foss?"


@pytest.mark.parametrize("kind", AnswerKind)
def test_an_answer_without_a_text_is_an_abstention_of_no_other_kind(kind: AnswerKind) -> None:
    abstention = answer(None, kind=kind)
    assert (abstention.kind, abstention.abstained) == (AnswerKind.NONE, True)
    assert (answer("", kind=kind).kind, answer("", kind=kind).abstained) == (kind, False)
    assert replace(answer(kind=kind), text=None).kind is AnswerKind.NONE


@pytest.mark.parametrize(
    ("text", "verdicts", "failed"),
    [
        (None, (), False),
        (None, (Verdict.UNANSWERED, Verdict.UNSUPPORTED), False),
        (None, (Verdict.ANSWERED, Verdict.FAILED), True),
        ("May", (Verdict.FAILED, Verdict.ANSWERED), False),
    ],
)
def test_an_abstention_failed_if_a_task_of_a_hop_did(
    text: str | None, verdicts: tuple[Verdict, ...], failed: bool
) -> None:
    assert answer(text, trail=Trail(tuple(hop(None, verdict) for verdict in verdicts))).failed is failed


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(1.0, "sure"), (SURE, "sure"), (0.7999, "likely"), (LIKELY, "likely"), (0.4999, "unsure"), (0.0, "unsure")],
)
def test_a_confidence_has_words(confidence: float, words: str) -> None:
    assert certainty(confidence) == words
    assert answer(confidence=confidence).certainty == words
    assert answer().certainty == ""


numbers = st.integers(0, 10**9)
usages = st.builds(Usage, numbers, numbers, numbers, numbers.map(float))


@given(st.lists(usages, max_size=5))
def test_what_was_spent_adds_up_in_any_order(spent: list[Usage]) -> None:
    total = reduce(Usage.__add__, spent, Usage())
    assert total == reduce(Usage.__add__, reversed(spent), Usage())
    assert total.calls == sum(one.calls for one in spent)
    assert total.prompt_tokens == sum(one.prompt_tokens for one in spent)
    assert total.completion_tokens == sum(one.completion_tokens for one in spent)
    assert total.seconds == sum(one.seconds for one in spent)


# --- printed


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (hop(), "<Hop 'When do gulls hatch?' -> 'May', 1 hits>"),
        (hop(""), "<Hop 'When do gulls hatch?' -> '', 1 hits>"),
        (hop(None, Verdict.FAILED, ()), "<Hop 'When do gulls hatch?' -> failed, 0 hits>"),
        (hop(None, Verdict.UNSUPPORTED, ()), "<Hop 'When do gulls hatch?' -> unsupported, 0 hits>"),
        (answer(), "<Answer 'May', 0 hops, 0 citations>"),
        (answer("", confidence=0.0), "<Answer '', unsure (0.00), 0 hops, 0 citations>"),
        (answer(trail=Trail((hop(),)), confidence=0.805), "<Answer 'May', sure (0.81), 1 hop, 0 citations>"),
        (answer(trail=Trail((hop(), hop())), evidence=(evidence("a"),)), "<Answer 'May', 2 hops, 1 citations>"),
        (answer(None, confidence=0.3), "<Answer not settled, unsure (0.30), 0 hops, 0 citations>"),
    ],
)
def test_hops_and_answers_are_printed_on_one_line(shown: Hop | Answer, expected: str) -> None:
    assert repr(shown) == expected


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        (answer(), ["May"]),
        (answer(confidence=0.9), ["May (sure, confidence 0.90)"]),
        (
            answer(evidence=(evidence("Gulls nest.", place="page 3", date="2024-03-05"), evidence("They hatch."))),
            ["May", "  Gulls nest. [Birds, page 3, 2024-03-05]", "  They hatch. [Birds]"],
        ),
        (answer(evidence=(evidence("Gulls nest."), evidence("Gulls nest."))), ["May", "  Gulls nest. [Birds]"]),
        (
            answer(evidence=(evidence("Same.", place="line 1"), evidence("Same.", place="line 2"))),
            ["May", "  Same. [Birds, line 1]", "  Same. [Birds, line 2]"],
        ),
        (
            answer(evidence=(evidence("First hop.", 0), evidence("Last.", 1), evidence("Last too.", 1))),
            ["May", "  Last. [Birds]", "  Last too. [Birds]"],
        ),
        (answer(closest=(statement("Not shown."),)), ["May"]),
        (answer(None), ["Not settled."]),
        (answer(None, confidence=0.4, evidence=(evidence("Not shown."),)), ["Not settled."]),
        (answer(None, closest=(statement("Gulls nest."),)), ["Not settled.", "  Gulls nest. [Birds]"]),
        (
            answer(None, closest=(statement("Not shown."),), guess=Guess("June", 0.4, (evidence("In June.", 3),))),
            ["Not settled. Perhaps: June", "  In June. [Birds]"],
        ),
        (answer(None, guess=Guess("June", 0.4), closest=(statement("Not shown."),)), ["Not settled. Perhaps: June"]),
        (answer(notes=("Two lists differ.", "As of May.")), ["Two lists differ.", "As of May.", "May"]),
        (
            answer(parts=(answer(asked="Of gulls?"), answer(None, asked="Of terns?")), notes=("Not shown.",)),
            ["Of gulls?", "May", "", "Of terns?", "Not settled."],
        ),
        (answer("ב־5 במרץ"), ["ב־5 במרץ"]),
    ],
)
def test_an_answer_is_printed_with_what_it_rests_on(shown: Answer, lines: list[str]) -> None:
    assert str(shown).split("\n") == lines


def test_a_trail_is_a_sequence_of_its_hops() -> None:
    trail = Trail((hop("one"), hop("two"), hop("three")))
    assert [one.answer for one in trail] == ["one", "two", "three"]
    assert (trail[0].answer, trail[-1].answer, len(trail)) == ("one", "three", 3)
    with pytest.raises(IndexError):
        trail[3]
    assert not Trail(), "an answer without hops has an empty trail"


# --- as JSON


def test_the_json_of_an_answer_has_the_keys_that_scripts_rely_on() -> None:
    full = answer(
        evidence=(evidence("Gulls: here", 1, path=("A", "B"), place="page 3", date="2024", source="/x/a.md"),),
        trail=Trail((hop(), hop(None, Verdict.UNANSWERED, ()))),
        usage=Usage(2, 30, 4, 0.5),
        ranking=(HIT,),
        confidence=0.75,
        kind=AnswerKind.LIST,
        items=("May", "June"),
        notes=("A note.",),
        asked="And when?",
    ).to_dict()
    assert full == {
        "question": "When do gulls hatch?",
        "answer": "May",
        "abstained": False,
        "recipe": "trail",
        "language": "offline",
        "evidence": [
            {
                **CITED,
                "heading_path": ["A", "B"],
                "file": "a.md",
                "place": "page 3",
                "date": "2024",
                "kind": "passage",
                "hop": 1,
                "replaced": False,
                "said": "Gulls: here",
            }
        ],
        "trail": [hop_json(hop()), hop_json(hop(None, Verdict.UNANSWERED, ()))],
        "usage": {"calls": 2, "prompt_tokens": 30, "completion_tokens": 4, "seconds": 0.5},
        "kind": "list",
        "items": ["May", "June"],
        "confidence": 0.75,
        "closest": [],
        "guess": None,
        "asked": "And when?",
        "parts": [],
        "notes": ["A note."],
    }


def test_the_json_of_an_abstention_has_its_guess_and_what_comes_closest() -> None:
    guess = Guess("June", 0.4, (evidence("In June.", replaced=True),))
    shown = answer(None, guess=guess, closest=(statement("Gulls nest.", source="/x/rows.jsonl#7"),)).to_dict()
    assert (shown["answer"], shown["abstained"], shown["kind"], shown["confidence"]) == (None, True, "none", None)
    assert shown["guess"] == {
        "text": "June",
        "confidence": 0.4,
        "evidence": [evidence_json(evidence("In June.", replaced=True))],
    }
    assert shown["guess"]["evidence"][0]["replaced"] is True
    (closest,) = shown["closest"]
    assert closest == CITED | {
        "heading_path": [],
        "file": "rows.jsonl#7",
        "place": "",
        "date": "",
        "said": "Gulls nest.",
    }


def test_the_json_of_a_hop_has_its_hits_without_their_texts() -> None:
    assert hop_json(hop()) == {
        "question": "When then?",
        "asked": "When do gulls hatch?",
        "hits": [{"unit": "p1", "kind": "passage", "score": 0.5, "channel": "bm25", "document": "d1"}],
        "answer": "May",
        "verdict": "answered",
    }
    assert hit_json(Hit(replace(UNIT, kind=Kind.TRIPLE), 2.0, "dense"))["kind"] == "triple"


@pytest.mark.parametrize("text", ["May", None, "", "ב־5 במרץ", 'a "b"\n\\c'])
def test_the_json_text_is_that_of_the_object_with_letters_as_they_are(text: str | None) -> None:
    whole = answer(text, parts=(answer(text), answer(None)), guess=Guess("é", 0.1))
    assert json.loads(whole.to_json()) == whole.to_dict()
    assert [part["answer"] for part in whole.to_dict()["parts"]] == [text, None]
    assert "é" in whole.to_json()
