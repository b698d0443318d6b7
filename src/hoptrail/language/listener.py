"""A language with a listener that is notified of every hop and can stop the work before the next task.

Recipes do not know about listeners: they pass every task through a `Meter`, which notifies the language's listener, if any. To
receive hops, wrap the language before passing it to a recipe.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from hoptrail.errors import Interrupted
from hoptrail.language.tasks import Integrate, Language, Read, Recall, Reply, Task, judged
from hoptrail.types import Hop, Span, Unit

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


NOBODY = Listener()


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
        """See `StatementJudge`."""
        return judged(self.language, question, units)
