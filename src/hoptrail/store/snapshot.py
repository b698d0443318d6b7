"""Reading an index: an unchanging view of one set of table versions. Many readers may hold one beside a writer.

Vectors are mirrored in memory, sorted by unit id, because an exact product over them is faster there than in the store;
texts and links stay on disk.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import IndexUnavailable
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store import layout
from hoptrail.store.head import Head, ever_committed, read_head
from hoptrail.store.integrity import verify
from hoptrail.store.lock import join_readers
from hoptrail.store.tables import connect, one_of, open_tables, reading
from hoptrail.types import Document, Kind, Link, Unit

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.table import Table

T = TypeVar("T")

_ID_BLOCK = 500


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its text."""

    id: str
    title: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VectorMirror:
    """All vectors of one kind: `ids` in rising order, `matrix` of shape (len(ids), dimension)."""

    ids: tuple[str, ...]
    matrix: FloatMatrix


@dataclass(frozen=True, slots=True)
class LinkRows:
    """Links between some units, as places in their ids: arrays of one length."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]


class Snapshot:
    """One committed state of an index folder (or, inside a writer, the state it has reached)."""

    def __init__(self, folder: Path, head: Head, tables: Mapping[str, Table]) -> None:
        self.folder = folder
        self.head = head
        self._tables = tables
        self._mirrors: dict[Kind, VectorMirror] = {}
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is an index in this folder, of whatever state."""
        return ever_committed(str(folder))

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """The last committed state of `folder`.

        Raises:
            IndexUnavailable: there is none.
            IndexDamaged: a file is missing or altered.
            IndexMismatch: written by a newer hoptrail.
        """
        absent = f"there is no index at {folder}. Make one with `hoptrail index SOURCE... --index {folder}`."
        if not cls.exists(folder):
            raise IndexUnavailable(absent)
        descriptor = join_readers(folder)
        try:
            with reading(folder):
                database = connect(folder)
                head = read_head(database, str(folder))
                if head is None:
                    raise IndexUnavailable(absent)
                verify(folder, head.checksums or {})
                snapshot = cls(folder, head, open_tables(database, head.tables))
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        if descriptor is not None:
            weakref.finalize(snapshot, os.close, descriptor)
        return snapshot

    def is_current(self) -> bool:
        """Whether nothing has been published since this snapshot was opened; what a writer keeps for itself is no news."""
        with reading(self.folder):
            head = read_head(connect(self.folder), str(self.folder))
        return head is not None and head.published == self.head.published

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in Kind if layout.unit_table(kind) in self._tables)

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every document without its text, by rising id."""
        rows = self._scan(layout.DOCUMENTS, ["id", "title", "sources"])
        entries = (
            DocumentEntry(row["id"], row["title"], tuple(row["sources"])) for batch in rows for row in batch.to_pylist()
        )
        return tuple(sorted(entries, key=lambda entry: entry.id))

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Documents as a stream, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.DOCUMENTS, None, ids):
            yield from layout.documents_from_rows(batch)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.unit_table(kind), layout.UNIT_COLUMNS, ids):
            yield from layout.units_from_rows(batch, kind)

    def count(self, kind: Kind) -> int:
        table = self._tables.get(layout.unit_table(kind))
        return 0 if table is None else int(table.count_rows())

    def count_documents(self) -> int:
        table = self._tables.get(layout.DOCUMENTS)
        return 0 if table is None else int(table.count_rows())

    def links(self, kind: str | None = None) -> Iterator[Link]:
        """Links as a stream, all or those of one kind, in no particular order."""
        for batch in self._scan(layout.LINKS, None, None if kind is None else [kind], by="kind"):
            yield from layout.links_from_rows(batch)

    def link_rows(self, kind: str, ids: Sequence[str]) -> LinkRows:
        """Links of one kind with both ends among `ids`, in no particular order: for graphs too large for records."""
        import pyarrow as pa
        import pyarrow.compute as pc

        batches = list(self._scan(layout.LINKS, ["source", "target", "kind", "weight"], [kind], by="kind"))
        if not batches:
            none = np.zeros(0, dtype=np.int32)
            return LinkRows(none, none, np.zeros(0))
        table = pa.Table.from_batches(batches)
        known = pa.array(ids, pa.string())
        ends = [pc.fill_null(pc.index_in(table[end], value_set=known), -1).to_numpy() for end in ("source", "target")]
        whole = (ends[0] >= 0) & (ends[1] >= 0)
        return LinkRows(ends[0][whole], ends[1][whole], table["weight"].to_numpy()[whole])

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with what was found in them, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.EXTRACTIONS, None, ids):
            yield from layout.extractions_from_rows(batch)

    def extracted(self) -> set[str]:
        """Ids of the passages whose entities and facts are stored."""
        return {id_ for batch in self._scan(layout.EXTRACTIONS, ["id"]) for id_ in batch.column("id").to_pylist()}

    def vectors(self, kind: Kind) -> VectorMirror:
        """All vectors of a kind, read once."""
        if kind not in self._mirrors:
            with self._making:
                if kind not in self._mirrors:
                    self._mirrors[kind] = self._read_vectors(kind)
        return self._mirrors[kind]

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this state, made once and kept as long as the snapshot is; threads wait for one another."""
        if key not in self._derived:
            with self._making:  # re-entrant, because what is made may be made of what is derived
                if key not in self._derived:
                    self._derived[key] = make()
        return cast("T", self._derived[key])

    def search_keywords(self, kind: Kind, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` units of `kind` with the highest BM25 score for `words`, by falling score, then rising id.

        The words are looked up as they are: no operator, quote or wildcard has a meaning. Statistics are those of all units
        of the kind. The store breaks ties as it likes, so somewhat more is read than is returned.
        """
        table = self._tables.get(layout.unit_table(kind))
        limit = min(limit, self.count(kind))  # the store breaks on limits far above what there is
        if table is None or limit < 1:
            return []
        from lancedb.query import MatchQuery

        with reading(self.folder):
            # Its other arguments have defaults, which its own types do not tell.
            match = MatchQuery(words, "searchable")  # type: ignore[call-arg]
            query = table.search(match).select([*layout.UNIT_COLUMNS, "_score"])
            rows = query.limit(2 * limit + 16).to_arrow()
        scores = rows.column("_score").to_pylist()
        found = list(zip(layout.units_from_rows(rows, kind), scores, strict=True))
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))[:limit]

    def _read_vectors(self, kind: Kind) -> VectorMirror:
        ids: list[str] = []
        blocks: list[FloatMatrix] = []
        for batch in self._scan(layout.unit_table(kind), ["id", "vector"]):
            ids += batch.column("id").to_pylist()
            blocks.append(batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1))
        if not ids:
            return VectorMirror((), np.zeros((0, self.head.encoder.dimension), dtype=np.float32))
        order = np.argsort(np.array(ids))
        return VectorMirror(tuple(ids[row] for row in order), np.concatenate(blocks)[order])

    def _scan(
        self, name: str, columns: list[str] | None, values: Collection[str] | None = None, by: str = "id"
    ) -> Iterator[pa.RecordBatch]:
        """Rows of a table, all or those whose column `by` has one of `values`."""
        table = self._tables.get(name)
        if table is None:
            return
        with reading(self.folder):
            for wanted in _blocks(values):
                query = table.search()
                if columns is not None:
                    query = query.select(columns)
                if wanted is not None:
                    query = query.where(one_of(by, wanted))
                yield from query.to_batches(batch_size=1024)


def _blocks(ids: Collection[str] | None) -> Iterator[list[str] | None]:
    if ids is None:
        yield None
        return
    ordered = sorted(ids)
    for start in range(0, len(ordered), _ID_BLOCK):
        yield ordered[start : start + _ID_BLOCK]
