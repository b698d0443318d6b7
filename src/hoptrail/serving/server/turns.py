"""Who may compute: one question at a time where there are several keys, so that a busy key slows another's question little.

Threads of one interpreter share its lock, so that eight questions at once answer no more in an hour than one after the other,
and each of them takes eight times as long. Here a question holds the turn while it computes and offers it at every language task.
A turn that comes free goes to the client that has had none for longest. A question that holds it for longer than `PATIENCE` loses
it and goes on beside the next one, so that a long search does not hold up everybody. A client with a question that goes on so
takes over no other turn. Without keys there is one client, and nothing to share.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from threading import Condition, Lock
from types import TracebackType
from typing import Self

PATIENCE = 5.0
"""Seconds after which a turn may be taken over; long enough that it does not happen to ordinary searches on a busy machine, where
questions beside each other only slow each other down."""


class Turns:
    """One turn for all clients. Safe to call from several threads."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = Lock()
        self._holder: Turn | None = None
        self._since = 0.0
        self._overdue: Counter[str] = Counter()
        """Questions of each client that compute without the turn, which was taken over."""
        self._waiting: dict[str, deque[Turn]] = {}
        self._last: dict[str, int] = {}
        """When each client had its last turn, in turns given."""
        self._given = 0

    def of(self, client: str) -> Turn:
        """To be held `with` it while a question of a client computes."""
        return Turn(self, client, Condition(self._lock))

    def take(self, turn: Turn) -> None:
        """Wait for the turn, and take it."""
        with self._lock:
            self._take(turn)

    def give(self, turn: Turn) -> None:
        """The question computes no longer."""
        with self._lock:
            self._give(turn)

    def offer(self, turn: Turn) -> None:
        """Let somebody else go on who waits, and wait for the next turn."""
        with self._lock:
            if self._waiting:
                self._give(turn)
                self._take(turn)

    def _take(self, turn: Turn) -> None:
        client = turn.client
        self._waiting.setdefault(client, deque()).append(turn)
        while not self._may_begin(turn):
            left = self._since + self._patience - time.monotonic()
            turn.comes.wait(left if self._holder and left > 0 else self._patience)
        self._waiting[client].popleft()
        if not self._waiting[client]:
            del self._waiting[client]
        if self._holder:
            self._overdue[self._holder.client] += 1
        self._holder, self._since = turn, time.monotonic()
        self._given += 1
        self._last[client] = self._given

    def _next(self) -> Turn:
        """Who goes first of those that wait."""
        return self._waiting[min(self._waiting, key=lambda one: self._last.get(one, 0))][0]

    def _may_begin(self, turn: Turn) -> bool:
        if self._next() is not turn:
            return False
        if self._holder is None:
            return True
        return time.monotonic() - self._since >= self._patience and not self._overdue[turn.client]

    def _give(self, turn: Turn) -> None:
        """Only who goes first is woken: each thread that wakes in vain takes the interpreter from the one that computes."""
        if self._holder is turn:
            self._holder = None
        else:
            self._overdue[turn.client] -= 1
        if self._waiting:
            self._next().comes.notify()


class Turn:
    """The turn of one question, held by one thread."""

    def __init__(self, turns: Turns, client: str, comes: Condition) -> None:
        self.client = client
        self.comes = comes
        """Notified when the turn may have come."""
        self._turns = turns

    def offer(self) -> None:
        """Let another question go on first that waits."""
        self._turns.offer(self)

    def __enter__(self) -> Self:
        self._turns.take(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._turns.give(self)
