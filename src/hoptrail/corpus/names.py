"""Which units bear or say a name: sorted keys, looked up where they lie.

`letters` are the keys of a segment one after the other as UTF-8, in the order of their bytes, key i from `offsets[i]` to
`offsets[i + 1]`; the units of key i are `numbers[starts[i] : starts[i + 1]]`, rising. A unit that goes takes its keys along: a
segment that has them is written anew, and never holds what was removed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from hoptrail.corpus.numbers import NONE, Numbers, numbers_of, ranges
from hoptrail.corpus.segments import Array, Family, Segment, Segments


class Names:
    """The names of a snapshot, by kind (what the names are of, which whoever writes them says)."""

    def __init__(self, segments: Segments) -> None:
        self._parts = {
            kind: [NameList(segment) for segment in segments.of(Family.NAMES, kind)]
            for kind in segments.kinds(Family.NAMES)
        }

    def kinds(self) -> list[str]:
        return sorted(self._parts)

    def has(self, kind: str, key: str) -> bool:
        """Whether a unit has this key."""
        return any(part.row(key.encode()) is not None for part in self._parts.get(kind, ()))

    def units(self, kind: str, key: str) -> Numbers:
        """The units that have a key, rising."""
        parts = self._parts.get(kind, ())
        found = [part.numbers(row) for part in parts if (row := part.row(key.encode())) is not None]
        return np.unique(np.concatenate(found)) if found else NONE

    def keys(self, kind: str, start: str = "") -> Iterator[str]:
        """All keys, or those that start so, in the order of their bytes."""
        found = {key for part in self._parts.get(kind, ()) for key in part.starting(start.encode())}
        return (key.decode() for key in sorted(found))


class NameList(Sequence[bytes]):
    """The keys of a segment, as they lie."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._letters = segment.arrays["letters"].data
        self._offsets = segment.arrays["offsets"]
        self._starts = segment.arrays["starts"]
        self._numbers = segment.arrays["numbers"]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> bytes:  # type: ignore[override]
        if row >= len(self):
            raise IndexError(row)
        return bytes(self._letters[self._offsets[row] : self._offsets[row + 1]])

    def row(self, key: bytes) -> int | None:
        """Where a key stands."""
        row = bisect_left(self, key)
        return row if row < len(self) and self[row] == key else None

    def numbers(self, row: int) -> Numbers:
        found: Numbers = self._numbers[self._starts[row] : self._starts[row + 1]]
        return found

    def starting(self, start: bytes) -> Iterator[bytes]:
        """The keys that start so."""
        for row in range(bisect_left(self, start), len(self)):
            key = self[row]
            if not key.startswith(start):
                return
            yield key

    def pairs(self, without: Numbers = NONE) -> Iterator[tuple[bytes, int]]:
        """Keys with numbers, but for some numbers."""
        kept = ~np.isin(self._numbers, without)
        rows, every = ranges(self._starts[:-1], self._starts[1:])[::-1]
        for row, place in zip(rows[kept].tolist(), every[kept].tolist(), strict=True):
            yield self[row], int(self._numbers[place])

    def touches(self, numbers: Numbers) -> bool:
        return bool(np.isin(self._numbers, numbers).any())


def name_arrays(pairs: Iterable[tuple[bytes, int]]) -> Mapping[str, Array]:
    """The arrays of a segment; a pair that comes twice counts once."""
    by_key: dict[bytes, set[int]] = {}
    for key, number in pairs:
        by_key.setdefault(key, set()).add(number)
    keys = sorted(by_key)
    numbers = [sorted(by_key[key]) for key in keys]
    return {
        "letters": np.frombuffer(b"".join(keys), np.uint8),
        "offsets": _ends(map(len, keys)),
        "starts": _ends(map(len, numbers)),
        "numbers": numbers_of([number for some in numbers for number in some]),
    }


def _ends(sizes: Iterable[int]) -> Array:
    return np.cumsum([0, *sizes], dtype=np.int64)


def segments_with(segments: Segments, numbers: Collection[int]) -> list[Segment]:
    """The segments that hold a name of some units."""
    gone = numbers_of(sorted(numbers))
    every = [segment for kind in segments.kinds(Family.NAMES) for segment in segments.of(Family.NAMES, kind)]
    return [segment for segment in every if NameList(segment).touches(gone)]
