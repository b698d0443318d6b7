"""A language with a meter on it: what one question spent. Not for several threads at once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import Language, Task
from hoptrail.types import Usage

T = TypeVar("T")


class Meter:
    """Passes tasks on to `language` and adds up what they cost."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._usage = Usage()
        self._failures = 0
        self._tasks = 0

    @property
    def name(self) -> str:
        """The language's name."""
        return self._language.name

    @property
    def usage(self) -> Usage:
        """Calls, tokens and seconds so far; the seconds are this meter's own, and count failed tasks too."""
        return self._usage

    @property
    def failures(self) -> int:
        """How many tasks failed."""
        return self._failures

    @property
    def tasks(self) -> int:
        """How many tasks were performed or failed."""
        return self._tasks

    def perform(self, task: Task[T]) -> T:
        """The task's output.

        Raises:
            TaskFailed: as the language raised it.
        """
        started = time.perf_counter()
        spent = Usage()
        self._tasks += 1
        try:
            reply = self._language.perform(task)
            spent = reply.usage
        except TaskFailed as failure:
            self._failures += 1
            spent = failure.usage or spent
            raise
        finally:
            self._usage += replace(spent, seconds=time.perf_counter() - started)
        return reply.value
