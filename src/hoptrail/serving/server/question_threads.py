"""Runs questions in a few threads, and stops them when the client disconnects or the time is up.

This is the border between the synchronous core and the server's event loop. Work can be stopped before each language task
(`language.listener`); a search without tasks runs to its end and its result is discarded.

Each key has a share of the threads and a limit of its own for what waits, and the key whose last question began longest ago goes
first. With keys, one question computes at a time: threads of one interpreter share its lock, so that eight questions at once have
no more throughput than one after the other, and each of them takes eight times as long. A question that computes for longer than
`LONGEST_TURN` goes on beside the next one; of one key at most two compute. Without keys there is nothing to share.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

from fastapi import Request

from hoptrail.errors import Interrupted
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal

T = TypeVar("T")

Stopped = Callable[[], bool]
"""Tells work whether nobody waits for it any more."""

RETRY_SECONDS = 5
_STOPPING = (503, "stopping", "The server is stopping.", "Try again when it is back.")

LONGEST_TURN = 5.0
"""Ordinary searches must not reach it even on a busy machine, since parallel questions only slow each other down."""


@dataclass(slots=True, eq=False)
class _Question:
    client: str
    takes_turns: bool
    begins: asyncio.Future[None]
    begun: float = 0.0


class Desk:
    """Accepts questions and assigns them to threads. Call its methods in the event loop's thread only."""

    def __init__(self, limits: ServerLimits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(limits.asks, thread_name_prefix="question")
        self._waiting: list[_Question] = []
        self._running: list[_Question] = []
        self._last: dict[str, float] = {}
        """When the last question of each client began."""
        self._closed = False

    def hand_in(
        self, work: Callable[[Stopped], T], client: str = "", *, computes: bool = True
    ) -> tuple[asyncio.Future[T], Event]:
        """Queue `work` for a thread; returns its result to come, and what stops it. Work that `computes` takes turns; work that
        waits for a model elsewhere does not.
        Raises: Refusal: too many questions of this client wait, or the server is stopping.
        """
        if self._closed:
            raise Refusal(*_STOPPING)
        accepted = sum(one.client == client for one in (*self._waiting, *self._running))
        if accepted >= self._limits.queue + self._share(client):
            what_to_do, headers = f"Ask again in {RETRY_SECONDS} seconds.", {"Retry-After": f"{RETRY_SECONDS}"}
            raise Refusal(429, "too_many", "Too many questions at once.", what_to_do, headers)
        loop, stop = asyncio.get_running_loop(), Event()

        def begin() -> T:
            if stop.is_set():
                raise Interrupted("nobody is waiting for this any more.")
            return work(stop.is_set)

        async def run() -> T:
            await question.begins
            try:
                return await loop.run_in_executor(self._pool, copy_context().run, begin)
            finally:
                self._running.remove(question)
                self._begin_next()

        question = _Question(client, computes and bool(client), loop.create_future())
        self._waiting.append(question)
        self._begin_next()
        asked = loop.create_task(run())
        late = loop.call_later(self._limits.ask_seconds, stop.set)

        def over(done: asyncio.Future[T]) -> None:
            late.cancel()
            done.cancelled() or done.exception()  # seen: asyncio must not log it

        asked.add_done_callback(over)
        return asked, stop

    def _begin_next(self) -> None:
        while ready := [one for one in self._waiting if self._may_begin(one)]:
            question = min(ready, key=lambda one: self._last.get(one.client, 0.0))
            self._waiting.remove(question)
            self._running.append(question)
            question.begun = self._last[question.client] = time.monotonic()
            question.begins.set_result(None)
            if question.takes_turns:
                asyncio.get_running_loop().call_later(LONGEST_TURN, self._begin_next)
        self._metrics.asking.set(len(self._running) + len(self._waiting))

    def _may_begin(self, question: _Question) -> bool:
        mine = [one for one in self._running if one.client == question.client]
        if len(self._running) >= self._limits.asks or len(mine) >= self._share(question.client):
            return False
        computing = [one for one in self._running if one.takes_turns]
        over = all(time.monotonic() - one.begun >= LONGEST_TURN for one in computing)
        return not question.takes_turns or (over and sum(one.takes_turns for one in mine) < 2)

    async def wait_for(self, request: Request | None, work: Callable[[Stopped], T], *, computes: bool = True) -> T:
        """The result of `work`, as long as the client stays connected (None: a single client, which stays).
        Raises: Refusal: as `hand_in`; or the client disconnected; or it took too long.
        """
        future, stop = self.hand_in(work, request.state.client if request else "", computes=computes)
        disconnected = asyncio.ensure_future(_disconnected(request) if request else asyncio.Event().wait())
        try:
            awaited: set[asyncio.Future[Any]] = {future, disconnected}
            await asyncio.wait(awaited, timeout=self._limits.ask_seconds, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
            if disconnected.done():
                disconnected.result()
                raise Refusal(499, "gone", "The client left.", "Ask again.")
            raise Refusal(504, "stopped", "The answer took longer than allowed.", "Ask again, or less.")
        finally:
            disconnected.cancel()
            stop.set()

    def close(self) -> None:
        """Start no further question, without waiting for the running ones."""
        self._closed = True
        for question in self._waiting:
            question.begins.set_exception(Refusal(*_STOPPING))
        self._waiting.clear()
        self._pool.shutdown(wait=False)

    def _share(self, client: str) -> int:
        """The number of threads that a client may use: with keys, three quarters of them."""
        return self._limits.asks if not client else max(1, self._limits.asks * 3 // 4)


async def _disconnected(request: Request) -> bool:
    """Return when the client has disconnected, whose request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return True
