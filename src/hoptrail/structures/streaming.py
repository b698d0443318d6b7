"""Going through more records than memory should hold: knowing what is stored by its digests."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


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
