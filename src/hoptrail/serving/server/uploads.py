"""Uploaded documents, from their arrival until they are indexed: files under generated ids in the index folder.

The name that a client gives is data and never part of a path: it becomes the document's source and, if the content has no
title, its title. Sources are lines of a file that does not exist, named by the hash of the name, so that a new version of the
same name replaces the old one. After indexing nothing is kept: the index holds the text.

A file that no job in the journal names was never acknowledged. Several processes may serve one index: names of uploads begin with
the mark of the process that stored them, and jobs are recorded with it. A running process holds a lock of that name; if nobody
does, its process has ended, and another one takes over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from hoptrail.corpus.durable import NEW, make_folder, remove_files, sync_folder, write_file
from hoptrail.corpus.journal import Item, JobRecord, Journal
from hoptrail.documents import walking
from hoptrail.documents.blocks import document_id
from hoptrail.documents.child import NOTES
from hoptrail.documents.file_contents import ending_of, is_readable, without_packing
from hoptrail.documents.forms import ENDINGS, name_of
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.marks import FILE_TIME
from hoptrail.documents.read_sources import FILE_NAME, ReadingLimits, read_sources
from hoptrail.errors import DocumentError, disk_errors
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.answer_text import one_line
from hoptrail.serving.server.refusals import Refusal, too_large
from hoptrail.text.dates import find_date
from hoptrail.types import Document, content_id
from hoptrail.types.sources import UPLOADS

LOCK = ".lock"
CLAIMING = "claiming"
"""The lock that is held to find out which processes have ended."""
_BLOCK = 1 << 20
LONGEST_NAME = 200
_UNNAMED = "unnamed"
_SUPPORTED = f"Text may have any name; other files must end in {', '.join(ENDINGS)}, optionally packed as .gz."


class Uploads:
    """The uploads of one workspace. `index` is its index folder."""

    def __init__(self, index: Path, limits: ServerLimits, reading: ReadingLimits) -> None:
        self.folder = index / UPLOADS
        self._limits = limits
        self._reading = reading
        self.mark = f"u{secrets.token_hex(4)}"
        """The mark of this process."""
        self._lock = self._lock_of(self.mark)

    def _lock_of(self, mark: str) -> FileLock:
        return FileLock(self.folder / f"{mark}{LOCK}", thread_local=False)

    def hold(self) -> None:
        """Hold the lock of this process from now on, and create the folder: again if it was deleted, or replaced by a backup."""
        if self._is_held():
            return
        make_folder(self.folder)
        with self._lock_of(CLAIMING):
            if not self._is_held():  # nor has another thread been faster
                self._lock.release(force=True)
                self._lock.acquire()

    def _is_held(self) -> bool:
        return self._lock.is_locked and Path(self._lock.lock_file).exists()

    def release(self) -> None:
        """Release the lock: the next server to start takes over what is left."""
        self._lock.release()

    def adopt(self, journal: Journal) -> list[JobRecord]:
        """Take over the jobs of processes that have ended, and remove their files that no job names."""
        self.hold()
        with self._lock_of(CLAIMING):
            marks = {path.name[: len(self.mark)] for path in self.folder.glob("u*")} | journal.owners()
            ended = {mark for mark in marks - {self.mark} if self._is_free(mark)}
            jobs, wanted = journal.take_over(ended, self.mark), journal.open_items()
            found = [path for mark in ended for path in self.folder.glob(f"{mark}*")]
            left = [path for path in found if path.name.partition(".")[0] not in wanted]
            remove_files([*left, *self.folder.glob("n*.jsonl")])  # the latter are of earlier versions
        return jobs

    def _is_free(self, mark: str) -> bool:
        with suppress(Timeout), self._lock_of(mark).acquire(timeout=0):
            return True
        return False

    def keep(self, name: str, content: BinaryIO) -> Item:
        """Store a file under a new id; its name is shortened for display. `settle` syncs it in the folder.
        Raises: Refusal: its format is not supported (status 415), or too much is waiting (413).
        """
        ending = ending_of(name)
        stem = name[: len(name) - len(ending)]
        name, whole_name = (one_line(stem)[:longest] + ending or _UNNAMED for longest in (LONGEST_NAME, None))
        upload = Item(f"{self.mark}{secrets.token_hex(6)}", name, whole_name=whole_name, ending=ending)
        path = self._path(upload)
        with disk_errors(f"cannot store an upload in {self.folder}"):
            try:
                self.hold()
                write_file(path, self._within_limit(content))
                with suppress(Unreadable):  # a damaged one is stored: its job reports the fault
                    if not is_readable(path):
                        raise Refusal(415, "wrong_type", "is not text and has no supported format", _SUPPORTED)
            except BaseException:
                with suppress(OSError):
                    self.discard([upload])
                raise
        return upload

    def _path(self, upload: Item) -> Path:
        return self.folder / f"{upload.id}{upload.ending}"

    def settle(self) -> None:
        """Sync the names of stored files to the disk."""
        with disk_errors(f"cannot store uploads in {self.folder}"):
            sync_folder(self.folder)

    def read(self, upload: Item, seconds: int, stopped: Callable[[], bool]) -> Iterator[Document]:
        """The documents of an upload, each parsed within `seconds`. Then `upload` has their ids by source, and notes on
        what could not be read. The stream ends early once `stopped` returns True.
        Raises: DocumentError: nothing in it could be read; its reason may be shown to clients. It is temporary if the system did
        not let it be read now, which says nothing about its content.
        """
        stored, reading = self._path(upload), replace(self._reading, parsing_seconds=seconds)
        place = walking.shown((self.folder / f"{content_id('n', upload.whole_name)}.jsonl").resolve())
        found, notes, failures = dict[str, str](), list[str](), list[str]()
        for one in read_sources([stored], reading, stopped=stopped):
            if isinstance(one, DocumentError):
                if isinstance(one.__cause__, OSError):
                    raise one
                _, mark, line = one.source.rpartition(", line ")
                failures.append(f"line {line}: {one.reason}" if mark and line.isdigit() else one.reason)
                continue
            document = _uploaded(one, stored, upload.name, place)
            source = document.sources[0]
            if found.setdefault(source, document.id) == document.id:
                notes += document.notes
                yield document
            else:
                failures.append(f"{source.removeprefix(place)[1:]}: an earlier document has this id")
        if failures and not found and not stopped():
            raise DocumentError(upload.name, failures[0])
        said = [*failures, *notes]
        rest = [f"and {len(said) - NOTES} more notes like these"] if len(said) > NOTES else []
        upload.documents, upload.notes = found, (*said[:NOTES], *rest)

    def discard(self, items: Iterable[Item]) -> None:
        """Remove the stored files of those of these items that are uploads."""
        paths = [self._path(item) for item in items if item.whole_name]
        if paths and self.folder.is_dir():
            remove_files([*paths, *(path.with_name(path.name + NEW) for path in paths)])

    def _within_limit(self, content: BinaryIO) -> Iterator[bytes]:
        """The blocks of the content, as long as it fits beside what is stored."""
        stored, most = 0, self._limits.waiting_uploads
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                stored += path.stat().st_size
        while block := content.read(_BLOCK):
            stored += len(block)
            if stored > most:
                raise too_large("The total of waiting uploads", most, "Wait, or discard stopped jobs.")
            yield block


def _uploaded(document: Document, stored: Path, name: str, place: str) -> Document:
    """A document that was read from the `stored` upload `name`, as if read from a line of the JSONL file at `place`."""
    line = document.sources[0].partition(f"{walking.shown(stored.resolve())}#")[2]
    ours, theirs = (name_of(without_packing(path)) for path in (stored, Path(name)))
    title = theirs if document.title == ours else document.title
    date, origin = document.date, document.date_from
    if origin in {FILE_NAME, FILE_TIME}:  # those of our copy
        date, origin = find_date(name), FILE_NAME
    return replace(
        document,
        id=document_id(title, document.text, document.blocks),
        title=title,
        sources=(f"{place}#{name}#{line}" if line else f"{place}#{name}",),
        date=date,
        date_from=origin if date else "",
    )
