"""One committed state of an index, for one request: a connection, all arrays mapped, and the objects that are asked.

It is opened in milliseconds, closed at the end of the request, and never carried across a fork.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from hoptrail.corpus.database import Database
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.links import Links
from hoptrail.corpus.names import Names
from hoptrail.corpus.refusals import telling
from hoptrail.corpus.segments import MissingFile, Segments
from hoptrail.corpus.state import State, commit_number, read_state
from hoptrail.corpus.texts import Documents, Texts
from hoptrail.corpus.vectors import Vectors

_TRIES = 5
"""A commit may remove a file between the moment that a reader begins and the moment that it opens the file."""


class Snapshot:
    """Use `open`, or a writer's `snapshot`."""

    def __init__(self, database: Database, segments: Segments, *, borrowed: bool = False) -> None:
        self._borrowed = borrowed
        self.database = database
        self.documents = Documents(database)
        self.texts = Texts(database, segments)
        self.vectors = Vectors(segments, self.texts)
        self.links = Links(segments)
        self.names = Names(segments)
        self.keywords = Keywords(database, segments, self.texts)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The last commit of the index in a folder.

        Raises:
            IndexUnavailable: there is none.
            IndexMismatch: written by another version of hoptrail.
            IndexDamaged: a file is missing, or cannot be read.
            StorageError: the disk refuses.
        """
        for left in reversed(range(_TRIES)):
            database = Database.to_read(folder)
            try:
                with telling(folder):
                    return cls(database, Segments(database))
            except MissingFile:
                database.close()
                if not left:
                    raise
            except BaseException:
                database.close()
                raise
        raise AssertionError("the last try returns or raises")

    @property
    def state(self) -> State:
        """What the index says of itself."""
        return read_state(self.database)

    @property
    def commit(self) -> int:
        """How many commits came before this state, and it: the same number is the same state."""
        return commit_number(self.database)

    def close(self) -> None:
        """Give up the connection, but for a writer's."""
        if not self._borrowed:
            self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def newest_commit(folder: Path) -> int:
    """The number of the last commit to the index in a folder, 0 before the first.

    Raises: as `Snapshot.open` does.
    """
    database = Database.to_read(folder)
    try:
        return commit_number(database)
    finally:
        database.close()
