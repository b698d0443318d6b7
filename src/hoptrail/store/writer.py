"""Writing an index: one writer at a time, atomic commits, and nothing finished is ever redone.

The protocol (the store has no transaction over several tables):

    open         take the lock; roll every table back to the version that the head names
    put, delete  write to the tables; no reader sees it, and a crash undoes it
    checkpoint   write a head that keeps readers where they are and names the new versions as pending
    publish      tidy what has changed, write a head that names the new versions, sweep the old ones

A crash between two of these leaves the state of the last head. Ids come from content and rows are merged by id, so work
that is done again cannot appear twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import IndexBusy
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.store import layout
from hoptrail.store.allocator import give_back
from hoptrail.store.columns import Directed, PackedIds
from hoptrail.store.files import files_of
from hoptrail.store.head import Checksum, Head, HeadRecord, check_encoder
from hoptrail.store.integrity import checksums, missing_table, verify
from hoptrail.store.lock import StillHeld, readers_absent, writers_lock
from hoptrail.store.place import Place
from hoptrail.store.scratch import Scratch
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import (
    StorageSettings,
    bound_memory,
    connect,
    one_of,
    open_tables,
    reading,
    sweep,
    sweep_stored,
    tag_head,
    untag_after,
    writing,
)
from hoptrail.types import Document, Kind, Link, Unit, Usage

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.db import DBConnection
    from lancedb.table import IndexStatistics, Table

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds whose ids stand for an entity, a group or a word of several documents: their structures make them again, or drop their
links.
"""

_REMOVED = 1 << 16
"""Units that are removed together: so many ids are in memory."""

_DELETE_BLOCK = 500
_REWRITE_BLOCK = 4096

_ADDED = 0.1
"""Up to such a share of a table's rows is taken into its indexes; where more was added they are made anew."""
_MOST_PARTS = 16
"""Parts of a vector index, one more each time: every question looks into all of them."""
_EXTENSIONS = 5
_NEVER = timedelta(days=36_500)

LINKS_AT_ONCE = 1 << 20
"""Links that become rows of a table at a time: some 130 MB. (Twenty times as many would be more than one column can hold.)"""

MOST_FOLLOWED = 10_000
"""Documents that come and go of which a writer keeps the ids."""


@dataclass(frozen=True)
class Change:
    """Documents that came since the published state, and that went; one whose units went and that came again did both."""

    came: frozenset[str]
    went: frozenset[str]
    open_before: Callable[[], Snapshot]

    @property
    def nothing(self) -> bool:
        return not self.came and not self.went

    @cached_property
    def before(self) -> Snapshot:
        """The published state; opened when it is first asked for, because opening takes requests on an object store."""
        return self.open_before()


class Writer:
    """The one process that changes an index. Use `writing_to`.

    `structures` maps the structures that readers are to find after `publish` to the fingerprints of their settings: those that
    are published, which whoever publishes brings up to date, and those that this run has built. `unfinished` maps the others
    that there may be rows of, and `languages` those that a language made to its name; whoever builds one enters it there
    before its first row, and in `structures` after its last.
    """

    def __init__(
        self,
        place: Place,
        database: DBConnection,
        record: HeadRecord,
        head: Head,
        held: StillHeld,
        storage: StorageSettings,
    ) -> None:
        self.place = place
        self.head = head
        self._database = database
        self._record = record
        self._held = held
        self.storage = storage
        self.scratch = Scratch(place, storage.held)
        built = head.pending_structures if head.pending else head.structures
        begun = head.pending_unfinished if head.pending else head.unfinished
        self.structures = {name: made for name, made in built.items() if name in head.structures}
        self.unfinished = begun | {name: made for name, made in built.items() if name not in head.structures}
        self.languages = dict(head.languages)
        self._tables: dict[str, Table] = {}
        self._untidy = {name for name, version in head.pending.items() if version != head.tables.get(name)}
        """Tables that are to be written anew, because more than added rows may be new in them."""
        self._came: set[str] = set()
        self._went: set[str] = set()
        self._all_known = bool(head.tables) and not head.pending
        """Whether these two are all that has happened to the documents since the published state."""
        self._roll_back()

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not."""
        tables = open_tables(self._database, self._versions())
        return Snapshot(self.place, self.head, tables, scratch=self.scratch)

    def change(self) -> Change | None:
        """What has happened to the documents since the published state; None where an earlier writer has not published, where
        nothing was ever published, and where too much has happened for it to be kept.
        """
        if not self._all_known:
            return None
        return Change(frozenset(self._came), frozenset(self._went), self._published)

    def _published(self) -> Snapshot:
        tables = open_tables(self._database, self.head.tables)
        return Snapshot(self.place, self.head, tables, scratch=self.scratch)

    def _follow(self, came: Collection[str] = (), went: Collection[str] = ()) -> None:
        self._came.update(came)
        self._went.update(went)
        if len(self._came) + len(self._went) > MOST_FOLLOWED:
            self._all_known = False
        if not self._all_known:
            self._came, self._went = set(), set()

    def add_documents(self, documents: Sequence[Document]) -> None:
        """Add documents whose ids are not there yet: nothing is looked up, so the cost does not grow with the index."""
        if documents:
            self._append(layout.DOCUMENTS, layout.documents_to_rows(documents))
            self._follow(came={document.id for document in documents})

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those of the same id (their sources may have changed; their text cannot)."""
        if documents and self._merge(layout.DOCUMENTS, layout.documents_to_rows(documents)):
            self._all_known = False  # which of them are new is not said

    def add_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add units of one kind whose ids are not there yet, as `add_documents` does."""
        if units:
            self._append(layout.unit_table(units[0].kind), layout.units_to_rows(units, vectors))

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add or replace units of one kind; `vectors` has one row a unit."""
        if units:
            self._merge(layout.unit_table(units[0].kind), layout.units_to_rows(units, vectors))

    def add_links(self, links: Sequence[Link]) -> None:
        """Add links that are not there yet, as `add_documents` does."""
        if links:
            self._append(layout.LINKS, layout.links_to_rows(links))

    def add_link_rows(self, ids: PackedIds, links: Mapping[str, Directed]) -> None:
        """Add links, by kind, as `add_links` does: where there are very many."""
        import pyarrow as pa

        waiting: list[pa.Table] = []
        for kind, rows in links.items():
            for part in rows.parts(LINKS_AT_ONCE):
                waiting.append(layout.link_rows_to_rows(kind, ids, part))
                if sum(map(len, waiting)) >= LINKS_AT_ONCE:
                    self._append(layout.LINKS, pa.concat_tables(waiting))
                    waiting = []
        if waiting:
            self._append(layout.LINKS, pa.concat_tables(waiting))

    def put_links(self, links: Sequence[Link]) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        if links:
            self._merge(layout.LINKS, layout.links_to_rows(links))

    def add_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add what was found in passages of which nothing is stored yet, as `add_documents` does."""
        if extractions:
            self._append(layout.EXTRACTIONS, layout.extractions_to_rows(extractions))

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace what was found in passages, by their ids."""
        if extractions:
            self._merge(layout.EXTRACTIONS, layout.extractions_to_rows(extractions))

    def add_terms(self, terms: Sequence[layout.Term]) -> None:
        """Add terms that are not there yet, as `add_documents` does."""
        if terms:
            self._append(layout.TERMS, layout.terms_to_rows(terms))

    def put_terms(self, terms: Sequence[layout.Term]) -> None:
        """Add terms, or replace those of the same id."""
        if terms:
            self._merge(layout.TERMS, layout.terms_to_rows(terms))

    def remove_terms(self, ids: Collection[str]) -> None:
        self._delete(layout.TERMS, "id", ids)

    def drop_terms(self) -> None:
        self._drop(layout.TERMS)

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit that has a source in one of them, what was found in it, and its links.

        The links of kinds that are made again from what is left (REMADE) stay, so that groups outlive their members' change.
        """
        gone = frozenset(ids)
        if not gone:
            return
        self._follow(went=gone - self._came)
        self._came -= gone
        snapshot = self.snapshot()
        for kind in snapshot.kinds:
            touched = snapshot.ids_within(kind, gone)
            if kind in REMADE:
                for some in batched(touched, _REMOVED):
                    self._delete(layout.unit_table(kind), "id", some)
            else:
                self.remove_units(kind, touched)
        self._delete(layout.DOCUMENTS, "id", gone)

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of one kind with what was found in them and their links; an id that comes twice costs twice. How many
        ids there were.
        """
        given = 0
        for some in batched(ids, _REMOVED):
            given += len(some)
            self._delete(layout.unit_table(kind), "id", some)
            self._delete(layout.EXTRACTIONS, "id", some)
            for end in ("source", "target"):
                self._delete(layout.LINKS, end, some)
        return given

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
        """Have the next `publish` write a table and its indexes anew, though no row has changed."""
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
                    pending_unfinished=dict(self.unfinished),
                    languages=dict(sorted(self.languages.items())),
                )
            )

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None) -> None:
        """Make everything written so far the state that readers see.

        `spent` is added to what the index has cost; `settled` is for the head, and nothing where it is not known.
        """
        known = self.head.checksums
        checked = known is not None  # by whoever opened the index; not so after a repair that was cut short
        with writing(self.place):
            for name, table in self._tables.items():
                if int(table.version) != self.head.tables.get(name) or name in self._untidy:
                    if name in self._untidy or not checked or not self._extend(name, table):
                        self._rewrite(name, table)
                    tag_head(table, as_well=not self.place.is_local)
            self._untidy.clear()
        self._commit(
            replace(
                self.head,
                structures=dict(sorted(self.structures.items())),
                unfinished=dict(sorted(self.unfinished.items())),
                tables=self._versions(),
                pending={},
                pending_structures={},
                pending_unfinished={},
                languages=dict(sorted(self.languages.items())),
                settled=dict(settled or {}),
                spent=self.head.spent + spent,
                checksums=None,
            )
        )
        self._sweep(known)

    def note_spent(self, spent: Usage) -> None:
        """Add what a run that was stopped has cost to what the index has; nothing where nothing was ever committed."""
        if spent.calls and (self.head.tables or self.head.pending):
            self._commit(replace(self.head, spent=self.head.spent + spent))

    def settle(self, settled: Mapping[str, str]) -> None:
        """Note what is settled where nothing was written."""
        self._commit(replace(self.head, settled=dict(settled)))

    def sweep(self) -> bool:
        """Remove what only earlier states needed; False where a reader may still need it, or work is pending."""
        if self.head.pending:
            return False
        known = self.head.checksums
        is_whole = known is not None and self._versions() == self.head.tables  # else the head is to be mended
        if is_whole and self.place.is_local:
            with readers_absent(self.place.folder) as absent:
                pass
            if not absent:
                return False
        with writing(self.place):
            self._tag_changed()
        # Before anything is removed, the head names the versions that stay, and no file that only earlier states needed.
        self._commit(replace(self.head, tables=self._versions(), checksums=None))
        return self._sweep(known)

    def _sweep(self, known: Mapping[str, Checksum] | None) -> bool:
        with writing(self.place):
            swept = self._sweep_folder() if self.place.is_local else self._sweep_aged()
            self._tag_changed()  # sweeping joins small cells of a vector index: a version of its own with the same rows
            sums = checksums(files_of(self.place), self._versions(), known)
        self._commit(replace(self.head, tables=self._versions(), checksums=sums))
        return swept

    def _tag_changed(self) -> None:
        """Mark the tables' versions that the head does not name, for the commit that is to come."""
        for name, table in self._tables.items():
            if int(table.version) != self.head.tables[name]:
                tag_head(table, as_well=not self.place.is_local)

    def _sweep_folder(self) -> bool:
        with readers_absent(self.place.folder) as absent:
            if absent:
                for table in self._swept_tables():
                    sweep(table)
        return absent

    def _sweep_aged(self) -> bool:
        """Readers are not seen on an object store: what was replaced is kept for a while, and nobody need come back for it."""
        files = files_of(self.place)
        for table in self._swept_tables():
            sweep_stored(table, files, self.storage.keep_hours, every=table.name == layout.HEAD)
        return True

    def _swept_tables(self) -> list[Table]:
        return [*self._tables.values(), *([self._record.table] if self._record.table is not None else [])]

    def _versions(self) -> dict[str, int]:
        return {name: int(table.version) for name, table in self._tables.items()}

    @property
    def changed(self) -> bool:
        """Whether anything has been written that readers do not see yet."""
        return bool(self._untidy) or self._versions() != self.head.tables or self.structures != self.head.structures

    def _extend(self, name: str, table: Table) -> bool:
        """Take rows that were added to a large table into its indexes and few files: what is there stays, so that this costs
        little beside writing it anew. False where that has to be done.

        Keyword scores are afterwards exactly those of an index made anew.
        """
        rows = int(table.count_rows())
        wanted = set(self._indexes_of(name, rows))
        there = _index_stats(table)
        if rows <= layout.SCANNED_UP_TO or there.keys() != wanted:
            return False
        if any(stats.num_unindexed_rows > rows * _ADDED for stats in there.values()):
            return False
        if any((stats.num_indices or 1) >= _MOST_PARTS for stats in there.values()):
            return False
        for _ in range(_EXTENSIONS):  # what one brings into the indexes the next may join with what was there
            self._held()
            before = int(table.version)
            table.optimize(cleanup_older_than=_NEVER)
            if int(table.count_rows()) != rows:
                raise self._overtaken(name)
            if int(table.version) == before:
                return not any(stats.num_unindexed_rows for stats in _index_stats(table).values())
        return False

    def _rewrite(self, name: str, table: Table) -> None:
        """Write the table anew: few large files, no trace of deleted rows, keyword statistics of exactly the rows left, and
        the indexes that a table of its size needs.

        The store's own compaction leaves a deleted row's text in place until a tenth of its file is deleted, and its cost
        does not fall with the size of the change either.
        """
        import pyarrow as pa

        rows = table.search().to_batches(batch_size=layout.rows_at_once(table, _REWRITE_BLOCK))
        with self._changing(table):
            table.add(pa.RecordBatchReader.from_batches(table.schema, layout.small_parts(rows)), mode="overwrite")
        give_back()
        for column, config in self._indexes_of(name, int(table.count_rows())).items():
            with self._changing(table):
                table.create_index(column, config=config, replace=True)
            give_back()

    def _indexes_of(self, name: str, rows: int) -> dict[str, layout.Index]:
        return layout.indexes_of(name, rows, self.storage.exact_up_to, self.head.encoder.dimension)

    def _append(self, name: str, rows: pa.Table) -> None:
        with writing(self.place):
            table = self._table_for(name, rows.schema)
            with self._changing(table):
                table.add(rows)

    def _merge(self, name: str, rows: pa.Table) -> int:
        """How many rows are new."""
        with writing(self.place):
            table = self._table_for(name, rows.schema)
            with self._changing(table):
                merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                with self._untidy_unless(name) as only_added:
                    done = merge.execute(rows)
                    only_added(done.num_updated_rows == 0)
        return int(done.num_inserted_rows)

    def _table_for(self, name: str, schema: pa.Schema) -> Table:
        if name not in self._tables:
            made = self._database.create_table(name, schema=schema)
            if int(made.version) != 1:
                raise self._overtaken(name)
            self._tables[name] = made
        table = self._tables[name]
        later = [field for field in schema if field.name not in table.schema.names]
        if later:  # columns that there were not when the table was made: null in its old rows
            with self._changing(table):
                table.add_columns(later)
            self._untidy.add(name)
        return table

    def _delete(self, name: str, column: str, values: Collection[str], condition: str = "true") -> None:
        """Delete the rows whose `column` has one of `values` and that meet the `condition`."""
        if name not in self._tables or not values:
            return
        ordered = sorted(set(values))
        with writing(self.place):
            for start in range(0, len(ordered), _DELETE_BLOCK):
                wanted = one_of(column, ordered[start : start + _DELETE_BLOCK])
                self._delete_where(name, f"{wanted} AND {condition}")

    def _drop(self, name: str, condition: str = "true") -> None:
        if name in self._tables:
            with writing(self.place):
                self._delete_where(name, condition)

    def _delete_where(self, name: str, condition: str) -> None:
        table = self._tables[name]
        before = int(table.count_rows())
        with self._changing(table), self._untidy_unless(name) as nothing_gone:
            table.delete(condition)
            nothing_gone(int(table.count_rows()) == before)

    @contextmanager
    def _untidy_unless(self, name: str) -> Iterator[Callable[[bool], None]]:
        """A table is to be written anew unless what is done to it is found to be harmless; also where no answer comes."""
        harmless: list[bool] = []
        was, self._untidy = self._untidy, self._untidy | {name}
        yield harmless.append
        if all(harmless):
            self._untidy = was

    def _commit(self, head: Head) -> None:
        self._held()
        with writing(self.place):
            self._record.commit(head)
        self.head = head

    @contextmanager
    def _changing(self, table: Table) -> Iterator[None]:
        """A change of a table, which is one version of it. Where it has moved further, somebody else has written to it, too: a
        writer that was taken for dead and is not. What it wrote is rolled back by whoever opens the index next.
        """
        self._held()
        before = int(table.version)
        yield
        if int(table.version) > before + 1:
            raise self._overtaken(table.name)

    def _overtaken(self, name: str) -> IndexBusy:
        return IndexBusy(
            f"{name} of {self.place} was written to by another process meanwhile. What was finished up to the last checkpoint "
            f"is kept; run the same command again when the other has ended."
        )

    def _roll_back(self) -> None:
        """Undo whatever the last writer did after its last commit."""
        newest = self.head.newest
        with writing(self.place):
            there = set(self._database.list_tables().tables) - {layout.HEAD}
            if missing := sorted(newest.keys() - there):
                raise missing_table(self.place, missing[0])
            if there - newest.keys() and not self.place.is_local:
                self._commit(self.head)  # the last writer may be alive: now it cannot commit what is dropped here
            for name in sorted(there - newest.keys()):
                self._database.drop_table(name)
            for name, version in newest.items():
                table = self._database.open_table(name)
                if int(table.version) != version:
                    table.checkout(version)
                    table.restore()
                    untag_after(table, version)
                self._tables[name] = table


def _index_stats(table: Table) -> dict[str, IndexStatistics]:
    """What is known of a table's indexes, by column."""
    stats = {index.columns[0]: table.index_stats(index.name) for index in table.list_indices()}
    return {column: found for column, found in stats.items() if found is not None}


@contextmanager
def writing_to(
    where: Path | Place, encoder: EncoderIdentity, storage: StorageSettings | None = None
) -> Iterator[Writer]:
    """Write to the index at a place; a folder is made if it is not there, a bucket is not.

    Raises:
        IndexBusy: another process is writing.
        IndexMismatch: the index was made by another encoder, or by a newer hoptrail.
        IndexDamaged: a file is missing or altered.
        StorageError: the disk or the object store refuses.
    """
    place, storage = Place.of(where), storage or StorageSettings()
    bound_memory(storage)
    if place.is_local:
        with writing(place):
            place.folder.mkdir(parents=True, exist_ok=True)
    with writers_lock(place, storage.lease_seconds) as held:
        with reading(place):
            database = connect(place, storage)
            record = HeadRecord(database, place)
            head = record.head()
            if head is not None:
                check_encoder(str(place), head.encoder, encoder)
                verify(place, head.checksums or {})
        yield Writer(place, database, record, head or Head(encoder), held, storage)
