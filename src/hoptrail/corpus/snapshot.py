"""One commit of an index for one request: a connection, mapped arrays, query objects, and what is derived in memory.

It is opened in milliseconds, closed at the end of the request, and never used across a fork. An open snapshot keeps writers from
erasing what they remove. A parked one does not, and must be resumed before it is used. `SharedSnapshot` opens it once for all
concurrent readers, and parks it while there are none.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from threading import Lock, RLock
from typing import Concatenate, ParamSpec, Self, TypeVar, cast

from hoptrail.corpus.arrays import MissingFile
from hoptrail.corpus.connecting import absent, translating_errors
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import Documents
from hoptrail.corpus.head import Head, read_head
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.links import Links
from hoptrail.corpus.locations import index_folder
from hoptrail.corpus.names import Names
from hoptrail.corpus.searching import Searching
from hoptrail.corpus.segments import Family, Segments
from hoptrail.corpus.units import NumberedUnits, Units
from hoptrail.corpus.view import EVERYTHING, NOTHING, Hidden, View, hidden_by
from hoptrail.errors import IndexUnavailable
from hoptrail.types import Document, Extraction, Kind, Link, Unit

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 5
"""Attempts to open: a commit may remove a file between the moments when a reader begins and when it opens the file."""

VIEWS = 16  # views of an index that are kept open without readers; each has its own derived objects in memory


class Snapshot:
    """A commit of an index or, inside a writer, its current state. Use `open`, or a writer's `snapshot`.

    `register` (documents), `table` (units), `graph` (links), `search` use ids; `numbered` (units), `names`, `keywords` numbers.
    """

    def __init__(
        self, database: Database, segments: Segments, head: Head, *, borrowed: bool = False, hidden: Hidden = NOTHING
    ) -> None:
        """`borrowed`: it belongs to a writer, which closes the database."""
        self._borrowed = borrowed
        self._database = database
        self.folder = database.folder
        self.head = head
        self.commit = self.head.commit  # the number of this commit; equal numbers are equal states
        self.owes_erasure = self.head.unclean
        """Whether text of removed documents is still in files of the index. The next writer that opens it erases it."""
        self.is_view = hidden is not NOTHING  # whether it is restricted to a view
        self.register = Documents(database)
        self.numbered = NumberedUnits(database, segments, hidden, dated=not borrowed)
        self.table = Units(database, self.numbered)
        self.graph = Links(segments, self.numbered)
        self.names = Names(segments, hidden.units)
        self.keywords = Keywords(database, segments.of(Family.KEYWORDS, Kind.PASSAGE), self.numbered)
        self.search = Searching(segments, self.numbered, self.table, self.keywords, self.head.encoder.dimension)
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()

    @staticmethod
    def exists(where: Path) -> bool:
        """Whether something was committed here. Raises: UsageError, IndexMismatch: as `index_folder`."""
        return _newest_commit(index_folder(where)) > 0

    @classmethod
    def open(cls, where: Path, view: View = EVERYTHING) -> Self:
        """Open the last commit, restricted to `view`. Raises: IndexUnavailable, IndexMismatch, IndexDamaged, StorageError."""
        folder = index_folder(where)
        for left in reversed(range(_TRIES)):
            database = Database.to_read(folder)
            try:
                with database.closed_on_error(), translating_errors(folder):
                    head, hidden = read_head(database), hidden_by(view, database)
                    if not head.commit:
                        raise absent(folder)
                    return cls(database, Segments(database, hidden.mask), head, hidden=hidden)
            except MissingFile:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def park(self) -> None:
        """Let writers erase what they remove; the snapshot must not be used until `resume`."""
        self._database.stop_reading()

    def resume(self) -> bool:
        """Continue after `park`. Returns False, and closes the snapshot, if there is a newer commit or another index."""
        if self._database.resume_reading() and read_head(self._database).commit == self.commit:
            return True
        self.close()
        return False

    def is_current(self) -> bool:
        return self._database.is_in_place and _newest_commit(self.folder) == self.commit

    def close(self) -> None:
        if not self._borrowed:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        return self.register.read(ids)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by number."""
        return self.numbered.stream(self.table.numbers(kind, ids))

    def links(self, kind: str | None = None) -> Iterator[Link]:
        return self.graph.all(kind)

    def count(self, kind: Kind) -> int:
        """The number of units of a kind that have vectors."""
        return self.numbered.count()[kind]

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with their extractions, all or those of `ids`."""
        numbers = None if ids is None else self.numbered.known(ids)
        return ((id_, extraction) for _, id_, extraction in self.numbered.extractions(numbers))

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, called once and cached as long as the snapshot lives; threads wait for one another."""
        if key not in self._derived:
            with self._making:  # re-entrant, because `make` may use other derived objects
                if key not in self._derived:
                    self._derived[key] = make()
        return cast("T", self._derived[key])


def cached_per_snapshot(make: Callable[Concatenate[Snapshot, P], T]) -> Callable[Concatenate[Snapshot, P], T]:
    """Cache the results of a function in its snapshot (`Snapshot.derived`), by its other arguments, which must be hashable."""

    @wraps(make)
    def cached(snapshot: Snapshot, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return snapshot.derived((make, args, *kwargs.items()), lambda: make(snapshot, *args, **kwargs))

    return cached


def _newest_commit(folder: Path) -> int:
    with suppress(IndexUnavailable), closing(Database.to_read(folder)) as database:
        return read_head(database).commit
    return 0


@dataclass
class _Opened:
    """A snapshot with its number of readers; `on_close` is called when it is closed."""

    snapshot: Snapshot
    readers: int = 0
    on_close: Callable[[], None] = lambda: None

    def close(self) -> None:
        self.snapshot.close()
        self.on_close()


class SharedSnapshot:
    """Shares the last commit of an index among threads. What was derived from a commit is kept until a newer one is read."""

    def __init__(self, folder: Path, view: View = EVERYTHING) -> None:
        self._folder = folder
        self._view = view
        self._turn = Lock()
        self._returned: deque[_Opened] = deque()  # given back, and not counted yet
        self._newest: _Opened | None = None
        self._views: OrderedDict[View, SharedSnapshot] = OrderedDict()

    def seen(self, view: View) -> SharedSnapshot:
        """The same index restricted to a view. The most recently used views are kept open."""
        if view == self._view:
            return self
        with self._alone():
            if view not in self._views:
                self._views[view] = SharedSnapshot(self._folder, view)
            self._views.move_to_end(view)
            shared = self._views[view]
            oldest = self._views.popitem(last=False)[1] if len(self._views) > VIEWS else None
        if oldest is not None:
            oldest.move_to(self._folder)
        return shared

    def lease(self) -> tuple[Snapshot, Callable[[], None]]:
        """Open the last commit. Returns it, and a function to call once at the end of reading. Raises: as `Snapshot.open`."""
        with self._alone():
            opened = self._newest
            if opened is not None and not (
                opened.snapshot.is_current() if opened.readers else opened.snapshot.resume()
            ):
                opened = self._newest = None  # its last reader closes it
            if opened is None:
                opened = self._newest = _Opened(Snapshot.open(self._folder, self._view))
            opened.readers += 1
            return opened.snapshot, partial(self._release, opened)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """The last commit, until the end of `with`. Raises: as `lease` does."""
        snapshot, give_back = self.lease()
        try:
            yield snapshot
        finally:
            give_back()

    def move_to(self, folder: Path, on_close: Callable[[], None] = lambda: None) -> None:
        """Read another folder from the next lease on. `on_close` is called when the earlier one has no readers left."""
        with self._alone():
            self._folder = folder
            before, self._newest = self._newest, None
            for shared in self._views.values():
                shared.move_to(folder)
            if before is not None:
                before.on_close = on_close
                if not before.readers:
                    before.close()
        if before is None:
            on_close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time. What is given back meanwhile is counted afterwards."""
        try:
            with self._turn:
                yield
        finally:
            self._count_returned()

    def _release(self, opened: _Opened) -> None:
        """Never waits: the garbage collector calls it, perhaps in a thread that has the turn, which then goes on with this."""
        self._returned.append(opened)
        self._count_returned()

    def _count_returned(self) -> None:
        while self._returned and self._turn.acquire(blocking=False):
            try:
                while self._returned:
                    opened = self._returned.popleft()
                    opened.readers -= 1
                    if not opened.readers and opened is self._newest:
                        opened.snapshot.park()
                    elif not opened.readers:
                        opened.close()
            finally:
                self._turn.release()
