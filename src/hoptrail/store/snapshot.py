"""Reading an index by ids: an unchanging view of one commit, and what is made of it (graphs, indexes in memory).

A snapshot keeps later writers from clearing what they remove; parked, it does not, and is of no use until it is resumed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TypeVar, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus import snapshot as corpus
from hoptrail.corpus.database import Database, absent
from hoptrail.corpus.links import Edges
from hoptrail.corpus.numbers import Numbers, numbers_of, rows_of
from hoptrail.corpus.texts import DocumentEntry
from hoptrail.errors import IndexUnavailable
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.store.columns import LINK, SPAN, Directed, Origins, PackedIds, id_bytes, id_rows
from hoptrail.store.head import Head
from hoptrail.store.place import index_folder
from hoptrail.store.scratch import Scratch
from hoptrail.store.vectors import Found, VectorMirror
from hoptrail.types import Document, Kind, Link, Span, Unit

__all__ = ["DocumentEntry", "Snapshot"]

T = TypeVar("T")

NOTHING = EncoderIdentity("", "", 0)
"""Of an index without vectors."""

_ROWS = 1024
"""Units that are records at a time in a stream."""


class Snapshot:
    """One committed state of an index (or, inside a writer, the state it has reached)."""

    def __init__(self, folder: Path, view: corpus.Snapshot, head: Head | None = None) -> None:
        self.folder = folder
        self.head = head or Head.of(view.state, NOTHING)
        self.scratch = Scratch()
        self.commit = view.commit
        """How many commits came before this state, and it."""
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()
        self._view = view
        self._texts = view.texts
        self._database: Database = view.database

    @staticmethod
    def exists(where: Path) -> bool:
        """Whether something was ever committed to the index in a folder."""
        try:
            return corpus.newest_commit(index_folder(where)) > 0
        except IndexUnavailable:
            return False

    @classmethod
    def open(cls, where: Path) -> Snapshot:
        """The last commit of the index in a folder.

        Raises:
            IndexUnavailable: there is none.
            IndexDamaged: a file is missing or altered.
            IndexMismatch: written by another version of hoptrail.
            StorageError: the disk refuses.
        """
        folder = index_folder(where)
        view = corpus.Snapshot.open(folder)
        if not view.commit:
            view.close()
            raise absent(folder)
        return cls(folder, view)

    def park(self) -> None:
        """Let writers clear what they remove; nothing may be asked until `resume`."""
        self._database.end_reading()

    def resume(self) -> bool:
        """Go on after `park`; False where another commit has come since, after which it is closed."""
        if self._database.resume_reading() and self._view.commit == self.commit:
            return True
        self.close()
        return False

    def is_current(self) -> bool:
        """Whether no other commit has come since this one."""
        try:
            return corpus.newest_commit(self.folder) == self.commit
        except IndexUnavailable:
            return False

    def close(self) -> None:
        """Let go of the commit; it is of no use afterwards."""
        self._view.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def view(self) -> corpus.Snapshot:
        """The query objects of this state, which go by numbers."""
        return self._view

    @property
    def kinds(self) -> tuple[Kind, ...]:
        found = self._texts.count()
        return tuple(kind for kind in Kind if found[kind])

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every document without its text, by rising id."""
        return tuple(self._view.documents.entries())

    def entries_of(self, ids: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of some documents, of those that there are, looked up."""
        return iter(self._view.documents.entries(ids))

    def entries_at(self, sources: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of the documents that stand at one of some sources."""
        return iter(self._view.documents.at(sources))

    def entries_under(self, start: str) -> Iterator[DocumentEntry]:
        """Those of the documents with a source that starts so."""
        return iter(self._view.documents.under(start))

    def documents_titled(self, titles: Collection[str]) -> Iterator[tuple[str, str]]:
        """Title and id of the documents with one of these titles, letter by letter."""
        return ((entry.title, entry.id) for entry in self._view.documents.titled(titles))

    def titled(
        self, kind: Kind, titles: Collection[str], documents: Collection[str] | None = None
    ) -> Iterator[tuple[str, str, str]]:
        """Title, document and id of the units of a kind with one of these titles, letter by letter.

        The document is that of the first source; `documents` limits it to a few of them.
        """
        return iter(self._texts.titled(kind, titles, None if documents is None else frozenset(documents)))

    def document_ids(self) -> Iterator[str]:
        """Ids of all documents."""
        return (id_ for (id_,) in self._database.rows("SELECT id FROM documents ORDER BY number"))

    def count_by_document(self, kind: Kind) -> Counter[str]:
        """How many units of a kind have their first source in each document that has any."""
        numbers, counts = np.unique(self._texts.origins(kind).documents, return_counts=True)
        return Counter(dict(zip(self._view.documents.ids(numbers), counts.tolist(), strict=True)))

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Documents as a stream, all or those of `ids`."""
        return self._view.documents.read(ids)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by rising number."""
        numbers = self._numbers(kind, ids)
        for start in range(0, len(numbers), _ROWS):
            yield from self._texts.units(numbers[start : start + _ROWS])

    def origins_among(self, kind: Kind, ids: NDArray[np.bytes_]) -> Iterator[Origins]:
        """What the units of a kind with one of many ids are made from, as a stream."""
        for units in batched(self.units(kind, [id_.decode() for id_ in ids.tolist()]), _ROWS):
            spans = [(id_bytes(span.document), span.start, span.end) for unit in units for span in unit.sources]
            yield Origins(
                id_rows(unit.id for unit in units),
                np.array([len(unit.text.split()) for unit in units], np.uint32),
                np.array([len(unit.sources) for unit in units], np.int64),
                np.array(spans, SPAN),
            )

    def first_sources(self, kind: Kind) -> Iterator[tuple[str, Span]]:
        """Ids of all units of a kind with their first sources, without their texts."""
        origins = self._texts.origins(kind)
        documents = self._document_ids(origins.documents)
        ids = self._texts.ids(origins.numbers)
        columns = (origins.documents.tolist(), origins.starts.tolist(), origins.ends.tolist())
        for id_, document, start, end in zip(ids, *columns, strict=True):
            yield id_, Span(documents[document], start, end)

    def ids_within(self, kind: Kind, documents: Collection[str]) -> Iterator[str]:
        """Ids of the units of a kind with a source in one of some documents."""
        return iter(self._texts.ids(self._of_kind(kind, self._texts.within(documents))))

    def units_within(self, kind: Kind, documents: Collection[str]) -> Iterator[Unit]:
        """The units of `ids_within`."""
        return iter(self._texts.units(self._of_kind(kind, self._texts.within(documents))))

    def texts_like(self, kind: Kind, patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Ids and texts of the units of a kind in whose text one of some regular expressions is found, whatever the case, and
        of all with other letters than ASCII; reads the texts of all.
        """
        compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
        for unit in self.units(kind):
            text = unit.searchable
            if not text.isascii() or any(pattern.search(text) for pattern in compiled):
                yield unit.id, unit.text

    def texts(self, kind: Kind, ids: Collection[str]) -> Iterator[tuple[str, str]]:
        """Ids and texts of some units, of those that there are."""
        return ((unit.id, unit.text) for unit in self.units(kind, ids))

    def titles(self, kind: Kind) -> Iterator[tuple[str, str]]:
        """Ids and titles of all units of a kind, without their texts."""
        return iter(self._columns("u.id, u.title", self._texts.origins(kind).numbers))

    def unit_ids(self, kind: Kind) -> Iterator[str]:
        """Ids of all units of a kind, without reading the units."""
        return iter(self._texts.ids(self._texts.origins(kind).numbers))

    def ids_in_order(self, kind: Kind) -> PackedIds:
        """Ids of all units of a kind, rising."""
        return PackedIds(np.sort(id_rows(self.unit_ids(kind))))

    def stored_ids(self, kind: Kind, ids: Collection[str]) -> set[str]:
        """Those of some ids under which a unit of a kind is stored, looked up."""
        return set(self._texts.ids(self._numbers(kind, ids)))

    def count(self, kind: Kind) -> int:
        return self._texts.count()[kind]

    def count_documents(self) -> int:
        return len(self._view.documents)

    def links(self, kind: str | None = None) -> Iterator[Link]:
        """Links, all or those of one kind."""
        for one in self._view.links.count() if kind is None else (kind,):
            yield from self._links(one, self._view.links.all(one))

    def links_in_order(self, kind: str) -> NDArray[np.void]:
        """Links of one kind as rows of `LINK`, by rising source, then target."""
        edges = self._view.links.all(kind)
        rows = np.zeros(len(edges), LINK)
        ids = self._id_rows(edges)
        rows["source"], rows["target"], rows["weight"] = *ids, edges.weights
        return rows[np.lexsort((rows["target"], rows["source"]))]

    def sources_of_links(self, kinds: Collection[str]) -> Iterator[str]:
        """Ids of all units that links of some kinds lead from."""
        for kind in kinds:
            yield from self._texts.names(np.unique(self._view.links.all(kind).sources)).values()

    def links_from(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead from units of these ids."""
        return self._links(kind, self._view.links.leaving(kind, self._linkable(ids)))

    def links_to(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead to units of these ids."""
        return self._links(kind, self._view.links.entering(kind, self._linkable(ids)))

    def count_links(self) -> Counter[str]:
        """How many links there are of each kind."""
        return Counter(self._view.links.count())

    def count_links_of(self, kind: str) -> int:
        """How many links there are of one kind."""
        return self._view.links.count().get(kind, 0)

    def link_rows(self, kind: str, ids: Sequence[str]) -> Directed:
        """Links of one kind with both ends among `ids`, as rows of these."""
        numbers = self._texts.numbers(list(ids), reserved=True)
        known = np.flatnonzero(numbers)
        order = known[np.argsort(numbers[known], kind="stable")]
        return _between(self._view.links.all(kind), numbers[order], order)

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with what was found in them, all or those of `ids`."""
        numbers = None if ids is None else np.unique(self._known(ids))
        for some in batched(self._texts.extractions(numbers), _ROWS):
            names = self._texts.names(numbers_of([number for number, _ in some]))
            yield from ((names[number], found) for number, found in some if number in names)

    def entities(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Ids of passages with the entities found in them, all or those of `ids`."""
        return ((id_, found.entities) for id_, found in self.extractions(ids))

    def extracted(self) -> Iterator[str]:
        """Ids of the passages whose entities and facts are stored."""
        sql = "SELECT u.id FROM extractions e JOIN units u ON u.number = e.unit ORDER BY e.unit"
        return (id_ for (id_,) in self._database.rows(sql))

    def vectors_of(self, kind: Kind, ids: Collection[str]) -> VectorMirror:
        """The vectors of some units, of those that there are."""
        numbers = self._numbers(kind, ids)
        found = sorted(zip(self._texts.ids(numbers), numbers.tolist(), strict=True))
        return self._mirror(kind, found)

    def vectors(self, kind: Kind) -> VectorMirror:
        """All vectors of a kind, read once."""
        return self.derived(("vectors", kind), lambda: self._all_vectors(kind))

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """Of each row of `vectors` (unit length) the ids of the `limit` nearest units of a kind, with their exact cosines.

        `among` limits it to units of these ids.
        """
        some = None if among is None else np.unique(self._numbers(kind, among))
        found = self._view.vectors.nearest(kind, vectors, limit, some)
        return [list(zip(self._texts.ids(one.numbers), one.scores.tolist(), strict=True)) for one in found]

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
        passages; units of other kinds have no keyword index.
        """
        found = self._view.keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.units(found.numbers), found.scores.tolist(), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units of some kinds: shape (len(ids), dimension).

        Raises:
            KeyError: some are not stored.
        """
        matrix = np.zeros((len(ids), self.head.encoder.dimension), np.float32)
        numbers = self._texts.numbers(list(ids))
        found = 0
        for kind in kinds:
            own = self._texts.origins(kind).numbers
            rows = np.flatnonzero(np.isin(numbers, own))
            if len(rows):
                matrix[rows] = self._view.vectors.of(kind, numbers[rows])
            found += len(rows)
        if found < len(ids):
            raise KeyError(f"{len(ids) - found} of {len(ids)} units have no vector")
        return matrix

    def _mirror(self, kind: Kind, found: Sequence[tuple[str, int]]) -> VectorMirror:
        if not found:
            return VectorMirror((), np.zeros((0, self.head.encoder.dimension), np.float32))
        matrix = self._view.vectors.of(kind, numbers_of([number for _, number in found]))
        return VectorMirror(tuple(id_ for id_, _ in found), matrix)

    def _all_vectors(self, kind: Kind) -> VectorMirror:
        numbers = self._texts.origins(kind).numbers
        return self._mirror(kind, sorted(zip(self._texts.ids(numbers), numbers.tolist(), strict=True)))

    def _known(self, ids: Collection[str]) -> Numbers:
        numbers = self._texts.numbers(list(ids))
        return numbers[numbers > 0]

    def _linkable(self, ids: Collection[str]) -> Numbers:
        numbers = self._texts.numbers(list(ids), reserved=True)
        return np.unique(numbers[numbers > 0])

    def _numbers(self, kind: Kind, ids: Collection[str] | None) -> Numbers:
        """Those of the units of a kind, all or of some ids, rising."""
        if ids is None:
            return self._texts.origins(kind).numbers
        return self._of_kind(kind, np.unique(self._known(ids)))

    def _of_kind(self, kind: Kind, numbers: Numbers) -> Numbers:
        own = self._texts.origins(kind).numbers
        return numbers_of(numbers[rows_of(numbers, own) >= 0])

    def _columns(self, columns: str, numbers: Numbers) -> list[tuple[str, str]]:
        if not len(numbers):
            return []
        return self._database.rows(
            f"SELECT {columns} FROM carray(?) c CROSS JOIN units u ON u.number = c.value", apsw.carray(numbers)
        )

    def _document_ids(self, numbers: Numbers) -> dict[int, str]:
        few = np.unique(numbers)
        return dict(zip(few.tolist(), self._view.documents.ids(few), strict=True))

    def _links(self, kind: str, edges: Edges) -> Iterator[Link]:
        names = self._texts.names(np.concatenate([edges.sources, edges.targets]))
        columns = (edges.sources.tolist(), edges.targets.tolist(), edges.weights.tolist())
        return (
            Link(names[source], names[target], kind, weight) for source, target, weight in zip(*columns, strict=True)
        )

    def _id_rows(self, edges: Edges) -> tuple[NDArray[np.bytes_], NDArray[np.bytes_]]:
        ends = np.unique(np.concatenate([edges.sources, edges.targets]))
        names = self._texts.names(ends)
        ids = id_rows(names[number] for number in ends.tolist())
        return ids[np.searchsorted(ends, edges.sources)], ids[np.searchsorted(ends, edges.targets)]


def _between(edges: Edges, rising: Numbers, rows: NDArray[np.intp]) -> Directed:
    """The links with both ends among `rising` numbers, as the `rows` that belong to these."""
    sources, targets = rows_of(edges.sources, rising), rows_of(edges.targets, rising)
    whole = (sources >= 0) & (targets >= 0)
    return Directed(rows[sources[whole]].astype(np.int32), rows[targets[whole]].astype(np.int32), edges.weights[whole])
