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
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places
from hoptrail.corpus.connecting import repairable
from hoptrail.errors import IndexDamaged

ARRAYS = "arrays"
"""The folder of files."""

BLOCK = 1 << 14
"""Bytes of an array that have one sum."""

WHOLE = 1 << 26
"""Arrays up to this number of bytes are compared whole, which is faster than finding the blocks that are read."""

Array = NDArray[Any]
Sums = NDArray[np.uint64]

_compared: dict[Path, tuple[tuple[int, ...], NDArray[np.bool_]]] = {}
"""The files that this process has read: their identity, and which blocks of them match their sums."""

_MOST = 1 << 12
"""Files that are remembered."""


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


class Arrays(Mapping[str, Array]):
    """The arrays of a segment by name. Using one raises IndexDamaged if it does not match its checksums."""

    def __init__(self, folder: Path, segment: int, described: list[ArrayRecord]) -> None:
        """`folder`: that of the files. Raises: MissingFile, IndexDamaged: a file does not exist or has another length."""
        self._folder = folder
        self._segment = segment
        self._described = {it.name: it for it in described}
        opened = {it.name: open_array(folder / file_name(segment, it.name), it) for it in described}
        self._arrays = {name: array for name, (array, _) in opened.items()}
        self._identities = {name: identity for name, (_, identity) in opened.items()}
        self._whole: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        if name not in self._whole:
            self._compare(name, None)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, which is not compared."""
        return self._arrays[name].shape

    def rows(self, name: str, rows: Places | slice) -> Array:
        """Some rows of an array. Of a large one, only the blocks with these rows are compared."""
        array = self._arrays[name]
        if name not in self._whole:
            self._compare(name, rows if array.nbytes > WHOLE and self._described[name].sums is not None else None)
        return array[rows]

    def _compare(self, name: str, rows: Places | slice | None) -> None:
        """Compare an array with its checksums, or the blocks with these rows. Raises: IndexDamaged."""
        described, array = self._described[name], self._arrays[name]
        path = self._folder / file_name(self._segment, name)
        if described.sums is None:
            intact = checksum(array) == described.checksum
        else:
            known = _known_blocks(path, (*self._identities[name], described.checksum), described.sums)
            intact = _matches(array, np.frombuffer(described.sums, np.uint64), known, rows)
        if not intact:
            in_database = f"{self._folder.parent}: the array {name} of segment {self._segment}"
            raise repairable(self._folder.parent, f"{path if described.data is None else in_database} is damaged")
        if rows is None:
            self._whole.add(name)


def file_name(segment: int, name: str) -> str:
    """The file of an array of a segment."""
    return f"{segment}-{name}.npy"


def npy(array: Array) -> Iterator[bytes | memoryview]:
    """The contents of the file of an array: its header, then its numbers."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    yield array.reshape(-1).data.cast("B")


def checksum(array: Array) -> int:
    """CRC-32 of the numbers of an array."""
    return zlib.crc32(array.reshape(-1).data.cast("B")) if array.size else 0


def packed_sums(array: Array) -> bytes:
    """The sums of the blocks of an array, and their own sum."""
    sums = _sums(array.reshape(-1).view(np.uint8))
    return np.append(sums, sums.sum()).tobytes()


def is_intact(path: Path, described: ArrayRecord) -> bool:
    """Whether an array matches its checksum and, if it is a file, is as it was written. Reads all of it."""
    try:
        array, _ = open_array(path, described)
    except IndexDamaged:
        return False
    if checksum(array) != described.checksum or described.sums not in (None, packed_sums(array)):
        return False
    if described.data is not None:
        return True
    with path.open("rb") as file:
        header = bytes(next(npy(array)))
        return file.read(len(header)) == header


_HEADER = 10
"""Bytes before the description of an array in a .npy file; the last two are its length."""


def open_array(path: Path, described: ArrayRecord) -> tuple[Array, tuple[int, ...]]:
    """An array, not compared, and the identity of its file.
    Raises: MissingFile, IndexDamaged: the file does not exist or has the wrong length.
    """
    sizes = tuple(map(int, described.shape.split()))
    type_ = np.dtype(described.type)
    if described.data is not None:
        if len(described.data) != prod(sizes) * type_.itemsize:
            raise repairable(path.parent.parent, f"the array {path.stem} in the database is too short or too long")
        return np.frombuffer(described.data, type_).reshape(sizes), ()
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise missing(path.parent.parent, path) from error
    except ValueError:  # an empty file cannot be mapped
        mapped = b""  # type: ignore[assignment]
    start = _HEADER + int.from_bytes(mapped[_HEADER - 2 : _HEADER], "little")
    if len(mapped) != start + prod(sizes) * type_.itemsize:
        raise repairable(path.parent.parent, f"{path} is too short or too long")
    identity = status.st_dev, status.st_ino, status.st_mtime_ns
    return np.frombuffer(mapped, type_, prod(sizes), start).reshape(sizes), identity


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


def _known_blocks(path: Path, identity: tuple[int, ...], sums: bytes) -> NDArray[np.bool_]:
    """Which blocks of a file match their sums, as far as this process has compared them: to be updated."""
    known = _compared.get(path)
    if known is None or known[0] != identity:
        if len(_compared) >= _MOST:
            _compared.clear()
        known = _compared[path] = identity, np.zeros(len(sums) // 8 - 1, np.bool_)
    return known[1]


def _matches(array: Array, packed: Sums, matching: NDArray[np.bool_], rows: Places | slice | None) -> bool:
    """Whether an array matches the sums of its blocks, or of those with these rows, apart from those that are known to match."""
    blocks = np.arange(len(matching)) if rows is None else _blocks(rows, array)
    blocks = blocks[~matching[blocks]]
    if not len(blocks):
        return True
    sums, content = packed[:-1], array.reshape(-1).view(np.uint8)
    runs = np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1)  # of blocks that follow one another
    found = np.concatenate([_sums(content[run[0] * BLOCK : (run[-1] + 1) * BLOCK]) for run in runs])
    intact = sums.sum() == packed[-1] and np.array_equal(found, sums[blocks])
    matching[blocks] = intact
    return bool(intact)


def _blocks(rows: Places | slice, array: Array) -> Places:
    """The blocks with these rows."""
    width = array.nbytes // len(array)
    if isinstance(rows, slice):
        first, last, _ = rows.indices(len(array))
        return np.arange(first * width // BLOCK, -(-last * width // BLOCK))
    firsts, lasts = rows * width // BLOCK, ((rows + 1) * width - 1) // BLOCK
    steps = range(int((lasts - firsts).max(initial=0)) + 1)
    return np.unique(np.concatenate([np.minimum(firsts + step, lasts) for step in steps]))
