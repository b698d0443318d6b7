"""Minimal pairs: an answer stands in its statement, and what differs decides whether there is one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from training.contrast import blocks, worlds
from training.contrast.changed import alone
from training.contrast.made import KINDS, acts, cells, headed, pair
from training.examples import Verdict
from training.statements import Choice


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS), ids=lambda kind: kind.__name__)
def test_each_kind_has_examples_that_differ_in_their_outcome(kind: object) -> None:
    assert callable(kind)
    for seed in range(200):
        examples = kind(random.Random(seed))
        assert examples == kind(random.Random(seed))
        for one in examples:
            assert "{" not in one.question
            assert "{" not in one.text
            assert not one.answered or one.answer.strip(" .\n") == one.answer != ""
        assert len({(one.answered, one.verdict, one.answer) for one in examples}) > 1, examples


def test_a_denial_is_a_no_of_its_subject_alone() -> None:
    for seed in range(100):
        yes, no, stranger, neighbour = acts(random.Random(seed))
        assert [one.verdict for one in (yes, no, stranger, neighbour)] == [
            Verdict.YES,
            Verdict.NO,
            Verdict.NEITHER,
            Verdict.NEITHER,
        ]
        assert yes.text == stranger.text


def test_the_cell_of_the_right_row_answers() -> None:
    for seed in range(200):
        right, *_ = cells(random.Random(seed))
        row = next(line for line in right.text.splitlines() if right.start < right.text.index(line) + len(line))
        name = next(part for part in row.split("; ") if part.split(": ")[0] in right.text)
        assert f": {right.answer}" in row
        assert any(word in right.question for word in name.split(": ")[1:])


def test_headings_alone_tell_two_sections_apart() -> None:
    answered, left_open = headed(random.Random(2))
    assert answered.text == left_open.text
    assert answered.question != left_open.question
    assert left_open.answered is False


def test_a_settling_statement_does_not_settle_a_question_with_another_name() -> None:
    said = "Minutes\nIda Berg paid 40 euros on 3 May."
    choice = Choice("What did Ida Berg pay in May?", said, ("Minutes\nBo paid 50 euros.",), "40 euros")
    changed = set()
    for seed in range(60):
        settled, other, close = alone(choice, random.Random(seed))
        assert (settled.answer, settled.text) == ("40 euros", said)
        assert (other.answered, close.answered) == (False, False)
        assert other.question != choice.question
        assert close.text == choice.others[0]
        changed.add(other.question.replace("What did ", "").split(" pay")[0] != "Ida Berg")
    assert changed == {True, False}  # names in some, months in others


def test_written_worlds_have_their_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"pair": 1, "contrast": "rows", "question": "Who?", "text": "Log\nname: Bo", "kind": "span", "answer": "Bo"}
    for name, kind in (("ours", "span"), (worlds.KEPT[0], "none")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row | {"kind": kind}), "utf-8")
    monkeypatch.setattr(worlds, "FOLDER", tmp_path)
    assert [one.answer for one in worlds.learned()] == ["Bo"]


def test_pairs_of_all_kinds_are_drawn() -> None:
    assert {len(pair(random.Random(seed))) for seed in range(100)} >= {2, 3, 4, 5, 6}


def test_near_misses_have_their_answers_and_open_questions() -> None:
    known = blocks.learned()
    assert sum(not one.answers for one in known) > 0.25 * len(known)
    draw = random.Random(1)
    for one in known:
        examples = one.examples(draw)
        assert sum(
            example.answered is True or example.verdict in {Verdict.YES, Verdict.NO} for example in examples
        ) == len(one.answers)
        assert all(
            example.answer == answer
            for example, answer in zip(examples, one.answers.values(), strict=False)
            if example.answered
        )
        assert (one.ranked(draw)[0] in {one.texts[place] for place in one.answers}) == bool(one.answers)


def test_an_answer_that_stands_in_no_statement_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leases.txt").write_text(
        "T Lease > Term\nS It ends in May.\nQ When does it end?\n= 1 June\n", encoding="utf-8"
    )
    monkeypatch.setattr(blocks, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="'June' does not stand in"):
        blocks.learned()
