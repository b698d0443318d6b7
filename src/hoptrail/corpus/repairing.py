"""Finding damaged files of an index, and rebuilding them from what is intact.

Arrays of vectors and keywords are made again from the texts of their units; links and names by their structures. A damaged
database is replaced by a new one with the same documents, if all of them can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.connecting import damaged, repairable, still_read, translating_errors
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import Documents
from hoptrail.corpus.durable import remove_files, remove_folder, sync_folder
from hoptrail.corpus.head import Head, read_head, write_head
from hoptrail.corpus.journal import damaged_journal, drop_damaged_journal
from hoptrail.corpus.locations import DATABASE, HISTORY, JOBS
from hoptrail.corpus.segments import Family, array_files, damaged_segments, delete_segment, unknown_arrays
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.blocks import document_id
from hoptrail.errors import IndexDamaged
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document

Encode = Callable[[Sequence[str]], FloatMatrix]

_NEW = f"{DATABASE}.new"  # the folder in which a new database is made


@dataclass(frozen=True, slots=True)
class Repaired:
    """`files` were damaged or did not belong to the index. With `lost`, structures must make rows again."""

    files: tuple[str, ...]
    lost: bool


def damage(folder: Path) -> list[str]:
    """The faults of the files of an index, in words. Reads all of them. Raises: IndexUnavailable: there is no index."""
    try:
        with translating_errors(folder), closing(Database.to_read(folder)) as database:
            for fault in database.faults():
                raise damaged(folder, fault)
            if excess := database.excess():
                raise repairable(folder, f"{folder / DATABASE} has {excess} bytes after its end")
            files = [file for files in damaged_segments(database).values() for file in files]
            faults = [f"{file} is missing or altered" for file in files]
            faults += [f"{file} does not belong to the index" for file in _foreign_files(database)]
    except IndexDamaged as error:
        faults = [error.fault]
    return faults + [fault for found in damaged_journal(folder).values() for fault in found]


def files_of_index(folder: Path) -> int:
    """The number of files of an index: its database, the arrays of the last commit, the journal of jobs, the history."""
    with closing(Database.to_read(folder)) as database:
        return 1 + len(array_files(database)) + sum((folder / name).exists() for name in (JOBS, HISTORY))


def repair(folder: Path, encode: Encode) -> Repaired:
    """Repair an index. Structures whose rows were lost are unfinished afterwards.
    Raises: IndexUnavailable, IndexBusy; IndexDamaged: documents are damaged; nothing was changed.
    """
    with translating_errors(folder):
        if _is_damaged(folder):
            _replace_database(folder)
            repaired = Repaired((DATABASE,), lost=True)
        else:
            repaired = _repair_arrays(folder, encode)
        return replace(repaired, files=(*repaired.files, *drop_damaged_journal(folder)))


def _repair_arrays(folder: Path, encode: Encode) -> Repaired:
    with closing(Database.to_write(folder)) as database:
        cut = [DATABASE] * database.cut_excess()
        altered = damaged_segments(database)
        lost = any(family in (Family.LINKS, Family.NAMES) for _, family in altered)
        files = (*cut, *(file for files in altered.values() for file in files), *_foreign_files(database))
        for number, _ in altered:
            delete_segment(database, number)
        if altered:  # in the same commit: after a stop, the next repair would find no damage
            for number in database.column("SELECT number FROM segments WHERE family = ?", Family.GRAPHS.value):
                delete_segment(database, number)  # made from what may be lost; the next run makes it again
            head = read_head(database)
            write_head(database, unfinished(head) if lost else replace(head, settled={}))
        database.commit()
    remove_folder(folder / _NEW)
    with writing_to(folder) as writer:
        if writer.complete(encode, whole=writer.head.whole) or altered:
            writer.commit()
        if not writer.erase_removed():
            raise still_read(folder)
    return Repaired(files, lost)


def unfinished(head: Head) -> Head:
    return replace(head, structures={}, unfinished=head.unfinished | head.structures, settled={}, whole=False)


def _foreign_files(database: Database) -> list[str]:
    """Files in the index folder that no commit names: arrays, and what a stopped repair left."""
    left_over = [_NEW] if (database.folder / _NEW).exists() else []
    return [f"{ARRAYS}/{path.name}" for path in unknown_arrays(database)] + left_over


def _is_damaged(folder: Path) -> bool:
    try:
        with closing(Database.to_read(folder)) as database:
            return any(database.faults())
    except IndexDamaged:
        return True


def _replace_database(folder: Path) -> None:
    """Replace a damaged database by one of the same documents, without what was made from them."""
    new = folder / _NEW
    remove_folder(new)
    try:
        with closing(
            Database.to_repair(folder)
        ) as database:  # its log is then empty: SQLite would apply it to the new one
            head = Head(whole=False) if database.altered("settings", "structures") else read_head(database)
            documents = list(_intact_documents(database))
    except (IndexDamaged, KeyError, ValueError) as error:
        raise IndexDamaged(
            f"{folder / DATABASE} is damaged, and with it the stored documents: they cannot be rebuilt from here. Index their "
            f"sources into a new folder."
        ) from error
    with writing_to(new) as writer:
        writer.put_documents(documents)
        writer.commit(unfinished(head))
    remove_files([folder / f"{DATABASE}-wal", folder / f"{DATABASE}-shm"])
    (new / DATABASE).replace(folder / DATABASE)
    sync_folder(folder)
    remove_folder(new)


def _intact_documents(database: Database) -> Iterator[Document]:
    """All documents. Raises: IndexDamaged: one of them, or which there are, is not as it was stored."""
    if database.altered("documents", "blocks", "sources"):
        raise damaged(database.folder, "its documents do not match their checksums")
    for document in Documents(database).read():
        declared = (document.title, "")
        if document.id not in (document_id(title, document.text, document.blocks) for title in declared):
            raise damaged(database.folder, f"the document {document.title} is altered")
        yield document
