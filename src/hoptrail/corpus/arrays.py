"""The arrays of a segment: small ones are rows of the database, larger ones .npy files mapped into memory.

An array is compared with its checksums before a process uses it for the first time, and not again while the file stays the same.
A file has a sum for every block, so that of a large one only the blocks that are read are compared. Sums take as long as reading.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places
from hoptrail.corpus.connecting import repairable
from hoptrail.errors import IndexDamaged

ARRAYS = "arrays"  # the folder of files
BLOCK = 1 << 14  # bytes of an array that have one sum

WHOLE = 1 << 26
"""Arrays up to this number of bytes are compared whole, which is faster than finding the blocks that are read."""

Array = NDArray[Any]
Sums = NDArray[np.uint64]


class MissingFile(IndexDamaged):
    """A commit names a file that does not exist: damage, unless a later commit has removed it meanwhile."""


@dataclass(frozen=True, slots=True)
class ArrayRecord:
    """What the database says of an array. `data`: of a small one; `sums`: of the blocks of a larger one, if they are known."""

    name: str
    type: str
    shape: str
    checksum: int
    data: bytes | None = None
    sums: bytes | None = None


class StoredArray:
    """An array with its checksums. `array` is all of it, not compared with them."""

    def __init__(self, path: Path, record: ArrayRecord) -> None:
        """`path`: of its file, if any. Raises: MissingFile, IndexDamaged: the file does not exist or has another length."""
        self._path, self._record = path, record
        self._folder = path.parent.parent
        self._name = str(path) if record.data is None else f"{self._folder}: the array {path.stem} in the database"
        self._identity: tuple[int, ...] = ()
        self._is_compared = False
        sizes, type_ = tuple(map(int, record.shape.split())), np.dtype(record.type)
        content, start = self._mapped() if record.data is None else (record.data, 0)
        if len(content) != start + prod(sizes) * type_.itemsize:
            raise repairable(self._folder, f"{self._name} is too short or too long")
        self.array: Array = np.frombuffer(content, type_, prod(sizes), start).reshape(sizes)

    def _mapped(self) -> tuple[mmap.mmap | bytes, int]:
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                self._identity = status.st_dev, status.st_ino, status.st_mtime_ns, self._record.checksum
                mapped: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError as error:
            raise missing(self._folder, self._path) from error
        except ValueError:  # an empty file cannot be mapped
            mapped = b""
        return mapped, _HEADER + int.from_bytes(mapped[_HEADER - 2 : _HEADER], "little")

    def checked(self, rows: Places | slice | None = None) -> Array:
        """The array, or some of its rows; of a large one only the blocks with these rows are compared. Raises: IndexDamaged."""
        if not self._is_compared:
            partly = rows is not None and self.array.nbytes > WHOLE and self._record.sums is not None
            if not self._matches(rows if partly else None):
                raise repairable(self._folder, f"{self._name} is damaged")
            self._is_compared = not partly
        return self.array if rows is None else self.array[rows]

    def _matches(self, rows: Places | slice | None) -> bool:
        """Whether it matches its checksum or, of a file, the sums of the blocks with these rows, apart from known ones."""
        if self._record.sums is None:
            return checksum(self.array) == self._record.checksum
        sums = np.frombuffer(self._record.sums, np.uint64)
        known = _known_blocks(self._path, self._identity, len(sums) - 1)
        blocks = np.arange(len(known)) if rows is None else _blocks(rows, self.array)
        blocks = blocks[~known[blocks]]
        if not len(blocks):
            return True
        content = self.array.reshape(-1).view(np.uint8)
        runs = np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1)  # of blocks that follow one another
        found = np.concatenate([_sums(content[run[0] * BLOCK : (run[-1] + 1) * BLOCK]) for run in runs])
        known[blocks] = intact = sums[:-1].sum() == sums[-1] and np.array_equal(found, sums[blocks])
        return bool(intact)


class Arrays(Mapping[str, Array]):
    """The arrays of a segment by name. Using one raises IndexDamaged if it does not match its checksums."""

    def __init__(self, folder: Path, segment: int, described: list[ArrayRecord]) -> None:
        """`folder`: that of the files. Raises: MissingFile, IndexDamaged: a file does not exist or has another length."""
        self._stored = {it.name: StoredArray(folder / file_name(segment, it.name), it) for it in described}

    def __getitem__(self, name: str) -> Array:
        return self._stored[name].checked()

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, which is not compared."""
        return self._stored[name].array.shape

    def rows(self, name: str, rows: Places | slice) -> Array:
        """Some rows of an array. Of a large one, only the blocks with these rows are compared."""
        return self._stored[name].checked(rows)


def file_name(segment: int, name: str) -> str:
    return f"{segment}-{name}.npy"


def npy(array: Array) -> Iterator[bytes | memoryview]:
    """The contents of the file of an array: its header, then its numbers."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    yield array.reshape(-1).data.cast("B")


def checksum(array: Array) -> int:
    return zlib.crc32(array.reshape(-1).data.cast("B")) if array.size else 0


def packed_sums(array: Array) -> bytes:
    """The sums of the blocks of an array, and their own sum."""
    sums = _sums(array.reshape(-1).view(np.uint8))
    return np.append(sums, sums.sum()).tobytes()


def is_intact(path: Path, described: ArrayRecord) -> bool:
    """Whether an array matches its checksum and, if it is a file, is as it was written. Reads all of it."""
    try:
        array = StoredArray(path, described).array
    except IndexDamaged:
        return False
    if checksum(array) != described.checksum or described.sums not in (None, packed_sums(array)):
        return False
    if described.data is not None:
        return True
    with path.open("rb") as file:
        header = bytes(next(npy(array)))
        return file.read(len(header)) == header


_HEADER = 10  # bytes before the description of an array in a .npy file; the last two are its length


def missing(folder: Path, path: Path) -> MissingFile:
    """The error for a file of the index in `folder` that does not exist."""
    fault = f"{path} is missing"
    return MissingFile(f"{fault}. Run `hoptrail repair --index {folder}`.", fault)


def _sums(content: NDArray[np.uint8]) -> Sums:
    """The sums of the 64-bit words of each block; the last word is filled up with zeros."""
    whole = len(content) // BLOCK * BLOCK
    sums: Sums = content[:whole].view(np.uint64).reshape(-1, BLOCK // 8).sum(axis=1, dtype=np.uint64)
    rest = content[whole:].tobytes()
    words = np.frombuffer(rest + bytes(-len(rest) % 8), np.uint64)
    return np.append(sums, words.sum(dtype=np.uint64)) if rest else sums


@lru_cache(maxsize=1 << 12)
def _known_blocks(path: Path, identity: tuple[int, ...], blocks: int) -> NDArray[np.bool_]:
    """Which blocks of a file match their sums, as far as this process has compared them: to be updated."""
    del path, identity
    return np.zeros(blocks, np.bool_)


def _blocks(rows: Places | slice, array: Array) -> Places:
    width = array.nbytes // len(array)
    if isinstance(rows, slice):
        first, last, _ = rows.indices(len(array))
        return np.arange(first * width // BLOCK, -(-last * width // BLOCK))
    firsts, lasts = rows * width // BLOCK, ((rows + 1) * width - 1) // BLOCK
    steps = range(int((lasts - firsts).max(initial=0)) + 1)
    return np.unique(np.concatenate([np.minimum(firsts + step, lasts) for step in steps]))
