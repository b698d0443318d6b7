"""Going through more records than memory should hold: knowing what is stored by its digests, setting aside what is not."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Generic, TypeVar

import numpy as np

from hoptrail.store.scratch import SetAside

R = TypeVar("R")


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


class Sifted(Generic[R]):
    """Records that came by, of which the new ones are set aside: of several with one digest the first counts.

    Sixteen bytes of each record that came stay in memory.
    """

    def __init__(self, aside: SetAside[R]) -> None:
        self._aside = aside
        self._digests = array("q")
        self._new = array("q")

    def put(self, digest: int, record: R, *, new: bool) -> None:
        if new:
            self._new.append(len(self._digests))
            self._aside.put(record)
        self._digests.append(digest)

    def digests(self) -> Digests:
        """Those of all records that came."""
        return Digests(self._digests)

    def old(self) -> Digests:
        """Those of the records that are not new."""
        digests = np.array(self._digests, dtype=np.int64)
        return Digests(np.delete(digests, np.array(self._new, dtype=np.intp)))

    def new(self) -> tuple[int, Iterator[R]]:
        """How many are new, and these in the order they came."""
        digests = np.array(self._digests, dtype=np.int64)
        first = np.zeros(len(digests), dtype=bool)
        first[np.unique(digests, return_index=True)[1]] = True
        counted = first[np.array(self._new, dtype=np.intp)]
        return int(counted.sum()), compress(self._aside, counted.tolist())
