"""Going through more records than memory should hold: in batches, and knowing what is stored by its digests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in their order, `size` at a time and the rest."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


class Digests:
    """Which records there are, by their hashes: eight bytes each, and right within one process only.

    Of ten million records any two have the same hash with a chance of three in a million.
    """

    def __init__(self, hashes: Iterable[int]) -> None:
        self._sorted = np.unique(np.fromiter(hashes, dtype=np.int64))

    def __contains__(self, digest: int) -> bool:
        at = int(np.searchsorted(self._sorted, digest))
        return at < len(self._sorted) and int(self._sorted[at]) == digest

    def __len__(self) -> int:
        return len(self._sorted)
