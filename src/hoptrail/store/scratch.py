"""Room for what a build works on, in memory: about 4 GB at a million passages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.columns import Rows, as_bytes

R = TypeVar("R")
T = TypeVar("T", bound=np.generic)


class Sorting(Generic[R]):
    """Records that can be compared, to be read in rising order."""

    def __init__(self) -> None:
        self._held: list[R] = []

    def put(self, record: R) -> None:
        self._held.append(record)

    def __iter__(self) -> Iterator[R]:
        self._held.sort()
        return iter(self._held)


class Column(Generic[T]):
    """Values that come in portions, how many is not known before."""

    def __init__(self, dtype: np.dtype[T]) -> None:
        self._dtype = dtype
        self._waiting: list[NDArray[T]] = []

    def extend(self, values: NDArray[T]) -> None:
        self._waiting.append(np.asarray(values, self._dtype))

    def values(self) -> NDArray[T]:
        """All of them in their order, to be changed at will: shape (n,). No more may come then."""
        waiting, self._waiting = self._waiting, []
        return np.concatenate([np.empty(0, self._dtype), *waiting])


@dataclass(frozen=True, slots=True)
class Scratch:
    """What structures sort and count in while they are built."""

    held: int = sys.maxsize

    @classmethod
    def in_memory(cls) -> Scratch:
        return cls()

    def table(self, count: int, width: int, dtype: type[T] | np.dtype[T]) -> NDArray[T]:
        """Zeros of shape (count, width)."""
        return np.zeros((count, width), dtype)

    def column(self, dtype: type[T] | np.dtype[T]) -> Column[T]:
        """Room for values of one type, of which it is not known how many will come."""
        return Column(np.dtype(dtype))

    def in_order(self, dtype: np.dtype[T], portions: Iterable[NDArray[T]]) -> NDArray[T]:
        """Rows of one type in the order of their bytes."""
        return self.rising(np.dtype(f"S{dtype.itemsize}"), map(as_bytes, portions)).view(dtype)

    def rising(self, dtype: type[T] | np.dtype[T], portions: Iterable[NDArray[T]]) -> NDArray[T]:
        """Values of one type in their order."""
        column = self.column(dtype)
        for some in portions:
            column.extend(some)
        values = column.values()
        values.sort()
        return values

    def marked(self, marks: NDArray[np.bool_]) -> Rows:
        """The rows that are marked."""
        return np.flatnonzero(marks).astype(np.int32)

    @contextmanager
    def sorting(self) -> Iterator[Sorting[Any]]:
        """Room for records of any kind that can be compared."""
        yield Sorting[Any]()
