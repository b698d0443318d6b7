"""The units of an index by their numbers, and what was found in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.connection import text_array
from hoptrail.corpus.database import Database
from hoptrail.corpus.numbers import NONE, Numbers, numbers_of
from hoptrail.corpus.segments import Family, Segments
from hoptrail.language.tasks import Extraction
from hoptrail.types import Kind, Unit


@dataclass(frozen=True, slots=True)
class Origins:
    """Where units come from, as arrays, by rising number: the document of the first source, and start and end in its text."""

    numbers: Numbers
    documents: Numbers
    starts: Numbers
    ends: Numbers


class Texts:
    """The units of a snapshot, and what was found in them."""

    def __init__(self, database: Database, segments: Segments) -> None:
        self._database = database
        self._segments = segments

    def count(self) -> Counter[Kind]:
        """How many units with vectors there are of each kind."""
        kinds = self._segments.kinds(Family.UNITS)
        counts = {Kind(kind): sum(map(len, self._segments.of(Family.UNITS, kind))) for kind in kinds}
        return Counter({kind: count for kind, count in counts.items() if count})

    def unencoded(self, kind: Kind) -> Numbers:
        """The units of a kind that are found by their words and have no vector yet, rising."""
        parts = self._segments.of(Family.KEYWORDS, kind)
        words = np.concatenate([NONE, *(part.arrays["numbers"][part.living()] for part in parts)])
        return numbers_of(np.setdiff1d(words, self.origins(kind).numbers))

    def origins(self, kind: Kind) -> Origins:
        """Those of all units of a kind that have vectors."""
        parts = [
            [segment.arrays[name][segment.living()] for name in ("numbers", "documents", "starts", "ends")]
            for segment in self._segments.of(Family.UNITS, kind)
        ]
        whole = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [NONE] * 4
        order = np.argsort(whole[0], kind="stable")
        return Origins(*(column[order] for column in whole))

    def origins_of(self, numbers: Numbers) -> Origins:
        """Those of some units that there are, with vectors or without, by rising number."""
        if not len(numbers):
            return Origins(*[NONE] * 4)
        found = self._database.rows(
            "SELECT u.number, u.document, u.start, u.end FROM carray(?) c CROSS JOIN units u ON u.number = c.value "
            "ORDER BY u.number",
            apsw.carray(numbers_of(numbers)),
        )
        return Origins(*(numbers_of(column) for column in zip(*found, strict=True)))

    def numbers(self, ids: Sequence[str], *, reserved: bool = False) -> Numbers:
        """The numbers of units by their ids, in the same order; 0 where there is none. With `reserved` also of units that links
        lead from or to, and that are not there.
        """
        if not ids:
            return NONE
        found: dict[str, int] = {}
        for table in ("units", "reserved") if reserved else ("units",):
            found |= dict(
                self._database.rows(
                    f"SELECT u.id, u.number FROM carray(?) c CROSS JOIN {table} u ON u.id = CAST(c.value AS TEXT)",
                    text_array(ids),
                )
            )
        return numbers_of([found.get(id_, 0) for id_ in ids])

    def names(self, numbers: Numbers) -> dict[int, str]:
        """Ids by number, also of units that links lead from or to, and that are not there."""
        wanted = np.unique(numbers_of(numbers))
        if not len(wanted):
            return {}
        return {
            number: id_
            for table in ("units", "reserved")
            for number, id_ in self._database.rows(
                f"SELECT t.number, t.id FROM carray(?) c CROSS JOIN {table} t ON t.number = c.value",
                apsw.carray(wanted),
            )
        }

    def ids(self, numbers: Numbers) -> list[str]:
        """The ids of units that there are, in the order asked for."""
        return rows.ids_of(self._database, "units", numbers)

    def units(self, numbers: Numbers) -> list[Unit]:
        """The units of some numbers, in that order; one that is no more is passed over."""
        return list(rows.units(self._database, numbers_of(numbers)).values())

    def within(self, documents: Collection[str]) -> Numbers:
        """The numbers, rising, of the units of all kinds that have a source in one of some documents."""
        if not documents:
            return NONE
        found = self._database.rows(
            "WITH few AS (SELECT d.number FROM carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)) "
            "SELECT u.number FROM few CROSS JOIN units u ON u.document = few.number UNION "
            "SELECT f.unit FROM few CROSS JOIN further_sources f ON f.document = few.number ORDER BY 1",
            text_array(documents),
        )
        return numbers_of([number for (number,) in found])

    def extractions(self, numbers: Numbers | None = None) -> Iterator[tuple[int, Extraction]]:
        """Numbers of units with what was found in them, of all or of some, by rising number."""
        if numbers is None:
            found = self._database.each("SELECT unit, entities, facts FROM extractions ORDER BY unit")
        elif len(numbers):
            found = self._database.each(
                "SELECT unit, entities, facts FROM extractions WHERE unit IN (SELECT value FROM carray(?)) ORDER BY unit",
                apsw.carray(numbers_of(numbers)),
            )
        else:
            return
        for unit, entities, facts in found:
            yield unit, rows.extraction_of(entities, facts)
