"""Many tasks of one kind, several asked at a time, their replies in the order of the tasks.

Threads wait for a model; rules gain nothing from them, so `workers` is 1 there. A failed task is given in its place, because
one item harms only itself; what stops every task (no more money, no endpoint) is raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import Language, Reply, Task

T = TypeVar("T")


def perform_all(language: Language, tasks: Iterable[Task[T]], workers: int) -> Iterator[Reply[T] | TaskFailed]:
    """One reply or failure a task. At most `workers` are asked at a time; tasks are drawn as they are asked.

    Raises:
        EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no further task is asked; those under way are waited for.
    """
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


def _attempt(language: Language, task: Task[T]) -> Reply[T] | TaskFailed:
    try:
        return language.perform(task)
    except TaskFailed as failure:
        return failure
