"""The last commit of an index, opened once for all who read it at the same time, and parked while nobody does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.view import EVERYTHING, View

VIEWS = 16
"""Of one index that are kept open while nobody asks: each has what is made of it in memory for itself."""


class _Opened:
    """A snapshot and how many read it; `then` is called when it is closed."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.readers = 0
        self.then: Callable[[], None] | None = None

    def close(self) -> None:
        self.snapshot.close()
        if self.then is not None:
            self.then()


class Lease:
    """The right to read a snapshot, until it is given back."""

    def __init__(self, owner: SharedSnapshot, opened: _Opened) -> None:
        self.snapshot = opened.snapshot
        self._owner = owner
        self._opened: _Opened | None = opened

    def give_back(self) -> None:
        """More than once is as good as once."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self._owner.release(opened)


class SharedSnapshot:
    """For one index and any number of threads. What is made of a commit in memory is kept until another is read."""

    def __init__(self, folder: Path, view: View = EVERYTHING) -> None:
        self._folder = folder
        self._view = view
        self._turn = Lock()
        self._newest: _Opened | None = None
        self._seen: OrderedDict[View, SharedSnapshot] = OrderedDict()

    def seen(self, view: View) -> SharedSnapshot:
        """The same index with a view; the latest of them are kept open."""
        if view == self._view:
            return self
        with self._turn:
            if view not in self._seen:
                self._seen[view] = SharedSnapshot(self._folder, view)
            self._seen.move_to_end(view)
            found = self._seen[view]
            oldest = self._seen.popitem(last=False)[1] if len(self._seen) > VIEWS else None
        if oldest is not None:
            oldest.move_to(self._folder, lambda: None)
        return found

    def lease(self) -> Lease:
        """The last commit, to be read until the lease is given back.

        Raises: as `Snapshot.open` does.
        """
        with self._turn:
            opened = self._newest
            if opened is not None and not (
                opened.snapshot.is_current() if opened.readers else opened.snapshot.resume()
            ):
                opened = self._newest = None  # whoever still reads the one before closes it
            if opened is None:
                opened = self._newest = _Opened(Snapshot.open(self._folder, self._view))
            opened.readers += 1
            return Lease(self, opened)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """The last commit, until the end of `with`. Raises: as `lease` does."""
        lease = self.lease()
        try:
            yield lease.snapshot
        finally:
            lease.give_back()

    def move_to(self, folder: Path, then: Callable[[], None]) -> None:
        """Read another folder from the next lease on; `then` is called when nobody reads the one before any more."""
        with self._turn:
            self._folder = folder
            before, self._newest = self._newest, None
            for one in self._seen.values():
                one.move_to(folder, lambda: None)
            if before is not None:
                before.then = then
                if not before.readers:
                    before.close()
        if before is None:
            then()

    def release(self, opened: _Opened) -> None:
        """One reader less."""
        with self._turn:
            opened.readers -= 1
            if not opened.readers:
                if opened is self._newest:
                    opened.snapshot.park()
                else:
                    opened.close()
