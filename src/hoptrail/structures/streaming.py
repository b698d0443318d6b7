"""Going through more records than memory should hold: knowing what is stored by its digests, setting aside what is not."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import compress
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.columns import Digests
from hoptrail.store.scratch import Scratch, SetAside

R = TypeVar("R")

TOGETHER = 1 << 16
"""Records whose digests are looked at at a time."""

_PER_DIGEST = 64
"""Bytes that finding the first of equal digests takes for each."""


class Sifted(Generic[R]):
    """Records that came by, of which the new ones are set aside: of several with one digest the first counts. Use `sifting`."""

    def __init__(self, scratch: Scratch, aside: SetAside[R]) -> None:
        self._scratch, self._aside = scratch, aside
        self._columns = scratch.column(np.int64), scratch.column(np.bool_)
        self._digests, self._marks = array("q"), bytearray()
        self._came: tuple[NDArray[np.int64], NDArray[np.bool_]] | None = None

    def put(self, digest: int, record: R, *, new: bool) -> None:
        if new:
            self._aside.put(record)
        self._digests.append(digest)
        self._marks.append(new)
        if len(self._marks) >= TOGETHER:
            self._flush()

    def digests(self) -> Digests:
        """Those of all records that came; no more may come then."""
        return self._scratch.digests(self._all()[0])

    def old(self) -> Digests:
        """Those of the records that are not new; no more may come then."""
        old = self._scratch.digests()
        for digests, new in self._portions():
            old.add(digests[~new])
        return old

    def new(self) -> tuple[int, Iterator[R]]:
        """How many are new, and these in the order they came; no more may come then."""
        digests, _ = self._all()
        first = self._scratch.table(len(digests), 1, np.bool_)[:, 0]
        parts = 1 + len(digests) * _PER_DIGEST // self._scratch.held
        for part in range(parts):  # equal digests are in one part
            places = np.concatenate(
                [
                    start + np.flatnonzero(digests[start : start + TOGETHER] % parts == part)
                    for start in range(0, len(digests), TOGETHER)
                ]
                or [np.zeros(0, dtype=np.intp)]
            )
            first[places[np.unique(digests[places], return_index=True)[1]]] = True
        counted = (firsts[new] for firsts, (_, new) in zip(_portions(first), self._portions(), strict=True))
        total = sum(
            int((firsts & new).sum()) for firsts, (_, new) in zip(_portions(first), self._portions(), strict=True)
        )
        return total, compress(self._aside, (mark for marks in counted for mark in marks.tolist()))

    def _portions(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        digests, new = self._all()
        return zip(_portions(digests), _portions(new), strict=True)

    def _all(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Digests, and whether the record was new."""
        if self._came is None:
            self._flush()
            digests, new = self._columns
            self._came = digests.values(), new.values()
        return self._came

    def _flush(self) -> None:
        digests, new = self._columns
        digests.extend(np.array(self._digests, dtype=np.int64))
        new.extend(np.frombuffer(bytes(self._marks), dtype=np.bool_))
        del self._digests[:], self._marks[:]


@contextmanager
def sifting(scratch: Scratch) -> Iterator[Sifted[Any]]:
    """Room for records of any kind."""
    with scratch.records() as aside:
        yield Sifted(scratch, aside)


def _portions(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + TOGETHER] for start in range(0, len(values), TOGETHER))
