"""Uploaded documents, from their arrival until they are indexed: files under generated ids in the index's own folder.

The name that a client gives is data and never part of a path: it becomes the document's source and, where the content has no
title of its own, its title. A file is parsed once, by the child process that parses all documents, into JSON lines under the
name's hash, so that a new version of the same name takes the place of the old one. These lines are read back under limits of
their own, since what they hold has passed those of the settings. After indexing nothing is kept: the index holds the text.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from hoptrail.documents import walking
from hoptrail.documents.reading import FORMS, ReadingLimits, read_sources
from hoptrail.documents.splitting import sentence_ends
from hoptrail.errors import DocumentError, StorageError
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.refusals import Refusal, too_large
from hoptrail.serving.server.wire import UPLOADS, shown
from hoptrail.types import Document, content_id

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
        read = ", ".join(FORMS)
        super().__init__(415, "wrong_type", f"has an ending that is not read; read are {read}", f"Read are {read}.")


class Uploads:
    """The uploads of one workspace. `index` is its index folder."""

    def __init__(self, index: Path, limits: ServerLimits, reading: ReadingLimits) -> None:
        self._folder = index / UPLOADS
        self._limits = limits
        self._reading = reading

    def keep(self, name: str, content: BinaryIO) -> Upload:
        """Keep a file under a new id.

        Raises:
            Refusal: its kind is not read, or too much is waiting already.
        """
        ending = next((known for known in FORMS if name.lower().endswith(known)), None)
        if ending is None:
            raise WrongType
        stem = name[: -len(ending)]
        name, whole_name = shown(stem) + ending, shown(stem, len(stem)) + ending
        path = self._folder / f"u{secrets.token_hex(10)}{ending}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write(path, content)
            note = json.dumps({"name": name, "whole_name": whole_name, "ending": ending})
            self._note_of(path.name.partition(".")[0]).write_text(note, encoding="utf-8")
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise StorageError(f"cannot keep an upload in {self._folder}: {error.strerror or error}.") from error
        return Upload(path.name.partition(".")[0], name, whole_name, path)

    def unfinished(self) -> list[Upload]:
        """What an earlier server has kept and not indexed; leftovers that are no whole upload are cleared away."""
        found = []
        for note in sorted(self._folder.glob("u*.json")):
            try:
                record = json.loads(note.read_text(encoding="utf-8"))
                name, whole_name, known_form = record["name"], record["whole_name"], FORMS[record["ending"]]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            path = note.with_name(f"{note.stem}{record['ending']}")
            if known_form and path.is_file():
                found.append(Upload(note.stem, str(name), str(whole_name), path))
        known = {name for upload in found for name in (upload.path.name, f"{upload.id}.json")}
        for path in self._folder.glob("*"):
            if path.name not in known:
                path.unlink(missing_ok=True)
        return found

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
        """While uploads are prepared and indexed; their JSON lines are gone afterwards."""
        try:
            yield
        finally:
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
    if document.sentence_ends != sentence_ends(document.text, limits.longest_sentence):
        row["sentences"] = [document.slice(span) for span in document.sentences()]
    return row


def _told(failure: DocumentError) -> str:
    """The reason, with the line it is about."""
    _, mark, line = failure.source.rpartition(", line ")
    return f"line {line}: {failure.reason}" if mark and line.isdigit() else failure.reason
