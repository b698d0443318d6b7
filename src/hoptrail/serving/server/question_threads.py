"""Runs questions in a few threads, and stops them when the client disconnects or the time is up.

This is the border between the synchronous core and the server's event loop. Work can be stopped before each language task
(`language.listener`); a search without tasks runs to its end and its result is discarded.

Each key has a share of the threads and a limit of its own for what waits, so that a busy key does not delay the others. With
keys, one question computes at a time, so that a busy key hardly slows another's question.

Threads of one interpreter share its lock: eight questions at once have no more throughput than one after the other, and each of
them takes eight times as long. So a question holds the turn while it computes, and offers it to others at every language task. A
free turn goes to the client that has waited longest since its last turn. A question that holds the turn for longer than
`LONGEST_TURN` loses it and continues beside the next one, so that a long search does not block the others. A client with such an
overdue question cannot take over another turn. Without keys there is only one client, and nothing to share.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from threading import Condition, Event, Lock
from typing import Any, Self, TypeVar

from fastapi import Request

from hoptrail.errors import Interrupted
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, stopping, too_many

T = TypeVar("T")

RETRY_SECONDS = 5

LONGEST_TURN = 5.0
"""Seconds after which a turn may be taken over. Ordinary searches must not reach it even on a busy machine, since parallel
questions only slow each other down."""


class Turns:
    """One turn, shared by all clients. `Turn` calls the other methods, and holds the lock meanwhile."""

    def __init__(self, patience: float = LONGEST_TURN) -> None:
        self._patience = patience
        self.lock = Lock()
        self._holder: Turn | None = None
        self._since = 0.0
        self._overdue: Counter[str] = Counter()
        """Questions of each client that still compute after losing the turn."""
        self.waiting: list[Turn] = []
        self._last: dict[str, float] = {}
        """When each client's last turn began."""

    def take(self, turn: Turn) -> None:
        """Wait for the turn, and take it."""
        self.waiting.append(turn)
        while not self._may_begin(turn):
            remaining = self._since + self._patience - time.monotonic()
            turn.comes.wait(remaining if self._holder and remaining > 0 else self._patience)
        self.waiting.remove(turn)
        if self._holder:
            self._overdue[self._holder.client] += 1
        self._holder, self._since = turn, time.monotonic()
        self._last[turn.client] = self._since

    def _next(self) -> Turn:
        return min(self.waiting, key=lambda one: self._last.get(one.client, 0.0))

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
        if self.waiting:
            self._next().comes.notify()


class Turn:
    """The turn of one question of a client: a context manager, held by one thread."""

    def __init__(self, turns: Turns, client: str) -> None:
        self.client = client
        self.comes = Condition(turns.lock)
        """Notified when the turn may have come."""
        self._turns = turns

    def offer(self) -> None:
        """If others wait, give them the turn and wait for the next one."""
        with self._turns.lock:
            if self._turns.waiting:
                self._turns.give(self)
                self._turns.take(self)

    def __enter__(self) -> Self:
        with self._turns.lock:
            self._turns.take(self)
        return self

    def __exit__(self, *_: object) -> None:
        with self._turns.lock:
            self._turns.give(self)


class WorkDeadline:
    """A deadline that can be ended early. Calling it in the working thread returns whether it is over, and may first let other
    questions compute.
    """

    def __init__(self, seconds: float, pause: Callable[[], None] | None = None) -> None:
        self._end = time.monotonic() + seconds
        self._ended = Event()
        self._pause = pause

    def end(self) -> None:
        """End it now."""
        self._ended.set()

    @property
    def is_over(self) -> bool:
        """Whether it was ended or the time is up; unlike a call, reading this lets no other question compute."""
        return self._ended.is_set() or time.monotonic() > self._end

    def __call__(self) -> bool:
        if self._pause is not None:
            self._pause()
        return self.is_over


class Desk:
    """Accepts questions and assigns them to threads. Call its methods in the event loop's thread only."""

    def __init__(self, limits: ServerLimits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(limits.asks, thread_name_prefix="question")
        self._turns = Turns()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        """The clients of the questions that wait for a thread, with what tells each that it has one."""
        self._running: Counter[str] = Counter()
        self._closed = False

    def check(self, client: str) -> None:
        """Raises: Refusal: the queue of this client is full."""
        waiting = sum(one == client for one, _ in self._waiting)
        free = min(self._limits.asks - self._running.total(), self._share(client) - self._running[client])
        if waiting >= self._limits.queue + max(0, free):
            raise too_many("Too many questions at once.", f"Ask again in {RETRY_SECONDS} seconds.", RETRY_SECONDS)

    def hand_in(
        self, work: Callable[[WorkDeadline], T], client: str = "", *, computes: bool = True
    ) -> tuple[asyncio.Future[T], WorkDeadline]:
        """Queue `work` for a thread, called with the `WorkDeadline` that stops it. Work that `computes` takes turns with other
        clients; work that waits for a model elsewhere does not.
        Raises: Refusal: the queue of this client is full, or the server is stopping.
        """
        self.check(client)
        if self._closed:
            raise stopping()
        turn = Turn(self._turns, client) if computes and client else None
        patience = WorkDeadline(self._limits.ask_seconds, turn.offer if turn else None)

        def begin() -> T:
            if patience.is_over:
                raise Interrupted("nobody is waiting for this any more.")
            with turn or nullcontext():
                return work(patience)

        loop = asyncio.get_running_loop()
        begins = loop.create_future()
        self._waiting.append((client, begins))
        self._begin_next()
        asked = loop.create_task(self._run(begin, client, begins))
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen: asyncio must not log it
        return asked, patience

    async def _run(self, begin: Callable[[], T], client: str, begins: asyncio.Future[None]) -> T:
        await begins
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, begin)
        finally:
            self._running[client] -= 1
            self._begin_next()

    def _begin_next(self) -> None:
        """Start waiting questions while threads are free, those of the client with the fewest threads first."""
        while self._running.total() < self._limits.asks:
            ready = [one for one in self._waiting if self._running[one[0]] < self._share(one[0])]
            if not ready:
                break
            question = min(ready, key=lambda one: self._running[one[0]])
            self._waiting.remove(question)
            client, begins = question
            self._running[client] += 1
            begins.set_result(None)
        self._metrics.asking.set(self._running.total() + len(self._waiting))

    async def wait_for(self, request: Request | None, work: Callable[[WorkDeadline], T], *, computes: bool = True) -> T:
        """The result of `work`, as long as the client stays connected (None: a single client, which stays).
        Raises: Refusal: as `hand_in`; or the client disconnected; or it took too long.
        """
        future, patience = self.hand_in(work, request.state.client if request else "", computes=computes)
        disconnected = asyncio.ensure_future(_disconnected(request))
        try:
            awaited: set[asyncio.Future[Any]] = {future, disconnected}
            await asyncio.wait(awaited, timeout=self._limits.ask_seconds, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return result_of(future)
            if disconnected.done():
                disconnected.result()
                raise Refusal(499, "gone", "The client left.", "Ask again.")
            raise Refusal(504, "stopped", "The answer took longer than allowed.", "Ask again, or less.")
        finally:
            disconnected.cancel()
            patience.end()

    def close(self) -> None:
        """Start no further question, without waiting for the running ones."""
        self._closed = True
        for _, begins in self._waiting:
            begins.cancel()
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _share(self, client: str) -> int:
        """The number of threads that a client may use: with keys, three quarters of them."""
        return self._limits.asks if not client else max(1, self._limits.asks * 3 // 4)


async def _disconnected(request: Request | None) -> None:
    """Return when the client has disconnected, whose request has been read; never for None."""
    if request is None:
        await asyncio.Event().wait()
    else:
        while (await request.receive())["type"] != "http.disconnect":
            pass


def result_of(future: asyncio.Future[T]) -> T:
    """The result of finished work. Raises: Refusal: it was never started, because the server is stopping."""
    if future.cancelled():
        raise stopping()
    return future.result()
