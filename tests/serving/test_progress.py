"""What a terminal shows while a run goes on: counts, and what language tasks have cost; nothing in a pipe."""

from __future__ import annotations

import io

from rich.console import Console

from hoptrail.serving.progress import progress_reports
from hoptrail.types import Usage


def shown(*, terminal: bool, calls: int) -> str:
    written = io.StringIO()
    with progress_reports(Console(file=written, force_terminal=terminal, width=120)) as (report, spent):
        report("extracting", 3, 8)
        spent(Usage())
        for number in range(1, calls + 1):
            spent(Usage(number, 1000 * number, 10 * number))
        report("extracting", 5, 8)
    return written.getvalue()


def test_a_terminal_shows_counts_calls_and_tokens() -> None:
    text = shown(terminal=True, calls=3)
    assert "extracting" in text
    assert "5/8" in text
    assert "3 model calls, 3,030 tokens" in text


def test_rules_cost_nothing_and_nothing_is_said_of_it() -> None:
    assert "calls" not in shown(terminal=True, calls=0)


def test_a_pipe_gets_nothing() -> None:
    assert shown(terminal=False, calls=3) == ""
