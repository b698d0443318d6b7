"""The units of an index by their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import apsw
import numpy as np

from hoptrail.corpus.connection import text_array
from hoptrail.corpus.database import Database
from hoptrail.corpus.numbers import Numbers, numbers_of, rows_of
from hoptrail.corpus.rows import ids_of
from hoptrail.corpus.texts import Texts
from hoptrail.types import Kind, Span, Unit

_ROWS = 1024
"""Units that are records at a time in a stream."""


_AMONG = "carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)"
_WITHOUT = "WHERE NOT EXISTS (SELECT 1 FROM units u WHERE u.document = d.number AND u.kind = ?) ORDER BY d.number"


class Units:
    """The units of a snapshot, by their ids."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    @property
    def kinds(self) -> tuple[Kind, ...]:
        found = self._texts.count()
        return tuple(kind for kind in Kind if found[kind])

    def count_by_document(self, kind: Kind) -> Counter[str]:
        """How many units of a kind have their first source in each document that has any; also those without vectors."""
        encoded, waiting = (
            self._texts.origins(kind).documents,
            self._texts.origins_of(self._texts.unencoded(kind)).documents,
        )
        numbers, counts = np.unique(np.concatenate([encoded, waiting]), return_counts=True)
        return Counter(dict(zip(ids_of(self._database, "documents", numbers), counts.tolist(), strict=True)))

    def documents_without(self, kind: Kind, documents: Collection[str] | None) -> list[str]:
        """Ids of the documents, of all or of some, that no unit of a kind is from, by rising number."""
        if documents is not None and not documents:
            return []
        among = "documents d" if documents is None else _AMONG
        given = () if documents is None else (text_array(documents),)
        found = self._database.rows(f"SELECT d.id FROM {among} {_WITHOUT}", *given, kind.value)
        return [id_ for (id_,) in found]

    def read(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by rising number."""
        numbers = self.numbers(kind, ids)
        for start in range(0, len(numbers), _ROWS):
            yield from self._texts.units(numbers[start : start + _ROWS])

    def first_sources(self, kind: Kind) -> Iterator[tuple[str, Span]]:
        """Ids of all units of a kind with their first sources, without their texts."""
        origins = self._texts.origins(kind)
        few = np.unique(origins.documents)
        documents = dict(zip(few.tolist(), ids_of(self._database, "documents", few), strict=True))
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


def _known(texts: Texts, ids: Collection[str]) -> Numbers:
    numbers = texts.numbers(list(ids))
    return numbers[numbers > 0]


def _of_kind(texts: Texts, kind: Kind, numbers: Numbers) -> Numbers:
    return numbers_of(numbers[rows_of(numbers, texts.origins(kind).numbers) >= 0])
