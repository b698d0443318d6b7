"""A language that is opened when it is first asked, for whoever mostly asks nothing; and how the two that ship are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from hoptrail.language.tasks import Language, Reply, Task

OFFLINE = "offline"
CHAT = "chat"

T = TypeVar("T")


class LazyLanguage:
    """The language that `open_` opens: what is wrong with it shows when it is asked."""

    def __init__(self, open_: Callable[[], Language]) -> None:
        self._open = open_

    @cached_property
    def _language(self) -> Language:
        return self._open()

    @property
    def name(self) -> str:
        return self._language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """See `Language.perform`."""
        return self._language.perform(task)
