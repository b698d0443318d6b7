"""Limiting and retrying calls: one limiter is shared by all threads that use an endpoint.

There are at most `concurrency` calls at a time. When the server is busy, all calls wait: as long as it asks, or for growing times
with seeded jitter. Only this module retries (the library stamina is for independent retries and cannot pause all calls). After a
refusal no call is made for a while; then one call tests whether it still applies, as does the first call after the endpoint was
opened again.
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
"""The random share of a wait, so that waiting calls do not all continue at once."""

REFUSED_SECONDS = 60.0
"""How long a refusal applies. A server runs for weeks, and credit may be added meanwhile; one call per minute is harmless."""


@dataclass(frozen=True, slots=True, eq=False)
class _Refusal:
    """Why no calls are made, and until when (by the monotonic clock)."""

    words: str
    until: float


class Limiter:
    """Limits the calls to one endpoint. Thread-safe. `name` is the name of the endpoint in messages."""

    def __init__(self, settings: ChatSettings, name: str, seed: int = 0) -> None:
        self._settings = settings
        self._name = name
        self._longest_wait = 120.0  # rate limits count by the minute: a longer wait is a quota used up
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - jitter is no secret
        self._not_before = 0.0
        self._refusal: _Refusal | None = None
        self.pauses = 0
        """How often the server made all calls wait."""

    def run(self, one_try: Callable[[], T]) -> T:
        """Run `one_try` when allowed, and retry it after temporary failures.

        Raises:
            CallFailed: the last failure, if it concerns this call alone.
            EndpointRefused: the server will not serve us.
            EndpointBusy: it kept asking us to wait, or for longer than the settings allow.
        """
        for number in range(1, self._settings.attempts + 1):
            try:
                with self._turn():
                    return one_try()
            except CallFailed as failure:
                self._decide(failure, number)
        raise AssertionError("the last attempt either returns or raises")

    def retest_refusal(self) -> None:
        """Let the next call test whether a refusal still applies, however recent it is."""
        with self._lock:
            if self._refusal is not None:
                self._refusal = replace(self._refusal, until=time.monotonic())

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Acquire a slot after any pause. A refusal is noted before the slot is released."""
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
        """The refusal that this call tests; None where there is none.
        Raises: EndpointRefused: the refusal still applies.
        """
        with self._lock:
            if self._refusal is None:
                return None
            now = time.monotonic()
            if now < self._refusal.until:
                raise EndpointRefused(self._refusal.words)
            self._refusal = _Refusal(self._refusal.words, now + REFUSED_SECONDS)  # applies to all other calls meanwhile
            return self._refusal

    def _refused(self, failure: CallFailed) -> EndpointRefused:
        words = (
            f"{self._name} {failure.reason}. No further calls are made for now; what was finished is kept. Check the key, the "
            "credit and the model's name, then run the same command again"
        )
        with self._lock:
            self._refusal = _Refusal(words, time.monotonic() + REFUSED_SECONDS)
        return EndpointRefused(words)

    def _lift(self, tested: _Refusal | None) -> None:
        """Remove a refusal that was tested, unless the test was refused again."""
        with self._lock:
            if tested is self._refusal:
                self._refusal = None

    def _decide(self, failure: CallFailed, number: int) -> None:
        """Wait and return if there is another try; raise if not."""
        last = number >= self._settings.attempts
        if failure.kind is FailureKind.BUSY:
            self._pause(failure, number, last=last)
        elif failure.kind in {FailureKind.PASSING, FailureKind.UNREACHED} and not last:
            time.sleep(self._backoff(number))
        else:
            raise failure

    def _pause(self, failure: CallFailed, number: int, *, last: bool) -> None:
        wait = self._backoff(number) if failure.wait is None else failure.wait
        if last or wait > self._longest_wait:
            raise EndpointBusy(
                f"{self._name} {failure.reason} (try {number} of {self._settings.attempts}, to wait {wait:.3g} s). What "
                "was finished is kept; run the same command again later, or lower `concurrency` under [chat]"
            ) from None
        with self._lock:
            self.pauses += 1
            spread = self._random.uniform(0, JITTER) * min(wait, self._settings.backoff_seconds)
            self._not_before = max(self._not_before, time.monotonic() + wait + spread)

    def _backoff(self, number: int) -> float:
        with self._lock:
            jitter = self._random.uniform(1 - JITTER, 1 + JITTER)
        return min(self._settings.backoff_seconds * 2.0 ** (number - 1) * jitter, self._longest_wait)
