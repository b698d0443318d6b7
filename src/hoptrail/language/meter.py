"""Meter the tasks of one question, and notify a listener of its hops. Not thread-safe."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import NOBODY, ObservedLanguage
from hoptrail.language.tasks import Abstain, Language, Task
from hoptrail.types import Hop, Span, Usage

T = TypeVar("T")


class Meter:
    """Passes tasks on to `language` and adds up their cost; passes hops on to its listener.

    `abstain` applies to the question itself; sub-questions may abstain, unless a recipe hands it on to them. `usage` and `tasks`
    include failed tasks, which `failures` counts; the seconds are measured here.
    """

    def __init__(self, language: Language, abstain: Abstain = Abstain.ALWAYS) -> None:
        self._language = language
        self.abstain = abstain
        self._listener = language.listener if isinstance(language, ObservedLanguage) else NOBODY
        self._started = time.perf_counter()
        self.usage = Usage()
        self.failures = 0
        self.tasks = 0

    @property
    def name(self) -> str:
        """The language's name."""
        return self._language.name

    @property
    def total(self) -> Usage:
        """The usage, with all seconds since the meter was made."""
        return replace(self.usage, seconds=time.perf_counter() - self._started)

    def asked(self, question: str, asked: str) -> None:
        """Notify the listener of a sub-question and its completed form before work on it begins."""
        self._listener.asked(question, asked)

    def found(self, hop: Hop, support: tuple[Span, ...] = ()) -> None:
        """Notify the listener of a finished hop and its supporting spans."""
        self._listener.found(hop, support)

    def perform(self, task: Task[T]) -> T:
        """Perform a task and return its output. Raises: TaskFailed: from the language."""
        started = time.perf_counter()
        spent = Usage()
        self.tasks += 1
        try:
            reply = self._language.perform(task)
            spent = reply.usage
        except TaskFailed as failure:
            self.failures += 1
            spent = failure.usage or spent
            raise
        finally:
            self.usage += replace(spent, seconds=time.perf_counter() - started)
        return reply.value
