"""Room for what a build works on: in memory while it is little, above that in files beside the index.

Nobody else sees such a file; it goes with whoever works on it, also when that dies. What is in it may leave memory at any time
and come back, so that a small machine is slower and not stopped. How much is little: `StorageSettings.memory_mb`.
"""

from __future__ import annotations

import heapq
import pickle
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import SEEK_END
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.columns import Digests, Rows, as_bytes
from hoptrail.store.place import Place
from hoptrail.store.tables import writing

R = TypeVar("R")
T = TypeVar("T", bound=np.generic)

RECORDS_HELD = 4096
"""Records that are held before they go into a file together."""

RECORD = 512
"""Bytes that a record is taken to have where many are sorted in memory."""

READ_TOGETHER = 128
"""Records of one sorted run that are read together."""

_ZEROS = bytes(1 << 20)
_MARKS = 1 << 20
"""Marks that are looked at at a time."""
_WRITTEN = 1 << 20
"""Bytes of a column that go into its file together."""


class SetAside(Generic[R]):
    """Records in the order they were put. Use `Scratch.records`."""

    def __init__(self, folder: Place, open_file: Callable[[], IO[bytes]]) -> None:
        self._folder, self._open_file = folder, open_file
        self._file: IO[bytes] | None = None
        self._held: list[R] = []
        self._written = 0

    def put(self, record: R) -> None:
        """Raises: StorageError: the disk is full, or refuses."""
        self._held.append(record)
        if len(self._held) >= RECORDS_HELD:
            with writing(self._folder):
                self._file = self._file or self._open_file()
                pickle.dump(self._held, self._file, pickle.HIGHEST_PROTOCOL)
                self._file.flush()
            self._written += 1
            self._held = []

    def __iter__(self) -> Iterator[R]:
        if self._file:
            self._file.seek(0)
            for _ in range(self._written):
                yield from pickle.load(self._file)  # noqa: S301 - written by this process into a file that has no name
        yield from self._held

    def close(self) -> None:
        if self._file:
            _close(self._file)


class Sorting(Generic[R]):
    """Records that can be compared, to be read in rising order. Use `Scratch.sorting`."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._most = max(READ_TOGETHER, scratch.held // RECORD)
        self._held: list[Any] = []
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []
        """Where in the file each sorted run begins, and how many portions it has."""

    def put(self, record: R) -> None:
        """Raises: StorageError: the disk is full, or refuses."""
        self._held.append(record)
        if len(self._held) >= self._most:
            self._held.sort()
            self._runs.append(self._written(self._held))
            self._held = []
            if len(self._runs) * READ_TOGETHER > self._most:  # what merging holds
                self._runs = [self._written(self)]

    def __iter__(self) -> Iterator[R]:
        return heapq.merge(*(self._read(*run) for run in self._runs), sorted(self._held))

    def close(self) -> None:
        if self._file:
            _close(self._file)

    def _written(self, rising: Iterable[R]) -> tuple[int, int]:
        """Write a run behind all others."""
        records, portions = iter(rising), 0
        with writing(self._scratch.folder):
            self._file = file = self._file or self._scratch.file()
            place = end = file.seek(0, SEEK_END)
            while some := list(islice(records, READ_TOGETHER)):
                file.seek(end)  # the records may come out of the same file
                pickle.dump(some, file, pickle.HIGHEST_PROTOCOL)
                end, portions = file.tell(), portions + 1
            file.flush()
        return place, portions

    def _read(self, place: int, portions: int) -> Iterator[Any]:
        file = cast("IO[bytes]", self._file)
        for _ in range(portions):
            file.seek(place)
            records = pickle.load(file)  # noqa: S301 - written by this process into a file that has no name
            place = file.tell()
            yield from records


class Column(Generic[T]):
    """Values that come in portions, how many is not known before. Use `Scratch.column`."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[T]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._file: IO[bytes] | None = None
        self._waiting: list[NDArray[T]] = []
        self._bytes = 0
        self._written = 0

    def extend(self, values: NDArray[T]) -> None:
        """Raises: StorageError: the disk is full, or refuses."""
        self._waiting.append(np.asarray(values, self._dtype))
        self._bytes += values.nbytes
        if self._bytes > (_WRITTEN if self._file else self._scratch.held):
            self._write()

    def values(self) -> NDArray[T]:
        """All of them in their order, to be changed at will: shape (n,). No more may come then."""
        if self._file is None:
            waiting, self._waiting = self._waiting, []
            return np.concatenate([np.empty(0, self._dtype), *waiting])
        self._write()
        with writing(self._scratch.folder):
            return np.asarray(np.memmap(self._file, self._dtype, "r+", shape=(self._written,)))

    def _write(self) -> None:
        with writing(self._scratch.folder):
            if self._file is None:
                self._file = self._scratch.file()
                weakref.finalize(self, _close, self._file)  # whoever fails meanwhile need not think of it
            for values in self._waiting:
                self._file.write(np.ascontiguousarray(values).data)
                self._written += len(values)
            self._file.flush()
        self._waiting, self._bytes = [], 0


@dataclass(frozen=True, slots=True)
class Scratch:
    """For one index; what takes up to `held` bytes is in memory."""

    place: Place
    held: int

    @classmethod
    def in_memory(cls) -> Scratch:
        """One that needs no file, unless many records are set aside."""
        return cls(Place.of(Path()), sys.maxsize)

    def table(self, count: int, width: int, dtype: type[T] | np.dtype[T]) -> NDArray[T]:
        """Zeros of shape (count, width).

        Raises:
            StorageError: the disk is full, or refuses.
        """
        size = np.dtype(dtype).itemsize * count * width
        if size <= self.held:
            return np.zeros((count, width), dtype)
        with writing(self.folder), self.file() as file:
            for start in range(0, size, len(_ZEROS)):  # a full disk says so here, where later it would end the process
                file.write(_ZEROS[: size - start])
            file.flush()
            return np.asarray(np.memmap(file, dtype, "r+", shape=(count, width)))

    def arranged(
        self, count: int, width: int, dtype: type[T], portions: Iterable[tuple[NDArray[np.int64], NDArray[T]]]
    ) -> NDArray[T]:
        """A table, as `table`, of rows that come in portions and in any order, each portion with its rows' places.

        A table in a file is written from its first row to its last: rows written here and there would have the system write
        the same pages again and again (2.4 TB, of 13 GB of vectors). So they go through a second file, in sorted runs.
        """
        table = self.table(count, width, dtype)
        if table.nbytes <= self.held:
            for places, rows in portions:
                table[places] = rows
            return table
        step = max(1, self.held // (2 * width * np.dtype(dtype).itemsize))
        with writing(self.folder), self.file() as file:
            runs = [_Run.write(file, *run, range(0, count + step, step)) for run in _runs_of(portions, step)]
            for part in range(-(-count // step)):
                for run in runs:
                    places, rows = run.read(file, part, table[:0])
                    table[places] = rows
        return table

    def column(self, dtype: type[T] | np.dtype[T]) -> Column[T]:
        """Room for values of one type, of which it is not known how many will come."""
        return Column(self, np.dtype(dtype))

    def in_order(self, dtype: np.dtype[T], portions: Iterable[NDArray[T]]) -> NDArray[T]:
        """Rows of one type in the order of their bytes."""
        return self.rising(np.dtype(f"S{dtype.itemsize}"), map(as_bytes, portions)).view(dtype)

    def rising(self, dtype: type[T] | np.dtype[T], portions: Iterable[NDArray[T]]) -> NDArray[T]:
        """Values of one type in their order: sorted in place, which takes no memory of its own."""
        column = self.column(dtype)
        for some in portions:
            column.extend(some)
        values = column.values()
        values.sort()
        return values

    def marked(self, marks: NDArray[np.bool_]) -> Rows:
        """The rows that are marked."""
        rows = self.column(np.int32)
        for start in range(0, len(marks), _MARKS):
            rows.extend((start + np.flatnonzero(marks[start : start + _MARKS])).astype(np.int32))
        return rows.values()

    def digests(self, hashes: Iterable[int] = ()) -> Digests:
        """A set of these to begin with."""
        return Digests(hashes, lambda count: self.table(count, 1, np.int64)[:, 0])

    @contextmanager
    def records(self) -> Iterator[SetAside[Any]]:
        """Room for records of any kind."""
        aside = SetAside[Any](self.folder, self.file)
        try:
            yield aside
        finally:
            aside.close()

    @contextmanager
    def sorting(self) -> Iterator[Sorting[Any]]:
        """Room for records of any kind that can be compared."""
        records = Sorting[Any](self)
        try:
            yield records
        finally:
            records.close()

    @property
    def folder(self) -> Place:
        """Where the files are, on this machine."""
        return Place.of(self.place.beside)

    def file(self) -> IO[bytes]:
        """A new one, without a name."""
        self.folder.folder.mkdir(parents=True, exist_ok=True)
        return TemporaryFile(dir=self.folder.folder)


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows by rising place, in a file: all places from `offset` on, then the rows. `bounds`: where each part of a table begins in
    them, and the end.
    """

    offset: int
    bounds: NDArray[np.intp]

    @classmethod
    def write(cls, file: IO[bytes], places: NDArray[np.int64], rows: NDArray[Any], parts: range) -> _Run:
        """`parts` are the places that the parts begin with, and one beyond all."""
        offset = file.seek(0, SEEK_END)
        for values in (places, rows):
            file.write(np.ascontiguousarray(values).data)
        return cls(offset, places.searchsorted(parts))

    def read(self, file: IO[bytes], part: int, like: NDArray[T]) -> tuple[NDArray[np.int64], NDArray[T]]:
        """Places and rows of one part; rows are `like` those of another table."""
        first, last = self.bounds[part : part + 2].tolist()
        file.seek(self.offset + 8 * first)
        places = np.frombuffer(file.read(8 * (last - first)), np.int64)
        size = like.itemsize * like.shape[1]
        file.seek(self.offset + 8 * int(self.bounds[-1]) + size * first)
        return places, np.frombuffer(file.read(size * (last - first)), like.dtype).reshape(-1, like.shape[1])


def _runs_of(
    portions: Iterable[tuple[NDArray[np.int64], NDArray[T]]], step: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[T]]]:
    """The same rows, at least `step` of them at a time but for the last ones, by rising place."""
    held: list[tuple[NDArray[np.int64], NDArray[T]]] = []
    for portion in chain(portions, [None]):
        if portion is not None:
            held.append(portion)
        if held and (portion is None or sum(len(places) for places, _ in held) >= step):
            places = np.concatenate([places for places, _ in held]).astype(np.int64, copy=False)
            order = np.argsort(places)
            yield places[order], np.concatenate([rows for _, rows in held])[order]
            held = []


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # what could not be written has been told
        file.close()
