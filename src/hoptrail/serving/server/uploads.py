"""Uploaded documents, from their arrival until they are indexed: files under generated ids in the index folder.

The name that a client gives is data and never part of a path: it becomes the document's source and, if the content has no
title, its title. A file is parsed once, in the child process that parses all documents, into JSON lines in a file named by
the name's hash, so that a new version of the same name replaces the old one. These lines are read back under wider limits,
since their content has passed those of the settings. After indexing nothing is kept: the index holds the text.

The order of writing: sync the upload's file, sync its folder, record it in a job in the journal, acknowledge the job.
A file that no job names was never acknowledged.

Several processes may serve one index. Names of uploads begin with the mark of the process that stored them, and jobs are recorded
with it. A running process holds a lock of that name. If nobody holds the lock, its process has ended, and another one takes over.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from filelock import BaseFileLock, FileLock, Timeout

from hoptrail.corpus.durable import NEW, make_folder, remove_files, sync_folder, write_file
from hoptrail.documents import walking
from hoptrail.documents.blocks import ends_within, pack
from hoptrail.documents.file_contents import ending_of, is_readable, without_packing
from hoptrail.documents.forms import ENDINGS, name_of
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.marks import FILE_TIME
from hoptrail.documents.read_sources import FILE_NAME, ReadingLimits, read_sources
from hoptrail.errors import DocumentError, IndexBusy, disk_errors
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.refusals import Refusal, too_large
from hoptrail.serving.server.wire import shown
from hoptrail.text.dates import find_date
from hoptrail.types import Document, content_id
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import UPLOADS

_BLOCK = 1 << 20
_LONGEST_NAME = 200
_UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: its id, its name, shortened for display and whole, and its path. A later upload with the same whole name
    replaces it.
    """

    id: str
    name: str
    whole_name: str
    path: Path

    @property
    def ending(self) -> str:
        """The known ending of its name, such as `.md.gz`; empty if there is none."""
        return self.path.name.removeprefix(self.id)


class WrongType(Refusal):
    """The file has no supported format and is not text."""

    def __init__(self) -> None:
        what_to_do = f"Text may have any name; other files must end in {', '.join(ENDINGS)}, optionally packed as .gz."
        super().__init__(415, "wrong_type", "is not text and has no supported format", what_to_do)


class NoRoom(Refusal):
    """The waiting uploads have reached their limit."""

    def __init__(self, most: int) -> None:
        error = too_large("The total of waiting uploads", most).content["error"]
        super().__init__(413, error["code"], error["message"], error["what_to_do"])


class Uploads:
    """The uploads of one workspace. `index` is its index folder."""

    def __init__(self, index: Path, limits: ServerLimits, reading: ReadingLimits) -> None:
        self._folder = index / UPLOADS
        self._limits = limits
        self._reading = reading
        self.claims = Claims(self._folder)

    def keep(self, name: str, content: BinaryIO) -> Upload:
        """Store a file under a new id. `settle` syncs its name in the folder.
        Raises: Refusal: its format is not supported, or too much is waiting.
        """
        ending = ending_of(name)
        stem = name[: len(name) - len(ending)]
        name, whole_name = (shown(stem, longest) + ending or _UNNAMED for longest in (_LONGEST_NAME, len(stem)))
        upload = self.upload(f"{self.claims.mark}{secrets.token_hex(6)}", name, whole_name, ending)
        with disk_errors(f"cannot store an upload in {self._folder}"):
            try:
                self.claims.hold()
                write_file(upload.path, self._within_limit(content, sum(map(_size, self._folder.iterdir()))))
                with suppress(Unreadable):  # a damaged one is stored: its job reports the fault
                    if not is_readable(upload.path):
                        raise WrongType
            except BaseException:
                with suppress(OSError):
                    self.discard([upload])
                raise
        return upload

    def upload(self, name: str, shown_name: str, whole_name: str, ending: str) -> Upload:
        """The upload with this id."""
        return Upload(name, shown_name, whole_name, self._folder / f"{name}{ending}")

    def settle(self) -> None:
        """Sync the names of all stored files to the disk."""
        with disk_errors(f"cannot store uploads in {self._folder}"):
            sync_folder(self._folder)

    def clear(self, marks: Collection[str], wanted: Collection[str]) -> None:
        """Remove the files of these marks except the uploads in `wanted` (ids), and JSON lines left by a kill."""
        if not self._folder.is_dir():
            return
        remove_files(
            [
                path
                for mark in marks
                for path in self._folder.glob(f"{mark}*")
                if path.suffix != LOCK and path.name.partition(".")[0] not in wanted
            ]
        )
        with suppress(IndexBusy), self.preparing():
            pass

    def prepare(self, upload: Upload, seconds: int) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Parse an upload into JSON lines, within `seconds`. Returns the ids of its documents by source, and notes on what could
        not be read.
        Raises: DocumentError: nothing in it could be read; its reason may be shown to clients.
        """
        path, reading = self.prepared(upload), replace(self._reading, parsing_seconds=seconds)
        failures: list[DocumentError] = []
        documents: dict[str, str] = {}
        with path.open("w", encoding="utf-8") as lines:
            for item in read_sources([upload.path], reading):
                if isinstance(item, DocumentError):
                    failures.append(item)
                    continue
                row = _row(item, upload)
                if documents.setdefault(row["id"], item.id) != item.id:
                    failures.append(DocumentError(upload.name, f"{row['id']}: an earlier document has this id"))
                    continue
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        read: list[Document] = []
        for item in read_sources([path], self.limits([upload])):
            if isinstance(item, DocumentError):
                raise DocumentError(upload.name, _reason(item))
            read.append(item)
        if failures and not read:
            raise DocumentError(upload.name, _reason(failures[0]))
        notes = [note for document in read for note in document.notes] + [_reason(failure) for failure in failures]
        return {document.sources[0]: document.id for document in read}, tuple(notes[:20])

    def limits(self, uploads: Iterable[Upload]) -> ReadingLimits:
        """Limits under which the JSON lines of these uploads can be read: no line is longer than its file."""
        longest = max((_size(self.prepared(upload)) for upload in uploads), default=0)
        return replace(self._reading, text=max(self._reading.text, longest))

    def lost(self, upload: Upload, failures: Iterable[DocumentError]) -> str:
        """The reason in `failures` why an upload was not indexed, or an empty string."""
        place = f"{UPLOADS}/{self.prepared(upload).name}"
        return next((_reason(failure) for failure in failures if place in failure.source), "")

    def discard(self, uploads: Iterable[Upload]) -> None:
        """Remove the stored files of uploads."""
        paths = [upload.path for upload in uploads]
        if self._folder.is_dir():
            remove_files([*paths, *(path.with_name(path.name + NEW) for path in paths)])

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Held while uploads are prepared and indexed, by one process at a time, since only one can write to the index. Their
        JSON lines are removed afterwards.
        Raises: IndexBusy: another process holds it.
        """
        try:
            with FileLock(self.claims.lock_of("preparing"), timeout=0):
                self._clear_prepared()
                try:
                    yield
                finally:
                    self._clear_prepared()
        except Timeout:
            raise IndexBusy(f"another process is indexing uploads from {self._folder}.") from None

    def _clear_prepared(self) -> None:
        if paths := list(self._folder.glob("n*.jsonl")):
            remove_files(paths)

    def _within_limit(self, content: BinaryIO, stored: int) -> Iterator[bytes]:
        """The blocks of the content, as long as it fits beside the `stored` bytes."""
        while block := content.read(_BLOCK):
            stored += len(block)
            if stored > self._limits.waiting_uploads:
                raise NoRoom(self._limits.waiting_uploads)
            yield block

    def prepared(self, upload: Upload) -> Path:
        """The file of an upload's JSON lines. It depends on the name only, because it becomes their source. So of two uploads
        with one name, the first must be indexed before the second is prepared.
        """
        return self._folder / f"{content_id('n', upload.whole_name)}.jsonl"


def _size(path: Path) -> int:
    """In bytes; 0 for a file that no longer exists."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _row(document: Document, upload: Upload) -> JsonObject:
    """A document as a JSON line, with its sentences only if splitting its text would give different ones."""
    lines = f"{walking.shown(upload.path.resolve())}#"
    source = document.sources[0]
    line = source.removeprefix(lines) if source.startswith(lines) else ""
    named_by_us = document.title == _title(upload.path)
    row: JsonObject = {
        "id": f"{upload.name}#{line}" if line else upload.name,
        "title": _title(Path(upload.name)) if named_by_us else document.title,
        "text": document.text,
    }
    if document.blocks:
        row["blocks"] = pack(document.blocks)
    date, origin = document.date, document.date_from
    if origin in {FILE_NAME, FILE_TIME}:  # those of our copy
        date, origin = find_date(upload.name), FILE_NAME
    if date:
        row |= {"date": date, "date_from": origin}
    if document.sentence_ends != ends_within(document.text, document.blocks):
        row["sentences"] = [document.slice(span) for span in document.sentences()]
    return row


def _title(path: Path) -> str:
    return name_of(without_packing(path))


def _reason(failure: DocumentError) -> str:
    _, mark, line = failure.source.rpartition(", line ")
    return f"line {line}: {failure.reason}" if mark and line.isdigit() else failure.reason


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
        return FileLock(self.lock_of("claiming"))

    def claim(self, mark: str) -> bool:
        """Try to take over a mark; returns False if this or another process already holds it."""
        if mark in self._held:
            return False
        lock = FileLock(self.lock_of(mark), timeout=0, thread_local=False)
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
                    self.lock_of(mark).unlink(missing_ok=True)
                lock.release()

    def lock_of(self, name: str) -> Path:
        """The file of the lock of this name."""
        return self._folder / f"{name}{LOCK}"
