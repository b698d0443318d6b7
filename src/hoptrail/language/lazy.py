"""A language that is opened on first use, and the names of the two shipped languages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hoptrail.language.tasks import Language, Reply, Task, judged
from hoptrail.types import Unit

if TYPE_CHECKING:
    from hoptrail.language.closeness import Close

OFFLINE = "offline"
CHAT = "chat"

T = TypeVar("T")


class LazyLanguage:
    """The language that `open_` opens on first use, which is when its errors are raised."""

    def __init__(self, open_: Callable[[], Language]) -> None:
        self._open = open_

    @cached_property
    def _language(self) -> Language:
        return self._open()

    @property
    def name(self) -> str:
        """The name of the language, which is opened to learn it."""
        return self._language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """See `Language.perform`."""
        return self._language.perform(task)

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        """See `StatementJudge`."""
        return judged(self._language, question, units)
