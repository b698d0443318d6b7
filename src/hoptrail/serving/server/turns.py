"""Turns at computing: with several keys, one question computes at a time, so that a busy key hardly slows another's question.

Threads of one interpreter share its lock: eight questions at once have no more throughput than one after the other, and each of
them takes eight times as long. So a question holds the turn while it computes, and offers it to others at every language task. A
free turn goes to the client that has waited longest since its last turn. A question that holds the turn for longer than
`PATIENCE` loses it and continues beside the next one, so that a long search does not block the others. A client with such an
overdue question cannot take over another turn. Without keys there is only one client, and nothing to share.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from threading import Condition, Lock
from typing import Self

PATIENCE = 5.0
"""Seconds after which a turn may be taken over. Ordinary searches must not reach it even on a busy machine, since parallel
questions only slow each other down."""


class Turns:
    """One turn, shared by all clients. `Turn` calls the other methods, and holds the lock meanwhile."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self.lock = Lock()
        self._holder: Turn | None = None
        self._since = 0.0
        self._overdue: Counter[str] = Counter()
        """Questions of each client that still compute after losing the turn."""
        self._waiting: dict[str, deque[Turn]] = {}
        self._last: dict[str, int] = {}
        """The number of each client's last turn."""
        self._given = 0

    def of(self, client: str) -> Turn:
        """A context manager that holds the turn for a question of a client."""
        return Turn(self, client)

    @property
    def is_wanted(self) -> bool:
        """Whether a question waits for the turn."""
        return bool(self._waiting)

    def take(self, turn: Turn) -> None:
        """Wait for the turn, and take it."""
        client = turn.client
        self._waiting.setdefault(client, deque()).append(turn)
        while not self._may_begin(turn):
            remaining = self._since + self._patience - time.monotonic()
            turn.comes.wait(remaining if self._holder and remaining > 0 else self._patience)
        self._waiting[client].popleft()
        if not self._waiting[client]:
            del self._waiting[client]
        if self._holder:
            self._overdue[self._holder.client] += 1
        self._holder, self._since = turn, time.monotonic()
        self._given += 1
        self._last[client] = self._given

    def _next(self) -> Turn:
        """The first of the waiting turns."""
        return self._waiting[min(self._waiting, key=lambda one: self._last.get(one, 0))][0]

    def _may_begin(self, turn: Turn) -> bool:
        if self._next() is not turn:
            return False
        if self._holder is None:
            return True
        return time.monotonic() - self._since >= self._patience and not self._overdue[turn.client]

    def give(self, turn: Turn) -> None:
        """Return the turn. Wakes only the first waiting thread: each one woken in vain takes the interpreter from the computing
        thread.
        """
        if self._holder is turn:
            self._holder = None
        else:
            self._overdue[turn.client] -= 1
        if self._waiting:
            self._next().comes.notify()


class Turn:
    """The turn of one question, held by one thread."""

    def __init__(self, turns: Turns, client: str) -> None:
        self.client = client
        self.comes = Condition(turns.lock)
        """Notified when the turn may have come."""
        self._turns = turns

    def offer(self) -> None:
        """If others wait, give them the turn and wait for the next one."""
        with self._turns.lock:
            if self._turns.is_wanted:
                self._turns.give(self)
                self._turns.take(self)

    def __enter__(self) -> Self:
        with self._turns.lock:
            self._turns.take(self)
        return self

    def __exit__(self, *_: object) -> None:
        with self._turns.lock:
            self._turns.give(self)
