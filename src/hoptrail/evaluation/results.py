"""What an evaluation run keeps: one record per question, a file of them that survives a kill, and the report made of them.

The file is where a run goes on from; the report is what `hoptrail evaluate --out` writes. Nothing here runs a recipe, and no
timing or order of questions changes the measures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from hoptrail.errors import DataError, HoptrailError, StorageError
from hoptrail.evaluation.appending import append_at
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.oracle_share import OracleShare, summarise_oracle
from hoptrail.evaluation.packed import TOKEN_BUDGETS
from hoptrail.evaluation.retrieval_measures import JudgedRanking, RetrievalSummary, summarise_retrieval
from hoptrail.evaluation.scoring import MISSED, AnswerScore, Interval, mean, mean_interval, mean_score

INTERVAL_SEED = 0
"""The seed of the report's confidence intervals: the same results give the same report."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one recipe did with one question (its id).

    `score` is None when only retrieval was run. `error` says why the question failed; a failed question has no prediction
    and has not abstained. `passages` are the ids found, best first, without repeats, at least as many as the deepest
    cutoff asks for; `packed` is their recall at each of `packed.TOKEN_BUDGETS`. `tokens` are prompt and completion
    together. `asked` is the fingerprint of the question with its gold annotations, so that one that was corrected since is
    asked again. `tasks` are the language tasks that were performed: what a chat model would have been called for. `confidence`
    is how sure the recipe was of its answer, where it says so. `calls` and `tokens` are what the replies took, also those that
    were remembered and cost nothing now; `completion_tokens` are those of `tokens` that the model wrote.
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
            score = rest.pop("score")
            passages, packed = tuple(rest.pop("passages")), tuple(rest.pop("packed", ()))
            score = None if score is None else AnswerScore(**score)
            return cls(score=score, passages=passages, packed=packed, **rest)
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


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """Means of the answer scores over every question (abstained, failed and missing ones as zeros), with 95 % intervals."""

    means: AnswerScore
    em: Interval
    f1: Interval
    by_hops: tuple[tuple[int, AnswerScore], ...]


@dataclass(frozen=True, slots=True)
class RecipeReport:
    """One recipe over one dataset. `answers` is None when only retrieval was run, `oracle` unless the oracle answered.

    `failed` counts errors and questions without a result; seconds are means per question that has a result; calls, tokens
    and tasks are sums. `pool_size` is the number of units that retrieval chose from; `packed` are the means of recall at each of
    TOKEN_BUDGETS, nothing where no question has gold passages. `failures` are the questions (by id) with
    an error, and what it was; they are for people, and not in the JSON. `run` is the name of the folder that holds the run.
    """

    n: int
    failed: int
    abstained: int
    answers: AnswerReport | None
    retrieval: RetrievalSummary
    packed: tuple[float, ...]
    pool_size: int
    seconds_retrieval: float
    seconds_language: float
    calls: int
    tokens: int
    tasks: int
    fingerprint: str
    failures: tuple[tuple[str, str], ...] = ()
    oracle: OracleShare | None = None
    run: str = ""

    def to_json(self) -> dict[str, Any]:
        """The object that stands under the recipe's name."""
        counts = {"n": self.n, "failed": self.failed, "abstained": self.abstained}
        answers = _answers_json(self.answers) | (self.oracle.to_json() if self.oracle else {})
        packed = {f"recall@{budget}": value for budget, value in zip(TOKEN_BUDGETS, self.packed, strict=False)}
        return counts | answers | _retrieval_json(self.retrieval) | {"packed": packed or None} | self._cost_json()

    def _cost_json(self) -> dict[str, Any]:
        return {
            "pool_size": self.pool_size,
            "seconds_per_question": {"retrieval": self.seconds_retrieval, "language": self.seconds_language},
            "calls": self.calls,
            "tokens": self.tokens,
            "tasks": self.tasks,
            "fingerprint": self.fingerprint,
            "run": self.run,
        }


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """What `evaluate --out` writes: `questions` is their number, `recipes` are names with reports in the order asked for.
    `notes`, on what could not be done while the corpus was indexed, are for people, and not in the JSON.
    """

    data: str
    questions: int
    language: str
    recipes: tuple[tuple[str, RecipeReport], ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON object of the contract: data, questions, language, recipes."""
        return {
            "data": self.data,
            "questions": self.questions,
            "language": self.language,
            "recipes": {name: report.to_json() for name, report in self.recipes},
        }


def summarise_recipe(
    questions: Sequence[Question],
    results: Mapping[str, QuestionResult],
    *,
    pool_size: int,
    fingerprint: str,
    retrieval_only: bool = False,
    by_oracle: bool = False,
    run: str = "",
) -> RecipeReport:
    """Put one recipe's results together over all `questions` (at least one); results of others are passed over.

    `by_oracle` says that the oracle answered: which questions have an answer is then a measure of its own.

    Raises:
        UsageError: there are no questions, but answers are to be averaged.
    """
    given = [results.get(question.id) for question in questions]
    present = [result for result in given if result is not None]
    return RecipeReport(
        n=len(questions),
        failed=sum(result is None or result.error is not None for result in given),
        abstained=sum(result.abstained for result in present),
        answers=None if retrieval_only else _summarise_answers(questions, given),
        retrieval=summarise_retrieval([_judge(*pair) for pair in zip(questions, given, strict=True)]),
        packed=_packed(questions, given),
        pool_size=pool_size,
        seconds_retrieval=mean([result.seconds_retrieval for result in present]),
        seconds_language=mean([result.seconds_language for result in present]),
        calls=sum(result.calls for result in present),
        tokens=sum(result.tokens for result in present),
        tasks=sum(result.tasks for result in present),
        fingerprint=fingerprint,
        failures=tuple((result.question, result.error) for result in present if result.error is not None),
        oracle=summarise_oracle(_answered(questions, given)) if by_oracle and not retrieval_only else None,
        run=run,
    )


def _packed(questions: Sequence[Question], given: Sequence[QuestionResult | None]) -> tuple[float, ...]:
    """Means over the questions with gold passages; one that failed has shown none."""
    none = (0.0,) * len(TOKEN_BUDGETS)
    judged = [
        (result.shown if result else ()) or none
        for question, result in zip(questions, given, strict=True)
        if question.supporting
    ]
    return tuple(mean(list(column)) for column in zip(*judged, strict=True))


def _answered(questions: Sequence[Question], given: Sequence[QuestionResult | None]) -> list[tuple[int, bool]]:
    pairs = zip(questions, given, strict=True)
    return [(question.hops, result is not None and result.prediction is not None) for question, result in pairs]


def _summarise_answers(questions: Sequence[Question], given: Sequence[QuestionResult | None]) -> AnswerReport:
    scores = [_answer_score(result) for result in given]
    grouped: dict[int, list[AnswerScore]] = {}
    for question, score in zip(questions, scores, strict=True):
        if question.hops:
            grouped.setdefault(question.hops, []).append(score)
    return AnswerReport(
        means=mean_score(scores),
        em=mean_interval([score.em for score in scores], INTERVAL_SEED),
        f1=mean_interval([score.f1 for score in scores], INTERVAL_SEED),
        by_hops=tuple((hops, mean_score(grouped[hops])) for hops in sorted(grouped)),
    )


def _answer_score(result: QuestionResult | None) -> AnswerScore:
    if result is None or result.error is not None or result.score is None:
        return MISSED
    return result.score


def _judge(question: Question, result: QuestionResult | None) -> JudgedRanking:
    return JudgedRanking(result.found if result else (), frozenset(question.supporting), question.hops)


def _answers_json(answers: AnswerReport | None) -> dict[str, Any]:
    if answers is None:
        return {}
    intervals = {"em": [answers.em.low, answers.em.high], "f1": [answers.f1.low, answers.f1.high]}
    by_hops = {str(hops): asdict(score) for hops, score in answers.by_hops}
    return asdict(answers.means) | {"intervals": intervals, "answers_by_hops": by_hops}


def _retrieval_json(retrieval: RetrievalSummary) -> dict[str, Any]:
    """`without_gold` says how many questions are in no retrieval mean; `questions_by_hops` how many are in each.

    `retrieval` is null when no question has gold passages: a zero would say that none was found.
    """
    return {
        "retrieval": retrieval.overall and retrieval.overall.scores.named(),
        "by_hops": {str(hops): means.scores.named() for hops, means in retrieval.by_hops},
        "questions_by_hops": {str(hops): means.questions for hops, means in retrieval.by_hops},
        "without_gold": retrieval.without_gold,
    }
