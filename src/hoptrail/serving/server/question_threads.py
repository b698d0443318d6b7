"""Questions are worked on in threads, a few at a time; whoever leaves, or takes too long, is not worked for any longer.

The core is synchronous: here is the border between it and the server's event loop. What can stop the work is the check that
every language task passes (`language.listener`); a search without tasks runs to its end, unheard.

Each key has a queue of its own and a share of the threads, so that one that asks much does not keep the others waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

from fastapi import Request

from hoptrail.errors import Interrupted
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, stopping
from hoptrail.serving.server.turns import Turns

T = TypeVar("T")

RETRY_SECONDS = 5


class Patience:
    """Runs out when somebody says so, or with the time. Called in the thread that works, it says whether it has, and may let
    others compute first.
    """

    def __init__(self, seconds: float, pause: Callable[[], None] | None = None) -> None:
        self._end = time.monotonic() + seconds
        self._gone = Event()
        self._pause = pause

    def end(self) -> None:
        self._gone.set()

    @property
    def is_over(self) -> bool:
        return self._gone.is_set() or time.monotonic() > self._end

    def __call__(self) -> bool:
        if self._pause is not None:
            self._pause()
        return self.is_over


@dataclass(frozen=True, slots=True)
class _Question:
    """Work that waits for a thread, and what it gives."""

    begin: Callable[[], Any]
    outcome: asyncio.Future[Any]


class Desk:
    """Where questions are handed in. Its methods belong to the event loop's thread."""

    def __init__(self, limits: ServerLimits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(limits.asks, thread_name_prefix="question")
        self._turns = Turns()
        self._waiting: dict[str, deque[_Question]] = {}
        self._running: Counter[str] = Counter()
        self._closed = False

    def check(self, client: str) -> None:
        """Raises: Refusal: as many questions of this client wait as may."""
        waiting = len(self._waiting.get(client, ()))
        free = min(self._limits.asks - self._running.total(), self._share(client) - self._running[client])
        if waiting >= self._limits.queue + max(0, free):
            raise Refusal(
                429,
                "too_many",
                "Too many questions at once.",
                f"Ask again in {RETRY_SECONDS} seconds.",
                {"Retry-After": str(RETRY_SECONDS)},
            )

    def hand_in(
        self, work: Callable[[Patience], T], client: str = "", *, computes: bool = True
    ) -> tuple[asyncio.Future[T], Patience]:
        """Have `work` done in a thread; it is handed what tells it to stop. What `computes` takes turns with other clients;
        what waits for a model elsewhere does not.

        Raises:
            Refusal: as many questions of this client wait as may, or the server stops.
        """
        self.check(client)
        if self._closed:
            raise stopping()
        turn = self._turns.of(client) if computes and client else None
        patience = Patience(self._limits.ask_seconds, turn.offer if turn else None)

        def begin() -> T:
            if patience.is_over:
                raise Interrupted("nobody waits for this any longer.")
            if not turn:
                return work(patience)
            with turn:
                return work(patience)

        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(_Question(begin, outcome))
        self._begin_next()
        return outcome, patience

    async def wait_for(self, request: Request, work: Callable[[Patience], T], *, computes: bool = True) -> T:
        """What `work` gives, as long as the client is there.

        Raises:
            Refusal: as `hand_in`; or the client left; or it took too long.
        """
        future, patience = self.hand_in(work, request.scope["state"]["client"], computes=computes)
        gone = asyncio.ensure_future(_left(request))
        try:
            waited: set[asyncio.Future[Any]] = {future, gone}
            await asyncio.wait(waited, timeout=self._limits.ask_seconds, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return result_of(future)
            if gone.done():
                gone.result()
                raise Refusal(499, "gone", "The client left.", "Ask again.")
            raise Refusal(504, "stopped", "The answer took longer than allowed.", "Ask again, or less.")
        finally:
            gone.cancel()
            patience.end()
            future.add_done_callback(_looked_at)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing."""
        self._closed = True
        for waiting in self._waiting.values():
            for question in waiting:
                question.outcome.cancel()
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _share(self, client: str) -> int:
        """Threads that a client may have: with keys, one keeps a quarter of them free for the others."""
        return self._limits.asks if not client else max(1, self._limits.asks * 3 // 4)

    def _begin_next(self) -> None:
        """Begin what waits as far as there are threads; of several clients, who has the fewest."""
        while self._running.total() < self._limits.asks:
            ready = [client for client in self._waiting if self._running[client] < self._share(client)]
            if not ready:
                break
            client = min(ready, key=lambda one: self._running[one])
            self._begin(client, self._waiting[client].popleft())
            if not self._waiting[client]:
                del self._waiting[client]
        self._metrics.asking.set(self._running.total() + sum(map(len, self._waiting.values())))

    def _begin(self, client: str, question: _Question) -> None:
        loop = asyncio.get_running_loop()
        self._running[client] += 1
        work = self._pool.submit(question.begin)
        work.add_done_callback(lambda done: _when_running(loop, lambda: self._done(client, question.outcome, done)))

    def _done(self, client: str, outcome: asyncio.Future[Any], done: Future[Any]) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        if not outcome.done():
            if done.cancelled():
                outcome.cancel()
            elif error := done.exception():
                outcome.set_exception(error)
            else:
                outcome.set_result(done.result())
        if not self._closed:
            self._begin_next()


def _looked_at(outcome: asyncio.Future[Any]) -> None:
    """What becomes of work that nobody waits for any longer is nothing to complain of in the log."""
    if not outcome.cancelled():
        outcome.exception()


async def _left(request: Request) -> None:
    """Ends when the client has left; its request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def result_of(future: asyncio.Future[T]) -> T:
    """What finished work gave.

    Raises:
        Refusal: it was never begun, because the server stops.
    """
    if future.cancelled():
        raise stopping()
    return future.result()


def _when_running(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """A thread may outlive the loop it worked for."""
    with suppress(RuntimeError):  # the loop has been closed
        loop.call_soon_threadsafe(act)
