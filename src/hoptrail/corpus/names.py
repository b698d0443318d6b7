"""Which units have or mention a name: sorted keys in mapped arrays.

`letters` are the keys of a segment as concatenated UTF-8, sorted by their bytes: key i is `letters[offsets[i] : offsets[i + 1]]`,
and its units are `numbers[starts[i] : starts[i + 1]]`, sorted. When a unit is removed, the segments with its keys are written
anew, so that they never hold removed text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.arrays import Array
from hoptrail.corpus.columns import NONE, Numbers, bounds_of, paired, ranges, unpaired
from hoptrail.corpus.segments import Family, Segment, Segments, SegmentWriter
from hoptrail.corpus.units import NumberedUnits
from hoptrail.execution.executor import batched


class NameList(Sequence[bytes]):
    """Sorted keys with the numbers of their units, over the arrays of a segment."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self._letters = arrays["letters"].data
        self._offsets = arrays["offsets"]
        self.starts: NDArray[np.int64] = arrays["starts"]
        self.units: Numbers = arrays["numbers"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[bytes, int]]) -> NameList:
        """From pairs of a key and a number, in any order; repeats count once."""
        found: dict[bytes, int] = {}
        rows, numbers = array("i"), array("i")
        for key, number in pairs:
            rows.append(found.setdefault(key, len(found)))
            numbers.append(number)
        keys = sorted(found)
        places = np.argsort(np.array([found[key] for key in keys], np.intp))
        sizes = np.array([len(key) for key in keys])
        letters = np.frombuffer(b"".join(keys), np.uint8)
        return cls._from_arrays(letters, sizes, places[np.array(rows)], np.array(numbers))

    @classmethod
    def _from_arrays(cls, letters: Array, sizes: Array, rows: Array, numbers: Array) -> NameList:
        """From sorted, concatenated keys of these sizes, and pairs of a key's row and a number."""
        pairs = np.unique(paired(rows, numbers))
        return cls(
            {
                "letters": letters,
                "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
                "starts": bounds_of(pairs, len(sizes)).astype(np.int64),
                "numbers": unpaired(pairs)[1],
            }
        )

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> bytes:  # type: ignore[override]
        if row >= len(self):
            raise IndexError(row)
        return bytes(self._letters[self._offsets[row] : self._offsets[row + 1]])

    def row(self, key: str) -> int:
        """The row of a key; -1 where there is none."""
        row = bisect_left(self, encoded := key.encode(errors="surrogatepass"))
        return row if row < len(self) and self[row] == encoded else -1

    def numbers(self, row: int) -> Numbers:
        return self.units[self.starts[row] : self.starts[row + 1]]

    def without(self, numbers: Numbers) -> NameList:
        """The same without these units, and without keys that have no other unit; itself where it has none of them."""
        kept = ~np.isin(self.units, numbers)
        if kept.all():
            return self
        before = np.concatenate([[0], np.cumsum(kept)])
        counts = np.diff(before[self.starts])
        sizes = np.diff(self._offsets)
        _, places = ranges(self._offsets[:-1][counts > 0], sizes[counts > 0])
        rows = np.repeat(np.arange(np.count_nonzero(counts)), counts[counts > 0])
        return self._from_arrays(self.arrays["letters"][places], sizes[counts > 0], rows, self.units[kept])

    def merged(self, other: NameList) -> NameList:
        """Both together; cheapest where `other` is the smaller one."""
        keys = list(other)
        places = np.array([bisect_left(self, key) for key in keys], np.int64)
        new = np.array(
            [place == len(self) or self[place] != key for place, key in zip(places, keys, strict=True)], bool
        )
        before = np.concatenate([[0], np.cumsum(new)])  # for each key of `other`, the number of new keys before it
        moved = np.searchsorted(places[new], np.arange(len(self)), side="right")
        rows = np.concatenate(
            [
                np.repeat(np.arange(len(self)) + moved, np.diff(self.starts)),
                np.repeat(places + before[:-1], np.diff(other.starts)),
            ]
        )
        own = np.diff(other._offsets)
        sizes = np.insert(np.diff(self._offsets), places[new], own[new])
        cuts = [0, *self._offsets[places[new]].tolist(), int(self._offsets[-1])]
        fresh = [b"", *(key for key, is_new in zip(keys, new.tolist(), strict=True) if is_new)]
        letters = b"".join(
            key + bytes(self._letters[first:last]) for key, (first, last) in zip(fresh, pairwise(cuts), strict=True)
        )
        units = np.concatenate([self.units, other.units])
        return self._from_arrays(np.frombuffer(letters, np.uint8), sizes, rows, units)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NameList):
            return NotImplemented
        return all(np.array_equal(array, other.arrays[name]) for name, array in self.arrays.items())

    __hash__ = None  # type: ignore[assignment]


class Names:
    """The names of a snapshot, by kind; the writer of a kind defines what its names are."""

    def __init__(self, segments: Segments, hidden: Numbers = NONE) -> None:
        """`hidden`: units outside the view."""
        self._segments = segments
        self._hidden = hidden

    def of(self, kind: str) -> NameList:
        """All names of a kind; not copied if they are in one segment."""
        return _merged_names(self._segments.of(Family.NAMES, kind)).without(self._hidden)

    def derived(self, kind: str) -> Mapping[str, Array] | None:
        """The arrays that were derived from all names of a kind, and from the units that have them; None in a view of some of the
        documents, and where what they were derived from has changed since.
        """
        segments = [] if len(self._hidden) else self._segments.of(Family.GRAPHS, kind)
        return segments[0].arrays if segments else None


def _merged_names(segments: Sequence[Segment]) -> NameList:
    lists = sorted((NameList(segment.arrays) for segment in segments), key=len, reverse=True)
    return reduce(NameList.merged, lists) if lists else NameList.of(())


BATCH = 1 << 16  # names whose units are looked up together


class NameWriter:
    def __init__(self, segments: SegmentWriter, numbered: NumberedUnits) -> None:
        self._segments = segments
        self._units = numbered

    def put(self, kind: str, names: NameList) -> None:
        """Add keys with the numbers of units that have or mention the name; pairs that are stored already remain."""
        self._segments.add(Family.NAMES, kind, names.arrays)

    def drop(self, kind: str) -> None:
        self._segments.drop(self._segments.of(Family.NAMES, kind))

    def forget(self, numbers: Numbers, kind: str | None = None) -> None:
        """Remove the names of these units, of all kinds or of one. Segments that hold one are written anew."""
        for name in self._segments.kinds(Family.NAMES) if kind is None else [kind]:
            for segment in self._segments.of(Family.NAMES, name):
                names = NameList(segment.arrays)
                kept = names.without(numbers)
                if kept is not names:
                    self._segments.add(Family.NAMES, name, kept.arrays)
                    self._segments.drop([segment])

    def renew(self, kind: str, pairs: Iterable[tuple[str, str]], among: Collection[str] | None = None) -> None:
        """Make the names of a kind, or those of units `among` these, exactly `pairs`: keys with ids of units that are stored."""
        new = NameList.of(self._numbered(pairs))
        if among is not None:
            self.forget(self._units.numbers(list(among)), kind)
        elif Names(self._segments).of(kind) == new:
            return
        else:
            self.drop(kind)
        self.put(kind, new)

    def _numbered(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[bytes, int]]:
        for batch in batched(pairs, BATCH):
            numbers = self._units.numbers([unit for _, unit in batch]).tolist()
            for (key, _), number in zip(batch, numbers, strict=True):
                if number:
                    yield key.encode(errors="surrogatepass"), number

    def put_derived(self, kind: str, arrays: Mapping[str, Array]) -> None:
        """Store what was derived from all names of a kind. It lasts until one of them, a passage or a sentence changes."""
        self._segments.add(Family.GRAPHS, kind, arrays)

    def merge(self) -> None:
        self._segments.merge(Family.NAMES, lambda segments: _merged_names(segments).arrays)
