"""What is too many for records, as arrays: ids in 24 bytes each, and links by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

Rows = NDArray[np.int32]
"""Numbers of rows, or of other things that are counted from 0."""

Places = NDArray[np.intp]
"""Places in other arrays."""

_HALF = 32
_LOW = (1 << _HALF) - 1


ID = np.dtype("S24")
"""An id in a row of columns: one letter, of a summary also its level, and 20 digits."""


LINK = np.dtype([("source", ID), ("target", ID), ("weight", np.float64)])
"""A link in a row of columns: of links of one kind, those in order of their bytes are in order of their ends."""


def id_bytes(id_: str) -> bytes:
    """Raises: ValueError: the id is too long for a row."""
    packed = id_.encode()
    if len(packed) > ID.itemsize:
        raise ValueError(f"an id has at most {ID.itemsize} bytes, not {id_!r}")
    return packed


def id_rows(ids: Iterable[str]) -> NDArray[np.bytes_]:
    """Raises: ValueError: an id is too long for a row."""
    return np.array(list(map(id_bytes, ids)), ID)


def rows_among(ids: NDArray[np.bytes_], rising: NDArray[np.bytes_]) -> Rows:
    """Where each of some ids stands among others, which rise; -1 for those that do not."""
    rows = np.full(len(ids), -1, np.int32)
    if len(rising):
        order = np.argsort(ids)  # so that the others are read in their order
        found = np.minimum(rising.searchsorted(ids[order]), len(rising) - 1)
        rows[order] = np.where(rising[found] == ids[order], found, -1)
    return rows


class PackedIds(Sequence[str]):
    """Ids, which are plain ASCII, in the order given. Use `of`."""

    def __init__(self, packed: NDArray[np.bytes_]) -> None:
        self._packed = packed

    @classmethod
    def of(cls, ids: Iterable[str]) -> PackedIds:
        return cls(np.array(list(ids), dtype=np.bytes_))

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice | NDArray[np.integer[Any]]) -> PackedIds: ...
    def __getitem__(self, place: int | slice | NDArray[np.integer[Any]]) -> str | PackedIds:
        if isinstance(place, (int, np.integer)):
            return str(self._packed[place], "ascii")
        return PackedIds(self._packed[place])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._packed, dtype=dtype, copy=copy)


def packed(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """Ids in rows of columns; in memory unless they are so already."""
    return np.asarray(ids, ID) if isinstance(ids, PackedIds) else id_rows(ids)


def as_bytes(rows: NDArray[Any]) -> NDArray[np.bytes_]:
    """The same rows, to be compared as the bytes that they are."""
    return rows.view(f"S{rows.dtype.itemsize}")


def in_order(dtype: np.dtype[T], portions: Iterable[NDArray[T]]) -> NDArray[T]:
    """Rows of one type in the order of their bytes."""
    rows = np.concatenate([np.empty(0, f"S{dtype.itemsize}"), *map(as_bytes, portions)])
    rows.sort()
    return rows.view(dtype)


def paired(high: NDArray[np.integer[Any]], low: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Two numbers below 2^31 as one, in order of the first, then of the second."""
    return high.astype(np.int64) << _HALF | low


def unpaired(pairs: NDArray[np.int64]) -> tuple[Rows, Rows]:
    return (pairs >> _HALF).astype(np.int32), (pairs & _LOW).astype(np.int32)


def bounds_of(pairs: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Where the pairs (rising) of each high number below `count` begin, and the end."""
    return np.searchsorted(pairs, np.arange(count + 1) << _HALF)


def ranges(firsts: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]) -> tuple[Places, Places]:
    """The numbers from each of `firsts` on, `counts` of them: which of `firsts` each belongs to, and the numbers."""
    which = np.repeat(np.arange(len(firsts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - firsts, counts)


def is_among(numbers: NDArray[np.integer[Any]], others: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Which of `numbers` are among `others`, which rise."""
    if not len(others):
        return np.zeros(len(numbers), dtype=bool)
    places = np.searchsorted(others, numbers)
    places[places == len(others)] = 0
    found: NDArray[np.bool_] = others[places] == numbers
    return found


@dataclass(frozen=True, slots=True)
class Directed:
    """Edges from `sources` to `targets`, which are rows, or numbers of units: arrays of one length."""

    sources: Rows
    targets: Rows
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def keys(self) -> NDArray[np.int64]:
        """One number an edge, rising as its source, then its target does."""
        return paired(self.sources, self.targets)

    def in_order(self) -> Directed:
        """By rising source, then target."""
        return self.where(np.lexsort((self.targets, self.sources)))

    def where(self, chosen: NDArray[Any] | slice) -> Directed:
        """Those marked, or at these places and in this order."""
        return Directed(self.sources[chosen], self.targets[chosen], self.weights[chosen])


def joined(parts: Sequence[Directed]) -> Directed:
    if not parts:
        none = np.zeros(0, dtype=np.int32)
        return Directed(none, none, np.zeros(0))
    return Directed(
        np.concatenate([part.sources for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )
