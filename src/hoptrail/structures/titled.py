"""Which passages titles call, of a corpus whose titles memory need not hold: by digests of the titles' keys, in files.

In memory are the words that titles begin with, and two bytes a title.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import batched
from hoptrail.store.columns import ID, id_bytes
from hoptrail.store.scratch import Scratch
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.called import MOST_NAMESAKES, Openings, can_be_found, title_key
from hoptrail.structures.passage_places import PassagePlaces
from hoptrail.types import Kind

_READ = 65_536
"""Titles that are held as records while they are read."""

_ROW = np.dtype([("digest", ">u8"), ("passage", ID)])
"""The high byte first, so that titles in order of their bytes are in order of their digests, then of their passages."""

_RECENT = 1 << 15
"""Names whose passages are remembered."""

_BITS = 16
"""A title, one of them set: of what is no title one in so many has to be looked up."""


class Titled:
    """By the key of a title, the first passage of each document that has it. Use `of`, or `titled`.

    Satisfies `Names`: a heading, which more than MOST_NAMESAKES documents have, is no name.
    """

    def __init__(self, digests: NDArray[np.uint64], passages: NDArray[np.bytes_], openings: Openings) -> None:
        """`digests` rise; of equal ones the `passages` do."""
        self._digests, self._passages = digests, passages
        self.longest = openings.longest
        self._bits = _BITS * len(digests) + 8
        marks = np.zeros(self._bits // 8 + 1, dtype=np.uint8)
        for start in range(0, len(digests), _READ):
            places = digests[start : start + _READ] % np.uint64(self._bits)
            np.bitwise_or.at(marks, places >> 3, np.left_shift(1, places & 7).astype(np.uint8))
        self._marks = marks.tobytes()
        self.having = lru_cache(_RECENT)(self._having)
        """As `called`, of headings too. Few names are most of what is named."""

    @classmethod
    def of(cls, names: Iterable[tuple[str, str]], scratch: Scratch) -> Titled:
        """Of keys, each with a passage that it calls, in any order."""
        openings = Openings()

        def rows() -> Iterator[NDArray[np.void]]:
            for some in batched(names, _READ):
                for key, _ in some:
                    openings.add(key)
                yield np.array([(_digest(key), id_bytes(passage)) for key, passage in some], dtype=_ROW)

        titles = scratch.in_order(_ROW, rows())
        digests = scratch.table(len(titles), 1, np.uint64)[:, 0]
        digests[:] = titles["digest"]
        return cls(digests, titles["passage"], openings)

    def __contains__(self, key: str, /) -> bool:
        return can_be_found(key) and bool(self.called(key))

    def called(self, key: str) -> list[str]:
        """The passages of a title, by rising id; none where it is a heading."""
        found = self.having(key)
        return found if len(found) <= MOST_NAMESAKES else []

    def _having(self, key: str) -> list[str]:
        digest = _digest(key)
        bit = digest % self._bits
        if not self._marks[bit >> 3] >> (bit & 7) & 1:
            return []
        wanted = np.uint64(digest)
        first, last = (int(self._digests.searchsorted(wanted, side)) for side in ("left", "right"))
        return [passage.decode() for passage in self._passages[first:last].tolist()]


def titled(snapshot: Snapshot, places: PassagePlaces) -> Titled:
    """What calls the passages of an index, which stand at `places`."""
    return Titled.of(title_keys(snapshot, places), snapshot.scratch)


def title_keys(snapshot: Snapshot, places: PassagePlaces) -> Iterator[tuple[str, str]]:
    """The key of each document's title, where that is a name, with the document's first passage."""
    firsts = snapshot.scratch.digests(map(hash, places.firsts()))
    for some in batched(snapshot.titles(Kind.PASSAGE), _READ):
        for id_, title in compress(some, firsts.holding(hash(id_) for id_, _ in some)):
            if key := title_key(title):
                yield key, id_


def _digest(key: str) -> int:
    return hash(key) & 0xFFFF_FFFF_FFFF_FFFF
