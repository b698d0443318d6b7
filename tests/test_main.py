"""The command sets up its process before anything large is imported."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from hoptrail.__main__ import main
from hoptrail.serving import cli

THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize(
    ("command", "set_before", "threads"),
    [("search", None, "1"), ("serve", None, "1"), ("index", None, None), ("serve", "4", "4")],
)
def test_products_have_one_thread_unless_an_index_is_built_or_the_user_says_so(
    command: str, set_before: str | None, threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(THREADS, set_before or "")
    if set_before is None:
        monkeypatch.delenv(THREADS)
    monkeypatch.setattr(cli, "main", lambda: None)
    monkeypatch.setattr(sys, "argv", ["hoptrail", command])
    interrupted = signal.getsignal(signal.SIGINT)
    main()
    signal.signal(signal.SIGINT, interrupted)
    assert os.environ.get(THREADS) == threads
