"""A language with a meter on it: what one question spent, told to whoever listens. Not for several threads at once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TypeVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import NOBODY, ListenedLanguage
from hoptrail.language.tasks import Abstain, Language, Task
from hoptrail.types import Hop, Span, Usage

T = TypeVar("T")


class Meter:
    """Passes tasks on to `language` and adds up what they cost; passes news of hops on to its listener.

    `abstain` says when the question itself may be left without an answer; sub-questions always may.
    """

    def __init__(self, language: Language, abstain: Abstain = Abstain.ALWAYS) -> None:
        self._language = language
        self.abstain = abstain
        self._listener = language.listener if isinstance(language, ListenedLanguage) else NOBODY
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

    def asked(self, question: str, asked: str) -> None:
        """Tell that a sub-question is being worked on, and what is really asked for it."""
        self._listener.asked(question, asked)

    def found(self, hop: Hop, support: tuple[Span, ...] = ()) -> None:
        """Tell of a hop that is done, and of the spans that its answer rests on."""
        self._listener.found(hop, support)

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
