"""Keeping an index in step with folders while they change.

What changes is noticed by the system (`watchfiles`); what is then to be done is found out by indexing the folders again, which
knows files by their size and time. So a change that was missed is found with the next, and a watch that was killed has lost
nothing: the next begins with all that is new.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.documents.walking import OF_AN_INDEX
from hoptrail.errors import IndexBusy, StorageError, UsageError

if TYPE_CHECKING:
    from hoptrail.index import Index
    from hoptrail.indexing import Watcher
    from hoptrail.syncing import IndexingReport


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. Indexing begins once nothing has changed for `quiet`, at the latest `longest` after the first change; after it, as
    long as it took is rested, up to `longest`: so no more than half of the time is worked. `retry` after it could not be done.
    """

    quiet: float = 2.0
    longest: float = 60.0
    retry: float = 10.0


USUAL = Pace()
_LOOK = 0.2
"""Seconds between looks at what has changed, and whether to stop."""


class _Stopping:
    """What `watchfiles` asks whether to stop."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.is_set = stopped


def watched_folders(sources: Sequence[str | Path]) -> list[Path]:
    """The folders to be watched.

    Raises:
        UsageError: a source is no folder.
    """
    folders = [Path(source).expanduser().resolve() for source in sources]
    if wrong := [str(folder) for folder in folders if not folder.is_dir()]:
        raise UsageError(f"{wrong[0]} is no folder: folders are watched. Name the one it is in.")
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
    pace: Pace = USUAL,
    turn: AbstractContextManager[object] | None = None,
) -> Iterator[IndexingReport]:
    """Index folders, then again whenever something in them has changed: the report of each time. Ends when the watcher wants to
    stop and nothing is being done. `turn` is entered while it is indexed. What keeps a change from being indexed for now is said,
    and it is tried again.

    Raises:
        UsageError: a source is no folder.
        Interrupted: the watcher asked to stop while something was being indexed; what was finished is kept.
    """
    folders, due = watched_folders(sources), _Due(pace)
    for changed in _changes(folders, index.folder, watcher):
        if changed:
            due.note()
        if not due:
            continue
        if gone := [str(folder) for folder in folders if not folder.is_dir()]:
            raise StorageError(f"{gone[0]} is no longer there: watching has ended, and nothing was forgotten.")
        begun = time.monotonic()
        try:
            with turn or nullcontext():
                report = index.add(folders, recipes, watcher, sync=sync)
        except (IndexBusy, StorageError) as error:
            watcher.say(f"{error} It is tried again.")
            due.put_off()
            continue
        due.done(begun)
        yield report


class _Due:
    """Whether it is time to index: true at first, and once changes have come to rest."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._first: float | None = -pace.longest
        self._last = self._not_before = -pace.longest
        """Of the changes that are not indexed yet; when it may be begun."""

    def note(self) -> None:
        """Something has changed."""
        self._last = time.monotonic()
        self._first = self._last if self._first is None else self._first

    def __bool__(self) -> bool:
        now = time.monotonic()
        if self._first is None or now < self._not_before:
            return False
        return now - self._last >= self._pace.quiet or now - self._first >= self._pace.longest

    def put_off(self) -> None:
        self._not_before = time.monotonic() + self._pace.retry

    def done(self, begun: float) -> None:
        """What had changed until then is indexed."""
        now = time.monotonic()
        self._first, self._not_before = None, now + min(now - begun, self._pace.longest)


def _changes(folders: Sequence[Path], index: Path, watcher: Watcher) -> Iterator[bool]:
    """Whether something has changed in folders, asked again and again: at first as soon as watching has begun. What hoptrail
    itself writes counts for nothing.

    Raises:
        StorageError: the system watches no more.
    """
    from watchfiles import watch as watch_files

    own, look = index.resolve(), round(1000 * _LOOK)
    found = watch_files(
        *folders,
        watch_filter=None,
        debounce=2 * look,
        step=look,
        rust_timeout=look,
        yield_on_timeout=True,
        stop_event=_Stopping(watcher.stopped),
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    try:
        for changes in found:
            yield any(_counts(Path(path), own) for _, path in changes)
    except OSError as error:
        raise StorageError(
            f"the folders cannot be watched: {error}. Watch fewer, or let the system watch more."
        ) from error


def _counts(place: Path, own: Path) -> bool:
    return not (place.is_relative_to(own) or OF_AN_INDEX in place.parts)
