"""Writing files so that they survive a power cut. This is the only module that syncs, renames or removes files of an index.

    1. A segment's file is written under a temporary name, synced, and renamed to its final name.
    2. The folder that holds it is synced.
    3. COMMIT names it; SQLite syncs its log before it returns.
    4. Once no reader is left that began before the commit, the log is moved into the database, which SQLite syncs, and
       truncated, which is synced here.
    5. Only then are files removed that no commit names, and their folders synced: removed text does not come back.

A power cut between two steps can leave files that no commit names, which the next step 5 removes, but never a commit that names
a missing file.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NEW = ".new"  # ending of a file that is being written


def write_file(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Step 1: write a whole file, or nothing. It replaces a file of the same name."""
    new = path.with_name(path.name + NEW)
    with _synced(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        for part in parts:
            data = memoryview(part).cast("B")
            while data:  # one system call takes at most two gigabytes
                data = data[os.write(descriptor, data) :]
    new.replace(path)


def sync_file(path: Path, size: int | None = None) -> None:
    """Sync a file that other code has written or truncated (step 4), or cut it to `size` bytes and sync it."""
    with _synced(path, os.O_RDWR) as descriptor:
        if size is not None:
            os.ftruncate(descriptor, size)


def make_folder(folder: Path) -> None:
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Step 2: sync the names in a folder. (Windows needs no call for that.)"""
    if os.name == "posix":
        with _synced(folder, os.O_RDONLY):
            pass


def move_folder(folder: Path, to: Path) -> None:
    """Give a folder, whose files are synced, its final name. An empty folder of that name is replaced."""
    if to.is_dir():
        to.rmdir()
    folder.rename(to)
    sync_folder(to.parent)


def remove_folder(folder: Path) -> None:
    """Step 5 for a folder with its contents, if it exists."""
    if folder.is_dir():
        shutil.rmtree(folder)
        sync_folder(folder.parent)


def remove_files(paths: Iterable[Path]) -> None:
    """Step 5: remove files that no commit names."""
    folders = set()
    for path in paths:
        path.unlink(missing_ok=True)
        folders.add(path.parent)
    for folder in sorted(folders):
        sync_folder(folder)


@contextmanager
def _synced(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    try:
        yield descriptor
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # there fsync leaves the data in the memory of the disk
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)
