"""What an evaluation run keeps: one record per question, and a file of them that survives a kill, where a run goes on from.

Nothing here runs a recipe or puts results together (`reports.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from hoptrail.errors import DataError, HoptrailError, StorageError
from hoptrail.evaluation.answer_scores import AnswerScore
from hoptrail.evaluation.appending import append_at
from hoptrail.evaluation.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one recipe did with one question (its id).

    `score` is None when only retrieval was run, and of somebody's own documents, whose questions have an `outcome` instead.
    `settled` says whether one of the first five hits settles such a question, where it is said what does. `error` says why the
    question failed; a failed question has no prediction and has not abstained. `passages` are the ids found, best first,
    without repeats, at least as many as the deepest cutoff asks for; `packed` is their recall at each of
    `packed.TOKEN_BUDGETS`. `tokens` are prompt and completion together. `asked` is the fingerprint of the question with its
    gold annotations, so that one that was corrected since is asked again. `tasks` are the language tasks that were performed:
    what a chat model would have been called for. `confidence` is how sure the recipe was of its answer, where it says so.
    `calls` and `tokens` are what the replies took, also those that were remembered and cost nothing now; `completion_tokens`
    are those of `tokens` that the model wrote. `turns` are the hops of its trail.
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
        """Whether what was given is right (by exact match where there is a score); None where nothing judged it."""
        if self.outcome is not None:
            return self.outcome is Outcome.RIGHT
        return None if self.score is None else self.score.em == 1

    @property
    def found(self) -> tuple[str, ...]:
        """The passages that count: a question that failed has found nothing, whatever it had by then."""
        return () if self.error is not None else self.passages

    @property
    def shown(self) -> tuple[float, ...]:
        """What of `packed` counts, likewise."""
        return () if self.error is not None else self.packed

    def to_line(self, fingerprint: str) -> str:
        """One line of JSON, without the line break, marked with the settings that it was made under."""
        return json.dumps({"fingerprint": fingerprint, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_line(cls, line: str) -> tuple[str, Self]:
        """The fingerprint and the record of a line that `to_line` gave.

        Raises:
            ValueError: it is no such line.
        """
        try:
            fields: dict[str, Any] = json.loads(line)
            fingerprint: str = fields.pop("fingerprint")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a question's result: {error}") from error
        return fingerprint, cls.from_fields(fields)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """The record of a JSON object with the names of its fields.

        Raises:
            ValueError: it is no such object.
        """
        rest = dict(fields)
        try:
            score, outcome = rest.pop("score"), rest.pop("outcome", None)
            passages, packed = tuple(rest.pop("passages")), tuple(rest.pop("packed", ()))
            score = None if score is None else AnswerScore(**score)
            outcome = None if outcome is None else Outcome(outcome)
            return cls(score=score, outcome=outcome, passages=passages, packed=packed, **rest)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a question's result: {error}") from error


class ResultsFile:
    """An append-only JSON-lines file of question results; closing and opening it again goes on where it stood.

    Only records of `fingerprint` are seen: it must cover everything that changes a result (recipe settings, language, index,
    retrieval only or not). Records of others stay in the file untouched, so going back to earlier settings finds them again.
    A record counts once its line break is on the disk; what a kill left behind it is overwritten by the next one. One
    process at a time may have it open; `append` may be called from several threads.

    Raises (on opening):
        StorageError: another process has it open, or the place cannot be read or written.
        DataError: a whole line is not a result: the file was altered.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path = path
        self._fingerprint = fingerprint
        self._finished: dict[str, QuestionResult] = {}
        self._end = 0
        self._appending = Lock()
        # Closed from whichever thread ends the run, so the lock must not belong to one.
        self._owner = FileLock(f"{path}.lock", thread_local=False)
        self._claim()
        try:
            self._load()
        except HoptrailError:
            self.close()
            raise

    @property
    def finished(self) -> Mapping[str, QuestionResult]:
        """The results under this fingerprint, by question id; of a question that was redone, the last one."""
        return MappingProxyType(self._finished)

    def append(self, result: QuestionResult) -> None:
        """Add a record; when this returns, it is on the disk.

        Raises:
            StorageError: it could not be written; the records before it are intact, and it may be tried again.
        """
        line = (result.to_line(self._fingerprint) + "\n").encode()
        with self._appending:
            try:
                append_at(self._path, self._end, line)
            except OSError as error:
                message = f"the result of question {result.question} could not be written to {self._path}"
                raise StorageError(f"{message}: {error.strerror or error}; make room and run again") from error
            self._end += len(line)
            self._finished[result.question] = result

    def close(self) -> None:
        """Let other processes have the file."""
        self._owner.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _claim(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._owner.acquire(blocking=False)
        except Timeout as error:
            message = f"{self._path} is in use by another evaluation; wait for it, or choose another --work"
            raise StorageError(message) from error
        except OSError as error:
            raise StorageError(f"results cannot be kept in {self._path}: {error.strerror or error}") from error

    def _load(self) -> None:
        if not self._path.exists():
            return
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if not line.endswith(b"\n"):
                        break  # torn by a kill: its question is done again
                    self._take(line, number)
                    self._end += len(line)
        except OSError as error:
            raise StorageError(f"{self._path} cannot be read: {error.strerror or error}") from error

    def _take(self, line: bytes, number: int) -> None:
        try:
            fingerprint, result = QuestionResult.from_line(line.decode())
        except ValueError as error:
            place = f"{self._path}, line {number}"
            raise DataError(f"{place}: {error}; remove the line (its question is done again) or the file") from error
        if fingerprint == self._fingerprint:
            self._finished[result.question] = result
