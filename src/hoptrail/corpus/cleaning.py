"""Emptying the log of an index, and seeing that removed text is left in no file."""

from __future__ import annotations

from contextlib import suppress

from hoptrail.corpus.database import Database
from hoptrail.corpus.head import is_unclean, mark_unclean
from hoptrail.corpus.refusals import still_read
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.errors import IndexBusy

LOG = 1 << 26
"""Bytes of the log above which a commit that removed nothing moves it into the database, if no reader is in the way."""


class Cleaning:
    """What is done between two transactions of a writer."""

    def __init__(self, database: Database, segments: SegmentWriter, wait: float) -> None:
        """`wait`: seconds that a removal waits for readers of what it removes."""
        self._database = database
        self._segments = segments
        self._wait = wait
        self.due = is_unclean(database)
        """Whether text that was removed, by this writer or one before, may still be in the log or in files."""

    def between(self, *, clean: bool) -> None:
        """Steps 4 and 5 of `durable.py`, and the next transaction. Where text was removed they are waited for."""
        if not (self.due and clean):
            emptied = self._database.log_size > LOG and self._database.empty_log()
            self._database.begin()
            if emptied:
                self._segments.sweep()
            return
        emptied = self._database.empty_log(self._wait)
        self._database.begin()
        if not emptied:
            raise still_read(self._database.folder)
        self._segments.sweep()
        mark_unclean(self._database, unclean=False)
        self._database.commit()
        self.due = False
        self._database.empty_log()
        self._database.begin()

    def at_end(self) -> None:
        """Leave an empty log and no file too many, if no reader is in the way. No transaction is open."""
        if self._database.empty_log():
            with suppress(IndexBusy):  # then the next writer sees to it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()
