"""Keeping an index in step with folders while they change.

The operating system reports that something changed (`watchfiles`); indexing the folders again finds out what, since it knows
files by their sizes and times. So a missed change is found with the next one, and a killed watch loses nothing: the next begins
with everything that is new.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from hoptrail.documents.walking import OF_AN_INDEX
from hoptrail.errors import IndexBusy, StillRead, StorageError, UsageError, disk_errors

if TYPE_CHECKING:
    from hoptrail.index.index import Index
    from hoptrail.index.indexing import Watcher
    from hoptrail.index.syncing import IndexingReport


QUIET, LONGEST, RETRY = 2.0, 60.0, 10.0
"""Seconds. Indexing begins once nothing has changed for QUIET, at the latest LONGEST after the first change. The pause after it
is as long as it took, up to LONGEST, so that at most half of the time is spent indexing. It is retried RETRY after a failure.
"""
_LOOK = 0.2  # seconds between two checks for changes and for a request to stop


def watched_folders(sources: Sequence[str | Path]) -> list[Path]:
    """The resolved folders to watch. Raises: UsageError: a source is not a folder, or there are none."""
    folders = [Path(source).expanduser().resolve() for source in sources]
    if wrong := [str(folder) for folder in folders if not folder.is_dir()]:
        raise UsageError(f"{wrong[0]} is not a folder. Only folders are watched: name the one it is in.")
    if not folders:
        raise UsageError("name at least one folder to watch.")
    return folders


def watch(
    index: Index,
    sources: Sequence[str | Path],
    recipes: Sequence[str],
    watcher: Watcher,
    *,
    sync: bool | None = None,
    exclude: Sequence[str] = (),
    turn: AbstractContextManager[object] | None = None,
) -> Iterator[IndexingReport]:
    """Index folders as `Index.add` does, then again whenever something in them has changed; yields the report of each run.

    Documents of files that are there but no longer read are removed without `sync`, too. Ends when the watcher asks to stop
    between runs. `turn` is entered for each run. It is retried (`watcher.say`) after a busy index, a full disk or a late erasing.

    Raises:
        UsageError: a source is not a folder.
        StorageError: a folder has disappeared, or the system cannot watch.
        Interrupted: the watcher asked to stop during a run; what was finished is kept.
    """
    folders, due = watched_folders(sources), _Due()
    for changed in _changes(folders, index.folder, watcher):
        if changed:
            due.note()
        if not due:
            continue
        if missing := [str(folder) for folder in folders if not folder.is_dir()]:
            raise StorageError(f"{missing[0]} is no longer there. Watching has ended; no documents were removed.")
        started = time.monotonic()
        try:
            with turn or nullcontext():
                report = index.add(folders, recipes, watcher, sync=sync, exclude=exclude)
                if report.outdated:
                    removed = len(index.remove(report.outdated))
                    report.removed, report.documents = report.removed + removed, report.documents - removed
                    report.outdated = []
        except (IndexBusy, StillRead, StorageError) as error:
            watcher.say(f"{error} It will be retried.")
            due.put_off()
            continue
        due.done(started)
        yield report


class _Due:
    """Whether it is time to index: true at first, then once changes have come to rest."""

    def __init__(self) -> None:
        self._first: float | None = -LONGEST  # time of the first change that is not indexed yet
        self._last = self._not_before = -LONGEST  # times of the last change, and before which nothing is indexed

    def note(self) -> None:
        self._last = time.monotonic()
        self._first = self._last if self._first is None else self._first

    def __bool__(self) -> bool:
        now = time.monotonic()
        if self._first is None or now < self._not_before:
            return False
        return now - self._last >= QUIET or now - self._first >= LONGEST

    def put_off(self) -> None:
        self._not_before = time.monotonic() + RETRY

    def done(self, started: float) -> None:
        """Note the end of a run that began at `started`: there is no change left to index."""
        now = time.monotonic()
        self._first, self._not_before = None, now + min(now - started, LONGEST)


def _changes(folders: Sequence[Path], index: Path, watcher: Watcher) -> Iterator[bool]:
    """Yields every `_LOOK` seconds whether anything changed, except in indexes. Raises: StorageError: the system cannot watch."""
    from watchfiles import watch as watch_files

    own, look = index.resolve(), round(1000 * _LOOK)
    with disk_errors("the folders cannot be watched", ". Watch fewer, or let the system watch more."):
        while True:
            try:
                for changes in watch_files(
                    *folders,
                    watch_filter=None,
                    debounce=2 * look,
                    step=look,
                    rust_timeout=look,
                    yield_on_timeout=True,
                    stop_event=SimpleNamespace(is_set=watcher.stopped),
                    raise_interrupt=False,
                    ignore_permission_denied=True,
                ):
                    places = [Path(path) for _, path in changes]
                    yield any(not (place.is_relative_to(own) or OF_AN_INDEX in place.parts) for place in places)
                return
            except RuntimeError as error:
                if "decode path" not in str(error):
                    raise
                yield True  # the name of what has changed is not UTF-8, which ends this watch
