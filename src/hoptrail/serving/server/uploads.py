"""Uploaded documents, from their arrival until they are indexed: files under generated ids in the index's own folder.

The name that a client gives is data and never part of a path: it becomes the document's source and, where the content has no
title of its own, its title. A file is parsed once, by the child process that parses all documents, into JSON lines under the
name's hash, so that a new version of the same name takes the place of the old one. These lines are read back under limits of
their own, since what they hold has passed those of the settings. After indexing nothing is kept: the index holds the text.

Several processes may serve one index. The files of an upload begin with the mark of the process that kept it, which holds a lock
of that name as long as it lives: what nobody holds was left by a process that has ended, and belongs to whoever takes its lock.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from hoptrail.documents import walking
from hoptrail.documents.blocks import ends_within, pack
from hoptrail.documents.forms import ENDINGS
from hoptrail.documents.reading import FILE_NAME, FILE_TIME, ReadingLimits, read_sources
from hoptrail.errors import DocumentError, IndexBusy, StorageError
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.refusals import Refusal, too_large
from hoptrail.serving.server.wire import UPLOADS, shown
from hoptrail.text.dates import find_date
from hoptrail.types import Document, content_id

LOCK = ".lock"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was uploaded: its id, the name it came under, as it is shown and whole, and where it is kept.

    What comes later under the same whole name takes its place.
    """

    id: str
    name: str
    whole_name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an upload holds that is ready to be indexed: ids of documents by their sources, and what could not be read."""

    documents: Mapping[str, str]
    notes: tuple[str, ...]


class WrongType(Refusal):
    """The name of a file ends as none that is read."""

    def __init__(self) -> None:
        read = ", ".join(ENDINGS)
        super().__init__(415, "wrong_type", f"has an ending that is not read; read are {read}", f"Read are {read}.")


class Uploads:
    """The uploads of one workspace. `index` is its index folder."""

    def __init__(self, index: Path, limits: ServerLimits, reading: ReadingLimits) -> None:
        self._folder = index / UPLOADS
        self._limits = limits
        self._reading = reading
        self._mark = f"u{secrets.token_hex(4)}"
        self._held: dict[str, FileLock] = {}
        """Our own lock, once there is an upload, and those of processes that have ended."""

    def keep(self, name: str, content: BinaryIO) -> Upload:
        """Keep a file under a new id.

        Raises:
            Refusal: its kind is not read, or too much is waiting already.
        """
        ending = next((known for known in ENDINGS if name.lower().endswith(known)), None)
        if ending is None:
            raise WrongType
        stem = name[: -len(ending)]
        name, whole_name = shown(stem) + ending, shown(stem, len(stem)) + ending
        path = self._folder / f"{self._mark}{secrets.token_hex(6)}{ending}"
        note = json.dumps({"name": name, "whole_name": whole_name, "ending": ending, "arrived": time.time_ns()})
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._mark not in self._held:
                with self._claiming():
                    self._claim(self._mark)
            self._write(path, content)
            self._note_of(path.name.partition(".")[0]).write_text(note, encoding="utf-8")
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise StorageError(f"cannot keep an upload in {self._folder}: {error.strerror or error}.") from error
        return Upload(path.name.partition(".")[0], name, whole_name, path)

    def unfinished(self) -> list[Upload]:
        """What servers that have ended have kept and not indexed, as it arrived; it is ours now. Leftovers that are no whole
        upload are cleared away. What a living process has kept, this one included, is left alone.

        Raises:
            StorageError: the folder refuses.
        """
        if not self._folder.is_dir():
            return []
        found: list[tuple[int, Upload]] = []
        try:
            with self._claiming():
                for mark in {path.name[: len(self._mark)] for path in self._folder.glob("u*")}:
                    if self._claim(mark):
                        found += self._left(mark)
            with suppress(IndexBusy), self.preparing():
                pass  # that alone clears away the JSON lines that a kill has left
        except OSError as error:
            raise StorageError(f"cannot take up the uploads in {self._folder}: {error.strerror or error}.") from error
        return [upload for _, upload in sorted(found, key=lambda one: (one[0], one[1].id))]

    def _left(self, mark: str) -> list[tuple[int, Upload]]:
        """The uploads of a mark with the times of their arrival; what is none is cleared away."""
        found = []
        for note in self._folder.glob(f"{mark}*.json"):
            try:
                record = json.loads(note.read_text(encoding="utf-8"))
                name, whole_name, is_read = record["name"], record["whole_name"], record["ending"] in ENDINGS
                arrived = int(record["arrived"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            path = note.with_name(f"{note.stem}{record['ending']}")
            if is_read and path.is_file():
                found.append((arrived, Upload(note.stem, str(name), str(whole_name), path)))
        known = {name for _, upload in found for name in (upload.path.name, f"{upload.id}.json")}
        for path in self._folder.glob(f"{mark}*"):
            if path.name not in known and path.suffix != LOCK:
                path.unlink(missing_ok=True)
        return found

    def release(self) -> None:
        """Give up what is ours: a server that starts from now on takes up what is left of it."""
        if not self._held:
            return
        with self._claiming():
            while self._held:
                mark, lock = self._held.popitem()
                if not any(path.suffix != LOCK for path in self._folder.glob(f"{mark}*")):
                    self._lock_of(mark).unlink(missing_ok=True)
                lock.release()

    @contextmanager
    def _claiming(self) -> Iterator[None]:
        """One at a time, of all processes and threads."""
        with FileLock(self._lock_of("claiming")):
            yield

    def _claim(self, mark: str) -> bool:
        """Whether the files of a mark have become ours: not where they were already, or are somebody else's."""
        if mark in self._held:
            return False
        lock = FileLock(self._lock_of(mark), timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return False
        self._held[mark] = lock
        return True

    def _lock_of(self, name: str) -> Path:
        return self._folder / f"{name}{LOCK}"

    def prepare(self, upload: Upload) -> Prepared:
        """Parse an upload into JSON lines.

        Raises:
            DocumentError: nothing in it could be read; its reason may be shown.
        """
        path = self.prepared(upload)
        failures: list[DocumentError] = []
        documents: dict[str, str] = {}
        with path.open("w", encoding="utf-8") as lines:
            for item in read_sources([upload.path], self._reading):
                if isinstance(item, DocumentError):
                    failures.append(item)
                    continue
                row = _row(item, upload, self._reading)
                if documents.setdefault(row["id"], item.id) != item.id:
                    failures.append(DocumentError(upload.name, f"{row['id']}: another document before it has this id"))
                    continue
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        read: list[Document] = []
        for item in read_sources([path], self.limits([upload])):
            if isinstance(item, DocumentError):
                raise DocumentError(upload.name, _told(item))
            read.append(item)
        if failures and not read:
            raise DocumentError(upload.name, _told(failures[0]))
        notes = [note for document in read for note in document.notes] + [_told(failure) for failure in failures]
        return Prepared({document.sources[0]: document.id for document in read}, tuple(notes[:20]))

    def limits(self, uploads: Iterable[Upload]) -> ReadingLimits:
        """Under which the JSON lines of uploads can be read: none is longer than its file."""
        longest = max((_size(self.prepared(upload)) for upload in uploads), default=0)
        return replace(self._reading, text=max(self._reading.text, longest))

    def lost(self, upload: Upload, failures: Iterable[DocumentError]) -> str:
        """Why the JSON lines of an upload were not indexed, if that is among `failures`; else nothing."""
        place = walking.shown(self.prepared(upload).resolve())
        return next((_told(failure) for failure in failures if failure.source.startswith(place)), "")

    def discard(self, upload: Upload) -> None:
        """Clear away what is kept of an upload."""
        for path in (self._note_of(upload.id), upload.path):
            path.unlink(missing_ok=True)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """While uploads are prepared and indexed; their JSON lines are gone afterwards. One process at a time, as only one can
        write to the index.

        Raises:
            IndexBusy: another process does so.
        """
        try:
            with FileLock(self._lock_of("preparing"), timeout=0):
                self._clear_prepared()
                try:
                    yield
                finally:
                    self._clear_prepared()
        except Timeout:
            raise IndexBusy(f"another process indexes uploads from {self._folder}.") from None

    def _clear_prepared(self) -> None:
        for path in self._folder.glob("n*.jsonl"):
            path.unlink(missing_ok=True)

    def _write(self, path: Path, content: BinaryIO) -> None:
        """Copy what came, as long as there is room for it."""
        room = self._limits.waiting_uploads - sum(map(_size, self._folder.iterdir()))
        with path.open("xb") as file:
            while block := content.read(_BLOCK):
                room -= len(block)
                if room < 0:
                    path.unlink()
                    raise too_large("What waits to be indexed", self._limits.waiting_uploads)
                file.write(block)

    def prepared(self, upload: Upload) -> Path:
        """Where the JSON lines of an upload are: always in the same place for a name, because that is their source. So of two
        uploads of one name the first has to be indexed before the second is prepared.
        """
        return self._folder / f"{content_id('n', upload.whole_name)}.jsonl"

    def _note_of(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _size(path: Path) -> int:
    """0 for a file that has gone meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _row(document: Document, upload: Upload, limits: ReadingLimits) -> dict[str, Any]:
    """A document as a JSON line; its sentences are given only where its text alone would be split into others."""
    lines = f"{walking.shown(upload.path.resolve())}#"
    source = document.sources[0]
    line = source.removeprefix(lines) if source.startswith(lines) else ""
    named_by_us = document.title == upload.path.stem
    row: dict[str, Any] = {
        "id": f"{upload.name}#{line}" if line else upload.name,
        "title": PurePosixPath(upload.name).stem if named_by_us else document.title,
        "text": document.text,
    }
    if document.blocks:
        row["blocks"] = pack(document.blocks)
    date, origin = document.date, document.date_from
    if origin in {FILE_NAME, FILE_TIME}:  # those of our own copy
        date, origin = find_date(upload.name), FILE_NAME
    if date:
        row |= {"date": date, "date_from": origin}
    if document.sentence_ends != ends_within(document.text, document.blocks, limits.longest_sentence):
        row["sentences"] = [document.slice(span) for span in document.sentences()]
    return row


def _told(failure: DocumentError) -> str:
    """The reason, with the line it is about."""
    _, mark, line = failure.source.rpartition(", line ")
    return f"line {line}: {failure.reason}" if mark and line.isdigit() else failure.reason
