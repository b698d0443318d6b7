"""Which process uploads and jobs belong to, where several serve one index.

Names of uploads begin with the mark of the process that kept them, and jobs are noted with it. The process holds a lock of that
name as long as it lives: what nobody holds was left by a process that has ended, and belongs to whoever takes its lock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hoptrail.corpus.durable import make_folder
from hoptrail.errors import IndexBusy

LOCK = ".lock"


class Claims:
    """The marks that this process holds in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.mark = f"u{secrets.token_hex(4)}"
        """Our own."""
        self._held: dict[str, FileLock] = {}

    def hold(self) -> None:
        """Claim our own mark, and make the folder."""
        if self.mark not in self._held:
            make_folder(self._folder)
            with self.claiming():
                self.claim(self.mark)

    @contextmanager
    def claiming(self) -> Iterator[None]:
        """One at a time, of all processes and threads."""
        with FileLock(self._lock_of("claiming")):
            yield

    def claim(self, mark: str) -> bool:
        """Whether what has a mark has become ours: not where it was already, or is somebody else's."""
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
        """Those of the files that are there."""
        return {path.name[: len(self.mark)] for path in self._folder.glob("u*")}

    def release(self) -> None:
        """Give up what is ours: a server that starts from now on takes it over."""
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
        """While uploads are prepared and indexed: one process at a time, as only one can write to the index.

        Raises:
            IndexBusy: another process does so.
        """
        try:
            with FileLock(self._lock_of("preparing"), timeout=0):
                yield
        except Timeout:
            raise IndexBusy(f"another process indexes uploads from {self._folder}.") from None

    def _lock_of(self, name: str) -> Path:
        return self._folder / f"{name}{LOCK}"
