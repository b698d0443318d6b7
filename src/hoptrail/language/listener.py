"""A language that somebody listens to: told of every hop as it is made, and able to stop the work before the next task.

Recipes know nothing of it. They pass every task through a `Meter`, which tells the listener, if the language has one; so
whoever wants to hear of hops wraps the language that he hands to a recipe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hoptrail.errors import Interrupted
from hoptrail.language.tasks import Language, Reply, Task
from hoptrail.types import Hop, Span

T = TypeVar("T")


def _ask_on() -> bool:
    return False


def _asked_unheard(question: str, asked: str) -> None:
    """For listeners who wait for answers only."""


def _found_unheard(hop: Hop, support: tuple[Span, ...]) -> None:
    """For listeners who only want to be able to stop."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Told, in the thread that answers, of a sub-question with what is really `asked`, then of the hop it became, with the
    spans that its answer rests on. Once `stopped` says so, no further task is performed.

    A recipe may give up hops it has made: the answer's trail says which ones count.
    """

    asked: Callable[[str, str], None] = _asked_unheard
    found: Callable[[Hop, tuple[Span, ...]], None] = _found_unheard
    stopped: Callable[[], bool] = _ask_on


NOBODY = Listener()


@dataclass(frozen=True, slots=True)
class ListenedLanguage:
    """`language` with a listener; otherwise the same."""

    language: Language
    listener: Listener

    @property
    def name(self) -> str:
        return self.language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """As the language does.

        Raises:
            Interrupted: the listener has stopped.
        """
        if self.listener.stopped():
            raise Interrupted("stopped before the answer was found, because nobody waits for it any longer. Ask again.")
        return self.language.perform(task)
