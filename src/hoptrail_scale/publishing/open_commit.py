"""The last commit of an index as open files, to be sent while others read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.connecting import translating_errors
from hoptrail.corpus.copying import open_file
from hoptrail.corpus.database import Database
from hoptrail.corpus.head import commit_number
from hoptrail.corpus.places import DATABASE
from hoptrail.corpus.segments import array_files


@dataclass(frozen=True, slots=True)
class OpenCommit:
    """A commit and its files by their paths in the index folder (with slashes)."""

    number: int
    files: Mapping[str, BinaryIO]


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
            opened = {name: files.enter_context(open_file(folder, name)) for name in names}
            copy = Path(temporary, DATABASE)
            with translating_errors(copy.parent):
                database.copy_to(copy)
                opened[DATABASE] = files.enter_context(copy.open("rb"))
            number = commit_number(database)
        yield OpenCommit(number, dict(sorted(opened.items())))
