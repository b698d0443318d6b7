"""A queue in which clients take turns: the client that has used the least time goes first, whatever the lengths of the queues."""

from __future__ import annotations

from collections import deque
from queue import Empty
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items waiting by client, first in first out for each. For one consuming thread."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        self._used: dict[str, float] = {}
        """Seconds used by each waiting client; a newcomer starts with the least of these."""
        self._closed = False
        self._changed = Condition()

    def put(self, client: str, item: T) -> None:
        """Append an item to the queue of a client."""
        with self._changed:
            if client not in self._waiting:
                self._used[client] = min(self._used.values(), default=0.0)
                self._waiting[client] = deque()
            self._waiting[client].append(item)
            self._changed.notify()

    def first(self, timeout: float | None) -> T | None:
        """The next item, which stays in the queue; None once the queue is closed.

        Raises:
            Empty: nothing came within `timeout` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or bool(self._waiting), timeout):
                raise Empty
            if self._closed:
                return None
            return self._waiting[min(self._waiting, key=lambda one: self._used[one])][0]

    def used(self, client: str, seconds: float, *, over: bool) -> None:
        """Record the seconds used by the first item of a client, and remove the item if it is `over`."""
        with self._changed:
            self._used[client] += seconds
            if over:
                self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client], self._used[client]

    def close(self) -> None:
        """Give out no further item."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
