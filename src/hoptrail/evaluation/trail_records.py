"""The stored trail of a question: its hops with their hits, and the evidence that the language read.

Records name the data set's passages that a unit shows, so reading them needs no index; they leave out the texts of units. The
file is gzip with one member per question, so that it can grow and any tool can read it (`zcat FILE | head -1`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hoptrail.errors import DataError, disk_errors
from hoptrail.evaluation.lines import GrowingFile
from hoptrail.types import Kind, Verdict
from hoptrail.types.json_object import reader_of

_GZIP = zlib.MAX_WBITS | 16  # makes zlib expect the header and trailer of gzip
_PIECE = 1 << 14


@dataclass(frozen=True, slots=True)
class HitRecord:
    """A hit. `passages`: the data set's ids of what its unit shows; `document`: the index's id of its first source."""

    unit: str
    kind: Kind
    score: float
    channel: str
    document: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HopRecord:
    """A hop of the trail."""

    question: str
    asked: str
    hits: tuple[HitRecord, ...]
    answer: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """A cited span, without its text."""

    document: str
    start: int
    end: int
    unit: str
    hop: int


@dataclass(frozen=True, slots=True)
class ReadingRecord:
    """One reading task: its name, question, units with the passages they show, and answer."""

    task: str
    question: str
    units: tuple[str, ...]
    passages: tuple[str, ...]
    answer: str | None


@dataclass(frozen=True, slots=True)
class TrailRecord:
    """The trail of one question, named by its id. `asked` is the fingerprint of the question with its gold annotations.

    `ranking` is that of the answer. A failed question has no hops, only the readings until it failed.
    """

    question: str
    asked: str
    hops: tuple[HopRecord, ...] = ()
    evidence: tuple[EvidenceRecord, ...] = ()
    readings: tuple[ReadingRecord, ...] = ()
    ranking: tuple[HitRecord, ...] = ()


class TrailsFile:
    """A growing file of trails. When reopened, it continues after its last complete member; a torn one is overwritten. One
    process at a time may write to it; `append` is thread-safe. Raises: StorageError (on opening): the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path, sum(size for size, _ in _members(path)) if path.exists() else 0)

    def append(self, record: TrailRecord) -> None:
        """Append a record and flush it to disk.
        Raises: StorageError: it could not be written; the records before it are intact.
        """
        text = json.dumps(asdict(record), sort_keys=True, separators=(",", ":"))
        content = gzip.compress(f"{text}\n".encode(), mtime=0)  # without a time: the same trail gives the same bytes
        self._file.append(content, f"the trail of question {record.question}")


def read_trails(path: Path) -> dict[str, TrailRecord]:
    """The trails of a file by question id; of a question asked again, the last one. Empty if there is no file.
    Raises: StorageError: the file cannot be read. DataError: it was altered.
    """
    if not path.exists():
        return {}
    from pydantic import ValidationError

    trails: dict[str, TrailRecord] = {}
    for number, (_, content) in enumerate(_members(path), start=1):
        try:
            record: TrailRecord = reader_of(TrailRecord).validate_json(content)
        except ValidationError as error:
            raise DataError(f"{path}, trail {number}: the file was altered; remove it and run again") from error
        trails[record.question] = record
    return trails


def _members(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield size and unpacked content of every complete member of the file; ends at a torn one."""
    with disk_errors(f"{path} cannot be read", ""):
        content = memoryview(path.read_bytes())
    start = 0
    while start < len(content):
        unpacking, parts, place = zlib.decompressobj(_GZIP), list[bytes](), start
        try:
            # In pieces, because the library copies everything after the end of the member.
            while place < len(content) and not unpacking.eof:
                parts.append(unpacking.decompress(content[place : place + _PIECE]))
                place += _PIECE
        except zlib.error:
            return
        if not unpacking.eof:
            return
        end = min(place, len(content)) - len(unpacking.unused_data)
        yield end - start, b"".join(parts)
        start = end
