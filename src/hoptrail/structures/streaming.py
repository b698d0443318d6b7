"""Going through more records than memory should hold: knowing what is stored by its digests, setting aside what is not."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import compress
from typing import Generic, TypeVar

import numpy as np

from hoptrail.store.columns import Digests
from hoptrail.store.scratch import SetAside

R = TypeVar("R")


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
