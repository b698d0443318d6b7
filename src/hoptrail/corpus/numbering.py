"""The numbers that documents and units have in an index. None is given twice, and a unit that comes again has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
import numpy as np

from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.connection import text_array
from hoptrail.corpus.database import Database
from hoptrail.corpus.texts import Texts


class Numbering:
    """The numbers of the units of a transaction, and those that are kept for units that are still to come."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts
        self._freed: dict[str, int] = {}
        """Units that went in this transaction; one that comes again has its number, and so its links."""

    def given(self, ids: Sequence[str]) -> list[int]:
        """The numbers of units that are written now."""
        first = next_number(self._database, "units")
        reserved = self._take_reserved(ids)
        numbers = []
        for id_ in ids:
            number = self._freed.pop(id_, 0) or reserved.get(id_, 0)
            numbers.append(number or first)
            first += not number
        return numbers

    def free(self, id_: str, number: int) -> None:
        """A unit goes."""
        self._freed[id_] = number

    def end(self) -> None:
        """The transaction has ended: what went in it has gone."""
        self._freed.clear()

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """Numbers of units by their ids, also of those that are not there, which get theirs when they come; in the same order."""
        numbers = self._texts.numbers(ids, reserved=True)
        if not numbers.all():
            missing = sorted({id_ for id_, number in zip(ids, numbers.tolist(), strict=True) if not number})
            freed = [(id_, self._freed[id_]) for id_ in missing if id_ in self._freed]
            new = [id_ for id_ in missing if id_ not in self._freed]
            first = next_number(self._database, "units")
            self._database.run_each(
                "INSERT INTO reserved (id, number) VALUES (?, ?)",
                [*freed, *((id_, first + place) for place, id_ in enumerate(new))],
            )
            if new:
                self._draw("units", first + len(new) - 1)
            numbers = self._texts.numbers(ids, reserved=True)
        return numbers

    def keep(self, numbers: Numbers) -> None:
        """Before units are removed: whoever of them comes again, in whatever commit, has its number, and so its links."""
        if not len(numbers):
            return
        self._database.run(
            "INSERT OR REPLACE INTO reserved (id, number) SELECT u.id, u.number FROM carray(?) c "
            "CROSS JOIN units u ON u.number = c.value",
            apsw.carray(numbers_of(numbers)),
        )

    def release(self, linked: Numbers) -> None:
        """Forget the reserved numbers that are not among `linked`."""
        found = self._database.rows("SELECT number FROM reserved")
        idle = np.setdiff1d(numbers_of([number for (number,) in found]), linked)
        if len(idle):
            self._database.run(
                "DELETE FROM reserved WHERE number IN (SELECT value FROM carray(?))", apsw.carray(numbers_of(idle))
            )

    def _take_reserved(self, ids: Sequence[str]) -> Mapping[str, int]:
        if not ids or self._database.one("SELECT 1 FROM reserved LIMIT 1") is None:
            return {}
        wanted = text_array(ids)
        found: dict[str, int] = dict(
            self._database.rows(
                "SELECT r.id, r.number FROM carray(?) c CROSS JOIN reserved r ON r.id = CAST(c.value AS TEXT)", wanted
            )
        )
        self._database.run("DELETE FROM reserved WHERE id IN (SELECT CAST(value AS TEXT) FROM carray(?))", wanted)
        return found

    def _draw(self, table: str, last: int) -> None:
        """Numbers up to `last` are given."""
        self._database.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
        self._database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, last)


def next_number(database: Database, table: str) -> int:
    """The next number that no row of a table has had."""
    row = database.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    return int(row[0]) + 1 if row else 1


def absent(database: Database, gone: Numbers) -> Numbers:
    """Of units that went those that have not come again, and whose numbers are not kept."""
    if not len(gone):
        return gone
    back = database.rows(
        "SELECT u.number FROM carray(?1) c CROSS JOIN units u ON u.number = c.value UNION ALL "
        "SELECT r.number FROM carray(?1) c CROSS JOIN reserved r ON r.number = c.value",
        apsw.carray(gone),
    )
    return np.setdiff1d(gone, numbers_of([number for (number,) in back]))
