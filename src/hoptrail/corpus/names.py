"""Which units bear or say a name: sorted keys, looked up where they lie.

`letters` are the keys of a segment one after the other as UTF-8, in the order of their bytes, key i from `offsets[i]` to
`offsets[i + 1]`; the units of key i are `numbers[starts[i] : starts[i + 1]]`, rising. A unit that goes takes its keys along: a
segment that has them is written anew, and never holds what was removed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Numbers, numbers_of, ranges
from hoptrail.corpus.segments import Array, Family, Segment, Segments, SegmentWriter


class NameList(Sequence[bytes]):
    """Keys with the numbers of units, as they lie."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self._letters = arrays["letters"].data
        self._offsets = arrays["offsets"]
        self.starts: NDArray[np.int64] = arrays["starts"]
        self.units: Numbers = arrays["numbers"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[bytes, int]]) -> NameList:
        """Of pairs in any order; one that comes twice counts once."""
        found = list(pairs)
        keys = sorted({key for key, _ in found})
        places = {key: place for place, key in enumerate(keys)}
        rows = np.array([places[key] for key, _ in found], np.int64)
        numbers = np.array([number for _, number in found], np.int64)
        return cls._made(b"".join(keys), np.array([len(key) for key in keys]), rows, numbers)

    @classmethod
    def _made(cls, letters: bytes, sizes: Array, rows: Array, numbers: Array) -> NameList:
        """Of keys that rise, one after the other, and pairs of their places with numbers."""
        pairs = np.unique(rows << 32 | numbers)
        starts = np.searchsorted(pairs, np.arange(len(sizes) + 1) << 32)
        return cls(
            {
                "letters": np.frombuffer(letters, np.uint8),
                "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
                "starts": starts.astype(np.int64),
                "numbers": numbers_of(pairs & 0xFFFFFFFF),
            }
        )

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> bytes:  # type: ignore[override]
        if row >= len(self):
            raise IndexError(row)
        return bytes(self._letters[self._offsets[row] : self._offsets[row + 1]])

    def row(self, key: str) -> int:
        """Where a key stands; -1 where there is none."""
        wanted = key.encode(errors="surrogatepass")
        row = bisect_left(self, wanted)
        return row if row < len(self) and self[row] == wanted else -1

    def numbers(self, row: int) -> Numbers:
        return self.units[self.starts[row] : self.starts[row + 1]]

    def begins(self, start: str) -> bool:
        """Whether a key begins so."""
        wanted = start.encode(errors="surrogatepass")
        row = bisect_left(self, wanted)
        return row < len(self) and self[row].startswith(wanted)

    def without(self, gone: Numbers) -> NameList:
        """The same without some units, and without the keys that nothing else has."""
        kept = ~np.isin(self.units, gone)
        before = np.concatenate([[0], np.cumsum(kept)])
        counts = np.diff(before[self.starts])
        sizes = np.diff(self._offsets)
        _, places = ranges(self._offsets[:-1][counts > 0], sizes[counts > 0])
        rows = np.repeat(np.arange(np.count_nonzero(counts)), counts[counts > 0])
        letters = np.frombuffer(self._letters, np.uint8)[places].tobytes()
        return self._made(letters, sizes[counts > 0], rows, self.units[kept].astype(np.int64))

    def with_others(self, other: NameList) -> NameList:
        """Both together; costs least where `other` is the smaller one."""
        keys = list(other)
        places = np.array([bisect_left(self, key) for key in keys], np.int64)
        new = np.array(
            [place == len(self) or self[place] != key for place, key in zip(places, keys, strict=True)], bool
        )
        before = np.concatenate([[0], np.cumsum(new)])  # of each of the others, how many new keys stand before it
        moved = np.searchsorted(places[new], np.arange(len(self)), side="right")
        rows = np.concatenate(
            [
                np.repeat(np.arange(len(self)) + moved, np.diff(self.starts)),
                np.repeat(places + before[:-1], np.diff(other.starts)),
            ]
        )
        sizes = np.insert(np.diff(self._offsets), places[new], np.array([len(key) for key in keys])[new])
        cuts = [0, *self._offsets[places[new]].tolist(), int(self._offsets[-1])]
        fresh = [key for key, is_new in zip(keys, new.tolist(), strict=True) if is_new]
        pieces = [bytes(self._letters[cuts[at] : cuts[at + 1]]) for at in range(len(cuts) - 1)]
        letters = pieces[0] + b"".join(key + piece for key, piece in zip(fresh, pieces[1:], strict=True))
        return self._made(letters, sizes, rows, np.concatenate([self.units, other.units]).astype(np.int64))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same keys with the same units."""
        if not isinstance(other, NameList):
            return NotImplemented
        return all(np.array_equal(array, other.arrays[name]) for name, array in self.arrays.items())

    __hash__ = None  # type: ignore[assignment]

    def touches(self, numbers: Numbers) -> bool:
        return bool(np.isin(self.units, numbers).any())


NO_NAMES = NameList.of(())


class Names:
    """The names of a snapshot, by kind (what the names are of, which whoever writes them says)."""

    def __init__(self, segments: Segments, hidden: Numbers = NONE) -> None:
        """`hidden` are units that are not seen."""
        self._segments = segments
        self._hidden = hidden

    def kinds(self) -> list[str]:
        return self._segments.kinds(Family.NAMES)

    def of(self, kind: str) -> NameList:
        """All names of a kind, where they lie if they are one segment."""
        lists = sorted(map(name_list, self._segments.of(Family.NAMES, kind)), key=len, reverse=True)
        whole = lists[0] if lists else NO_NAMES
        for other in lists[1:]:
            whole = whole.with_others(other)
        return whole.without(self._hidden) if whole.touches(self._hidden) else whole


def name_list(segment: Segment) -> NameList:
    return NameList(segment.arrays)


def segments_with(segments: Segments, numbers: Collection[int], kind: str | None = None) -> Iterator[Segment]:
    """The segments that hold a name of some units, of all kinds or of one."""
    gone = numbers_of(sorted(numbers))
    for one in segments.kinds(Family.NAMES) if kind is None else [kind]:
        yield from (segment for segment in segments.of(Family.NAMES, one) if name_list(segment).touches(gone))


class NameWriter:
    """The names of a transaction."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._waiting: dict[str, list[tuple[bytes, int]]] = {}

    def put(self, kind: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Add keys of names with the numbers of the units that bear or say them; one that is there already stays."""
        self._segments.changed = True
        encoded = ((key.encode(errors="surrogatepass"), number) for key, number in pairs)
        self._waiting.setdefault(kind, []).extend(encoded)

    def drop(self, kind: str) -> None:
        """Remove all names of a kind; of what they are made from nothing is removed."""
        self._segments.changed = True
        self._waiting.pop(kind, None)
        self._segments.drop(self._segments.of(Family.NAMES, kind))

    def forget(self, numbers: Numbers, kind: str | None = None) -> None:
        """Remove the names of some units, of all kinds or of one: segments that hold one are written anew."""
        self.flush()
        for segment in list(segments_with(self._segments, numbers, kind)):
            self._add(segment.kind, name_list(segment).without(numbers))
            self._segments.drop([segment])

    def flush(self) -> None:
        for kind, pairs in sorted(self._waiting.items()):
            self._add(kind, NameList.of(pairs))
        self._waiting.clear()

    def merge(self) -> None:
        for kind in self._segments.kinds(Family.NAMES):
            while due := self._segments.due(Family.NAMES, kind):
                lists = sorted(map(name_list, due), key=len, reverse=True)
                self._add(kind, reduce(NameList.with_others, lists))
                self._segments.drop(due)

    def _add(self, kind: str, names: NameList) -> None:
        self._segments.add(Family.NAMES, kind, len(names.units), names.arrays)
