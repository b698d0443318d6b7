"""Progress on standard error: for indexing one bar with the time left and the cost so far.

A file or a pipe gets a line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hoptrail.index.indexing import Watcher
from hoptrail.serving.answer_text import one_line
from hoptrail.serving.render import plain
from hoptrail.structures.progress_tracker import Progress as RunProgress
from hoptrail.types import Usage

EVERY = 60.0  # seconds between the lines of a log


@contextmanager
def progress_reports(console: Console) -> Iterator[Watcher]:
    """A watcher that shows progress and spending while the body runs."""
    if not console.is_terminal:
        yield _logged(console)
        return
    said, spent = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[spent]"))
    columns = (SpinnerColumn(), BarColumn(), said, spent, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        yield _drawn(bars)


def _logged(console: Console) -> Watcher:
    last = time.monotonic()

    def progress(reached: RunProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            console.print(plain(reached.line), soft_wrap=True)

    return Watcher(lambda *step: progress(RunProgress(*step)), progress=progress)


def _drawn(bars: Progress) -> Watcher:
    """Draws a bar for the whole run where its progress is reported, else for its steps, and what was spent."""
    task, drawn = bars.add_task("beginning", total=None, spent=""), ("", 0, 0)

    def show(reached: RunProgress) -> None:
        total = None if reached.share is None else 1.0
        bars.update(task, description=one_line(reached.line), completed=reached.share or 0.0, total=total)

    def report(what: str, done: int, total: int) -> None:
        if (what, done, total) != drawn:  # a step of a run is reported after the progress of the whole
            show(RunProgress(what, done, total, done / total if total else None))

    def progress(reached: RunProgress) -> None:
        nonlocal drawn
        drawn = reached.what, reached.done, reached.total
        show(reached)

    def spent(usage: Usage) -> None:
        if usage.calls:
            tokens = usage.prompt_tokens + usage.completion_tokens
            bars.update(task, spent=f"{usage.calls:,} model calls, {tokens:,} tokens")

    return Watcher(report, spent=spent, progress=progress)
