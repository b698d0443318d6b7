"""What is kept of each question of an evaluation run: its result and its trail, in files that grow and survive crashes.

A trail has the hops with their hits, and the evidence that the language read. Its records name the data set's passages that a
unit shows, so reading them needs no index; they leave out the texts of units. The file is gzip with one member per question, so
that it can grow and any tool can read it (`zcat FILE | head -1`).
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock

from filelock import FileLock, Timeout

from hoptrail.errors import DataError, StorageError, disk_errors
from hoptrail.evaluation.answer_scores import AnswerScore
from hoptrail.evaluation.lines import line_of
from hoptrail.evaluation.outcomes import Outcome
from hoptrail.types import Kind, Verdict
from hoptrail.types.json_object import reader_of

_GZIP = zlib.MAX_WBITS | 16  # makes zlib expect the header and trailer of gzip
_PIECE = 1 << 14


@dataclass(slots=True)
class GrowingFile:
    """A file of records, valid up to `end`; what a kill left behind that is overwritten. `append` is thread-safe."""

    path: Path
    end: int = 0
    _appending: Lock = field(default_factory=Lock)

    def append(self, content: bytes, what: str) -> None:
        """Write a record and flush it to disk; `what` names it in errors.
        Raises: StorageError: it could not be written. The records before it are intact, and it may be tried again.
        """
        refused = disk_errors(f"{what} could not be written to {self.path}", "; make room and run again")
        with self._appending, refused:
            with self.path.open("r+b" if self.path.exists() else "wb") as file:
                file.truncate(self.end)
                file.seek(self.end)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            self.end += len(content)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one recipe for one question.

    - `question`: its id; `asked`: the fingerprint of the question with its gold annotations, which shows later corrections.
    - `error`: why the question failed. A failed question has no prediction and has not abstained.
    - `score`: None if only retrieval was run, and for own documents, whose questions have an `outcome` instead; `settled`:
      whether one of the first five hits settles such a question, None if the data do not say what does.
    - `passages`: the ids found, best first, without repeats, down to the deepest cutoff; `packed`: their recall at each of
      `packed.TOKEN_BUDGETS`.
    - `calls` and `tokens` (prompt and completion): of all replies, including cached ones; `completion_tokens`: those of
      `tokens` that the model wrote; `tasks`: language tasks performed, for which a chat model would have been called.
    - `confidence`: that of the recipe in its answer, if it gives one; `turns`: the hops of the trail.
    """

    question: str
    prediction: str | None
    abstained: bool
    error: str | None
    score: AnswerScore | None
    passages: tuple[str, ...]
    packed: tuple[float, ...] = ()
    seconds_retrieval: float = 0.0
    seconds_language: float = 0.0
    calls: int = 0
    tokens: int = 0
    tasks: int = 0
    asked: str = ""
    confidence: float | None = None
    completion_tokens: int = 0
    outcome: Outcome | None = None
    settled: bool | None = None
    turns: int = 0

    @property
    def right(self) -> bool | None:
        """Whether the answer is right (by exact match if there is a score); None if it was not judged."""
        if self.outcome is not None:
            return self.outcome is Outcome.RIGHT
        return None if self.score is None else self.score.em == 1

    @property
    def counted_passages(self) -> tuple[str, ...]:
        """The passages for the measures: none for a failed question."""
        return () if self.error is not None else self.passages

    def to_line(self, fingerprint: str) -> str:
        return json.dumps({"fingerprint": fingerprint, **asdict(self)}, sort_keys=True)


class ResultsFile:
    """An append-only JSON-lines file of question results, which survives crashes: `open_results`.

    Only records of `fingerprint` are visible: it must cover everything that changes a result (recipe settings, language, index,
    retrieval only or not). Other records stay in the file, so that going back to earlier settings finds them again. A record
    counts once its line break is on disk; the next append overwrites a torn line. `finished` has the results by question id; of a
    question asked again, the last one. `append` is thread-safe.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path, self._fingerprint, self._file = path, fingerprint, GrowingFile(path)
        self.finished: dict[str, QuestionResult] = {}
        if path.exists():
            self._load()

    def append(self, result: QuestionResult) -> None:
        """Append a record and flush it to disk. Raises: StorageError: it was not written; it may be tried again."""
        line = (result.to_line(self._fingerprint) + "\n").encode()
        self._file.append(line, f"the result of question {result.question}")
        self.finished[result.question] = result

    def _load(self) -> None:
        with disk_errors(f"{self._path} cannot be read", ""), self._path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                if not text.endswith(b"\n"):
                    break  # torn by a kill: its question is asked again
                try:
                    line = line_of(text.decode(errors="replace"), f"{self._path}, line {number}")
                    fingerprint = line.content.pop("fingerprint", None)
                    result = line.read_as(QuestionResult)
                except DataError as error:
                    raise DataError(f"{error}; remove the line (its question is asked again) or the file") from error
                if fingerprint == self._fingerprint:
                    self.finished[result.question] = result
                self._file.end += len(text)


@contextmanager
def open_results(path: Path, fingerprint: str) -> Iterator[ResultsFile]:
    """Open a file of results; no other process may open it meanwhile.
    Raises: StorageError: another process has it open, or it cannot be read or written. DataError: it was altered.
    """
    owner = FileLock(f"{path}.lock")
    with disk_errors(f"results cannot be kept in {path}", ""):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            owner.acquire(blocking=False)
        except Timeout as error:
            raise StorageError(
                f"{path} is in use by another evaluation; wait for it, or choose another --work"
            ) from error
    try:
        yield ResultsFile(path, fingerprint)
    finally:
        owner.release()


# --- trails


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
        """Append a record and flush it to disk. Raises: StorageError: it was not written; the records before it are intact."""
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
