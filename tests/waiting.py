"""Waiting for what another thread or process does, with much patience for busy machines."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Return as soon as `holds()` is true."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
