"""Perform many tasks of one kind concurrently; replies come in the order of the tasks.

Threads wait for a model; rules gain nothing from them, so `workers` is 1 there. A remote-safe language (rules: they cost nothing
and have no state) is sent to the executor with its tasks. Any other language stays in this process, which has the one ledger for
limits on spending, the paid replies and the key. A failed task is returned in its place; an error that stops all tasks is raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from hoptrail.errors import HoptrailError, TaskFailed
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work, batched, from_to, is_remote_safe
from hoptrail.language.tasks import Extract, Language, Reply, Summarise, Task

T = TypeVar("T")

TOGETHER = 32  # tasks of one batch on an executor


def perform_all(
    language: Language,
    tasks: Iterable[Task[T]],
    workers: int,
    executor: Executor = LOCAL_EXECUTOR,
    unheard: Callable[[Reply[T] | TaskFailed], None] = lambda _: None,
) -> Iterator[Reply[T] | TaskFailed]:
    """One reply or failure for each task. At most `workers` tasks run at a time; tasks are consumed lazily.
    A remote-safe language runs on `executor` in batches, as many at a time as that has room for.
    Raises: EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no further task starts; running ones are waited for,
    and `unheard` gets their replies, which are paid.
    WorkFailed: a batch of tasks was lost; see `Executor.map`.
    """
    if is_remote_safe(language):
        attempt: Callable[[list[Task[T]]], list[Reply[T] | TaskFailed]] = partial(_attempt_all, language)
        work: Work[list[Task[T]], list[Reply[T] | TaskFailed]] = Work("asking about", attempt, _name)
        for outcomes in executor.map(work, batched(tasks, TOGETHER)):
            yield from outcomes
    elif workers == 1:
        yield from (_attempt(language, task) for task in tasks)
    else:
        yield from _in_threads(language, tasks, workers, unheard)


def _in_threads(
    language: Language, tasks: Iterable[Task[T]], workers: int, unheard: Callable[[Reply[T] | TaskFailed], None]
) -> Iterator[Reply[T] | TaskFailed]:
    pending: deque[Future[Reply[T] | TaskFailed]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for task in tasks:
                pending.append(pool.submit(copy_context().run, _attempt, language, task))
                if len(pending) >= workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except HoptrailError:
            for future in pending:
                if not future.cancel() and future.exception() is None:
                    unheard(future.result())
            raise
        finally:
            for future in pending:
                future.cancel()


def _attempt_all(language: Language, tasks: Sequence[Task[T]]) -> list[Reply[T] | TaskFailed]:
    return [_attempt(language, task) for task in tasks]


def _name(tasks: Sequence[Task[object]]) -> str:
    return from_to([_subject(task) for task in tasks])


def _subject(task: object) -> str:
    """The title and id of a task's first unit, or the task's type."""
    match task:
        case Extract(unit, _) | Summarise((unit, *_), _):
            return f"{unit.title!r} ({unit.id})"
    return type(task).__name__


def _attempt(language: Language, task: Task[T]) -> Reply[T] | TaskFailed:
    try:
        return language.perform(task)
    except TaskFailed as failure:
        return failure
