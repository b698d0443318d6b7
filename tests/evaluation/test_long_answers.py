"""The measures that only QuALITY and ASQA have, on answers whose scores are worked out by hand, and read from a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail_papers.long_answers import (
    chosen_rightly,
    disambiguated,
    measured_answers,
    read_by_reader,
    rouge_l,
    string_match,
)

PAIRS = [("Who built the first bridge?", ["Orla Finch", "Finch"]), ("Who built the second bridge?", ["Jonas Pell"])]
OPTIONS = ["the red house", "the green house", "a boat"]


@pytest.mark.parametrize(
    ("said", "score"),
    [("The red house.", 1), ("It was a red one", 1), ("the green house", 0), ("the house", 0), ("nothing", 0), ("", 0)],
)
def test_an_option_is_chosen_by_its_words(said: str, score: float) -> None:
    assert chosen_rightly(said, OPTIONS, ["the red house"]) == score


def test_string_match_counts_the_meanings_that_are_named() -> None:
    assert string_match("First it was Orla Finch, then somebody else.", PAIRS) == 0.5
    assert string_match("finch, and later JONAS PELL!", PAIRS) == 1.0
    assert string_match("The finches built it.", PAIRS) == 0.0, "whole words"
    assert string_match("", PAIRS) == 0.0


def test_disambiguated_f1_is_that_of_what_a_reader_takes() -> None:
    taken = {PAIRS[0][0]: "Orla Finch", PAIRS[1][0]: "Pell"}
    assert disambiguated("text", PAIRS, lambda question, _: taken[question]) == pytest.approx((1 + 2 / 3) / 2)
    assert disambiguated("text", PAIRS, lambda *_: None) == 0.0
    assert read_by_reader("Who built the first bridge?", " ") is None
    assert (
        read_by_reader("Who designed the Tallow Bridge?", "The Tallow Bridge was designed by Orla Finch.")
        == "Orla Finch"
    )


def test_rouge_l_is_the_longest_common_subsequence() -> None:
    assert rouge_l("one two three four", "one three four five six") == pytest.approx(2 * 3 / 9)
    assert rouge_l("one two", "one two") == 1.0
    assert rouge_l("two one", "one two") == 0.5
    assert rouge_l("", "one") == rouge_l("one", "") == 0.0


def test_measures_are_read_from_a_run(hoptrail: Hoptrail, tmp_path: Path) -> None:
    """Questions that have the keys count, abstentions and failures as zeros."""
    data = tmp_path / "asqa"
    data.mkdir()
    (data / "corpus.jsonl").write_text('{"id": "p", "title": "Isk", "text": "The Isk flows."}\n')
    questions = [
        {
            "id": "a",
            "question": "Who crossed the Isk?",
            "answers": ["Finch"],
            "supporting": [],
            "pairs": PAIRS,
            "references": ["Orla Finch"],
        },
        {
            "id": "b",
            "question": "Where does the Isk flow?",
            "answers": ["Finch"],
            "supporting": [],
            "pairs": PAIRS,
            "references": ["x"],
        },
        {"id": "c", "question": "When did the Isk flow?", "answers": ["1900"], "supporting": []},
    ]
    (data / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    script = tmp_path / "script.jsonl"
    step = [{"question": "q", "answer": "x", "support": [{"quote": "The Isk flows."}]}]
    replies = [{"answer": answer, "steps": step if answer else []} for answer in ("Orla Finch", None, "1900")]
    said = [json.dumps({"task": "answer", "reply": reply}) for reply in replies]
    script.write_text("\n".join(said), encoding="utf-8")
    out = tmp_path / "out.json"
    arguments = ("--recipes", "bm25", "--language", f"scripted:{script}", "--work", tmp_path, "--out", out)
    ended = hoptrail("evaluate", data, *arguments)
    assert ended.code == 0, ended.err
    report = json.loads(out.read_text())["recipes"]["bm25"]
    assert measured_answers("str-em", data, tmp_path, report) == 25.0
    assert measured_answers("accuracy", data, tmp_path, report) is None, "no question has options"
