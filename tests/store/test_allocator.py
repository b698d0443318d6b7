"""Free memory goes back to the system where the C library can; elsewhere nothing is done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hoptrail.store import allocator
from hoptrail.store.allocator import few_pools, give_back


class Library:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[int, ...]]] = []

    def mallopt(self, *given: int) -> int:
        self.told.append(("mallopt", given))
        return 1

    def malloc_trim(self, *given: int) -> int:
        self.told.append(("malloc_trim", given))
        return 1


def test_who_has_set_the_pools_has_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(allocator, "_library", lambda: library)
    monkeypatch.setenv("MALLOC_ARENA_MAX", "8")
    few_pools()
    assert library.told == []
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    few_pools()
    give_back()
    assert library.told == [("mallopt", (-8, 2)), ("malloc_trim", (0,))]


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(allocator, "_library", lambda: None)
    few_pools()
    give_back()


@pytest.mark.skipif(sys.platform != "linux" or not Path("/proc/self/status").exists(), reason="is of Linux")
def test_what_was_freed_is_given_back() -> None:
    if allocator._library() is None:
        pytest.skip("this C library has nothing for it")
    held = [bytes(1000) for _ in range(200_000)]  # too large for Python's own pools
    last = bytes(1000)  # stays above them, so that the top of the heap cannot go by itself
    del held
    before = own_kilobytes()
    give_back()
    assert own_kilobytes() < before - 100_000
    assert last


def own_kilobytes() -> int:
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in told.splitlines() if line.startswith("RssAnon")).split()[1])
