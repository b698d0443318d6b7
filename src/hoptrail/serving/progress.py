"""Progress on standard error: for indexing one bar with the time left, else one bar per step; and the cost so far.

A file or a pipe gets a line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hoptrail.index.indexing import Watcher
from hoptrail.serving.render import plain
from hoptrail.structures.progress_tracker import Progress as RunProgress
from hoptrail.types import Usage

EVERY = 60.0
"""Seconds between the lines of a log."""

_SPENT = "spent"


@contextmanager
def progress_reports(console: Console) -> Iterator[Watcher]:
    """A watcher that shows progress and spending while the body runs."""
    if not console.is_terminal:
        log = _Log(console)
        yield Watcher(log.report, progress=log.progress)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        shown = _Bars(bars)
        yield Watcher(shown.report, spent=shown.spent, progress=shown.progress)


class _Log:
    """Prints a line every `EVERY` seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def report(self, what: str, done: int, total: int) -> None:
        self.progress(RunProgress(what, done, total))

    def progress(self, progress: RunProgress) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            self._console.print(plain(progress.line), soft_wrap=True)


class _Bars:
    """Shows a bar for each step, or one for the whole run once its progress is reported."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._whole = False

    def report(self, what: str, done: int, total: int) -> None:
        if not self._whole:
            text = f"{done:,}/{total:,}" if total else f"{done:,}"
            self._bars.update(self._task(what), description=what, completed=done, total=total or None, text=text)

    def progress(self, progress: RunProgress) -> None:
        if not self._whole:
            self._whole = True
            for task in self._tasks.values():
                self._bars.remove_task(task)
            self._tasks.clear()
        share = progress.share
        self._bars.update(
            self._task("indexing"), completed=share or 0.0, total=None if share is None else 1.0, text=progress.line
        )

    def spent(self, usage: Usage) -> None:
        if usage.calls:
            tokens = usage.prompt_tokens + usage.completion_tokens
            self._bars.update(self._task(_SPENT), description=f"{usage.calls:,} model calls, {tokens:,} tokens")

    def _task(self, name: str) -> TaskID:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=None, text="")
        return self._tasks[name]
