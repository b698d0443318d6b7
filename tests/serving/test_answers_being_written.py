"""`hoptrail ask` on a terminal shows an answer while the model writes it, for one question and in a dialogue."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from command import Hoptrail
from fakeai.clients import point_at, write_settings
from fakeai.server import FakeAI, serving
from hoptrail import Index
from hoptrail.index.settings import load_settings
from hoptrail.serving import options
from world import write_facts

QUESTION = "Where does the Isk rise?"
LONG = "in the Grey Hills, far above the market town of Wrenmouth"


def reading(answer: str | None, quote: str = "It rises in the Grey Hills.") -> str:
    step = {"question": QUESTION, "evidence": [1], "quote": quote, "answer": answer}
    return json.dumps({"steps": [step] if answer else [], "answer": answer, "confidence": "high"})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: reading(LONG), pace=0.04)) as running:
        point_at(running, monkeypatch)
        yield running


@pytest.fixture
def asking(tiny: Path, tmp_path: Path) -> tuple[object, ...]:
    settings = write_settings(tiny, tmp_path / "settings.toml")
    Index(tmp_path / "index", load_settings(tiny)).add([write_facts(tmp_path / "world")])
    return "--index", tmp_path / "index", "--settings", settings, "--recipe", "hybrid", "--language", "chat"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What stands on the terminal of standard error."""
    written, console_of = io.StringIO(), options.console_of
    terminal = Console(file=written, force_terminal=True, width=120)
    monkeypatch.setattr(options, "console_of", lambda *, error=False: terminal if error else console_of())
    monkeypatch.setattr(options, "PATIENCE", 0.0)
    return written


def test_a_terminal_shows_what_is_written(
    hoptrail: Hoptrail, fake: FakeAI, asking: tuple[object, ...], shown: io.StringIO
) -> None:
    ended = hoptrail("ask", QUESTION, *asking)
    assert f"Answer: {LONG}" in ended.out
    assert "in the Grey Hills, far ab" in shown.getvalue()
    assert "withdrawn" not in shown.getvalue()
    assert fake.log[0].body["stream"] is True


def test_a_pipe_gets_the_answer_alone(hoptrail: Hoptrail, fake: FakeAI, asking: tuple[object, ...]) -> None:
    ended = hoptrail("ask", QUESTION, *asking)
    assert f"Answer: {LONG}" in ended.out
    assert "Grey" not in ended.err
    assert "stream" not in fake.log[0].body


def test_in_a_dialogue_too_and_what_does_not_stand_is_said(
    hoptrail: Hoptrail,
    fake: FakeAI,
    asking: tuple[object, ...],
    shown: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake.brain = lambda body: reading("unknown" if "Who painted" in body["messages"][1]["content"] else LONG)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\nWho painted the Tallow Bridge?\n"))
    ended = hoptrail("ask", *asking)
    assert f"Answer: {LONG}" in ended.out
    assert "Not settled" in ended.out
    assert "in the Grey Hills, far ab" in shown.getvalue()
    assert shown.getvalue().count("withdrawn when it was checked: unknown") == 1
