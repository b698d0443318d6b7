"""The last commit of an index as files: copied into a folder, or open to be sent elsewhere, while others read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import (
    NEW,
    make_folder,
    move_folder,
    remove_folder,
    sync_file,
    sync_folder,
    write_file,
)
from hoptrail.corpus.head import commit_number
from hoptrail.corpus.places import DATABASE
from hoptrail.corpus.refusals import telling
from hoptrail.corpus.segments import ARRAYS, MissingFile, file_name
from hoptrail.errors import UsageError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """A commit, and its files by their paths in the index folder, with slashes."""

    number: int
    files: Mapping[str, BinaryIO]


def copy_index(folder: Path, to: Path) -> None:
    """Copy the last commit of the index in a folder, and nothing else of the folder, into a new or an empty one. The copy is on
    the disk when this returns; when it fails, `to` is as it was.

    Raises:
        UsageError: `to` holds something.
        IndexUnavailable, IndexDamaged: the index cannot be read.
        StorageError: the disk refuses.
    """
    check_empty(to)
    new = to.with_name(to.name + NEW)
    with _reading(folder) as database, telling(to):
        remove_folder(new)
        make_folder(new / ARRAYS)
        for name in _array_names(database):
            with _opened(folder, name) as file:
                write_file(new / name, iter(lambda: file.read(_BLOCK), b""))
        database.copy_to(new / DATABASE)
        sync_file(new / DATABASE)
        sync_folder(new / ARRAYS)
        sync_folder(new)
        move_folder(new, to)


@contextmanager
def open_commit(folder: Path) -> Iterator[OpenCommit]:
    """The last commit of the index in a folder. Its files can be read until the end of the block, whatever becomes of the index;
    no writer waits for that. The database is copied into the folder of the system for temporary files, where its name is
    removed before the block begins.

    Raises: as `copy_index` does.
    """
    with ExitStack() as files:
        with (
            _reading(folder) as database,
            TemporaryDirectory(prefix="hoptrail-", ignore_cleanup_errors=True) as temporary,
        ):
            opened = {name: files.enter_context(_opened(folder, name)) for name in _array_names(database)}
            copy = Path(temporary, DATABASE)
            with telling(copy.parent):
                database.copy_to(copy)
                opened[DATABASE] = files.enter_context(copy.open("rb"))
            number = commit_number(database)
        yield OpenCommit(number, dict(sorted(opened.items())))


def check_empty(folder: Path) -> None:
    """Raises: UsageError: there is a file of this name, or a folder that holds something."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise UsageError(f"{folder} is there already: name a new folder, or an empty one.")


@contextmanager
def _reading(folder: Path) -> Iterator[Database]:
    """A view of the last commit. While it is open, no writer removes a file that the commit names."""
    database = Database.to_read(folder)
    try:
        yield database
    finally:
        database.close()


def _array_names(database: Database) -> list[str]:
    found = database.rows("SELECT segment, name FROM arrays WHERE data IS NULL ORDER BY segment, name")
    return [f"{ARRAYS}/{file_name(segment, name)}" for segment, name in found]


def _opened(folder: Path, name: str) -> BinaryIO:
    with telling(folder):
        try:
            return (folder / name).open("rb")
        except FileNotFoundError as error:
            raise MissingFile(f"{folder / name} is missing. Run `hoptrail repair --index {folder}`.") from error
