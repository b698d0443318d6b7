"""One committed state of an index, for one request: a connection, all arrays mapped, the objects that are asked, and what is made
of it in memory (graphs, indexes).

It is opened in milliseconds, closed at the end of the request, and never carried across a fork. It keeps later writers from
clearing what they remove; parked, it does not, and is of no use until it is resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np

from hoptrail.corpus.columns import numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import Documents
from hoptrail.corpus.head import Head, commit_number, read_head
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.links import Links
from hoptrail.corpus.names import Names
from hoptrail.corpus.places import index_folder
from hoptrail.corpus.refusals import absent, telling
from hoptrail.corpus.searching import Searching
from hoptrail.corpus.segments import MissingFile, Segments
from hoptrail.corpus.texts import Texts, Units
from hoptrail.corpus.vectors import Vectors
from hoptrail.corpus.view import EVERYTHING, NOTHING, Hidden, View, hidden_by
from hoptrail.errors import IndexUnavailable
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.types import Document, Kind, Link, Unit

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 5
"""A commit may remove a file between the moment that a reader begins and the moment that it opens the file."""

_ROWS = 1024
"""Extractions that are records at a time in a stream."""


class Snapshot:
    """A committed state of an index or, inside a writer, the state it has reached. Use `open`, or a writer's `snapshot`.

    `register` (documents), `table` (units), `graph` (links) and `search` go by ids; `texts`, `vectors`, `names` and `keywords`
    by numbers.
    """

    def __init__(
        self,
        database: Database,
        segments: Segments,
        head: Head | None = None,
        *,
        borrowed: bool = False,
        hidden: Hidden = NOTHING,
    ) -> None:
        """`borrowed`: it is a writer's, who closes the database."""
        self._borrowed = borrowed
        self._database = database
        self.folder = database.folder
        self.head = head or read_head(database)
        self.commit = commit_number(database)
        """How many commits came before this state, and it: the same number is the same state."""
        self.register = Documents(database)
        self.texts = Texts(database, segments, hidden, dated=not borrowed)
        self.table = Units(database, self.texts)
        self.vectors = Vectors(segments, self.texts)
        self.graph = Links(segments, self.texts)
        self.names = Names(segments, hidden.units)
        self.keywords = Keywords(database, segments, self.texts)
        self.search = Searching(self.texts, self.table, self.vectors, self.keywords, self.head.encoder.dimension)
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()

    @staticmethod
    def exists(where: Path) -> bool:
        """Whether something was ever committed to the index in a folder."""
        try:
            return newest_commit(index_folder(where)) > 0
        except IndexUnavailable:
            return False

    @classmethod
    def open(cls, where: Path, view: View = EVERYTHING) -> Self:
        """The last commit of the index in a folder, as far as it is seen.

        Raises:
            IndexUnavailable: there is none.
            IndexMismatch: written by another version of hoptrail.
            IndexDamaged: a file is missing, or cannot be read.
            StorageError: the disk refuses.
        """
        folder = index_folder(where)
        for left in reversed(range(_TRIES)):
            database = Database.to_read(folder)
            try:
                with telling(folder):
                    if not commit_number(database):
                        raise absent(folder)
                    hidden = _hide(view, database)
                    return cls(database, Segments(database, hidden.masked), hidden=hidden)
            except MissingFile:
                database.close()
                if not left:
                    raise
            except BaseException:
                database.close()
                raise
        raise AssertionError("the last try returns or raises")

    def park(self) -> None:
        """Let writers clear what they remove; nothing may be asked until `resume`."""
        self._database.end_reading()

    def resume(self) -> bool:
        """Go on after `park`; False where another commit has come since, after which it is closed."""
        if self._database.resume_reading() and commit_number(self._database) == self.commit:
            return True
        self.close()
        return False

    def is_current(self) -> bool:
        """Whether no other commit has come since this one."""
        try:
            return newest_commit(self.folder) == self.commit
        except IndexUnavailable:
            return False

    def close(self) -> None:
        """Let go of the commit, but for a writer's; it is of no use afterwards."""
        if not self._borrowed:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Documents as a stream, all or those of `ids`."""
        return self.register.read(ids)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by rising number."""
        return self.table.read(kind, ids)

    def links(self, kind: str | None = None) -> Iterator[Link]:
        """Links, all or those of one kind."""
        return self.graph.all(kind)

    def count(self, kind: Kind) -> int:
        """How many units there are of a kind."""
        return self.texts.count()[kind]

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with what was found in them, all or those of `ids`."""
        numbers = None if ids is None else np.unique(numbers_of(self.texts.numbers(list(ids))))
        for some in batched(self.texts.extractions(numbers), _ROWS):
            names = self.texts.names(numbers_of([number for number, _ in some]))
            yield from ((names[number], found) for number, found in some if number in names)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this state, made once and kept as long as the snapshot is; threads wait for one another. Of a
        function of a snapshot `made_once` does that.
        """
        if key not in self._derived:
            with self._making:  # re-entrant, because what is made may be made of what is derived
                if key not in self._derived:
                    self._derived[key] = make()
        return cast("T", self._derived[key])


def made_once(make: Callable[Concatenate[Snapshot, P], T]) -> Callable[Concatenate[Snapshot, P], T]:
    """What a function makes of a snapshot, and of what can be hashed beside it, is made once a snapshot (`Snapshot.derived`)."""

    @wraps(make)
    def kept(snapshot: Snapshot, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return snapshot.derived((make, args, *kwargs.items()), lambda: make(snapshot, *args, **kwargs))

    return kept


def _hide(view: View, database: Database) -> Hidden:
    """Have a connection that reads see no more than a view shows.

    Raises:
        MissingFile: another commit came meanwhile, so that all is to be tried again.
    """
    if view == EVERYTHING:
        return NOTHING
    hidden, commit = hidden_by(view, database), commit_number(database)
    database.end_reading()
    hidden.install(database)
    if not database.resume_reading() or commit_number(database) != commit:
        raise MissingFile(f"{database.folder} was written while it was opened. Ask again.")
    return hidden


def newest_commit(folder: Path) -> int:
    """The number of the last commit to the index in a folder, 0 before the first.

    Raises: as `Snapshot.open` does.
    """
    database = Database.to_read(folder)
    try:
        return commit_number(database)
    finally:
        database.close()
