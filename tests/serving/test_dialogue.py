"""`hoptrail ask` without a question: a dialogue with follow-ups; and the display of answers."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from command import Hoptrail
from hoptrail import Index
from hoptrail.serving.render import render_answer
from hoptrail.types import Answer, Evidence, Hop, Kind, Trail, Verdict

DESIGNER = "Who designed the Candlerock Lighthouse?"


def test_a_dialogue_answers_line_after_line(hoptrail: Hoptrail, harbour: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.StringIO(f"{DESIGNER}\n\nand where was she born?\nthanks\nWhat about a dog?\n{'x' * 9000}\n")
    )
    ended = hoptrail("ask", "--index", harbour)
    assert ended.code == 0
    assert "Answer: Ilse Marrow" in ended.out
    assert "Asked: Where was Ilse Marrow born?" in ended.out
    assert "Answer: Tarnwick" in ended.out
    assert "\nYou are welcome.\n" in ended.out
    assert "It is not clear what “What about a dog?” follows up" in ended.out
    assert "hoptrail: " in ended.err, "the question that is too long is refused, and ends nothing"


def test_each_of_several_questions_has_its_own_answer_and_statement(hoptrail: Hoptrail, harbour: Path) -> None:
    said = hoptrail("ask", f"Hello! {DESIGNER} Who painted the ceiling of the opera?", "--index", harbour).out
    assert said.startswith(f"{DESIGNER}\nAnswer: Ilse Marrow")
    assert "Who painted the ceiling of the opera?\nNot settled." in said


def test_an_answer_gives_the_same_json_as_the_command(hoptrail: Hoptrail, harbour: Path) -> None:
    ours = Index(harbour).ask(DESIGNER).to_json()
    theirs = hoptrail("ask", DESIGNER, "--index", harbour, "--json").out.strip()
    assert re.sub(r'"seconds": [0-9.e-]+', "", ours) == re.sub(r'"seconds": [0-9.e-]+', "", theirs)


def test_a_dialogue_has_no_json(hoptrail: Hoptrail, harbour: Path) -> None:
    assert hoptrail("ask", "--json", "--index", harbour).code == 2


def shown(answer: Answer, *, terminal: bool) -> str:
    out = io.StringIO()
    Console(width=1000, file=out, force_terminal=terminal, color_system="standard" if terminal else None).print(
        render_answer(answer)
    )
    return out.getvalue()


def test_the_source_is_a_link_on_a_terminal_alone(tmp_path: Path) -> None:
    file = tmp_path / "fees 2026.pdf"
    cited = ("d1", "Fees", 0, 11, "It costs 3.", "p1")
    evidence = Evidence(*cited, place="page 7", source=str(file), said="It costs 3.", kind=Kind.PASSAGE, hop=0)
    hop = Hop("What does it cost?", "What does it cost?", (), "3", Verdict.ANSWERED)
    answer = Answer("What does it cost?", "3", "bm25", "offline", (evidence,), Trail((hop,)))
    on_terminal = shown(answer, terminal=True)
    assert f";{file.as_uri()}\x1b\\" in on_terminal
    piped = shown(answer, terminal=False)
    assert "\x1b" not in piped
    first = piped.split("hop 1")[0]
    assert first.index("Answer: 3") < first.index("It costs 3.") < first.index("page 7")


def test_help_groups_commands(hoptrail: Hoptrail) -> None:
    shown = hoptrail("--help").out
    places = [shown.index(heading) for heading in ("Every day:", "Evaluation:", "Upkeep:", "Research, ")]
    assert places == sorted(places)
    assert places[0] < shown.index("  ask ") < places[1]
    assert places[2] < shown.index("  verify ") < places[3] < shown.index("  reproduce ")
    assert "--install-completion" in shown
