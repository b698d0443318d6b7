"""The last commit of an index as files: copied to a folder, or opened for sending, while others read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from hoptrail.corpus.arrays import ARRAYS, missing
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import NEW, make_folder, move_folder, remove_folder, sync_file, sync_folder, write_file
from hoptrail.corpus.head import commit_number
from hoptrail.corpus.places import DATABASE
from hoptrail.corpus.refusals import translating_errors
from hoptrail.corpus.segments import array_files
from hoptrail.errors import UsageError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """A commit and its files by their paths in the index folder (with slashes)."""

    number: int
    files: Mapping[str, BinaryIO]


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
            with _opened(folder, f"{ARRAYS}/{name}") as file:
                write_file(new / ARRAYS / name, iter(lambda: file.read(_BLOCK), b""))
        database.copy_to(new / DATABASE)
        sync_file(new / DATABASE)
        sync_folder(new / ARRAYS)
        sync_folder(new)
        move_folder(new, to)


@contextmanager
def open_commit(folder: Path) -> Iterator[OpenCommit]:
    """The last commit of an index. Its files can be read until the end of the block, whatever happens to the index; no writer
    waits for that. The database is copied to the system's temporary folder, and the copy unlinked before the block begins.
    Raises: as `copy_index` does.
    """
    with ExitStack() as files:
        with (
            closing(Database.to_read(folder)) as database,
            TemporaryDirectory(prefix="hoptrail-", ignore_cleanup_errors=True) as temporary,
        ):
            names = [f"{ARRAYS}/{name}" for name in array_files(database)]
            opened = {name: files.enter_context(_opened(folder, name)) for name in names}
            copy = Path(temporary, DATABASE)
            with translating_errors(copy.parent):
                database.copy_to(copy)
                opened[DATABASE] = files.enter_context(copy.open("rb"))
            number = commit_number(database)
        yield OpenCommit(number, dict(sorted(opened.items())))


def check_empty(folder: Path) -> None:
    """Raises: UsageError: the path is a file, or a folder that is not empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise UsageError(f"{folder} already exists: name a new or an empty folder.")


def _opened(folder: Path, name: str) -> BinaryIO:
    with translating_errors(folder):
        try:
            return (folder / name).open("rb")
        except FileNotFoundError as error:
            raise missing(folder, folder / name) from error
