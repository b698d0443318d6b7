"""The numbers of documents and units. None is assigned twice; a unit that comes back gets its earlier number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.rows import numbers_by_id
from hoptrail.corpus.texts import Texts


class Numbering:
    """Assigns numbers to the units of a transaction, and reserves them for units that are yet to come."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts
        self.freed: dict[str, int] = {}
        """Units removed in this transaction. One that comes back gets its number again, and so its links."""

    def assign(self, ids: Sequence[str]) -> list[int]:
        """The numbers of new units."""
        first = next_number(self._database, "units")
        reserved = self._take_reserved(ids)
        numbers = []
        for id_ in ids:
            number = self.freed.pop(id_, 0) or reserved.get(id_, 0)
            numbers.append(number or first)
            first += not number
        return numbers

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """The numbers of units by their ids, in the same order. Numbers are reserved for units that are not stored."""
        numbers = self._texts.numbers(ids, reserved=True)
        if not numbers.all():
            missing = sorted({id_ for id_, number in zip(ids, numbers.tolist(), strict=True) if not number})
            freed = [(id_, self.freed[id_]) for id_ in missing if id_ in self.freed]
            new = [id_ for id_ in missing if id_ not in self.freed]
            first = next_number(self._database, "units")
            self._database.run_each(
                "INSERT INTO reserved (id, number) VALUES (?, ?)",
                [*freed, *((id_, first + place) for place, id_ in enumerate(new))],
            )
            if new:  # their numbers count as assigned
                self._database.run("DELETE FROM sqlite_sequence WHERE name = 'units'")
                last = first + len(new) - 1
                self._database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('units', ?)", last)
            numbers = self._texts.numbers(ids, reserved=True)
        return numbers

    def keep(self, numbers: Numbers) -> None:
        """Reserve the numbers of units to be removed: those that come back in a later commit get them again, and their links."""
        self._database.run(
            "INSERT OR REPLACE INTO reserved (id, number) SELECT u.id, u.number FROM carray(?) c "
            "CROSS JOIN units u ON u.number = c.value",
            numbers,
        )

    def release(self, linked: Numbers) -> None:
        """Release the reserved numbers that are not among `linked`."""
        unused = np.setdiff1d(numbers_of(self._database.column("SELECT number FROM reserved")), linked)
        self._database.delete("reserved", "number", unused)

    def _take_reserved(self, ids: Sequence[str]) -> Mapping[str, int]:
        if not self._database.rows("SELECT 1 FROM reserved LIMIT 1"):
            return {}
        numbers = numbers_by_id(self._database, "reserved", ids)
        self._database.run("DELETE FROM reserved WHERE id IN (SELECT CAST(value AS TEXT) FROM carray(?))", ids)
        return numbers


def next_number(database: Database, table: str) -> int:
    """The lowest number that no row of a table has ever had."""
    last = database.column("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    return last[0] + 1 if last else 1


def unused_numbers(database: Database, removed: Numbers) -> Numbers:
    """The numbers of removed units that have not come back and are not reserved."""
    used = database.column(
        "SELECT u.number FROM carray(?1) c CROSS JOIN units u ON u.number = c.value UNION ALL "
        "SELECT r.number FROM carray(?1) c CROSS JOIN reserved r ON r.number = c.value",
        removed,
    )
    return np.setdiff1d(removed, numbers_of(used))
