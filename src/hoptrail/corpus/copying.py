"""The last commit of an index, copied to a folder while others read and write."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from hoptrail.corpus.arrays import ARRAYS, missing
from hoptrail.corpus.connecting import translating_errors
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import NEW, make_folder, move_folder, remove_folder, sync_file, sync_folder, write_file
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.segments import array_files
from hoptrail.errors import UsageError

_BLOCK = 1 << 20


def copy_index(folder: Path, to: Path) -> None:
    """Copy the last commit of an index, synced, and no other files to a new or empty folder. When it fails, `to` is unchanged.
    Raises: UsageError (`to` is not empty), IndexUnavailable, IndexDamaged, StorageError.
    """
    check_empty(to)
    new = to.with_name(to.name + NEW)
    with closing(Database.to_read(folder)) as database, translating_errors(to):  # it keeps writers from removing files
        remove_folder(new)
        make_folder(new / ARRAYS)
        for name in array_files(database):
            with open_file(folder, f"{ARRAYS}/{name}") as file:
                write_file(new / ARRAYS / name, iter(lambda: file.read(_BLOCK), b""))
        database.copy_to(new / DATABASE)
        sync_file(new / DATABASE)
        sync_folder(new / ARRAYS)
        sync_folder(new)
        move_folder(new, to)


def check_empty(folder: Path) -> None:
    """Raises: UsageError: the path is a file, or a folder that is not empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise UsageError(f"{folder} already exists: name a new or an empty folder.")


def open_file(folder: Path, name: str) -> BinaryIO:
    """A file of an index, by its path in the folder. Raises: IndexDamaged: it is missing."""
    with translating_errors(folder):
        try:
            return (folder / name).open("rb")
        except FileNotFoundError as error:
            raise missing(folder, folder / name) from error
