"""Limiting and retrying calls: one limiter is shared by all threads that use an endpoint.

There are at most `concurrency` calls at a time. When the server is busy, all calls wait: as long as it asks, or for growing times
with seeded jitter. The client's own retries are off: they would not make the others wait, enter no try in the ledger, and not see
a reply that breaks off. After a refusal no call is made for a while; then one call tests whether it still applies, as does the
first call after the endpoint was opened again.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from hoptrail.errors import EndpointBusy, EndpointRefused
from hoptrail.models.chat import ChatSettings
from hoptrail.models.failures import CallFailed, FailureKind

T = TypeVar("T")

JITTER = 0.25
"""The random share of a wait, so that waiting calls do not all continue at once."""
LONGEST_WAIT = 120.0
"""Rate limits count by the minute: a longer wait is a quota used up."""
REFUSED_SECONDS = 60.0
"""How long a refusal applies. A server runs for weeks, and credit may be added meanwhile; one call per minute is harmless."""


class Limiter:
    """Limits the calls to one endpoint. Thread-safe. `name` is the name of the endpoint in messages."""

    def __init__(self, settings: ChatSettings, name: str, seed: int = 0) -> None:
        self._settings = settings
        self._name = name
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - jitter is no secret
        self._not_before = 0.0
        self._refusal = ""
        self._refused_until = 0.0
        self.pauses = 0
        """How often the server made all calls wait."""

    def run(self, one_try: Callable[[], T]) -> T:
        """Run `one_try` when allowed, and retry it after temporary failures.

        Raises:
            CallFailed: the last failure, if it concerns this call alone.
            EndpointRefused: the server will not serve us.
            EndpointBusy: it kept asking us to wait, or for longer than the settings allow.
        """
        number = 0
        while True:
            number += 1
            try:
                with self._slots:
                    return self._once(one_try)
            except CallFailed as failure:
                self._wait(failure, number)

    def retest_refusal(self) -> None:
        """Let the next call test whether a refusal still applies, however recent it is."""
        self._refused_until = 0.0

    def _once(self, one_try: Callable[[], T]) -> T:
        """One try after any pause. A refusal is noted before the slot is released, and lifted by a call that began after it."""
        while (left := self._not_before - time.monotonic()) > 0:
            time.sleep(left)
        with self._lock:
            tested, now = self._refusal, time.monotonic()
            if tested and now < self._refused_until:
                raise EndpointRefused(tested)
            self._refused_until = now + REFUSED_SECONDS  # applies to all other calls meanwhile
        try:
            return one_try()
        except CallFailed as failure:
            if failure.kind is not FailureKind.REFUSED:
                raise
            tested = ""
            self._refused_until = time.monotonic() + REFUSED_SECONDS
            self._refusal = (
                f"{self._name} {failure.reason}. No further calls are made for now; what was finished is kept. Check the key, "
                "the credit and the model's name, then run the same command again"
            )
            raise EndpointRefused(self._refusal) from None
        finally:
            if tested == self._refusal:
                self._refusal = ""

    def _wait(self, failure: CallFailed, number: int) -> None:
        """Wait and return if there is another try; raise if not."""
        last, busy = number >= self._settings.attempts, failure.kind is FailureKind.BUSY
        if not busy and (last or failure.kind not in {FailureKind.PASSING, FailureKind.UNREACHED}):
            raise failure
        wait = self._backoff(number) if failure.wait is None else failure.wait
        if busy and (last or wait > LONGEST_WAIT):
            raise EndpointBusy(
                f"{self._name} {failure.reason} (try {number} of {self._settings.attempts}, to wait {wait:.3g} s). What "
                "was finished is kept; run the same command again later, or lower `concurrency` under [chat]"
            ) from None
        if not busy:
            time.sleep(wait)
            return
        with self._lock:
            self.pauses += 1
            spread = self._random.uniform(0, JITTER) * min(wait, self._settings.backoff_seconds)
            self._not_before = max(self._not_before, time.monotonic() + wait + spread)

    def _backoff(self, number: int) -> float:
        with self._lock:
            jitter = self._random.uniform(1 - JITTER, 1 + JITTER)
        return min(self._settings.backoff_seconds * 2.0 ** (number - 1) * jitter, LONGEST_WAIT)
