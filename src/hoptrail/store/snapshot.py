"""Reading an index: an unchanging view of one set of table versions. Many readers may hold one beside a writer.

Vectors are mirrored in memory, sorted by unit id, because an exact product over them is faster there than in the store, until
there are too many (`vectors.py`); texts and links stay on disk.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store import layout
from hoptrail.store.columns import ID, LINK, Directed, Origins, PackedIds, id_rows, joined, packed, rows_among
from hoptrail.store.files import Files, files_of
from hoptrail.store.head import FIRST, Head, newest_commit, read_head
from hoptrail.store.integrity import verify
from hoptrail.store.lock import join_readers, reads_alone, writers_lock
from hoptrail.store.place import Place
from hoptrail.store.scratch import Scratch
from hoptrail.store.tables import StorageSettings, between, connect, one_of, open_tables, reading
from hoptrail.store.vectors import Found, VectorMirror, has_vector_index, nearest_by_index
from hoptrail.types import Document, Kind, Link, Span, Unit, bound_of_ids

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.query import MatchQuery
    from lancedb.table import Table

T = TypeVar("T")

_ID_BLOCK = 4096
"""Values that are looked up at a time: with 500, each look-up of 4,000 costs twice as much."""

_ROWS, _PAIRS = 1024, 65_536
"""Rows that are read at a time: whole ones, with texts and vectors, and those of which only the ends of links are wanted."""

_TEXT = ["id", *layout.TEXT_COLUMNS]
"""Columns that a unit's text takes."""

_SHARE_READ_WHOLE = 16
_LEAST_READ_WHOLE = 500
"""Where more than one row in so many is asked for by a value, and at least so many are, the table is read once instead."""

_SHARE_BETWEEN = 4
"""Of very many rows, fewer than one in so many are sought between the first and the last of their ids."""

_MORE_EQUALS = 16
"""How many times as many matches are asked for where the last has the score of one that is wanted: the best ten of 20,000 equal
passages take 34 CPU ms so, 44 with eight times as many, and 75 with twice.
"""

_LINK_BATCHES = 512
"""Batches of links that become rows at a time at least: half a million links, each some 100 bytes until then."""


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its text."""

    id: str
    title: str
    sources: tuple[str, ...]


class Snapshot:
    """One committed state of an index (or, inside a writer, the state it has reached)."""

    def __init__(
        self,
        place: Place,
        head: Head,
        tables: Mapping[str, Table],
        commit: str = "",
        files: Files | None = None,
        scratch: Scratch | None = None,
        reader: int | None = None,
    ) -> None:
        """A writer's has `scratch` with files for what is too much to be held; a reader writes none. `reader` is what
        `join_readers` gave; it is closed with the snapshot.
        """
        self.place = place
        self.head = head
        self._tables = tables
        self._commit = commit
        self.scratch = scratch or Scratch(place, sys.maxsize)
        if files is not None:
            self._files = files
        self._mirrors: dict[Kind, VectorMirror] = {}
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()
        self._reader = reader

    @staticmethod
    def exists(where: Path | Place) -> bool:
        """Whether there is an index at this place, of whatever state; a first commit that was cut short has made none.

        Raises:
            IndexDamaged: its only head cannot be read.
            StorageError: the object store cannot be reached, or refuses.
        """
        place = Place.of(where)
        commit = newest_commit(files_of(place))
        if not commit.endswith(FIRST):
            return bool(commit)
        with reading(place):
            return read_head(connect(place), place) is not None

    @classmethod
    def open(cls, where: Path | Place, storage: StorageSettings | None = None) -> Snapshot:
        """The last committed state of the index at a place.

        Raises:
            IndexUnavailable: there is none.
            IndexDamaged: a file is missing or altered.
            IndexMismatch: written by a newer hoptrail.
            StorageError: the object store cannot be reached, or refuses.
        """
        place = Place.of(where)
        files = files_of(place)
        commit = newest_commit(files)
        while True:
            try:
                return cls._open(place, files, commit, storage)
            except IndexDamaged:
                # In an object store a later commit may have swept meanwhile what only earlier states needed.
                opened, commit = commit, newest_commit(files)
                if place.is_local or opened == commit:
                    raise

    @classmethod
    def _open(cls, place: Place, files: Files, commit: str, storage: StorageSettings | None) -> Snapshot:
        absent = f"there is no index at {place}. Make one with `hoptrail index SOURCE... --index {place}`."
        if not commit:
            raise IndexUnavailable(absent)
        descriptor = join_readers(place)
        try:
            with reading(place):
                database = connect(place, storage)
                head = read_head(database, place)
                if head is None:
                    raise IndexUnavailable(absent)
                verify(place, head.checksums or {})
                snapshot = cls(place, head, open_tables(database, head.tables), commit, files, reader=descriptor)
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
        if descriptor is not None:
            weakref.finalize(snapshot, os.close, descriptor)
        return snapshot

    @cached_property
    def _files(self) -> Files:
        """Held, because whoever makes them anew for an object store may have to get credentials first."""
        return files_of(self.place)

    def is_current(self) -> bool:
        """Whether nothing has been published since this snapshot was opened; what a writer keeps for itself is no news."""
        commit = newest_commit(self._files)
        if commit == self._commit:
            return bool(commit)
        if not commit:
            return False
        with reading(self.place):
            head = read_head(connect(self.place), self.place)
        if head is None or head.published != self.head.published:
            return False
        self._commit = commit
        return True

    def is_read_alone(self) -> bool:
        """Whether no other snapshot of the index is open, here or in another process, as far as that can be seen.

        Raises:
            IndexBusy: another process is writing.
            StorageError: the folder refuses.
        """
        if self._reader is None:
            return True
        with writers_lock(self.place, term=0):  # there are readers to be seen in folders only, whose lock has no term
            return reads_alone(self._reader)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in Kind if layout.unit_table(kind) in self._tables)

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every document without its text, by rising id."""
        return tuple(sorted(self._entries(), key=lambda entry: entry.id))

    def ids_and_sources(self) -> Iterator[tuple[list[str], list[str]]]:
        """Ids of all documents, and all of their sources, as a stream in no particular order, those of some at a time."""
        import pyarrow.compute as pc

        for batch in self._scan(layout.DOCUMENTS, ["id", "sources"]):
            yield batch.column("id").to_pylist(), pc.list_flatten(batch.column("sources")).to_pylist()

    def each_entry(self) -> Iterator[DocumentEntry]:
        """Every document without its text, as a stream in no particular order."""
        return self._entries()

    def entries_of(self, ids: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of some documents, of those that there are, looked up."""
        return self._entries(ids)

    def entries_at(self, sources: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of the documents that stand at one of some sources; reads the sources of all."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sources, pa.string())
        return self._entries(where=lambda found: pc.is_in(found, value_set=wanted))

    def entries_under(self, start: str) -> Iterator[DocumentEntry]:
        """Those of the documents with a source that starts so; reads the sources of all."""
        import pyarrow.compute as pc

        return self._entries(where=lambda found: pc.starts_with(found, start))

    def _entries(
        self, ids: Collection[str] | None = None, where: Callable[[pa.Array], pa.Array] | None = None
    ) -> Iterator[DocumentEntry]:
        import pyarrow.compute as pc

        for batch in self._scan(layout.DOCUMENTS, ["id", "title", "sources"], ids):
            kept = batch
            if where is not None:
                sources = batch.column("sources")
                kept = batch.take(pc.unique(pc.list_parent_indices(sources).filter(where(pc.list_flatten(sources)))))
            for row in kept.to_pylist():
                yield DocumentEntry(row["id"], row["title"], tuple(row["sources"]))

    def titles_of(self, documents: Collection[str]) -> dict[str, str]:
        """The titles of some documents, of those that there are, looked up."""
        rows = self._scan(layout.DOCUMENTS, ["id", "title"], documents)
        return {row["id"]: row["title"] for batch in rows for row in batch.to_pylist()}

    def documents_titled(self, titles: Collection[str]) -> Iterator[tuple[str, str]]:
        """Title and id of the documents with one of these titles, letter by letter, in no particular order."""
        for batch in self._scan(layout.DOCUMENTS, ["title", "id"], titles, by="title"):
            yield from zip(batch.column("title").to_pylist(), batch.column("id").to_pylist(), strict=True)

    def titled(
        self, kind: Kind, titles: Collection[str], documents: Collection[str] | None = None
    ) -> Iterator[tuple[str, str, str]]:
        """Title, document and id of the units of a kind with one of these titles, letter by letter, in no particular order.

        The document is that of the first source; `documents` limits it to a few of them.
        """
        also = None if documents is None else one_of("sources[1]['document']", documents)
        for batch in self._scan(layout.unit_table(kind), ["title", "sources", "id"], titles, by="title", also=also):
            for row in batch.to_pylist():
                yield row["title"], row["sources"][0]["document"], row["id"]

    def document_ids(self) -> Iterator[str]:
        """Ids of all documents as a stream, in no particular order."""
        return self._ids(layout.DOCUMENTS)

    def count_by_document(self, kind: Kind) -> Counter[str]:
        """How many units of a kind have their first source in each document that has any."""
        import pyarrow.compute as pc

        counts: Counter[str] = Counter()
        for batch in self._scan(layout.unit_table(kind), ["sources"]):
            counts.update(pc.struct_field(pc.list_element(batch.column("sources"), 0), "document").to_pylist())
        return counts

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Documents as a stream, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.DOCUMENTS, None, ids):
            yield from layout.documents_from_rows(batch)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.unit_table(kind), layout.UNIT_COLUMNS, ids):
            yield from layout.units_from_rows(batch, kind)

    def origins_among(self, kind: Kind, ids: NDArray[np.bytes_]) -> Iterator[Origins]:
        """What the units of a kind with one of very many ids (rising) are made from, as a stream in no particular order; reads
        all units whose ids lie between theirs.
        """
        import pyarrow as pa

        if not len(ids):
            return
        few = len(ids) < self.count(kind) // _SHARE_BETWEEN
        bounds = between("id", ids[0].decode(), ids[-1].decode()) if few else None
        for batch in self._scan(layout.unit_table(kind), layout.UNIT_COLUMNS, also=bounds):
            here = rows_among(layout.ids_from_column(batch.column("id")), ids) >= 0
            yield layout.origins_from_rows(batch.filter(pa.array(here)))

    def first_sources(self, kind: Kind) -> Iterator[tuple[str, Span]]:
        """Ids of all units of a kind with their first sources as a stream, in no particular order, without their texts."""
        for batch in self._scan(layout.unit_table(kind), ["id", "sources"]):
            for row in batch.to_pylist():
                source = row["sources"][0]
                yield row["id"], Span(source["document"], source["start"], source["end"])

    def ids_within(self, kind: Kind, documents: Collection[str]) -> Iterator[str]:
        """Ids of the units of a kind with a source in one of some documents; reads the sources of all."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(documents, pa.string())
        for batch in self._scan(layout.unit_table(kind), ["id", "sources"]) if documents else ():
            sources = batch.column("sources")
            inside = pc.is_in(pc.struct_field(pc.list_flatten(sources), "document"), value_set=wanted)
            yield from batch.column("id").take(pc.unique(pc.list_parent_indices(sources).filter(inside))).to_pylist()

    def units_within(self, kind: Kind, documents: Collection[str]) -> Iterator[Unit]:
        """The units of `ids_within`."""
        return self.units(kind, list(self.ids_within(kind, documents)))

    def texts_like(self, kind: Kind, patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Ids and texts of the units of a kind in whose ASCII text one of some regular expressions (RE2) is found, whatever the
        case, and of all with other letters; reads the texts of all, at less than a microsecond each and pattern.
        """
        import pyarrow.compute as pc

        for batch in self._scan(layout.unit_table(kind), _TEXT):
            texts = batch.column("searchable")
            likely = pc.invert(pc.string_is_ascii(texts))
            for pattern in patterns:
                likely = pc.or_(likely, pc.match_substring_regex(texts, pattern=pattern, ignore_case=True))
            found = batch.filter(likely)
            yield from zip(found.column("id").to_pylist(), layout.texts_from_rows(found), strict=True)

    def texts(self, kind: Kind, ids: Collection[str]) -> Iterator[tuple[str, str]]:
        """Ids and texts of some units, of those that there are, looked up without their sources."""
        for batch in self._scan(layout.unit_table(kind), _TEXT, ids):
            yield from zip(batch.column("id").to_pylist(), layout.texts_from_rows(batch), strict=True)

    def texts_and_vectors(self, kind: Kind, ids: Collection[str]) -> Iterator[tuple[list[str], list[str], FloatMatrix]]:
        """The same with vectors: of some at a time the ids, the texts, and a matrix of shape (len(ids), dimension)."""
        for batch in self._scan(layout.unit_table(kind), [*_TEXT, "vector"], ids):
            yield batch.column("id").to_pylist(), layout.texts_from_rows(batch), layout.vectors_from_rows(batch)

    def titles(self, kind: Kind) -> Iterator[tuple[str, str]]:
        """Ids and titles of all units of a kind as a stream, in no particular order, without their texts."""
        for batch in self._scan(layout.unit_table(kind), ["id", "title"]):
            yield from zip(batch.column("id").to_pylist(), batch.column("title").to_pylist(), strict=True)

    def unit_ids(self, kind: Kind) -> Iterator[str]:
        """Ids of all units of a kind as a stream, in no particular order, without reading the units."""
        return self._ids(layout.unit_table(kind))

    def ids_in_order(self, kind: Kind) -> PackedIds:
        """Ids of all units of a kind, rising."""
        batches = self._scan(layout.unit_table(kind), ["id"])
        rows = (layout.ids_from_column(batch.column("id")) for batch in batches)
        return PackedIds(self.scratch.in_order(ID, rows))

    def stored_ids(self, kind: Kind, ids: Collection[str]) -> set[str]:
        """Those of some ids under which a unit of a kind is stored, looked up."""
        return {
            id_ for batch in self._scan(layout.unit_table(kind), ["id"], ids) for id_ in batch.column("id").to_pylist()
        }

    def sample(self, kind: Kind, count: int) -> Iterator[Unit]:
        """About so many units of a kind (all, where there are fewer), as good as drawn by lot and the same every time: those of
        the lowest ids, which are digests.
        """
        first = next(self.unit_ids(kind), "")
        lowest = f"id < '{bound_of_ids(first[:1], count / max(1, count, self.count(kind)))}'"
        for batch in self._scan(layout.unit_table(kind), layout.UNIT_COLUMNS, also=lowest):
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

    def links_in_order(self, kind: str) -> NDArray[np.void]:
        """Links of one kind as rows of `LINK`, by rising source, then target."""

        def portions() -> Iterator[NDArray[np.void]]:
            for batch in self._scan(layout.LINKS, ["source", "target", "weight"], [kind], by="kind"):
                rows = np.zeros(batch.num_rows, LINK)
                for end in ("source", "target"):
                    rows[end] = layout.ids_from_column(batch.column(end))
                rows["weight"] = batch.column("weight").to_numpy()
                yield rows

        return self.scratch.in_order(LINK, portions())

    def sources_of_links(self, kinds: Collection[str]) -> Iterator[str]:
        """Ids of all units that links of some kinds lead from, as a stream in no particular order, some of them repeatedly."""
        import pyarrow.compute as pc

        for batch in self._scan(layout.LINKS, ["source"], kinds, by="kind"):
            yield from pc.unique(batch.column("source")).to_pylist()

    def links_from(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead from units of these ids, in no particular order."""
        return self._links_at("source", ids, kind)

    def links_to(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead to units of these ids, in no particular order."""
        return self._links_at("target", ids, kind)

    def linked(
        self, end: Literal["source", "target"], ids: Collection[str], kind: str, below: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Source and target of the links of one kind with one end among `ids`, in no particular order: where there are many.

        With `below` only links whose other end has a lower id that begins with the same letter. (With lower ones of all letters
        the store would go through half of its index.)
        """
        other = "target" if end == "source" else "source"
        also = one_of("kind", [kind]) + (f" AND {other} >= '{below[:1]}' AND {other} < '{below}'" if below else "")
        for batch in self._scan(layout.LINKS, ["source", "target"], ids, by=end, also=also, rows=_PAIRS):
            yield from zip(batch.column("source").to_pylist(), batch.column("target").to_pylist(), strict=True)

    def _links_at(self, end: str, ids: Collection[str], kind: str) -> Iterator[Link]:
        for batch in self._scan(layout.LINKS, None, ids, by=end, also=one_of("kind", [kind])):
            yield from layout.links_from_rows(batch)

    def count_links(self) -> Counter[str]:
        """How many links there are of each kind."""
        batches = self._scan(layout.LINKS, ["kind"])
        return Counter(kind for batch in batches for kind in batch.column("kind").to_pylist())

    def count_links_of(self, kind: str) -> int:
        """How many links there are of one kind, counted by the store."""
        table = self._tables.get(layout.LINKS)
        if table is None:
            return 0
        with reading(self.place):
            return int(table.count_rows(one_of("kind", [kind])))

    def link_rows(self, kind: str, ids: Sequence[str]) -> Directed:
        """Links of one kind with both ends among `ids`, in no particular order: for graphs too large for records."""
        import pyarrow as pa

        known = pa.array(ids, pa.string())
        batches = self._scan(layout.LINKS, ["source", "target", "kind", "weight"], [kind], by="kind")
        parts = []
        many = max(_LINK_BATCHES, len(ids) // 2048)  # what is known is hashed anew for each
        while some := list(islice(batches, many)):
            parts.append(_link_rows(pa.Table.from_batches(some), known))
        return joined(parts)

    def link_portions(self, kind: str, ids: PackedIds) -> Iterator[Directed]:
        """As `link_rows`, of more links than memory should hold, as a stream; `ids` rise."""
        import pyarrow as pa

        known = packed(ids)
        batches = self._scan(layout.LINKS, ["source", "target", "weight"], [kind], by="kind")
        while some := list(islice(batches, _LINK_BATCHES)):
            table = pa.Table.from_batches(some)
            ends = [rows_among(layout.ids_from_column(table[end]), known) for end in ("source", "target")]
            whole = (ends[0] >= 0) & (ends[1] >= 0)
            yield Directed(ends[0][whole], ends[1][whole], table["weight"].to_numpy()[whole])

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with what was found in them, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.EXTRACTIONS, None, ids):
            yield from layout.extractions_from_rows(batch)

    def entities(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Ids of passages with the entities found in them, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.EXTRACTIONS, ["id", "entities"], ids):
            for row in batch.to_pylist():
                yield row["id"], tuple(row["entities"])

    def extracted(self) -> Iterator[str]:
        """Ids of the passages whose entities and facts are stored, as a stream."""
        return self._ids(layout.EXTRACTIONS)

    def terms(self, ids: Collection[str] | None = None) -> Iterator[layout.Term]:
        """What is known of names and words, all or those of `ids`, in no particular order."""
        for batch in self._scan(layout.TERMS, None, ids):
            yield from layout.terms_from_rows(batch)

    @cached_property
    def has_terms(self) -> bool:
        """Whether the corpus is so large that its names and words are counted in the store."""
        table = self._tables.get(layout.TERMS)
        return table is not None and int(table.count_rows()) > 0

    def vectors_of(self, kind: Kind, ids: Collection[str]) -> VectorMirror:
        """The vectors of some units, of those that there are; looked up unless all are held already."""
        if kind in self._mirrors:
            return self._mirrors[kind].of(ids)
        blocks = list(self.vector_blocks(kind, set(ids)))
        found = [id_ for block in blocks for id_ in block.ids]
        order = np.argsort(np.array(found, dtype=np.str_))
        matrix = np.concatenate([np.zeros((0, self.head.encoder.dimension), np.float32), *(b.matrix for b in blocks)])
        return VectorMirror(tuple(found[row] for row in order), matrix[order])

    def vectors(self, kind: Kind) -> VectorMirror:
        """All vectors of a kind, read once."""
        if kind not in self._mirrors:
            with self._making:
                if kind not in self._mirrors:
                    self._mirrors[kind] = self._read_all_vectors(kind)
        return self._mirrors[kind]

    def vectors_among(self, kind: Kind, ids: Collection[str]) -> VectorMirror:
        """The vectors of some units, of those that there are; looked up where all are too many to be held."""
        return self.vectors_of(kind, ids) if self.searches_vectors(kind) else self.vectors(kind).of(ids)

    def searches_vectors(self, kind: Kind) -> bool:
        """Whether the vectors of a kind are so many that the store's index finds the nearest, nearly all of them."""
        table = self._tables.get(layout.unit_table(kind))
        return table is not None and self.derived((kind, "indexed"), lambda: has_vector_index(table))

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """Of each row of `vectors` (unit length) the ids of the `limit` nearest units of a kind, with their cosines.

        Exact, unless `searches_vectors` says otherwise. `among` limits it to units of these ids, and is always exact.
        """
        if among is not None:
            return self.vectors_among(kind, among).nearest(vectors, limit)
        limit = max(0, min(limit, self.count(kind)))
        if not self.searches_vectors(kind):
            return self.vectors(kind).nearest(vectors, limit)
        if not limit:
            return [[] for _ in vectors]
        with reading(self.place):
            return nearest_by_index(self._tables[layout.unit_table(kind)], vectors, limit)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this state, made once and kept as long as the snapshot is; threads wait for one another."""
        if key not in self._derived:
            with self._making:  # re-entrant, because what is made may be made of what is derived
                if key not in self._derived:
                    self._derived[key] = make()
        return cast("T", self._derived[key])

    def search_keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 score for `words`, by falling score, then rising id.

        The words are looked up as they are: no operator, quote or wildcard has a meaning. Statistics are those of all
        passages; units of other kinds have no keyword index. The store breaks ties as it likes, so somewhat more is read than
        is returned, and where the last of that is as good as what is returned, more and more.
        """
        import pyarrow.compute as pc

        table = self._tables.get(layout.unit_table(Kind.PASSAGE))
        count = self.count(Kind.PASSAGE)
        limit = min(limit, count)  # the store breaks on limits far above what there is
        if table is None or limit < 1:
            return []
        asked = 2 * limit + 16
        with reading(self.place):
            rows = _best_matches(table, words, asked, layout.UNIT_COLUMNS)
            best = _first(rows, limit)
            while rows.num_rows == asked < count and pc.min(rows["_score"]) == best["_score"][-1]:
                asked = min(_MORE_EQUALS * asked, count)
                rows = _best_matches(table, words, asked, ["id"])
                best = _first(rows, limit)
        ids = best["id"].to_pylist()
        whole = set(layout.UNIT_COLUMNS) <= set(best.column_names)
        found = layout.units_from_rows(best, Kind.PASSAGE) if whole else self.units(Kind.PASSAGE, ids)
        units = {unit.id: unit for unit in found}
        return [(units[id_], score) for id_, score in zip(ids, best["_score"].to_pylist(), strict=True)]

    def keyword_scores(self, words: str, ids: Collection[str]) -> dict[str, float]:
        """What `search_keywords` gives some passages as score; one that shares no word has none."""
        table = self._tables.get(layout.unit_table(Kind.PASSAGE))
        if table is None:
            return {}
        scores: dict[str, float] = {}
        with reading(self.place):
            for wanted in filter(None, _blocks(ids)):
                query = (
                    table.search(_matching(words)).where(one_of("id", wanted), prefilter=True).select(["id", "_score"])
                )
                rows = query.limit(len(wanted)).to_arrow()
                scores |= zip(rows.column("id").to_pylist(), rows.column("_score").to_pylist(), strict=True)
        return scores

    def vector_blocks(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[VectorMirror]:
        """All vectors of a kind, or those of `ids`, as a stream in no order: for a walk over more than memory holds."""
        for batch in self._scan(layout.unit_table(kind), ["id", "vector"], ids):
            if batch.num_rows:  # else no shape can be told
                yield VectorMirror(tuple(batch.column("id").to_pylist()), layout.vectors_from_rows(batch))

    def _read_all_vectors(self, kind: Kind) -> VectorMirror:
        ids = tuple(sorted(self.unit_ids(kind)))
        return VectorMirror(ids, self.vectors_in_order([kind], ids))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units of some kinds, whose ids rise: shape (len(ids), dimension). Each is read to its row, so that they
        are held once; in a file where a writer's are too many to be held.

        Raises:
            KeyError: some are not stored.
        """
        known = packed(ids)
        found = 0

        def portions() -> Iterator[tuple[NDArray[np.int64], FloatMatrix]]:
            nonlocal found
            for block in (block for kind in kinds for block in self.vector_blocks(kind)) if ids else ():
                names = id_rows(block.ids)
                rows = np.minimum(np.searchsorted(known, names), len(known) - 1)
                here = known[rows] == names
                found += int(here.sum())
                yield rows[here], block.matrix[here]

        matrix = self.scratch.arranged(len(ids), self.head.encoder.dimension, np.float32, portions())
        if found < len(ids):
            raise KeyError(f"{len(ids) - found} of {len(ids)} units have no vector")
        return matrix

    def _ids(self, name: str) -> Iterator[str]:
        for batch in self._scan(name, ["id"]):
            yield from batch.column("id").to_pylist()

    def _scan(
        self,
        name: str,
        columns: list[str] | None,
        values: Collection[str] | None = None,
        by: str = "id",
        also: str | None = None,
        rows: int = _ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """A table, so many `rows` at a time: all, or where column `by` has one of `values`, that meet the condition `also`."""
        table = self._tables.get(name)
        if table is None:
            return
        with reading(self.place):
            rows = layout.rows_at_once(table, rows, columns)
            if values is not None and len(values) > max(
                _LEAST_READ_WHOLE, int(table.count_rows()) // _SHARE_READ_WHOLE
            ):
                yield from _read_whole(table, columns, frozenset(values), by, also, rows)
                return
            for wanted in _blocks(values):
                query = table.search()
                if columns is not None:
                    query = query.select(columns)
                conditions = [*([one_of(by, wanted)] if wanted is not None else []), *([also] if also else [])]
                if conditions:
                    query = query.where(" AND ".join(conditions))
                yield from query.to_batches(batch_size=rows)


def _link_rows(links: pa.Table, known: pa.Array) -> Directed:
    import pyarrow.compute as pc

    ends = [pc.fill_null(pc.index_in(links[end], value_set=known), -1).to_numpy() for end in ("source", "target")]
    whole = (ends[0] >= 0) & (ends[1] >= 0)
    return Directed(ends[0][whole], ends[1][whole], links["weight"].to_numpy()[whole])


def _best_matches(table: Table, words: str, limit: int, columns: list[str]) -> pa.Table:
    """The rows that match best, and their scores; of equals whichever the store comes upon."""
    return table.search(_matching(words)).select([*columns, "_score"]).limit(limit).to_arrow()


def _first(rows: pa.Table, limit: int) -> pa.Table:
    """Those of the highest scores, by falling score, then rising id."""
    import pyarrow.compute as pc

    keys = [("_score", "descending"), ("id", "ascending")]
    return rows.take(pc.select_k_unstable(rows, k=limit, sort_keys=keys))


def _matching(words: str) -> MatchQuery:
    """The words as they are, in what is searched of a unit."""
    from lancedb.query import MatchQuery

    # Its other arguments have defaults, which its own types do not tell.
    return MatchQuery(words, "searchable")  # type: ignore[call-arg]


def _read_whole(
    table: Table, columns: list[str] | None, values: frozenset[str], by: str, also: str | None, rows: int
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    query = table.search() if also is None else table.search().where(also)
    if columns is not None:
        query = query.select(list(dict.fromkeys([*columns, by])))
    for batch in query.to_batches(batch_size=rows):
        kept = batch.filter(pa.array([value in values for value in batch.column(by).to_pylist()], pa.bool_()))
        yield kept if columns is None else kept.select(columns)


def _blocks(ids: Collection[str] | None) -> Iterator[list[str] | None]:
    if ids is None:
        yield None
        return
    ordered = sorted(ids)
    for start in range(0, len(ordered), _ID_BLOCK):
        yield ordered[start : start + _ID_BLOCK]
