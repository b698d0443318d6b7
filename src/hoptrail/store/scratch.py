"""Room for what a build works on: in memory while it is little, above that in files beside the index.

Nobody else sees such a file; it goes with whoever works on it, also when that dies. What is in it may leave memory at any time
and come back, so that a small machine is slower and not stopped.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.place import Place
from hoptrail.store.tables import writing

R = TypeVar("R")
T = TypeVar("T", bound=np.generic)

RECORDS_HELD = 4096
"""Records that are held before they go into a file together."""

_ZEROS = bytes(1 << 20)


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
            with suppress(OSError):  # what could not be written has been told
                self._file.close()


@dataclass(frozen=True, slots=True)
class Scratch:
    """For one index; up to `vectors_held` vectors, or rows of another table, are held in memory."""

    place: Place
    vectors_held: int

    def vectors(self, count: int, dimension: int) -> FloatMatrix:
        """Zeros of shape (count, dimension).

        Raises:
            StorageError: the disk is full, or refuses.
        """
        return self.table(count, dimension, np.float32)

    def table(self, count: int, width: int, dtype: type[T]) -> NDArray[T]:
        """Zeros of shape (count, width), as `vectors`."""
        if count <= self.vectors_held:
            return np.zeros((count, width), dtype)
        size = np.dtype(dtype).itemsize * count * width
        with writing(self._folder), self._file() as file:
            for start in range(0, size, len(_ZEROS)):  # a full disk says so here, where later it would end the process
                file.write(_ZEROS[: size - start])
            file.flush()
            return np.asarray(np.memmap(file, dtype, "r+", shape=(count, width)))

    @contextmanager
    def records(self) -> Iterator[SetAside[Any]]:
        """Room for records of any kind."""
        aside = SetAside[Any](self._folder, self._file)
        try:
            yield aside
        finally:
            aside.close()

    @contextmanager
    def rooms(self, count: int) -> Iterator[list[SetAside[Any]]]:
        """As `records`, so many."""
        with ExitStack() as open_:
            yield [open_.enter_context(self.records()) for _ in range(count)]

    @property
    def _folder(self) -> Place:
        return Place.of(self.place.beside)

    def _file(self) -> IO[bytes]:
        self._folder.folder.mkdir(parents=True, exist_ok=True)
        return TemporaryFile(dir=self._folder.folder)
