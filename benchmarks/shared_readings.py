"""Runs `hoptrail` with caches that forget nothing: what one recipe has had read or encoded, the next of the same process does not
compute again. Answers are the same; times say nothing. The checkout is that of the interpreter.

    CHECKOUT/.venv/bin/python benchmarks/shared_readings.py evaluate DATA --recipes A,B ...
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

limited = functools.lru_cache


def unlimited(maxsize: Any = None, typed: bool = False) -> Any:
    """`functools.lru_cache`, whatever size is asked for."""
    return limited(None)(maxsize) if callable(maxsize) else limited(None, typed)


def main() -> None:
    with patch.object(functools, "lru_cache", unlimited):  # before any module of the engine asks for one
        from hoptrail.__main__ import main as hoptrail
        from hoptrail.models.encoder import Latest

        begin: Callable[..., None] = Latest.__init__
        with patch.object(Latest, "__init__", lambda kept, compute, _: begin(kept, compute, sys.maxsize)):
            hoptrail()


if __name__ == "__main__":
    main()
