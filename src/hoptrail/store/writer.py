"""Writing an index: one writer at a time, atomic commits, and nothing finished is ever redone.

The protocol (the store has no transaction over several tables):

    open         take the lock; roll every table back to the version that the head names
    put, delete  write to the tables; no reader sees it, and a crash undoes it
    checkpoint   write a head that keeps readers where they are and names the new versions as pending
    publish      compact, renew keyword indexes, write a head that names the new versions, sweep the old ones

A crash between two of these leaves the state of the last head. Ids come from content and rows are merged by id, so work
that is done again cannot appear twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.store import layout
from hoptrail.store.head import Checksum, Head, check_encoder, read_head, write_head
from hoptrail.store.integrity import checksums, verify
from hoptrail.store.lock import readers_absent, writers_lock
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import connect, one_of, open_tables, reading, sweep, tag_head, writing
from hoptrail.types import Document, Kind, Link, Unit, Usage

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.db import DBConnection
    from lancedb.table import Table

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY})
"""Kinds whose ids stand for an entity or a group, not for their text: their structures make them again, or drop their links."""

_DELETE_BLOCK = 500
_REWRITE_BLOCK = 4096


class Writer:
    """The one process that changes an index. Use `writing_to`.

    `structures` maps the structures that the rows written so far belong to, to the fingerprints of their settings, and
    `languages` those that a language made to its name; whoever builds one enters it before its first row.
    """

    def __init__(self, folder: Path, database: DBConnection, head: Head) -> None:
        self.folder = folder
        self.head = head
        self._database = database
        self.structures = dict(head.pending_structures if head.pending else head.structures)
        self.languages = dict(head.languages)
        self._tables: dict[str, Table] = {}
        self._untidy: set[str] = set()
        self._roll_back()

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not."""
        return Snapshot(self.folder, self.head, open_tables(self._database, self._versions()))

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those of the same id (their sources may have changed; their text cannot)."""
        if documents:
            self._merge(layout.DOCUMENTS, layout.documents_to_rows(documents))

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add or replace units of one kind; `vectors` has one row a unit."""
        if units:
            self._merge(layout.unit_table(units[0].kind), layout.units_to_rows(units, vectors))

    def put_links(self, links: Sequence[Link]) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        if links:
            self._merge(layout.LINKS, layout.links_to_rows(links))

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace what was found in passages, by their ids."""
        if extractions:
            self._merge(layout.EXTRACTIONS, layout.extractions_to_rows(extractions))

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit that has a source in one of them, what was found in it, and its links.

        The links of kinds that are made again from what is left (REMADE) stay, so that groups outlive their members' change.
        """
        gone = frozenset(ids)
        snapshot = self.snapshot()
        for kind in snapshot.kinds:
            touched = {unit.id for unit in snapshot.units(kind) if any(span.document in gone for span in unit.sources)}
            if kind in REMADE:
                self._delete(layout.unit_table(kind), "id", touched)
            else:
                self.remove_units(kind, touched)
        self._delete(layout.DOCUMENTS, "id", gone)

    def remove_units(self, kind: Kind, ids: Collection[str]) -> None:
        """Remove units of one kind with what was found in them and their links."""
        self._delete(layout.unit_table(kind), "id", ids)
        self._delete(layout.EXTRACTIONS, "id", ids)
        for end in ("source", "target"):
            self._delete(layout.LINKS, end, ids)

    def remove_links(self, kind: str, sources: Collection[str]) -> None:
        """Remove the links of one kind that lead from `sources`."""
        self._delete(layout.LINKS, "source", sources, one_of("kind", [kind]))

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their links are their structure's to drop."""
        self._drop(layout.unit_table(kind))

    def drop_links(self, kind: str) -> None:
        """Remove all links of a kind, to build them anew."""
        self._drop(layout.LINKS, one_of("kind", [kind]))

    def drop_extractions(self) -> None:
        """Remove what was found in all passages, to find it anew."""
        self._drop(layout.EXTRACTIONS)

    def renew_index(self, name: str) -> None:
        """Have the next `publish` write a table and its keyword index anew, though no row has changed."""
        self._untidy.add(name)

    def checkpoint(self) -> None:
        """Keep what has been written, for this or a later writer to go on from; readers do not see it yet."""
        versions = self._versions()
        if versions != self.head.newest:
            self._commit(
                replace(
                    self.head,
                    pending=versions,
                    pending_structures=dict(self.structures),
                    languages=dict(sorted(self.languages.items())),
                )
            )

    def publish(self, spent: Usage) -> None:
        """Make everything written so far the state that readers see. `spent` is added to what the index has cost."""
        with writing(self.folder):
            for name, table in self._tables.items():
                if int(table.version) != self.head.tables.get(name) or name in self._untidy:
                    self._tidy(name, table)
                    tag_head(table)
            self._untidy.clear()
        known = self.head.checksums
        self._commit(
            replace(
                self.head,
                structures=dict(sorted(self.structures.items())),
                tables=self._versions(),
                pending={},
                pending_structures={},
                languages=dict(sorted(self.languages.items())),
                spent=self.head.spent + spent,
                checksums=None,
            )
        )
        self._sweep(known)

    def sweep(self) -> bool:
        """Remove what only earlier states needed; False where a reader may still need it, or work is pending."""
        return not self.head.pending and self._sweep(self.head.checksums)

    def _sweep(self, known: Mapping[str, Checksum] | None) -> bool:
        with writing(self.folder), readers_absent(self.folder) as absent:
            if absent:
                for table in [*self._tables.values(), self._database.open_table(layout.HEAD)]:
                    sweep(table)
            sums = checksums(self.folder, self.head.tables, known)
        self._commit(replace(self.head, checksums=sums))
        return absent

    def _versions(self) -> dict[str, int]:
        return {name: int(table.version) for name, table in self._tables.items()}

    @property
    def changed(self) -> bool:
        """Whether anything has been written that readers do not see yet."""
        return bool(self._untidy) or self._versions() != self.head.tables or self.structures != self.head.structures

    def _tidy(self, name: str, table: Table) -> None:
        """Write the table anew: few large files, no trace of deleted rows, keyword statistics of exactly the rows left.

        The store's own compaction leaves a deleted row's text in place until a tenth of its file is deleted, and its cost
        does not fall with the size of the change either.
        """
        import pyarrow as pa

        rows = table.search().to_batches(batch_size=_REWRITE_BLOCK)
        table.add(pa.RecordBatchReader.from_batches(table.schema, rows), mode="overwrite")
        if name.startswith(layout.UNITS):
            table.create_index("searchable", config=layout.keyword_index(), replace=True)

    def _merge(self, name: str, rows: pa.Table) -> None:
        with writing(self.folder):
            if name not in self._tables:
                self._tables[name] = self._database.create_table(name, schema=rows.schema)
            table = self._tables[name]
            later = [field for field in rows.schema if field.name not in table.schema.names]
            if later:  # columns that there were not when the table was made: null in its old rows
                table.add_columns(later)
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _delete(self, name: str, column: str, values: Collection[str], condition: str = "true") -> None:
        """Delete the rows whose `column` has one of `values` and that meet the `condition`."""
        if name not in self._tables or not values:
            return
        ordered = sorted(values)
        with writing(self.folder):
            for start in range(0, len(ordered), _DELETE_BLOCK):
                wanted = one_of(column, ordered[start : start + _DELETE_BLOCK])
                self._tables[name].delete(f"{wanted} AND {condition}")

    def _drop(self, name: str, condition: str = "true") -> None:
        if name in self._tables:
            with writing(self.folder):
                self._tables[name].delete(condition)

    def _commit(self, head: Head) -> None:
        with writing(self.folder):
            write_head(self._database, str(self.folder), head)
        self.head = head

    def _roll_back(self) -> None:
        """Undo whatever the last writer did after its last commit."""
        with writing(self.folder):
            for name in self._database.list_tables().tables:
                if name == layout.HEAD:
                    continue
                if name not in self.head.newest:
                    self._database.drop_table(name)
                    continue
                table = self._database.open_table(name)
                if int(table.version) != self.head.newest[name]:
                    table.checkout(self.head.newest[name])
                    table.restore()
                self._tables[name] = table


@contextmanager
def writing_to(folder: Path, encoder: EncoderIdentity) -> Iterator[Writer]:
    """Write to the index in `folder`, which is made if it is not there.

    Raises:
        IndexBusy: another process is writing.
        IndexMismatch: the index was made by another encoder, or by a newer hoptrail.
        IndexDamaged: a file is missing or altered.
        StorageError: the disk refuses.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with writers_lock(folder):
        with reading(folder):
            database = connect(folder)
            head = read_head(database, str(folder))
            if head is not None:
                check_encoder(str(folder), head.encoder, encoder)
                verify(folder, head.checksums or {})
        yield Writer(folder, database, head or Head(encoder))
