"""Progress in a terminal: counts, the whole run, the cost of language tasks; and the lines in a log."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from hoptrail.serving import progress
from hoptrail.serving.progress import progress_reports
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Usage


def shown(*, terminal: bool, calls: int) -> str:
    written = io.StringIO()
    with progress_reports(Console(file=written, force_terminal=terminal, width=120)) as reporting:
        reporting.report("extracting", 3, 8)
        reporting.spent(Usage())
        for number in range(1, calls + 1):
            reporting.spent(Usage(number, 1000 * number, 10 * number))
        reporting.report("extracting", 5, 8)
    return written.getvalue()


def test_a_terminal_shows_counts_calls_and_tokens() -> None:
    text = shown(terminal=True, calls=3)
    assert "extracting" in text
    assert "5 of 8" in text
    assert "3 model calls, 3,030 tokens" in text


def test_rules_cost_nothing_and_nothing_is_said_of_it() -> None:
    assert "calls" not in shown(terminal=True, calls=0)


def test_a_pipe_gets_nothing_of_what_is_short() -> None:
    assert shown(terminal=False, calls=3) == ""


def test_a_terminal_shows_the_run_as_a_whole() -> None:
    written = io.StringIO()
    with progress_reports(Console(file=written, force_terminal=True, width=120)) as reporting:
        reporting.progress(Progress("reading", 12, 0))
        reporting.report("reading", 12, 0)
        reporting.progress(Progress("encoding sentences", 700, 2100, 0.62, 190.0))
        reporting.report("encoding sentences", 700, 2100)
    assert "62 %, encoding sentences 700 of 2,100, about 3 min left" in written.getvalue()


def test_a_terminal_shows_the_questions_that_are_asked_after_a_run() -> None:
    written = io.StringIO()
    with progress_reports(Console(file=written, force_terminal=True, width=120)) as reporting:
        reporting.progress(Progress("encoding sentences", 700, 2100, 0.62, 190.0))
        reporting.report("bm25", 3, 20)
    assert "bm25 3 of 20" in written.getvalue()


def test_a_log_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    written = io.StringIO()
    with progress_reports(Console(file=written, width=120)) as reporting:
        for second in range(130):
            now[0] = float(second)
            reporting.progress(Progress("encoding passages", second, 130, second / 130, 130.0 - second))
    assert written.getvalue().splitlines() == [
        "46 %, encoding passages 60 of 130, about 1 min left",
        "92 %, encoding passages 120 of 130, about 10 s left",
    ]
