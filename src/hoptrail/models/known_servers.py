"""What is known about servers and their models, in the file of replies: the working rung of the ladder, and the dialect.

Both are found by asking; `hoptrail doctor` finds them again and overwrites them.
"""

from __future__ import annotations

from hoptrail.models.chat import Rung
from hoptrail.models.dialect import Accepted
from hoptrail.models.remembered import RememberedReplies


class KnownServers:
    """Reads and writes by the place and the name of a model. Safe for threads and processes."""

    def __init__(self, replies: RememberedReplies) -> None:
        self._replies = replies

    def rung(self, place: str, model: str) -> Rung | None:
        """The rung that is known to work, if any."""
        row = self._row("SELECT rung FROM rungs WHERE place = ? AND model = ?", place, model)
        return Rung(row[0]) if row and row[0] in set(Rung) else None

    def remember_rung(self, place: str, model: str, rung: Rung) -> None:
        """Store the rung that works."""
        self._write("INSERT OR REPLACE INTO rungs VALUES (?, ?, ?)", place, model, rung.value)

    def accepted(self, place: str, model: str) -> Accepted:
        """The dialect, as far as it is known."""
        row = self._row("SELECT dialect FROM dialects WHERE place = ? AND model = ?", place, model)
        return Accepted.from_json(row[0]) if row else Accepted()

    def remember_accepted(self, place: str, model: str, accepted: Accepted) -> None:
        """Store the dialect."""
        self._write("INSERT OR REPLACE INTO dialects VALUES (?, ?, ?)", place, model, accepted.as_json())

    def _row(self, statement: str, place: str, model: str) -> tuple[str] | None:
        if not self._replies.path.exists():
            return None
        with self._replies.transaction(write=False) as connection:
            row: tuple[str] | None = connection.execute(statement, (place, model)).fetchone()
        return row

    def _write(self, statement: str, place: str, model: str, value: str) -> None:
        with self._replies.transaction() as connection:
            connection.execute(statement, (place, model, value))
