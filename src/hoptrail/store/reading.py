"""What a snapshot is asked by ids: documents, units, links, and what is nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from threading import Lock

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus import snapshot as corpus
from hoptrail.corpus.links import Edges
from hoptrail.corpus.numbers import Numbers, numbers_of, rows_of
from hoptrail.corpus.texts import DocumentEntry, Texts
from hoptrail.executing.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import LINK, SPAN, Directed, Origins, PackedIds, id_bytes, id_rows
from hoptrail.store.vectors import Found, VectorMirror
from hoptrail.types import Kind, Link, Span, Unit

_ROWS = 1024
"""Units that are records at a time in a stream."""


class DocumentsById:
    """The documents of a snapshot, without their texts."""

    def __init__(self, view: corpus.Snapshot) -> None:
        self._documents = view.documents
        self._database = view.database

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every document without its text, by rising id."""
        return tuple(self._documents.entries())

    def of(self, ids: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of some documents, of those that there are, looked up."""
        return iter(self._documents.entries(ids))

    def at(self, sources: Collection[str]) -> Iterator[DocumentEntry]:
        """Those of the documents that stand at one of some sources."""
        return iter(self._documents.at(sources))

    def under(self, start: str) -> Iterator[DocumentEntry]:
        """Those of the documents with a source that starts so."""
        return iter(self._documents.under(start))

    def titled(self, titles: Collection[str]) -> Iterator[tuple[str, str]]:
        """Title and id of the documents with one of these titles, letter by letter."""
        return ((entry.title, entry.id) for entry in self._documents.titled(titles))

    def ids(self) -> Iterator[str]:
        """Ids of all documents."""
        return (id_ for (id_,) in self._database.rows("SELECT id FROM documents ORDER BY number"))

    def count(self) -> int:
        return len(self._documents)


class UnitsById:
    """The units of a snapshot."""

    def __init__(self, view: corpus.Snapshot) -> None:
        self._texts = view.texts
        self._documents = view.documents
        self._database = view.database

    @property
    def kinds(self) -> tuple[Kind, ...]:
        found = self._texts.count()
        return tuple(kind for kind in Kind if found[kind])

    def titled(
        self, kind: Kind, titles: Collection[str], documents: Collection[str] | None = None
    ) -> Iterator[tuple[str, str, str]]:
        """Title, document and id of the units of a kind with one of these titles, letter by letter.

        The document is that of the first source; `documents` limits it to a few of them.
        """
        return iter(self._texts.titled(kind, titles, None if documents is None else frozenset(documents)))

    def count_by_document(self, kind: Kind) -> Counter[str]:
        """How many units of a kind have their first source in each document that has any."""
        numbers, counts = np.unique(self._texts.origins(kind).documents, return_counts=True)
        return Counter(dict(zip(self._documents.ids(numbers), counts.tolist(), strict=True)))

    def read(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by rising number."""
        numbers = self.numbers(kind, ids)
        for start in range(0, len(numbers), _ROWS):
            yield from self._texts.units(numbers[start : start + _ROWS])

    def origins_among(self, kind: Kind, ids: NDArray[np.bytes_]) -> Iterator[Origins]:
        """What the units of a kind with one of many ids are made from, as a stream."""
        for units in batched(self.read(kind, [id_.decode() for id_ in ids.tolist()]), _ROWS):
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
        few = np.unique(origins.documents)
        documents = dict(zip(few.tolist(), self._documents.ids(few), strict=True))
        ids = self._texts.ids(origins.numbers)
        columns = (origins.documents.tolist(), origins.starts.tolist(), origins.ends.tolist())
        for id_, document, start, end in zip(ids, *columns, strict=True):
            yield id_, Span(documents[document], start, end)

    def ids_within(self, kind: Kind, documents: Collection[str]) -> Iterator[str]:
        """Ids of the units of a kind with a source in one of some documents."""
        return iter(self._texts.ids(_of_kind(self._texts, kind, self._texts.within(documents))))

    def within(self, kind: Kind, documents: Collection[str]) -> Iterator[Unit]:
        """The units of `ids_within`."""
        return iter(self._texts.units(_of_kind(self._texts, kind, self._texts.within(documents))))

    def titles(self, kind: Kind) -> Iterator[tuple[str, str]]:
        """Ids and titles of all units of a kind, without their texts."""
        numbers = self._texts.origins(kind).numbers
        sql = "SELECT u.id, u.title FROM carray(?) c CROSS JOIN units u ON u.number = c.value"
        return iter(self._database.rows(sql, apsw.carray(numbers)) if len(numbers) else ())

    def ids(self, kind: Kind) -> Iterator[str]:
        """Ids of all units of a kind, without reading the units."""
        return iter(self._texts.ids(self._texts.origins(kind).numbers))

    def ids_in_order(self, kind: Kind) -> PackedIds:
        """Ids of all units of a kind, rising."""
        return PackedIds(np.sort(id_rows(self.ids(kind))))

    def stored(self, kind: Kind, ids: Collection[str]) -> set[str]:
        """Those of some ids under which a unit of a kind is stored, looked up."""
        return set(self._texts.ids(self.numbers(kind, ids)))

    def extracted(self) -> Iterator[str]:
        """Ids of the passages whose entities and facts are stored."""
        sql = "SELECT u.id FROM extractions e JOIN units u ON u.number = e.unit ORDER BY e.unit"
        return (id_ for (id_,) in self._database.rows(sql))

    def numbers(self, kind: Kind, ids: Collection[str] | None) -> Numbers:
        """Those of the units of a kind, all or of some ids, rising."""
        if ids is None:
            return self._texts.origins(kind).numbers
        return _of_kind(self._texts, kind, np.unique(_known(self._texts, ids)))


class LinksById:
    """The links of a snapshot."""

    def __init__(self, view: corpus.Snapshot) -> None:
        self._texts = view.texts
        self._stored = view.links

    def all(self, kind: str | None = None) -> Iterator[Link]:
        """Links, all or those of one kind."""
        for one in self._stored.count() if kind is None else (kind,):
            yield from self._links(one, self._stored.all(one))

    def in_order(self, kind: str) -> NDArray[np.void]:
        """Links of one kind as rows of `LINK`, by rising source, then target."""
        edges = self._stored.all(kind)
        rows = np.zeros(len(edges), LINK)
        ids = self._id_rows(edges)
        rows["source"], rows["target"], rows["weight"] = *ids, edges.weights
        return rows[np.lexsort((rows["target"], rows["source"]))]

    def sources(self, kinds: Collection[str]) -> Iterator[str]:
        """Ids of all units that links of some kinds lead from."""
        for kind in kinds:
            yield from self._texts.names(np.unique(self._stored.all(kind).sources)).values()

    def leaving(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead from units of these ids."""
        return self._links(kind, self._stored.leaving(kind, self._linkable(ids)))

    def entering(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead to units of these ids."""
        return self._links(kind, self._stored.entering(kind, self._linkable(ids)))

    def count(self) -> Counter[str]:
        """How many links there are of each kind."""
        return Counter(self._stored.count())

    def count_of(self, kind: str) -> int:
        """How many links there are of one kind."""
        return self._stored.count().get(kind, 0)

    def rows(self, kind: str, ids: Sequence[str]) -> Directed:
        """Links of one kind with both ends among `ids`, as rows of these."""
        numbers = self._texts.numbers(list(ids), reserved=True)
        known = np.flatnonzero(numbers)
        order = known[np.argsort(numbers[known], kind="stable")]
        return _between(self._stored.all(kind), numbers[order], order)

    def _linkable(self, ids: Collection[str]) -> Numbers:
        numbers = self._texts.numbers(list(ids), reserved=True)
        return np.unique(numbers[numbers > 0])

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


class Searching:
    """What is nearest, by vectors and by words. `dimension`: of vectors."""

    def __init__(self, view: corpus.Snapshot, dimension: int) -> None:
        self._texts = view.texts
        self._vectors = view.vectors
        self._keywords = view.keywords
        self._dimension = dimension
        self._units = UnitsById(view)
        self._mirrors: dict[Kind, VectorMirror] = {}
        self._making = Lock()

    def vectors_of(self, kind: Kind, ids: Collection[str]) -> VectorMirror:
        """The vectors of some units, of those that there are."""
        numbers = self._units.numbers(kind, ids)
        found = sorted(zip(self._texts.ids(numbers), numbers.tolist(), strict=True))
        return self._mirror(kind, found)

    def vectors(self, kind: Kind) -> VectorMirror:
        """All vectors of a kind, read once."""
        with self._making:
            if kind not in self._mirrors:
                numbers = self._texts.origins(kind).numbers
                found = sorted(zip(self._texts.ids(numbers), numbers.tolist(), strict=True))
                self._mirrors[kind] = self._mirror(kind, found)
            return self._mirrors[kind]

    def nearest(
        self, kind: Kind, vectors: FloatMatrix, limit: int, among: Collection[str] | None = None
    ) -> list[Found]:
        """Of each row of `vectors` (unit length) the ids of the `limit` nearest units of a kind, with their exact cosines.

        `among` limits it to units of these ids.
        """
        some = None if among is None else np.unique(self._units.numbers(kind, among))
        found = self._vectors.nearest(kind, vectors, limit, some)
        return [list(zip(self._texts.ids(one.numbers), one.scores.tolist(), strict=True)) for one in found]

    def keywords(self, words: str, limit: int) -> list[tuple[Unit, float]]:
        """The `limit` passages with the highest BM25 score for `words`, by falling score, then rising id.

        The words are looked up as they are: no operator, quote or wildcard has a meaning. Statistics are those of all
        passages; units of other kinds have no keyword index.
        """
        found = self._keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.units(found.numbers), found.scores.tolist(), strict=True))

    def keyword_scores(self, words: str, limit: int) -> Found:
        """The same by id, without texts."""
        found = self._keywords.search(Kind.PASSAGE, words, limit)
        return list(zip(self._texts.ids(found.numbers), found.scores.tolist(), strict=True))

    def vectors_in_order(self, kinds: Iterable[Kind], ids: Sequence[str]) -> FloatMatrix:
        """The vectors of units of some kinds: shape (len(ids), dimension).

        Raises:
            KeyError: some are not stored.
        """
        matrix = np.zeros((len(ids), self._dimension), np.float32)
        numbers = self._texts.numbers(list(ids))
        found = 0
        for kind in kinds:
            own = self._texts.origins(kind).numbers
            rows = np.flatnonzero(np.isin(numbers, own))
            if len(rows):
                matrix[rows] = self._vectors.of(kind, numbers[rows])
            found += len(rows)
        if found < len(ids):
            raise KeyError(f"{len(ids) - found} of {len(ids)} units have no vector")
        return matrix

    def _mirror(self, kind: Kind, found: Sequence[tuple[str, int]]) -> VectorMirror:
        if not found:
            return VectorMirror((), np.zeros((0, self._dimension), np.float32))
        matrix = self._vectors.of(kind, numbers_of([number for _, number in found]))
        return VectorMirror(tuple(id_ for id_, _ in found), matrix)


def _known(texts: Texts, ids: Collection[str]) -> Numbers:
    numbers = texts.numbers(list(ids))
    return numbers[numbers > 0]


def _of_kind(texts: Texts, kind: Kind, numbers: Numbers) -> Numbers:
    return numbers_of(numbers[rows_of(numbers, texts.origins(kind).numbers) >= 0])


def _between(edges: Edges, rising: Numbers, rows: NDArray[np.intp]) -> Directed:
    """The links with both ends among `rising` numbers, as the `rows` that belong to these."""
    sources, targets = rows_of(edges.sources, rising), rows_of(edges.targets, rising)
    whole = (sources >= 0) & (targets >= 0)
    return Directed(rows[sources[whole]].astype(np.int32), rows[targets[whole]].astype(np.int32), edges.weights[whole])
