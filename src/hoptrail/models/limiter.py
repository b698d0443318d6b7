"""Who may call now, and whether again: one limiter shared by all threads that use one endpoint.

At most `concurrency` calls at a time. When the server says it is busy, everybody waits: as long as it asks, or growing times
with seeded jitter. Tries are bounded and counted here and nowhere else (the library stamina, made for retries that do not know
of each other, has no pause for everybody). A refusal holds for everybody for a while, after which one call finds out whether
it still does; so does the first call after somebody has opened the endpoint anew. Knows no HTTP and no money.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from hoptrail.errors import EndpointBusy, EndpointRefused
from hoptrail.models.chat import ChatSettings
from hoptrail.models.failures import CallFailed, FailureKind

T = TypeVar("T")

JITTER = 0.25
"""The share of a wait that is left to chance, so that those who waited do not all come back at once."""

REFUSED_SECONDS = 60.0
"""How long a refusal holds. A server runs for weeks, and credit is topped up meanwhile; a call a minute annoys nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class _Refusal:
    """Why nobody asks, and until when (by the monotonic clock)."""

    words: str
    until: float


class Limiter:
    """For any number of threads. `name` is how messages call the endpoint."""

    def __init__(self, settings: ChatSettings, name: str, seed: int = 0) -> None:
        self._settings = settings
        self._name = name
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - jitter is no secret
        self._not_before = 0.0
        self._refusal: _Refusal | None = None
        self._pauses = 0

    @property
    def pauses(self) -> int:
        """How often the server made everybody wait."""
        return self._pauses

    def run(self, one_try: Callable[[], T]) -> T:
        """Give `one_try` its turn, again after failures that may pass.

        Raises:
            CallFailed: the last failure, of this call alone.
            EndpointRefused: the server will not serve us.
            EndpointBusy: it kept asking us to wait, or asks for longer than the settings allow.
        """
        for number in range(1, self._settings.attempts + 1):
            try:
                with self._turn():
                    return one_try()
            except CallFailed as failure:
                self._decide(failure, number)
        raise AssertionError("the last attempt either returns or raises")

    def retest_refusal(self) -> None:
        """Let the next call find out whether a refusal still holds, however short a while ago it was."""
        with self._lock:
            if self._refusal is not None:
                self._refusal = replace(self._refusal, until=time.monotonic())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """A slot, once nobody is to wait. A refusal is noted before the slot is given back."""
        with self._slots:
            while (left := self._not_before - time.monotonic()) > 0:
                time.sleep(left)
            tested = self._refusal_to_test()
            try:
                yield
            except CallFailed as failure:
                if failure.kind is FailureKind.REFUSED:
                    raise self._refused(failure) from None
                raise
            finally:
                self._lift(tested)

    def _refusal_to_test(self) -> _Refusal | None:
        """The refusal that this call is to test; None where there is none.

        Raises:
            EndpointRefused: it holds.
        """
        with self._lock:
            if self._refusal is None:
                return None
            now = time.monotonic()
            if now < self._refusal.until:
                raise EndpointRefused(self._refusal.words)
            self._refusal = _Refusal(self._refusal.words, now + REFUSED_SECONDS)  # holds for all others meanwhile
            return self._refusal

    def _refused(self, failure: CallFailed) -> EndpointRefused:
        words = (
            f"{self._name} {failure.reason}. Nothing more is asked for now; what was finished is kept. Check the key, the credit "
            "and the model's name, then run the same command again"
        )
        with self._lock:
            self._refusal = _Refusal(words, time.monotonic() + REFUSED_SECONDS)
        return EndpointRefused(words)

    def _lift(self, tested: _Refusal | None) -> None:
        """Whoever tested a refusal and was not refused again lifts it."""
        with self._lock:
            if tested is self._refusal:
                self._refusal = None

    def _decide(self, failure: CallFailed, number: int) -> None:
        """Return when another try is due; raise when not."""
        last = number >= self._settings.attempts
        if failure.kind is FailureKind.BUSY:
            self._pause(failure, number, last=last)
        elif failure.kind in {FailureKind.PASSING, FailureKind.UNREACHED} and not last:
            time.sleep(self._backoff(number))
        else:
            raise failure

    def _pause(self, failure: CallFailed, number: int, *, last: bool) -> None:
        wait = self._backoff(number) if failure.wait is None else failure.wait
        if last or wait > self._settings.longest_wait_seconds:
            raise EndpointBusy(
                f"{self._name} {failure.reason} (try {number} of {self._settings.attempts}, to wait {wait:.3g} s). What "
                "was finished is kept; run the same command again later, or lower `concurrency` under [chat]"
            ) from None
        with self._lock:
            self._pauses += 1
            spread = self._random.uniform(0, JITTER) * min(wait, self._settings.backoff_seconds)
            self._not_before = max(self._not_before, time.monotonic() + wait + spread)

    def _backoff(self, number: int) -> float:
        with self._lock:
            jitter = self._random.uniform(1 - JITTER, 1 + JITTER)
        return min(self._settings.backoff_seconds * 2.0 ** (number - 1) * jitter, self._settings.longest_wait_seconds)
