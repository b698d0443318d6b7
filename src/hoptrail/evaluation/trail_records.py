"""How a question was answered, as a run keeps it: the hops with their hits, and what the language was handed to read.

A record says which of the data set's passages a unit shows, so whoever looks at it later needs no index. Texts of units are
left out: the index has them. The file is gzip, one member a question, so that it can grow and be read by any tool
(`zcat FILE | head -1`). Nothing here runs a recipe.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from hoptrail.errors import DataError, StorageError
from hoptrail.evaluation.appending import append_at
from hoptrail.types import Answer, Evidence, Hit, Hop, Kind, Ranking, Unit, Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

PassagesOf = Callable[[Unit], Sequence[str]]
"""The data set's ids of the passages that a unit shows."""

_GZIP = zlib.MAX_WBITS | 16
"""Tells zlib to expect gzip's head and tail."""

_PIECE = 1 << 14


@dataclass(frozen=True, slots=True)
class HitRecord:
    """A hit; `passages` are the data set's ids of what its unit shows, `document` is the index's id of its first source."""

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

    @property
    def passages(self) -> tuple[str, ...]:
        """What its hits show, best first, without repeats."""
        return tuple(dict.fromkeys(passage for hit in self.hits for passage in hit.passages))


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
    """One task that reads: its name, its question, the units handed over with the passages they show, what was answered."""

    task: str
    question: str
    units: tuple[str, ...]
    passages: tuple[str, ...]
    answer: str | None


@dataclass(frozen=True, slots=True)
class TrailRecord:
    """The way to one question's answer (its id); `asked` is the fingerprint of the question with its gold annotations.

    `ranking` is what was retrieved over all hops. A question that failed has no hops, but what was read until then.
    """

    question: str
    asked: str
    hops: tuple[HopRecord, ...] = ()
    evidence: tuple[EvidenceRecord, ...] = ()
    readings: tuple[ReadingRecord, ...] = ()
    ranking: tuple[HitRecord, ...] = ()


def record_trail(
    question: str,
    asked: str,
    answer: Answer | None,
    ranking: Ranking,
    readings: Sequence[ReadingRecord],
    shown: PassagesOf,
) -> TrailRecord:
    """The record of an answer (None where there is none, with what was retrieved)."""
    return TrailRecord(
        question,
        asked,
        tuple(_hop(hop, shown) for hop in answer.trail) if answer else (),
        tuple(_evidence(item) for item in answer.evidence) if answer else (),
        tuple(readings),
        _hits(ranking, shown),
    )


class TrailsFile:
    """A growing file of trails. Opened again, it goes on behind its last whole member; what a kill tore is written over.

    One process at a time may write to it; `append` may be called from several threads.

    Raises (on opening):
        StorageError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._appending = Lock()
        self._end = sum(size for size, _ in _members(path)) if path.exists() else 0

    def append(self, record: TrailRecord) -> None:
        """Add a record; when this returns, it is on the disk.

        Raises:
            StorageError: it could not be written; the records before it are intact.
        """
        text = json.dumps(asdict(record), sort_keys=True, separators=(",", ":"))
        content = gzip.compress(f"{text}\n".encode(), mtime=0)  # no time of day: the same trail, the same bytes
        with self._appending:
            try:
                append_at(self._path, self._end, content)
            except OSError as error:
                message = f"the trail of question {record.question} could not be written to {self._path}"
                raise StorageError(f"{message}: {error.strerror or error}; make room and run again") from error
            self._end += len(content)


def read_trails(path: Path) -> dict[str, TrailRecord]:
    """The trails of a file by question id; of a question that was asked again, the last one. Empty where there is no file.

    Raises:
        StorageError: the file cannot be read.
        DataError: it was altered.
    """
    if not path.exists():
        return {}
    from pydantic import ValidationError

    found: dict[str, TrailRecord] = {}
    for number, (_, content) in enumerate(_members(path), start=1):
        try:
            record = _reader().validate_json(content)
        except ValidationError as error:
            raise DataError(f"{path}, trail {number}: not as it was written; remove the file and run again") from error
        found[record.question] = record
    return found


def _members(path: Path) -> Iterator[tuple[int, bytes]]:
    """The size of every whole member in the file, and what is in it; ends at one that is torn."""
    try:
        content = memoryview(path.read_bytes())
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error
    start = 0
    while start < len(content):
        try:
            size, unpacked = _first_member(content[start:])
        except (zlib.error, EOFError):
            return
        yield size, unpacked
        start += size


def _first_member(content: memoryview) -> tuple[int, bytes]:
    """Its size and what is in it.

    Raises:
        EOFError: it has no end.
        zlib.error: it is none.
    """
    unpacking = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    # In pieces, because what follows the member's end is copied by the library.
    for place in range(0, len(content), _PIECE):
        parts.append(unpacking.decompress(content[place : place + _PIECE]))
        if unpacking.eof:
            return min(place + _PIECE, len(content)) - len(unpacking.unused_data), b"".join(parts)
    raise EOFError


@cache
def _reader() -> TypeAdapter[TrailRecord]:
    from pydantic import TypeAdapter

    return TypeAdapter(TrailRecord)


def _hop(hop: Hop, shown: PassagesOf) -> HopRecord:
    return HopRecord(hop.question, hop.asked, _hits(hop.hits, shown), hop.answer, hop.verdict)


def _hits(ranking: Ranking, shown: PassagesOf) -> tuple[HitRecord, ...]:
    return tuple(_hit(hit, shown) for hit in ranking)


def _hit(hit: Hit, shown: PassagesOf) -> HitRecord:
    unit = hit.unit
    return HitRecord(unit.id, unit.kind, float(hit.score), hit.channel, unit.document, tuple(shown(unit)))


def _evidence(item: Evidence) -> EvidenceRecord:
    return EvidenceRecord(item.document, item.start, item.end, item.unit, item.hop)
