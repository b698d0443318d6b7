"""Immutable segments of arrays. A commit lists the segments and marks their removed rows.

A segment has a family (which arrays it has), a kind (of units, links or names) and a number of rows. Large arrays are .npy files
in `arrays/`, mapped into memory; small ones are rows of the database, so that adding one document makes no file. Removed rows are
only marked. A segment is rewritten when a fifth of its rows is removed; eight segments of about the same size are merged.
"""

from __future__ import annotations

import mmap
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Places
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import make_folder, remove_files, sync_folder, write_file
from hoptrail.corpus.refusals import translating_errors
from hoptrail.errors import IndexDamaged
from hoptrail.types import Kind

ARRAYS = "arrays"
"""The folder of files."""

SMALL = 1 << 16
"""Arrays up to this number of bytes are rows of the database."""

TIER = 8
"""This many segments of about the same size are merged."""

GONE = 5
"""A segment is rewritten when one in this many rows is removed."""

Array = NDArray[Any]


class Family(StrEnum):
    """Which arrays a segment has."""

    UNITS = "units"
    LINKS = "links"
    NAMES = "names"
    KEYWORDS = "keywords"
    GRAPHS = "graphs"


LARGEST = {Family.UNITS: 1 << 18, Family.LINKS: 1 << 23, Family.NAMES: 1 << 26, Family.KEYWORDS: 1 << 16}
"""Segments with more rows are not merged with others."""

_IN_GRAPHS = {(Family.UNITS, Kind.PASSAGE), (Family.UNITS, Kind.SENTENCE)}
"""What graphs are made from, beside names."""


@dataclass(frozen=True)
class Segment:
    """A segment. `alive` marks the rows that are not removed: shape (rows,); None where none is removed."""

    number: int
    family: Family
    kind: str
    rows: int
    arrays: Mapping[str, Array]
    alive: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        """The number of live rows."""
        return self.rows if self.alive is None else int(np.count_nonzero(self.alive))

    def live_rows(self) -> Places:
        """The live rows."""
        return np.arange(self.rows) if self.alive is None else np.flatnonzero(self.alive)

    def live(self, rows: Places) -> Places:
        """The live ones among these rows."""
        return rows if self.alive is None else rows[self.alive[rows]]


def live_column(segments: Sequence[Segment], name: str) -> Array:
    """An array of these segments together, without removed rows."""
    return np.concatenate([segment.arrays[name][segment.live_rows()] for segment in segments]) if segments else NONE


class MissingFile(IndexDamaged):
    """A commit names a file that does not exist: damage, unless a later commit has removed it meanwhile."""


class Segments:
    """The segments of a snapshot, all opened with it."""

    def __init__(self, database: Database, mask: Callable[[Segment], Segment] = lambda segment: segment) -> None:
        """`mask` marks the rows outside the view as removed. Raises: MissingFile, IndexDamaged: of files."""
        self._mask = mask
        self._folder = database.folder / ARRAYS
        self.database = database
        self._segments: dict[int, Segment] = {}
        self._refresh()

    def of(self, family: Family, kind: str) -> list[Segment]:
        """The segments of a kind, in the order of making."""
        return [segment for segment in self._segments.values() if (segment.family, segment.kind) == (family, kind)]

    def kinds(self, family: Family) -> list[str]:
        """The kinds that have segments of a family."""
        return sorted({segment.kind for segment in self._segments.values() if segment.family is family})

    def count(self, family: Family) -> Counter[str]:
        """The number of live rows of each kind of a family."""
        return +Counter({kind: sum(map(len, self.of(family, kind))) for kind in self.kinds(family)})

    def _refresh(self, changed: int | None = None) -> None:
        """Read all segments, or one that is new or has changed."""
        for number, family, kind, rows in self.database.rows(
            "SELECT number, family, kind, rows FROM segments WHERE ?1 IS NULL OR number = ?1 ORDER BY number", changed
        ):
            arrays = self._segments[number].arrays if number in self._segments else self._arrays(number)
            segment = Segment(number, Family(family), kind, rows, arrays, self._alive(number, rows))
            self._segments[number] = self._mask(segment)

    def _arrays(self, segment: int) -> dict[str, Array]:
        rows = self.database.rows("SELECT name, type, shape, data FROM arrays WHERE segment = ?", segment)
        return {name: _array(self._folder / file_name(segment, name), *described) for name, *described in rows}

    def _alive(self, segment: int, rows: int) -> NDArray[np.bool_] | None:
        parts = self.database.column("SELECT rows FROM gone WHERE segment = ?", segment)
        if not parts:
            return None
        alive = np.ones(rows, np.bool_)
        alive[np.frombuffer(b"".join(parts), np.int32)] = False
        return alive


class SegmentWriter(Segments):
    """Writes segments in a transaction. `sync` must be called before the commit that names their files."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.changed = False
        """Whether anything that readers see has been written since the last commit."""
        self._unsynced = False

    def add(self, family: Family, kind: str, arrays: Mapping[str, Array]) -> int:
        """Add a segment. Returns its number; 0 and no segment for no rows."""
        self._drop_graphs(family, kind)
        return self._add(family, kind, arrays)

    def _add(self, family: Family, kind: str, arrays: Mapping[str, Array]) -> int:
        rows = len(arrays["targets" if family is Family.LINKS else "numbers"])
        if not rows:
            return 0
        self.database.run("INSERT INTO segments (family, kind, rows) VALUES (?, ?, ?)", family.value, kind, rows)
        [number] = self.database.column("SELECT last_insert_rowid()")
        for name, array in arrays.items():
            whole = np.ascontiguousarray(array)
            data = whole.tobytes() if whole.nbytes <= SMALL else None
            if data is None:
                with translating_errors(self.database.folder):
                    make_folder(self._folder)
                    write_file(self._folder / file_name(number, name), _npy(whole))
                self._unsynced = True
            self.database.run(
                "INSERT INTO arrays (segment, name, type, shape, checksum, data) VALUES (?, ?, ?, ?, ?, ?)",
                *(number, name, whole.dtype.str, " ".join(map(str, whole.shape)), _checksum(whole), data),
            )
        self._refresh(number)
        return int(number)

    def mark_gone(self, segment: Segment, rows: Places) -> None:
        """Mark rows as removed, those that are still live."""
        gone = np.unique(segment.live(rows)).astype(np.int32)
        if len(gone):
            self._drop_graphs(segment.family, segment.kind)
            self.database.run(
                "INSERT INTO gone (segment, part, rows) SELECT ?1, count(*), ?2 FROM gone WHERE segment = ?1",
                *(segment.number, gone.tobytes()),
            )
            self._refresh(segment.number)

    def drop(self, segments: Iterable[Segment]) -> None:
        """Remove segments; their files stay until `sweep`."""
        for segment in segments:
            self._drop_graphs(segment.family, segment.kind)
            self._delete(segment)

    def _delete(self, segment: Segment) -> None:
        delete_segment(self.database, segment.number)
        del self._segments[segment.number]

    def _drop_graphs(self, family: Family, kind: str) -> None:
        """Remove the graphs, because they may be made from what changes now."""
        if family is Family.NAMES or (family, kind) in _IN_GRAPHS:
            for segment in [one for one in self._segments.values() if one.family is Family.GRAPHS]:
                self._delete(segment)

    def merge(self, family: Family, merged: Callable[[list[Segment]], Mapping[str, Array]]) -> None:
        """Replace segments that are due by one, whose arrays `merged` makes."""
        for kind in self.kinds(family):
            while due := self.due(family, kind):
                self._add(family, kind, merged(due))
                for segment in due:
                    self._delete(segment)

    def due(self, family: Family, kind: str) -> list[Segment]:
        """The next segments of a kind to merge into one; empty where merging gains nothing."""
        segments = self.of(family, kind)
        for segment in segments:
            if (segment.rows - len(segment)) * GONE >= segment.rows:
                return [segment]
        tiers: dict[int, list[Segment]] = {}
        for segment in segments:
            if len(segment) * TIER <= LARGEST[family]:
                tiers.setdefault(int(np.log2(len(segment)) // np.log2(TIER)), []).append(segment)
        return next((tier[:TIER] for _, tier in sorted(tiers.items()) if len(tier) >= TIER), [])

    def sync(self) -> None:
        """Step 2 of `durable.py`."""
        if self._unsynced:
            with translating_errors(self.database.folder):
                sync_folder(self._folder)
            self._unsynced = False

    def sweep(self) -> None:
        """Step 5 of `durable.py`: remove the files that the last commit does not name. Requires a writing transaction."""
        with translating_errors(self.database.folder):
            remove_files(unknown_arrays(self.database))


def file_name(segment: int, name: str) -> str:
    """The file of an array of a segment."""
    return f"{segment}-{name}.npy"


def delete_segment(database: Database, number: int) -> None:
    """Remove the rows of a segment from the database, except its postings."""
    for table, column in (("segments", "number"), ("arrays", "segment"), ("gone", "segment")):
        database.delete(table, column, [number])


def damaged_segments(database: Database) -> dict[tuple[int, Family], list[str]]:
    """The arrays of a commit that are missing or altered, in words, by the number and family of their segment. Reads all."""
    damaged: dict[tuple[int, Family], list[str]] = {}
    for number, family, name, type_, shape, checksum, data in database.rows(
        "SELECT s.number, s.family, a.name, a.type, a.shape, a.checksum, a.data FROM segments s "
        "JOIN arrays a ON a.segment = s.number ORDER BY s.number, a.name"
    ):
        path = database.folder / ARRAYS / file_name(number, name)
        try:
            array = _array(path, type_, shape, data)
            intact = _checksum(array) == checksum and (data is not None or _has_header(path, array))
        except (IndexDamaged, ValueError):
            intact = False
        if not intact:
            place = f"{ARRAYS}/{path.name}" if data is None else f"array {name} of segment {number}"
            damaged.setdefault((number, Family(family)), []).append(place)
    return damaged


def unknown_arrays(database: Database) -> list[Path]:
    """The files of arrays that the commit does not name."""
    folder = database.folder / ARRAYS
    if not folder.is_dir():
        return []
    named = set(array_files(database))
    return [path for path in sorted(folder.iterdir()) if path.name not in named]


def array_files(database: Database) -> list[str]:
    """The names of the files of arrays that the commit names."""
    rows = database.rows("SELECT segment, name FROM arrays WHERE data IS NULL ORDER BY segment, name")
    return [file_name(segment, name) for segment, name in rows]


def _has_header(path: Path, array: Array) -> bool:
    """Whether the header and the length of a file are as they were written."""
    expected = bytes(next(_npy(array)))
    with path.open("rb") as file:
        return file.read(len(expected)) == expected and path.stat().st_size == len(expected) + array.nbytes


_HEADER = 10
"""Bytes before the description of an array in a .npy file; the last two are its length."""


def _npy(array: Array) -> Iterator[bytes | memoryview]:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    yield array.reshape(-1).data.cast("B")


def _checksum(array: Array) -> int:
    return zlib.crc32(array.reshape(-1).data.cast("B")) if array.size else 0


def _array(path: Path, type_: str, shape: str, data: bytes | None) -> Array:
    """An array whose numbers are `data`, or in a file.
    Raises: MissingFile, IndexDamaged: the file does not exist or has the wrong length.
    """
    sizes = tuple(map(int, shape.split()))
    if data is not None:
        return np.frombuffer(data, type_).reshape(sizes)
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise MissingFile(f"{path} is missing. Run `hoptrail repair --index {path.parent.parent}`.") from error
    except ValueError:  # an empty file cannot be mapped
        mapped = b""  # type: ignore[assignment]
    start = _HEADER + int.from_bytes(mapped[_HEADER - 2 : _HEADER], "little")
    if len(mapped) != start + prod(sizes) * np.dtype(type_).itemsize:
        raise IndexDamaged(f"{path} is too short or too long. Run `hoptrail repair --index {path.parent.parent}`.")
    return np.frombuffer(mapped, type_, prod(sizes), start).reshape(sizes)
