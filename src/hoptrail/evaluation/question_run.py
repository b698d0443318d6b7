"""Asks one recipe one question, and records the result, its trail, and what its language tasks took.

A failed question becomes a result; errors that the next question would meet as well are raised. Reads and writes no files.

A recipe has one language for all questions, and several threads may ask questions at once. So the recipe gets a `PerQuestion`,
which passes tasks on to the meter of the question in its thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

from hoptrail.errors import EndpointRefused, HoptrailError, IndexUnavailable, Interrupted, RecordingError, TaskFailed
from hoptrail.evaluation.datasets import Dataset, Question, score_question
from hoptrail.evaluation.outcomes import outcome_of, settled_by_hits
from hoptrail.evaluation.results import EvidenceRecord, HitRecord, HopRecord, QuestionResult, ReadingRecord, TrailRecord
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, Showing, packed_recall, project_to_passages
from hoptrail.fingerprints import fingerprint
from hoptrail.language import tasks
from hoptrail.language.closeness import Close
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import check_question
from hoptrail.types import Answer, Document, Ranking, Unit, Usage

T = TypeVar("T")


@runtime_checkable
class GoldReader(Protocol):
    """A language of an evaluation that answers from a data set's gold annotations (entry points `hoptrail.languages`)."""

    def follow(
        self,
        question: Question,
        names: Mapping[str, Sequence[str]],
        documents: Callable[[set[str]], Mapping[str, Document]],
    ) -> None:
        """Set the question of the following tasks. `names` has the corpus's ids by document id, `documents` returns documents."""


class QuestionMeter:
    """Meters the tasks that `performer` performs, for one question and one thread."""

    def __init__(self, performer: tasks.Language) -> None:
        self.performer = performer
        self.read: list[tuple[str, str, Sequence[Unit], str | None]] = []
        self.seconds = 0.0
        self.tasks = 0
        self.usage = Usage()
        self.failure: str | None = None

    def perform(self, task: tasks.Task[T]) -> tasks.Reply[T]:
        """Perform a task. Raises: TaskFailed: the performer failed."""
        started = time.perf_counter()
        self.tasks += 1
        answer: str | None = None
        try:
            reply = self.performer.perform(task)
            self.usage += reply.usage
            if isinstance(reply.value, tasks.Reading):
                answer = reply.value.answer
            elif isinstance(reply.value, tasks.Samples):
                answer = reply.value.answers[0]
        except TaskFailed as failure:
            self.usage += failure.usage or Usage()
            self.failure = str(failure)
            raise
        finally:
            self.seconds += time.perf_counter() - started
            if isinstance(task, tasks.Read | tasks.Integrate | tasks.Sample):
                self.read.append((tasks.TASK_NAMES[type(task)], task.question, task.evidence, answer))
        return reply


@dataclass(eq=False)
class PerQuestion:
    """The language of an evaluated recipe.

    `open_performer` returns the performer for the next question: a new one each time if it cannot serve several at once.
    `identity` covers all that replies depend on (`language.factory`); the default is the name. `model` is the name of the
    language model, or empty.
    """

    name: str
    open_performer: Callable[[], tasks.Language]
    identity: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        self.identity = self.identity or self.name
        # One variable per language: an evaluated recipe may contain another evaluated language.
        self._current: ContextVar[QuestionMeter] = ContextVar("question meter")

    @contextmanager
    def metered(self, performer: tasks.Language) -> Iterator[QuestionMeter]:
        """Within the `with` block, let `performer` perform this thread's tasks, metered."""
        meter = QuestionMeter(performer)
        token = self._current.set(meter)
        try:
            yield meter
        finally:
            self._current.reset(token)

    def perform(self, task: tasks.Task[T]) -> tasks.Reply[T]:
        """Perform a task with the performer of this thread's question.
        Raises: LookupError: no question is being asked in this thread. TaskFailed: the performer failed.
        """
        return self._current.get().perform(task)

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        return tasks.judged(self._current.get().performer, question, units)


@dataclass(frozen=True, slots=True)
class Asking:
    """A recipe with the data that its answers are judged by. `language` is that of the recipe."""

    recipe: Recipe
    language: PerQuestion
    dataset: Dataset
    showing: Showing
    retrieval_only: bool

    def ask(self, question: Question) -> tuple[QuestionResult, TrailRecord]:
        """The result and trail of a question. Thread-safe.
        Raises: Interrupted, EndpointRefused, IndexUnavailable, RecordingError: the next question would meet the same error.
        """
        performer = self.language.open_performer()
        if isinstance(performer, GoldReader):  # no other one may see the gold annotations
            performer.follow(question, self.showing.ids, self.showing.corpus.documents)
        with self.language.metered(performer) as meter:
            started = time.perf_counter()
            response = self._respond(question)
            seconds = time.perf_counter() - started
        return self._result(question, response, meter, seconds), self._trail(question, response, meter)

    def _respond(self, question: Question) -> _Response:
        try:
            text = check_question(question.question)
            if self.retrieval_only:
                return _Response(ranking=self.recipe.retrieve(text))
            answer = self.recipe.answer(text)
        except (Interrupted, EndpointRefused, IndexUnavailable, RecordingError):
            raise
        except HoptrailError as failure:
            return _Response(error=str(failure))
        return _Response(answer, answer.ranking)

    def _result(self, question: Question, response: _Response, meter: QuestionMeter, seconds: float) -> QuestionResult:
        answer, usage = response.answer, meter.usage
        prediction = answer.text if answer else None
        # An abstention after a failed task is no judgement of the question, so it counts as an error and is asked again.
        error = response.error or (meter.failure if answer and answer.abstained else None)
        judged, rule = None if error else answer, self.dataset.rule
        passages = project_to_passages(response.ranking, partial(corpus_ids, ids=self.showing.ids))
        return QuestionResult(
            question=question.id,
            prediction=prediction,
            abstained=prediction is None and error is None and not self.retrieval_only,
            error=error,
            score=score_question(question, judged.text, rule) if judged and rule else None,
            passages=tuple(passages[:DEEPEST_CUTOFF]),
            packed=packed_recall(response.ranking, question.supporting, self.showing),
            seconds_retrieval=seconds - meter.seconds,
            seconds_language=meter.seconds,
            calls=usage.calls,
            tokens=usage.prompt_tokens + usage.completion_tokens,
            completion_tokens=usage.completion_tokens,
            tasks=meter.tasks,
            asked=fingerprint(question),
            confidence=answer.confidence if answer else None,
            turns=len(answer.trail) if answer else 0,
            outcome=outcome_of(question, judged) if judged and rule is None else None,
            settled=settled_by_hits(question, response.ranking) if not error else None,
        )

    def _trail(self, question: Question, response: _Response, meter: QuestionMeter) -> TrailRecord:
        trail, evidence = (response.answer.trail, response.answer.evidence) if response.answer else ((), ())
        hops = (HopRecord(hop.question, hop.asked, self._hits(hop.hits), hop.answer, hop.verdict) for hop in trail)
        cited = (EvidenceRecord(item.document, item.start, item.end, item.unit, item.hop) for item in evidence)
        readings = (
            ReadingRecord(name, asked, tuple(unit.id for unit in units), self._shown(units), answer)
            for name, asked, units, answer in meter.read
        )
        ranking = self._hits(response.ranking)
        return TrailRecord(question.id, fingerprint(question), tuple(hops), tuple(cited), tuple(readings), ranking)

    def _shown(self, units: Sequence[Unit]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(passage for unit in units for passage in self.showing.passages(unit)))

    def _hits(self, ranking: Ranking) -> tuple[HitRecord, ...]:
        shown = self.showing.passages
        return tuple(
            HitRecord(hit.unit.id, hit.unit.kind, float(hit.score), hit.channel, hit.unit.document, shown(hit.unit))
            for hit in ranking
        )


@dataclass(frozen=True, slots=True)
class _Response:
    answer: Answer | None = None
    ranking: Ranking = ()
    error: str | None = None


def corpus_ids(unit: Unit, ids: Mapping[str, Sequence[str]]) -> list[str]:
    """The corpus's ids of the documents that a unit was made from, in order, without repeats."""
    return list(dict.fromkeys(name for span in unit.sources for name in ids.get(span.document, ())))
