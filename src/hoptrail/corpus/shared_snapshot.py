"""The last commit of an index, opened once for all concurrent readers, and parked while there are none."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.view import EVERYTHING, View

VIEWS = 16
"""Views of an index that are kept open without readers; each has its own derived objects in memory."""


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
        self._newest: _Opened | None = None
        self._views: OrderedDict[View, SharedSnapshot] = OrderedDict()

    def seen(self, view: View) -> SharedSnapshot:
        """The same index restricted to a view. The most recently used views are kept open."""
        if view == self._view:
            return self
        with self._turn:
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
        with self._turn:
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
        with self._turn:
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

    def _release(self, opened: _Opened) -> None:
        with self._turn:
            opened.readers -= 1
            if not opened.readers:
                if opened is self._newest:
                    opened.snapshot.park()
                else:
                    opened.close()
