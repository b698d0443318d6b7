"""The files that the last run over their folder did not read, with the reasons, for `show`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hoptrail.corpus.database import Database


class UnreadFiles:
    """The table `unread` of a database. An index of an earlier version has none until it is written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, str]:
        """Files, and folders with a slash at their end, with the reason why they were not read, by path."""
        if not self._database.rows("SELECT 1 FROM main.sqlite_schema WHERE name = 'unread'"):
            return {}
        return dict(self._database.rows("SELECT path, reason FROM unread ORDER BY path"))

    def replace(self, places: Collection[str], files: Mapping[str, str]) -> bool:
        """Replace what is known about `places`, files or folders, by `files`. Returns whether that changed anything."""
        below = tuple(f"{place.rstrip('/')}/" for place in places)

        def among(found: Mapping[str, str]) -> dict[str, str]:
            return {path: reason for path, reason in found.items() if path in places or path.startswith(below)}

        before, now = among(self.all()), among(files)
        if before != now:
            self._database.run_each("DELETE FROM unread WHERE path = ?", [(path,) for path in before])
            self._database.run_each("INSERT INTO unread (path, reason) VALUES (?, ?)", list(now.items()))
        return before != now
