"""Immutable segments of arrays, of which a commit says which there are and which of their rows no longer count.

A segment has a family (what its arrays are), a kind (of units, links or names) and some rows. Its arrays are plain .npy files in
`arrays/`, which are mapped into memory, or, where they are small, rows of the database: so one more document costs no file.
Rows that go are only marked; a segment of which a fifth is gone, and eight of about the same size, are merged into one.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import make_folder, remove_files, sync_folder, write_file
from hoptrail.corpus.refusals import telling
from hoptrail.errors import IndexDamaged

ARRAYS = "arrays"
"""The folder of files."""

SMALL = 1 << 16
"""Bytes of an array up to which it is a row of the database."""

TIER = 8
"""So many segments of about a size are merged into one of the next."""

GONE = 5
"""One row in so many may be gone before a segment is written anew."""

Array = NDArray[Any]


class Family(StrEnum):
    """What the arrays of a segment are."""

    UNITS = "units"
    LINKS = "links"
    NAMES = "names"
    KEYWORDS = "keywords"


LARGEST = {Family.UNITS: 1 << 18, Family.LINKS: 1 << 23, Family.NAMES: 1 << 26, Family.KEYWORDS: 1 << 16}
"""Rows of a segment above which it is not merged with others."""


@dataclass(frozen=True)
class Segment:
    """`alive` says of each row whether it counts; None where all do."""

    number: int
    family: Family
    kind: str
    rows: int
    arrays: Mapping[str, Array]
    alive: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        """How many rows count."""
        return self.rows if self.alive is None else int(np.count_nonzero(self.alive))

    def living(self) -> Places:
        """The rows that count."""
        return np.arange(self.rows) if self.alive is None else np.flatnonzero(self.alive)

    def counting(self, rows: Places) -> Places:
        """Those of some rows that count."""
        return rows if self.alive is None else rows[self.alive[rows]]


class MissingFile(IndexDamaged):
    """A commit names a file that is not there: damage, unless a later commit has removed it meanwhile."""


class Segments:
    """The segments of a snapshot, all opened with it."""

    def __init__(self, database: Database, masked: Callable[[Segment], Segment] | None = None) -> None:
        """With `masked`, rows that are not seen do not count.

        Raises:
            MissingFile, IndexDamaged: a file is not there, or is too short.
        """
        self._masked = masked or (lambda segment: segment)
        self._folder = database.folder / ARRAYS
        self._database = database
        self._segments: dict[int, Segment] = {}
        self._refresh()

    def of(self, family: Family, kind: str) -> list[Segment]:
        """Those of one kind, in the order of making."""
        return [segment for segment in self._segments.values() if (segment.family, segment.kind) == (family, kind)]

    def kinds(self, family: Family) -> list[str]:
        return sorted({segment.kind for segment in self._segments.values() if segment.family is family})

    def _refresh(self, numbers: Iterable[int] | None = None) -> None:
        """Read what there is of all segments, or of some that are new or have changed."""
        which = "" if numbers is None else f" WHERE number IN ({','.join(map(str, numbers))})"
        for number, family, kind, rows in self._database.rows(
            f"SELECT number, family, kind, rows FROM segments{which} ORDER BY number"
        ):
            known = self._segments.get(number)
            arrays = known.arrays if known else self._arrays(number)
            segment = Segment(number, Family(family), kind, rows, arrays, self._alive(number, rows))
            self._segments[number] = self._masked(segment)

    def _arrays(self, segment: int) -> dict[str, Array]:
        found = self._database.rows("SELECT name, type, shape, data FROM arrays WHERE segment = ?", segment)
        return {name: self._array(segment, name, type_, shape, data) for name, type_, shape, data in found}

    def _array(self, segment: int, name: str, type_: str, shape: str, data: bytes | None) -> Array:
        sizes = tuple(map(int, shape.split()))
        if data is None:
            return _mapped(self._folder / file_name(segment, name), np.dtype(type_), sizes)
        return np.frombuffer(data, type_).reshape(sizes)

    def _alive(self, segment: int, rows: int) -> NDArray[np.bool_] | None:
        parts = self._database.rows("SELECT rows FROM gone WHERE segment = ? ORDER BY part", segment)
        if not parts:
            return None
        alive = np.ones(rows, np.bool_)
        for (part,) in parts:
            alive[np.frombuffer(part, np.int32)] = False
        return alive


class SegmentWriter(Segments):
    """The segments of a transaction. Files are on the disk when `settle` has returned, before the commit that names them."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.database = database
        self.changed = False
        """Whether something that readers go by has been written since the last commit."""
        self._unsettled = False

    def add(self, family: Family, kind: str, rows: int, arrays: Mapping[str, Array]) -> int:
        """One more segment; its number. Nothing where it would have no rows."""
        if not rows:
            return 0
        self.database.run("INSERT INTO segments (family, kind, rows) VALUES (?, ?, ?)", family.value, kind, rows)
        ((number,),) = self.database.rows("SELECT last_insert_rowid()")
        for name, array in arrays.items():
            whole = np.ascontiguousarray(array)
            data = whole.tobytes() if whole.nbytes <= SMALL else None
            if data is None:
                self._write(number, name, whole)
            self.database.run(
                "INSERT INTO arrays (segment, name, type, shape, checksum, data) VALUES (?, ?, ?, ?, ?, ?)",
                *(number, name, whole.dtype.str, " ".join(map(str, whole.shape)), _checksum(whole), data),
            )
        self._refresh([number])
        return int(number)

    def mark_gone(self, segment: Segment, rows: Places) -> None:
        """Rows that no longer count; those that did not are passed over."""
        gone = np.unique(segment.counting(rows)).astype(np.int32)
        if len(gone):
            self.database.run(
                "INSERT INTO gone (segment, part, rows) SELECT ?1, count(*), ?2 FROM gone WHERE segment = ?1",
                *(segment.number, gone.tobytes()),
            )
            self._refresh([segment.number])

    def drop(self, segments: Iterable[Segment]) -> None:
        """Segments that are no more; their files stay until `sweep`."""
        for segment in segments:
            for table, column in (("segments", "number"), ("arrays", "segment"), ("gone", "segment")):
                self.database.run(f"DELETE FROM {table} WHERE {column} = ?", segment.number)
            del self._segments[segment.number]

    def due(self, family: Family, kind: str) -> list[Segment]:
        """Segments to be made one; none where there is nothing to be gained."""
        segments = self.of(family, kind)
        for segment in segments:
            if (segment.rows - len(segment)) * GONE >= segment.rows:
                return [segment]
        tiers: dict[int, list[Segment]] = {}
        for segment in segments:
            if len(segment) * TIER <= LARGEST[family]:
                tiers.setdefault(int(np.log2(len(segment)) // np.log2(TIER)), []).append(segment)
        return next((found[:TIER] for _, found in sorted(tiers.items()) if len(found) >= TIER), [])

    def settle(self) -> None:
        """Steps 1 and 2 of `durable.py` are done."""
        if self._unsettled:
            with telling(self._database.folder):
                sync_folder(self._folder)
            self._unsettled = False

    def sweep(self) -> None:
        """Step 5 of `durable.py`: remove the files that the last commit does not name, in a transaction that writes."""
        with telling(self._database.folder):
            remove_files(unknown_arrays(self.database))

    def _write(self, segment: int, name: str, array: Array) -> None:
        with telling(self._database.folder):
            make_folder(self._folder)
            write_file(self._folder / file_name(segment, name), _npy(array))
        self._unsettled = True


def file_name(segment: int, name: str) -> str:
    return f"{segment}-{name}.npy"


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment some of whose arrays are missing or altered; `files` name them."""

    number: int
    family: Family
    kind: str
    files: tuple[str, ...]


def damaged_segments(database: Database) -> list[DamagedSegment]:
    """The segments of a commit that are not as they were written, by their checksums: it reads all arrays."""
    found: dict[tuple[int, str, str], list[str]] = {}
    for number, family, kind, name, type_, shape, checksum, data in database.rows(
        "SELECT s.number, s.family, s.kind, a.name, a.type, a.shape, a.checksum, a.data FROM segments s "
        "JOIN arrays a ON a.segment = s.number ORDER BY s.number, a.name"
    ):
        sizes = tuple(map(int, shape.split()))
        path = database.folder / ARRAYS / file_name(number, name)
        try:
            array = _mapped(path, np.dtype(type_), sizes) if data is None else np.frombuffer(data, type_)
            whole = _checksum(array) == checksum and (data is not None or _is_whole(path, array))
        except IndexDamaged:
            whole = False
        if not whole:
            place = f"{ARRAYS}/{file_name(number, name)}" if data is None else f"array {name} of segment {number}"
            found.setdefault((number, family, kind), []).append(place)
    return [
        DamagedSegment(number, Family(family), kind, tuple(files)) for (number, family, kind), files in found.items()
    ]


def unknown_arrays(database: Database) -> list[Path]:
    """The files of arrays that the commit does not name."""
    folder = database.folder / ARRAYS
    if not folder.is_dir():
        return []
    named = database.rows("SELECT segment, name FROM arrays WHERE data IS NULL")
    kept = {file_name(segment, name) for segment, name in named}
    return [path for path in sorted(folder.iterdir()) if path.name not in kept]


def _is_whole(path: Path, array: Array) -> bool:
    """Whether the header and the length of a file are as they were written."""
    expected = bytes(next(_npy(array)))
    with path.open("rb") as file:
        return file.read(len(expected)) == expected and path.stat().st_size == len(expected) + array.nbytes


_HEADER = 10
"""Bytes before the description of an array in a file, the last two of which say how long that is."""


def _npy(array: Array) -> Iterator[bytes | memoryview]:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    yield array.reshape(-1).data.cast("B")


def _checksum(array: Array) -> int:
    return zlib.crc32(array.reshape(-1).data.cast("B")) if array.size else 0


def _mapped(path: Path, type_: np.dtype[Any], sizes: tuple[int, ...]) -> Array:
    """The numbers of a file, which the system reads when they are looked at."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise MissingFile(f"{path} is missing. Run `hoptrail repair --index {path.parent.parent}`.") from error
    except ValueError:  # an empty file cannot be mapped
        mapped = b""  # type: ignore[assignment]
    start = _HEADER + int.from_bytes(mapped[_HEADER - 2 : _HEADER], "little")
    if len(mapped) != start + prod(sizes) * type_.itemsize:
        raise IndexDamaged(f"{path} is too short or too long. Run `hoptrail repair --index {path.parent.parent}`.")
    return np.frombuffer(mapped, type_, prod(sizes), start).reshape(sizes)
