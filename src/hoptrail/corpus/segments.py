"""Immutable segments of arrays. A commit lists the segments and marks their removed rows.

A segment has a family (which arrays it has), a kind (of units, links or names) and a number of rows. Large arrays are .npy files
in `arrays/`, mapped into memory; small ones are rows of the database, so that adding one document makes no file. Removed rows are
only marked. A segment is rewritten when a fifth of its rows is removed; eight segments of about the same size are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.arrays import ARRAYS, Array, ArrayRecord, Arrays, checksum, file_name, is_intact, npy, packed_sums
from hoptrail.corpus.columns import NONE, Places
from hoptrail.corpus.connecting import translating_errors
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import make_folder, remove_files, sync_folder, write_file
from hoptrail.types import Kind

SMALL = 1 << 16  # arrays up to this number of bytes are rows of the database
TIER = 8  # this many segments of about the same size are merged
GONE = 5  # a segment is rewritten when one in this many rows is removed


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
    arrays: Arrays
    alive: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return self.rows if self.alive is None else int(np.count_nonzero(self.alive))

    def live_rows(self) -> Places:
        return np.arange(self.rows) if self.alive is None else np.flatnonzero(self.alive)

    def live(self, rows: Places) -> Places:
        return rows if self.alive is None else rows[self.alive[rows]]


def live_column(segments: Sequence[Segment], name: str) -> Array:
    """An array of these segments together, without removed rows."""
    return np.concatenate([segment.arrays[name][segment.live_rows()] for segment in segments]) if segments else NONE


def in_order(segments: Sequence[Segment], names: Iterable[str] = ()) -> dict[str, Array]:
    """Arrays of these segments together, by default all, without removed rows, ordered by the numbers of their units."""
    columns = {name: live_column(segments, name) for name in names or segments[0].arrays}
    if (np.diff(columns["numbers"]) < 0).any():  # else no copy, which may have half a gigabyte
        order = np.argsort(columns["numbers"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    return columns


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
        return [segment for segment in self._segments.values() if (segment.family, segment.kind) == (family, kind)]

    def kinds(self, family: Family) -> list[str]:
        return sorted({segment.kind for segment in self._segments.values() if segment.family is family})

    def count(self, family: Family) -> Counter[str]:
        return +Counter({kind: sum(map(len, self.of(family, kind))) for kind in self.kinds(family)})

    def _refresh(self, changed: int | None = None) -> None:
        """Read all segments, or one that is new or has changed."""
        for number, family, kind, rows in self.database.rows(
            "SELECT number, family, kind, rows FROM segments WHERE ?1 IS NULL OR number = ?1 ORDER BY number", changed
        ):
            if number in self._segments:
                arrays = self._segments[number].arrays
            else:
                arrays = Arrays(self._folder, number, [it for *_, it in _described(self.database, number)])
            alive = None
            if gone := self.database.column("SELECT rows FROM gone WHERE segment = ?", number):
                alive = np.ones(rows, np.bool_)
                alive[np.frombuffer(b"".join(gone), np.int32)] = False
            self._segments[number] = self._mask(Segment(number, Family(family), kind, rows, arrays, alive))


class SegmentWriter(Segments):
    """Writes segments in a transaction. `sync` must be called before the commit that names their files."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.changed = False  # whether anything that readers see has been written since the last commit
        self._unsynced = False

    def add(self, family: Family, kind: str, arrays: Mapping[str, Array]) -> int:
        """Add a segment. Returns its number; 0 and no segment for no rows."""
        if number := self._add(family, kind, arrays):
            self._note_change(family, kind)
        return number

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
                    write_file(self._folder / file_name(number, name), npy(whole))
                self._unsynced = True
            self.database.run(
                "INSERT INTO arrays (segment, name, type, shape, checksum, data, sums) VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(number, name, whole.dtype.str, " ".join(map(str, whole.shape)), checksum(whole), data),
                None if data is not None else packed_sums(whole),
            )
        self._refresh(number)
        return int(number)

    def mark_gone(self, segment: Segment, rows: Places) -> None:
        """Mark rows as removed, those that are still live."""
        gone = np.unique(segment.live(rows)).astype(np.int32)
        if len(gone):
            self._note_change(segment.family, segment.kind)
            self.database.run(
                "INSERT INTO gone (segment, part, rows) SELECT ?1, count(*), ?2 FROM gone WHERE segment = ?1",
                *(segment.number, gone.tobytes()),
            )
            self._refresh(segment.number)

    def drop(self, segments: Iterable[Segment]) -> None:
        """Remove segments; their files stay until `sweep`."""
        for segment in segments:
            self._note_change(segment.family, segment.kind)
            self._delete(segment)

    def _delete(self, segment: Segment) -> None:
        delete_segment(self.database, segment.number)
        del self._segments[segment.number]

    def _note_change(self, family: Family, kind: str) -> None:
        """Remove graphs that may be made from what has changed."""
        self.changed = True
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


def delete_segment(database: Database, number: int) -> None:
    for table, column in (("segments", "number"), ("arrays", "segment"), ("gone", "segment"), ("postings", "segment")):
        database.delete(table, column, [number])


def damaged_segments(database: Database) -> dict[tuple[int, Family], list[str]]:
    """The arrays of a commit that are missing or altered, in words, by the number and family of their segment. Reads all."""
    damaged: dict[tuple[int, Family], list[str]] = {}
    for number, family, described in _described(database):
        path = database.folder / ARRAYS / file_name(number, described.name)
        if not is_intact(path, described):
            in_file = described.data is None
            place = f"{ARRAYS}/{path.name}" if in_file else f"array {described.name} of segment {number}"
            damaged.setdefault((number, Family(family)), []).append(place)
    return damaged


def _described(database: Database, segment: int | None = None) -> Iterator[tuple[int, str, ArrayRecord]]:
    sums = "a.sums" if database.has_checksums else "NULL"
    for number, family, *described in database.each(
        f"SELECT s.number, s.family, a.name, a.type, a.shape, a.checksum, a.data, {sums} FROM segments s "
        "JOIN arrays a ON a.segment = s.number WHERE ?1 IS NULL OR s.number = ?1 ORDER BY s.number, a.name",
        segment,
    ):
        yield number, family, ArrayRecord(*described)


def unknown_arrays(database: Database) -> list[Path]:
    folder = database.folder / ARRAYS
    if not folder.is_dir():
        return []
    named = set(array_files(database))
    return [path for path in sorted(folder.iterdir()) if path.name not in named]


def array_files(database: Database) -> list[str]:
    rows = database.rows("SELECT segment, name FROM arrays WHERE data IS NULL ORDER BY segment, name")
    return [file_name(segment, name) for segment, name in rows]
