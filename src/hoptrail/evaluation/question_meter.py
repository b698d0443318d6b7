"""What a language did for one question: tasks, seconds, cost, why it last failed, and everything it was handed to read.

A recipe holds one language for all questions, and questions may be asked from several threads at once. So `PerQuestion` is
handed to the recipe, and passes tasks on to the meter of the question that its thread is at; nothing is shared between them
but the language underneath. Knows nothing of recipes or gold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.evaluation.trail_records import PassagesOf, ReadingRecord
from hoptrail.language.tasks import TASK_NAMES, Integrate, Language, Read, Reading, Reply, Sample, Samples, Task
from hoptrail.types import Unit, Usage

T = TypeVar("T")


class QuestionMeter:
    """Passes tasks on to `language` and keeps count, for one question and one thread."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._read: list[tuple[str, str, Sequence[Unit], str | None]] = []
        self.seconds = 0.0
        self.tasks = 0
        self.usage = Usage()
        self.failure: str | None = None

    @property
    def name(self) -> str:
        """The language's name."""
        return self._language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """As the language does.

        Raises:
            TaskFailed: as the language raised it.
        """
        started = time.perf_counter()
        self.tasks += 1
        answer: str | None = None
        try:
            reply = self._language.perform(task)
            self.usage += reply.usage
            answer = _answer_of(reply.value)
        except TaskFailed as failure:
            self.usage += failure.usage or Usage()
            self.failure = str(failure)
            raise
        finally:
            self.seconds += time.perf_counter() - started
            if isinstance(task, Read | Integrate | Sample):
                self._read.append((TASK_NAMES[type(task)], task.question, task.evidence, answer))
        return reply

    def readings(self, shown: PassagesOf) -> tuple[ReadingRecord, ...]:
        """The tasks that read, in order; `shown` gives the passages that a unit shows."""
        return tuple(
            ReadingRecord(name, question, tuple(unit.id for unit in units), _shown(units, shown), answer)
            for name, question, units, answer in self._read
        )


class PerQuestion:
    """The language that an evaluated recipe holds.

    `open_performer` gives who performs the tasks of the next question: a new one each time where it must not serve several
    at once. `identity` is what replies hang on (`language.identity`), where that is more than the name; `model` is the name of
    the language model, where there is one.
    """

    def __init__(self, name: str, open_performer: Callable[[], Language], identity: str = "", model: str = "") -> None:
        self.name = name
        self.model = model
        self.identity = identity or name
        self.open_performer = open_performer
        # One for each language, not one for all: a recipe under evaluation may hold another evaluated language.
        self._current: ContextVar[QuestionMeter] = ContextVar("question meter")

    @contextmanager
    def metered(self, performer: Language) -> Iterator[QuestionMeter]:
        """Inside `with`, this thread's tasks are performed by `performer` and counted by the meter."""
        meter = QuestionMeter(performer)
        token = self._current.set(meter)
        try:
            yield meter
        finally:
            self._current.reset(token)

    def perform(self, task: Task[T]) -> Reply[T]:
        """As the performer of this thread's question does.

        Raises:
            LookupError: no question is being asked in this thread.
            TaskFailed: as the performer raised it.
        """
        return self._current.get().perform(task)


def _answer_of(value: object) -> str | None:
    if isinstance(value, Reading):
        return value.answer
    return value.answers[0] if isinstance(value, Samples) else None


def _shown(units: Sequence[Unit], shown: PassagesOf) -> tuple[str, ...]:
    return tuple(dict.fromkeys(passage for unit in units for passage in shown(unit)))
