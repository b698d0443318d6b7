"""Who may compute: one question at a time where there are several keys, so that a busy key slows another's question little.

Threads of one interpreter share its lock, so that eight questions at once answer no more in an hour than one after the other,
and each of them takes eight times as long. Here a question holds a turn while it computes and offers it at every language task.
A turn that comes free goes to the client that has had none for longest. Without keys there is one client, and nothing to share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock


class Turns:
    """One turn. Safe to call from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False
        self._waiting: dict[str, deque[Event]] = {}
        self._last: dict[str, int] = {}
        """When each client had its last turn, in turns given."""
        self._given = 0

    @contextmanager
    def of(self, client: str) -> Iterator[None]:
        """While a question of a client computes."""
        self._take(client)
        try:
            yield
        finally:
            self._give()

    def offer(self, client: str) -> None:
        """Let somebody else go on who waits for a turn, and wait for the next one."""
        with self._lock:
            if not self._waiting:
                return
            mine = self._line_up(client)
            self._pass_on()
        mine.wait()

    def _take(self, client: str) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                self._note(client)
                return
            mine = self._line_up(client)
        mine.wait()

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._pass_on()
            else:
                self._taken = False

    def _line_up(self, client: str) -> Event:
        mine = Event()
        self._waiting.setdefault(client, deque()).append(mine)
        return mine

    def _pass_on(self) -> None:
        client = min(self._waiting, key=lambda one: self._last.get(one, 0))
        self._waiting[client].popleft().set()
        if not self._waiting[client]:
            del self._waiting[client]
        self._note(client)

    def _note(self, client: str) -> None:
        self._given += 1
        self._last[client] = self._given
