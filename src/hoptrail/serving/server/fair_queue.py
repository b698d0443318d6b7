"""A queue in which clients take turns: who has used the least time goes first, however much the others have waiting."""

from __future__ import annotations

from collections import deque
from queue import Empty
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Things that wait, each for a client; those of one client as they came. For one thread that takes them."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        self._used: dict[str, float] = {}
        """Seconds used by those who have something waiting; a newcomer begins level with the least of them."""
        self._closed = False
        self._changed = Condition()

    def put(self, client: str, thing: T) -> None:
        with self._changed:
            if client not in self._waiting:
                self._used[client] = min(self._used.values(), default=0.0)
                self._waiting[client] = deque()
            self._waiting[client].append(thing)
            self._changed.notify()

    def first(self, timeout: float | None) -> T | None:
        """The thing whose turn it is, which stays in the queue; None once the queue is closed.

        Raises:
            Empty: there was none for so many seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or bool(self._waiting), timeout):
                raise Empty
            if self._closed:
                return None
            return self._waiting[min(self._waiting, key=lambda one: self._used[one])][0]

    def used(self, client: str, seconds: float, *, over: bool) -> None:
        """The first thing of a client has used so many seconds; `over`: it leaves the queue."""
        with self._changed:
            self._used[client] += seconds
            if over:
                self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client], self._used[client]

    def close(self) -> None:
        """Have nothing more taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
