"""A progress bar with the time left and what was spent, for terminals; nothing where standard error is a file or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hoptrail.structures.building import Report, report_nothing, tell_nobody
from hoptrail.types import Usage

_SPENT = "spent"


@contextmanager
def progress_reports(console: Console) -> Iterator[tuple[Report, Callable[[Usage], None]]]:
    """Somewhere to report progress (a total of 0 means that it is not known) and spending to while the body runs."""
    if not console.is_terminal:
        yield report_nothing, tell_nobody
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=None)
            bars.update(tasks[what], completed=done, total=total or None)

        def spent(usage: Usage) -> None:
            if usage.calls:
                if _SPENT not in tasks:
                    tasks[_SPENT] = bars.add_task("", total=None)
                tokens = usage.prompt_tokens + usage.completion_tokens
                bars.update(tasks[_SPENT], description=f"{usage.calls:,} model calls, {tokens:,} tokens")

        yield report, spent
