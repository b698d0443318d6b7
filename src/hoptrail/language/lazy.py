"""A language that is opened on first use, and the names of the two shipped languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from hoptrail.language.tasks import Language, Reading, Reply, Task, read_links, settling
from hoptrail.types import Unit

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

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading | None:
        """See `LinkReader`."""
        return read_links(self._language, question, passages)

    def settling(self, question: str, statements: Sequence[str]) -> Sequence[float]:
        """See `StatementJudge`."""
        return settling(self._language, question, statements)
