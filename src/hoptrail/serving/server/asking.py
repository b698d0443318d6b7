"""Questions are worked on in threads, a few at a time; whoever leaves, or takes too long, is not worked for any longer.

The core is synchronous: here is the border between it and the server's event loop. What can stop the work is the check that
every language task passes (`language.listening`); a search without tasks runs to its end, unheard.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from fastapi import Request

from hoptrail.errors import Interrupted
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, stopping

T = TypeVar("T")

LOOK_SECONDS = 0.25
"""How often it is looked whether the client is still there."""
RETRY_SECONDS = 5


class Patience:
    """Runs out when somebody says so, or with the time. Called, it says whether it has."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._gone = Event()

    def end(self) -> None:
        self._gone.set()

    def __call__(self) -> bool:
        return self._gone.is_set() or time.monotonic() > self._end


class Desk:
    """Where questions are handed in. Its methods belong to the event loop's thread."""

    def __init__(self, limits: ServerLimits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(limits.asks, thread_name_prefix="question")
        self._under_way = 0

    def hand_in(self, work: Callable[[Patience], T]) -> tuple[asyncio.Future[T], Patience]:
        """Have `work` done in a thread; it is handed what tells it to stop.

        Raises:
            Refusal: as many questions wait as may.
        """
        if self._under_way >= self._limits.asks + self._limits.queue:
            raise Refusal(
                429,
                "too_many",
                "Too many questions at once.",
                f"Ask again in {RETRY_SECONDS} seconds.",
                {"Retry-After": str(RETRY_SECONDS)},
            )
        patience = Patience(self._limits.ask_seconds)
        loop = asyncio.get_running_loop()

        def begin() -> T:
            if patience():
                raise Interrupted("nobody waits for this any longer.")
            return work(patience)

        self._under_way += 1
        self._metrics.asking.set(self._under_way)
        future: Future[T] = self._pool.submit(begin)
        future.add_done_callback(lambda _: _when_running(loop, self._done))
        return asyncio.wrap_future(future), patience

    async def wait_for(self, request: Request, work: Callable[[Patience], T]) -> T:
        """What `work` gives, as long as the client is there.

        Raises:
            Refusal: as `hand_in`; or the client left; or it took too long.
        """
        future, patience = self.hand_in(work)
        try:
            while not future.done():
                await asyncio.wait({future}, timeout=LOOK_SECONDS)
                if not future.done() and await request.is_disconnected():
                    raise Refusal(499, "gone", "The client left.", "Ask again.")
                if not future.done() and patience():
                    raise Refusal(504, "stopped", "The answer took longer than allowed.", "Ask again, or less.")
            return result_of(future)
        finally:
            patience.end()

    def close(self) -> None:
        """Begin nothing more, and wait for nothing."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self) -> None:
        self._under_way -= 1
        self._metrics.asking.set(self._under_way)


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
    if not loop.is_closed():
        loop.call_soon_threadsafe(act)
