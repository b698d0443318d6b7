"""Meters the language tasks of one question: their number, seconds, cost, last failure, and the evidence they read.

A recipe has one language for all questions, and several threads may ask questions at once. So the recipe gets a `PerQuestion`,
which passes tasks on to the meter of the question in its thread. The meters share only the language underneath.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.evaluation.trail_records import PassagesOf, ReadingRecord
from hoptrail.language.tasks import (
    TASK_NAMES,
    Integrate,
    Language,
    Read,
    Reading,
    Reply,
    Sample,
    Samples,
    Task,
    read_links,
)
from hoptrail.types import Unit, Usage

T = TypeVar("T")


class QuestionMeter:
    """Passes tasks on to `language` and meters them, for one question and one thread."""

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
        """Perform a task with the language.

        Raises:
            TaskFailed: the language failed.
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

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading | None:
        """See `LinkReader`."""
        return read_links(self._language, question, passages)

    def readings(self, passages_of: PassagesOf) -> tuple[ReadingRecord, ...]:
        """The tasks that read evidence, in order. `passages_of` gives the passages that a unit shows."""
        return tuple(
            ReadingRecord(name, question, tuple(unit.id for unit in units), _passages(units, passages_of), answer)
            for name, question, units, answer in self._read
        )


class PerQuestion:
    """The language of an evaluated recipe.

    `open_performer` returns the performer for the next question: a new one each time if it cannot serve several at once.
    `identity` covers all that replies depend on (`language.identity`); the default is the name. `model` is the name of the
    language model, or empty.
    """

    def __init__(self, name: str, open_performer: Callable[[], Language], identity: str = "", model: str = "") -> None:
        self.name = name
        self.model = model
        self.identity = identity or name
        self.open_performer = open_performer
        # One variable per language: an evaluated recipe may contain another evaluated language.
        self._current: ContextVar[QuestionMeter] = ContextVar("question meter")

    @contextmanager
    def metered(self, performer: Language) -> Iterator[QuestionMeter]:
        """Within the `with` block, let `performer` perform this thread's tasks, metered."""
        meter = QuestionMeter(performer)
        token = self._current.set(meter)
        try:
            yield meter
        finally:
            self._current.reset(token)

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform a task with the performer of this thread's question.

        Raises:
            LookupError: no question is being asked in this thread.
            TaskFailed: the performer failed.
        """
        return self._current.get().perform(task)

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading | None:
        """See `LinkReader`."""
        return read_links(self._current.get(), question, passages)


def _answer_of(value: object) -> str | None:
    if isinstance(value, Reading):
        return value.answer
    return value.answers[0] if isinstance(value, Samples) else None


def _passages(units: Sequence[Unit], passages_of: PassagesOf) -> tuple[str, ...]:
    return tuple(dict.fromkeys(passage for unit in units for passage in passages_of(unit)))
