"""The results of an evaluation run: one record per question, and a crash-safe file of them from which a run resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from hoptrail.errors import DataError, StorageError, disk_errors
from hoptrail.evaluation.answer_scores import AnswerScore
from hoptrail.evaluation.lines import GrowingFile, line_of
from hoptrail.evaluation.outcomes import Outcome


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
        self._path = path
        self._fingerprint = fingerprint
        self._file = GrowingFile(path)
        self.finished: dict[str, QuestionResult] = {}
        if path.exists():
            self._load()

    def append(self, result: QuestionResult) -> None:
        """Append a record and flush it to disk.
        Raises: StorageError: it could not be written. The records before it are intact, and it may be tried again.
        """
        line = (result.to_line(self._fingerprint) + "\n").encode()
        self._file.append(line, f"the result of question {result.question}")
        self.finished[result.question] = result

    def _load(self) -> None:
        with disk_errors(f"{self._path} cannot be read", ""), self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break  # torn by a kill: its question is asked again
                self._take(line, number)
                self._file.end += len(line)

    def _take(self, text: bytes, number: int) -> None:
        try:
            line = line_of(text.decode(errors="replace"), f"{self._path}, line {number}")
            fingerprint = line.content.pop("fingerprint", None)
            result = line.read_as(QuestionResult)
        except DataError as error:
            raise DataError(f"{error}; remove the line (its question is asked again) or the file") from error
        if fingerprint == self._fingerprint:
            self.finished[result.question] = result


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
