"""Making damaged files of an index anew, from what is whole: texts from the database, vectors by the encoder.

Arrays of vectors and keywords are made from the texts of their units; links and names are made again by their structures. A
database that is damaged is replaced by a new one with the same documents, if all of them can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.corpus import rows
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import remove_files, remove_folder, sync_folder
from hoptrail.corpus.head import Head, read_head, write_head
from hoptrail.corpus.journal import damaged_journal, drop_damaged_journal
from hoptrail.corpus.places import DATABASE, JOBS
from hoptrail.corpus.refusals import absent, telling
from hoptrail.corpus.row_writer import writing_rows
from hoptrail.corpus.segments import ARRAYS, DamagedSegment, Family, damaged_segments, unknown_arrays
from hoptrail.errors import IndexDamaged
from hoptrail.models.encoder import FloatMatrix

Encode = Callable[[Sequence[str]], FloatMatrix]

_NEW = f"{DATABASE}.new"
"""The folder in which a new database is made."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """`files` were damaged, or did not belong. With `lost`, structures have to make rows again."""

    files: tuple[str, ...]
    lost: bool


def damage(folder: Path) -> list[str]:
    """What is wrong with the files of an index, in words: it reads all of them.

    Raises:
        IndexUnavailable: there is no index.
    """
    if not (folder / DATABASE).is_file():
        raise absent(folder)
    try:
        with telling(folder), _reading(folder) as database:
            found = [
                f"{DATABASE}: {' '.join(what.split())}"
                for (what,) in database.rows("PRAGMA integrity_check")
                if what != "ok"
            ]
            found += [f"{file} is missing or altered" for one in damaged_segments(database) for file in one.files]
            left = [f"{ARRAYS}/{path.name}" for path in unknown_arrays(database)] + _left_over(folder)
            return found + [f"{file} does not belong to the index" for file in left] + damaged_journal(folder)
    except IndexDamaged as error:
        return [str(error)]


def files_of_index(folder: Path) -> int:
    """How many files an index has: its database, the arrays that the last commit names, and the journal of a server's jobs."""
    with telling(folder), _reading(folder) as database:
        ((arrays,),) = database.rows("SELECT count(*) FROM arrays WHERE data IS NULL")
        return 1 + int(arrays) + (folder / JOBS).exists()


def repair(folder: Path, encode: Encode) -> Repaired:
    """Make the index in a folder whole again; structures whose rows were lost are unfinished afterwards.

    Raises:
        IndexUnavailable: there is no index.
        IndexDamaged: documents are damaged; nothing has been touched.
        IndexBusy: another process is writing.
    """
    if not (folder / DATABASE).is_file():
        raise absent(folder)
    with telling(folder):
        if _is_damaged(folder):
            _replace_database(folder)
            repaired = Repaired((DATABASE,), lost=True)
        else:
            repaired = _repair_arrays(folder, encode)
        return replace(repaired, files=(*repaired.files, *drop_damaged_journal(folder)))


def _repair_arrays(folder: Path, encode: Encode) -> Repaired:
    with closing(Database.to_write(folder)) as database:
        lost = damaged_segments(database)
        again = any(one.family in (Family.LINKS, Family.NAMES) for one in lost)
        left = tuple([f"{ARRAYS}/{path.name}" for path in unknown_arrays(database)] + _left_over(folder))
        _drop(database, lost)
        if again:  # noted with the loss itself: whoever goes on after a stop sees no loss any more
            write_head(database, unfinished(read_head(database)))
        database.commit()
    remove_folder(folder / _NEW)
    files = tuple(file for one in lost for file in one.files) + left
    with writing_rows(folder) as writer:
        if writer.units.complete(encode, whole=writer.snapshot().head.whole) or lost:
            writer.commit()
        writer.clean()
    return Repaired(files, again)


def unfinished(head: Head) -> Head:
    """All structures are to be looked at again."""
    return replace(head, structures={}, unfinished=head.unfinished | head.structures, settled={}, whole=False)


def _left_over(folder: Path) -> list[str]:
    """What a repair that was stopped has left."""
    return [_NEW] if (folder / _NEW).exists() else []


def _reading(folder: Path) -> closing[Database]:
    """The database of a folder without its arrays."""
    return closing(Database.to_read(folder))


def _is_damaged(folder: Path) -> bool:
    try:
        with telling(folder), _reading(folder) as database:
            return database.rows("PRAGMA integrity_check") != [("ok",)]
    except IndexDamaged:
        return True


def _drop(database: Database, lost: Sequence[DamagedSegment]) -> None:
    for one in lost:
        database.run("DELETE FROM postings WHERE segment = ?", one.number)
        for table, column in (("segments", "number"), ("arrays", "segment"), ("gone", "segment")):
            database.run(f"DELETE FROM {table} WHERE {column} = ?", one.number)


def _replace_database(folder: Path) -> None:
    """A database of the same documents, without anything that was made of them, in place of one that is damaged."""
    new = folder / _NEW
    remove_folder(new)
    with (
        suppress(IndexDamaged),
        closing(Database.to_write(folder)) as database,
    ):  # no log of the old one meets the new one
        database.roll_back()
        database.empty_log()
    try:
        with telling(folder), _reading(folder) as database:
            head = read_head(database)
            numbers = [number for (number,) in database.rows("SELECT number FROM documents ORDER BY number")]
            documents = list(rows.documents(database, numbers))
    except (IndexDamaged, KeyError, ValueError) as error:
        raise IndexDamaged(
            f"{folder / DATABASE} is damaged, and with it the stored documents: they cannot be rebuilt from here. Index their "
            f"sources into a new folder."
        ) from error
    with writing_rows(new) as writer:
        writer.put_documents(documents)
        writer.put_head(unfinished(head))
        writer.commit()
    remove_files([folder / f"{DATABASE}-wal", folder / f"{DATABASE}-shm"])
    (new / DATABASE).replace(folder / DATABASE)
    sync_folder(folder)
    remove_folder(new)
