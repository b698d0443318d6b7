"""Many tasks at once: replies in the order of the tasks, never too many under way, and an end when there is no going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from hoptrail.errors import BudgetExhausted, TaskFailed
from hoptrail.language.task_batches import perform_all
from hoptrail.language.tasks import Complete, Reply, Task
from hoptrail.types import Usage


class Echo:
    """Gives the question back. Early questions are answered last; `most` is how many were ever under way at once."""

    name = "echo"

    def __init__(self, meeting: int = 1) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._under_way = 0
        self._lock = threading.Lock()
        self._meeting = threading.Barrier(meeting)

    def perform(self, task: Task[Any]) -> Reply[Any]:
        assert isinstance(task, Complete)
        with self._lock:
            self.asked.append(task.question)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        self._meeting.wait(timeout=60)
        try:
            if task.question.startswith("fail"):
                raise TaskFailed(task.question, Usage(calls=1))
            if task.question.startswith("stop"):
                raise BudgetExhausted("no more money")
            return Reply(task.question, Usage(calls=1))
        finally:
            with self._lock:
                self._under_way -= 1


def tasks(*questions: str) -> Iterator[Complete]:
    return (Complete(question, ()) for question in questions)


def outcomes(language: Echo, workers: int, *questions: str) -> list[str]:
    replies = perform_all(language, tasks(*questions), workers)
    return [str(reply) if isinstance(reply, TaskFailed) else reply.value for reply in replies]


@pytest.mark.parametrize("workers", [1, 2, 3, 20])
def test_every_task_has_its_reply_or_its_failure_in_its_place(workers: int) -> None:
    questions = [f"fail {number}" if number % 4 == 1 else f"{number}" for number in range(14)]
    assert outcomes(Echo(), workers, *questions) == questions


@pytest.mark.parametrize("workers", [1, 4])
def test_no_tasks_have_no_replies(workers: int) -> None:
    assert outcomes(Echo(), workers) == []


@pytest.mark.parametrize("workers", [1, 4])
def test_as_many_as_allowed_are_asked_at_once_and_never_more(workers: int) -> None:
    language = Echo(meeting=workers)  # nobody goes on before that many have come
    questions = [f"{number}" for number in range(3 * workers)]
    assert outcomes(language, workers, *questions) == questions
    assert language.most == workers


@pytest.mark.parametrize("workers", [1, 3])
def test_tasks_are_drawn_as_they_are_asked(workers: int) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[Complete]:
        for number in range(10_000):
            drawn.append(number)
            yield Complete(f"{number}", ())

    first = list(islice(perform_all(Echo(), endless(), workers), 5))
    assert [reply.value for reply in first if isinstance(reply, Reply)] == ["0", "1", "2", "3", "4"]
    assert len(drawn) <= 5 + workers


@pytest.mark.parametrize("workers", [1, 3])
def test_what_stops_every_task_is_raised_and_no_further_one_is_asked(workers: int) -> None:
    language = Echo()
    replies = perform_all(language, tasks("a", "b", "stop", *(f"{number}" for number in range(100))), workers)
    assert [reply.value for reply in islice(replies, 2) if isinstance(reply, Reply)] == ["a", "b"]
    with pytest.raises(BudgetExhausted):
        next(replies)
    assert len(language.asked) <= 3 + 2 * workers
    assert language.most <= workers
