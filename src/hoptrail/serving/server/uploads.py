"""Uploaded documents, from their arrival until they are indexed: files under generated ids in the index's own folder.

The name that a client gives is data and never part of a path: it becomes the document's source and, where the content has no
title of its own, its title. A file is parsed once, by the child process that parses all documents, into JSON lines under the
name's hash, so that a new version of the same name takes the place of the old one. These lines are read back under limits of
their own, since what they hold has passed those of the settings. After indexing nothing is kept: the index holds the text.

The order of writing: an upload's file is synced, its folder is synced, the journal names it in a job, the job is acknowledged.
A file that no job names was never acknowledged.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from hoptrail.corpus.durable import NEW, remove_files, sync_folder, write_file
from hoptrail.corpus.places import UPLOADS
from hoptrail.documents import walking
from hoptrail.documents.blocks import ends_within, pack
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.file_contents import ending_of, is_readable, without_packing
from hoptrail.documents.forms import ENDINGS, name_of
from hoptrail.documents.marks import FILE_TIME
from hoptrail.documents.read_sources import FILE_NAME, ReadingLimits, read_sources
from hoptrail.errors import DocumentError, IndexBusy, StorageError
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.process_claims import LOCK, Claims
from hoptrail.serving.server.refusals import Refusal, too_large
from hoptrail.serving.server.wire import shown
from hoptrail.text.dates import find_date
from hoptrail.types import Document, content_id

_BLOCK = 1 << 20
_LONGEST_NAME = 200
_UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was uploaded: its id, the name it came under, as it is shown and whole, and where it is kept.

    What comes later under the same whole name takes its place.
    """

    id: str
    name: str
    whole_name: str
    path: Path

    @property
    def ending(self) -> str:
        return self.path.name.removeprefix(self.id)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an upload holds that is ready to be indexed: ids of documents by their sources, and what could not be read."""

    documents: Mapping[str, str]
    notes: tuple[str, ...]


class WrongType(Refusal):
    """A file is of no form that is read, and no text."""

    def __init__(self) -> None:
        what_to_do = f"Text is read under any name, and files that end in {', '.join(ENDINGS)}, also packed as .gz."
        super().__init__(415, "wrong_type", "is not text, and of no form that is read", what_to_do)


class NoRoom(Refusal):
    """As much waits as may."""

    def __init__(self, most: int) -> None:
        error = too_large("What waits to be indexed", most).content["error"]
        super().__init__(413, error["code"], error["message"], error["what_to_do"])


class Uploads:
    """The uploads of one workspace. `index` is its index folder."""

    def __init__(self, index: Path, limits: ServerLimits, reading: ReadingLimits) -> None:
        self._folder = index / UPLOADS
        self._limits = limits
        self._reading = reading
        self.claims = Claims(self._folder)

    def keep(self, name: str, content: BinaryIO) -> Upload:
        """Keep a file under a new id. Its name in the folder is synced by `settle`.

        Raises:
            Refusal: its kind is not read, or too much is waiting already.
        """
        ending = ending_of(name)
        stem = name[: len(name) - len(ending)]
        name, whole_name = (shown(stem, longest) + ending or _UNNAMED for longest in (_LONGEST_NAME, len(stem)))
        upload = self.upload(f"{self.claims.mark}{secrets.token_hex(6)}", name, whole_name, ending)
        try:
            self.claims.hold()
            self._write(upload.path, content)
            with suppress(Unreadable):  # a damaged one is kept: its job says what is wrong with it
                if not is_readable(upload.path):
                    raise WrongType
        except OSError as error:
            with suppress(OSError):
                self.discard([upload])
            raise StorageError(f"cannot keep an upload in {self._folder}: {error.strerror or error}.") from error
        except BaseException:
            self.discard([upload])
            raise
        return upload

    def upload(self, name: str, shown_name: str, whole_name: str, ending: str) -> Upload:
        """The upload of an id."""
        return Upload(name, shown_name, whole_name, self._folder / f"{name}{ending}")

    def settle(self) -> None:
        """Have the names of all files that were kept on the disk."""
        try:
            sync_folder(self._folder)
        except OSError as error:
            raise StorageError(f"cannot keep uploads in {self._folder}: {error.strerror or error}.") from error

    def clear(self, marks: Collection[str], wanted: Collection[str]) -> None:
        """Remove the files of some marks, but for uploads of some ids, and JSON lines that a kill has left."""
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

    def prepare(self, upload: Upload, seconds: int | None = None) -> Prepared:
        """Parse an upload into JSON lines, in so many seconds where that is less than the settings allow.

        Raises:
            DocumentError: nothing in it could be read; its reason may be shown.
        """
        path = self.prepared(upload)
        limit = self._reading.parsing_seconds
        reading = replace(self._reading, parsing_seconds=min(seconds or limit, limit))
        failures: list[DocumentError] = []
        documents: dict[str, str] = {}
        with path.open("w", encoding="utf-8") as lines:
            for item in read_sources([upload.path], reading):
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
        place = f"{UPLOADS}/{self.prepared(upload).name}"
        return next((_told(failure) for failure in failures if place in failure.source), "")

    def discard(self, uploads: Iterable[Upload]) -> None:
        """Clear away what is kept of uploads."""
        paths = [upload.path for upload in uploads]
        if self._folder.is_dir():
            remove_files([*paths, *(path.with_name(path.name + NEW) for path in paths)])

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """While uploads are prepared and indexed; their JSON lines are gone afterwards.

        Raises:
            IndexBusy: another process does so.
        """
        with self.claims.preparing():
            self._clear_prepared()
            try:
                yield
            finally:
                self._clear_prepared()

    def _clear_prepared(self) -> None:
        if paths := list(self._folder.glob("n*.jsonl")):
            remove_files(paths)

    def _write(self, path: Path, content: BinaryIO) -> None:
        """Copy what came, as long as there is room for it."""
        write_file(path, self._as_fits(content, sum(map(_size, self._folder.iterdir()))))

    def _as_fits(self, content: BinaryIO, there: int) -> Iterator[bytes]:
        while block := content.read(_BLOCK):
            there += len(block)
            if there > self._limits.waiting_uploads:
                raise NoRoom(self._limits.waiting_uploads)
            yield block

    def prepared(self, upload: Upload) -> Path:
        """Where the JSON lines of an upload are: always in the same place for a name, because that is their source. So of two
        uploads of one name the first has to be indexed before the second is prepared.
        """
        return self._folder / f"{content_id('n', upload.whole_name)}.jsonl"


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
    named_by_us = document.title == _title(upload.path)
    row: dict[str, Any] = {
        "id": f"{upload.name}#{line}" if line else upload.name,
        "title": _title(Path(upload.name)) if named_by_us else document.title,
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


def _title(path: Path) -> str:
    """The title that a file's name gives."""
    return name_of(without_packing(path))


def _told(failure: DocumentError) -> str:
    """The reason, with the line it is about."""
    _, mark, line = failure.source.rpartition(", line ")
    return f"line {line}: {failure.reason}" if mark and line.isdigit() else failure.reason
