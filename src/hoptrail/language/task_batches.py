"""Many tasks of one kind, several asked at a time, their replies in the order of the tasks.

Threads wait for a model; rules gain nothing from them, so `workers` is 1 there. A language that travels (rules: they cost
nothing and keep nothing) is handed to the executor with its tasks. Every other one is asked by this process alone: it holds the
one ledger that limits on spending are checked against, the replies that were paid for, and the key, and its tasks only wait.

A failed task is given in its place, because one item harms only itself; what stops every task (no more money, no endpoint) is
raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work, batched, from_to, is_remote_safe
from hoptrail.language.tasks import Extract, Language, Reply, Summarise, Task

T = TypeVar("T")

TOGETHER = 32
"""Tasks of one batch, where a language travels."""


def perform_all(
    language: Language, tasks: Iterable[Task[T]], workers: int, executor: Executor = LOCAL_EXECUTOR
) -> Iterator[Reply[T] | TaskFailed]:
    """One reply or failure a task. At most `workers` are asked at a time; tasks are drawn as they are asked.

    A language that travels is asked on `executor`, in batches, as many at a time as that has room for.

    Raises:
        EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no further task is asked; those under way are waited for.
        WorkFailed: a batch of tasks was lost; see `Executor.map`.
    """
    if is_remote_safe(language):
        attempt: Callable[[list[Task[T]]], list[Reply[T] | TaskFailed]] = partial(_attempt_all, language)
        work: Work[list[Task[T]], list[Reply[T] | TaskFailed]] = Work("asking about", attempt, _name)
        for outcomes in executor.map(work, batched(tasks, TOGETHER)):
            yield from outcomes
        return
    if workers == 1:
        for task in tasks:
            yield _attempt(language, task)
        return
    pending: deque[Future[Reply[T] | TaskFailed]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for task in tasks:
                pending.append(pool.submit(_attempt, language, task))
                if len(pending) >= workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _attempt_all(language: Language, tasks: Sequence[Task[T]]) -> list[Reply[T] | TaskFailed]:
    return [_attempt(language, task) for task in tasks]


def _name(tasks: Sequence[Task[object]]) -> str:
    return from_to([_subject(task) for task in tasks])


def _subject(task: object) -> str:
    """What a task is about, where it is about something: a title and an id."""
    match task:
        case Extract(unit, _) | Summarise((unit, *_), _):
            return f"{unit.title!r} ({unit.id})"
    return type(task).__name__


def _attempt(language: Language, task: Task[T]) -> Reply[T] | TaskFailed:
    try:
        return language.perform(task)
    except TaskFailed as failure:
        return failure
