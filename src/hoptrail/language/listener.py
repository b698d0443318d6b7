"""What stands around a language: a listener to its hops, who can stop the work; a meter of its tasks; its opening on first use.

Recipes do not know about listeners: they pass every task through a `Meter`, which notifies the language's listener, if any. To
receive hops, wrap the language before passing it to a recipe.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from hoptrail.errors import Interrupted, TaskFailed
from hoptrail.language.tasks import Abstain, Integrate, Language, Read, Recall, Reply, Task, judged
from hoptrail.types import Hop, Span, Unit, Usage

if TYPE_CHECKING:
    from hoptrail.language.closeness import Close

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks in the answering thread: `asked` gets a sub-question and its completed form, `found` gets its finished hop with
    the supporting spans. Once `stopped` returns True, no further task is performed. `wrote` gets a question and its answer as far
    as a model has written it, again and again; nothing of it is checked yet, and it may begin anew.
    A recipe may discard hops: the answer's trail has those that count.
    """

    asked: Callable[[str, str], None] = lambda _question, _asked: None
    found: Callable[[Hop, tuple[Span, ...]], None] = lambda _hop, _support: None
    stopped: Callable[[], bool] = lambda: False
    wrote: Callable[[str, str], None] | None = None


@dataclass(frozen=True, slots=True)
class ObservedLanguage:
    """`language` with a listener. `writing` is told the answer that a model writes, in the thread that performs the task."""

    language: Language
    listener: Listener
    writing: ClassVar[ContextVar[Callable[[str], None] | None]] = ContextVar("writing", default=None)

    @property
    def name(self) -> str:
        return self.language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform a task with the language. Raises: Interrupted: the listener has stopped the work."""
        if self.listener.stopped():
            raise Interrupted("stopped before the answer was found, because nobody waits for it any longer. Ask again.")
        writing = None
        if self.listener.wrote and isinstance(task, Read | Integrate | Recall):
            writing = partial(self.listener.wrote, task.question)
        token = self.writing.set(writing)
        try:
            return self.language.perform(task)
        finally:
            self.writing.reset(token)

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        return judged(self.language, question, units)


class LazyLanguage:
    """The language of a search, which few recipes ask: `open_` opens it on first use, which is when its errors are raised."""

    def __init__(self, open_: Callable[[], Language]) -> None:
        self._open = open_

    @cached_property
    def _language(self) -> Language:
        return self._open()

    @property
    def name(self) -> str:
        return self._language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        return self._language.perform(task)


class Meter:
    """Passes the tasks of one question on to `language` and adds up their cost; passes hops on to its listener. Not thread-safe.
    `abstain` applies to the question itself; sub-questions may abstain, unless a recipe hands it on to them. `usage` and `tasks`
    include failed tasks, which `failures` counts; the seconds are measured here.
    """

    def __init__(self, language: Language, abstain: Abstain = Abstain.ALWAYS) -> None:
        self._language = language
        self.abstain = abstain
        self._listener = language.listener if isinstance(language, ObservedLanguage) else Listener()
        self._started = time.perf_counter()
        self.usage = Usage()
        self.failures = 0
        self.tasks = 0

    @property
    def name(self) -> str:
        return self._language.name

    @property
    def total(self) -> Usage:
        """The usage, with all seconds since the meter was made."""
        return replace(self.usage, seconds=time.perf_counter() - self._started)

    def asked(self, question: str, asked: str) -> None:
        """Notify the listener of a sub-question and its completed form before work on it begins."""
        self._listener.asked(question, asked)

    def found(self, hop: Hop, support: tuple[Span, ...] = ()) -> None:
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
