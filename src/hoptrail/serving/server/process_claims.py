"""Ownership of uploads and jobs among several processes that serve one index.

Names of uploads begin with the mark of the process that stored them, and jobs are recorded with it. A running process holds a
lock of that name. If nobody holds the lock, its process has ended, and another process takes over by acquiring it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from hoptrail.corpus.durable import make_folder
from hoptrail.errors import IndexBusy

LOCK = ".lock"


class Claims:
    """The marks that this process holds in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.mark = f"u{secrets.token_hex(4)}"
        """The mark of this process."""
        self._held: dict[str, FileLock] = {}

    def hold(self) -> None:
        """Claim the mark of this process, and create the folder."""
        if self.mark not in self._held:
            make_folder(self._folder)
            with self.claiming():
                self.claim(self.mark)

    def claiming(self) -> BaseFileLock:
        """Excludes all other threads and processes that claim marks, inside `with`."""
        return FileLock(self._lock_of("claiming"))

    def claim(self, mark: str) -> bool:
        """Try to take over a mark; returns False if this or another process already holds it."""
        if mark in self._held:
            return False
        lock = FileLock(self._lock_of(mark), timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return False
        self._held[mark] = lock
        return True

    def marks(self) -> set[str]:
        """The marks of the existing files."""
        return {path.name[: len(self.mark)] for path in self._folder.glob("u*")}

    def release(self) -> None:
        """Release all marks: the next server to start takes them over."""
        if not self._held:
            return
        with self.claiming():
            while self._held:
                mark, lock = self._held.popitem()
                if not any(path.suffix != LOCK for path in self._folder.glob(f"{mark}*")):
                    self._lock_of(mark).unlink(missing_ok=True)
                lock.release()

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Held while uploads are prepared and indexed: one process at a time, since only one can write to the index.
        Raises: IndexBusy: another process holds it.
        """
        try:
            with FileLock(self._lock_of("preparing"), timeout=0):
                yield
        except Timeout:
            raise IndexBusy(f"another process is indexing uploads from {self._folder}.") from None

    def _lock_of(self, name: str) -> Path:
        return self._folder / f"{name}{LOCK}"
