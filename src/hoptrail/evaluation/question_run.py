"""Asks one recipe one question and records the result and its trail.

A failed question becomes a result; errors that the next question would meet as well are raised. Reads and writes no files.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hoptrail.errors import EndpointRefused, HoptrailError, IndexUnavailable, Interrupted, RecordingError
from hoptrail.evaluation.answer_scores import AnswerScore
from hoptrail.evaluation.datasets import Dataset, Question, score_question
from hoptrail.evaluation.oracle import OracleLanguage
from hoptrail.evaluation.outcomes import Outcome, outcome_of, settled_by_hits
from hoptrail.evaluation.packed import Showing, packed_recall
from hoptrail.evaluation.question_meter import PerQuestion, QuestionMeter
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, project_to_passages
from hoptrail.evaluation.trail_records import TrailRecord, record_trail
from hoptrail.fingerprints import fingerprint
from hoptrail.language.tasks import Language
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import check_question
from hoptrail.types import Answer, Ranking, Unit


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

        Raises:
            Interrupted, EndpointRefused, IndexUnavailable, RecordingError: the next question would meet the same error.
        """
        with self.language.metered(self._performer(question)) as meter:
            started = time.perf_counter()
            response = self._respond(question)
            seconds = time.perf_counter() - started
        return self._result(question, response, meter, seconds), self._trail(question, response, meter)

    def _performer(self, question: Question) -> Language:
        """Open a performer. The oracle alone receives the question with its gold."""
        performer = self.language.open_performer()
        if isinstance(performer, OracleLanguage):
            performer.follow(question, self.showing.ids, self.showing.corpus.documents)
        return performer

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
        passages = project_to_passages(response.ranking, partial(corpus_ids, ids=self.showing.ids))
        return QuestionResult(
            question=question.id,
            prediction=prediction,
            abstained=prediction is None and error is None and not self.retrieval_only,
            error=error,
            score=None if error else self._score(question, answer),
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
            outcome=None if error else self._outcome(question, answer),
            settled=settled_by_hits(question, response.ranking) if not error else None,
        )

    def _score(self, question: Question, answer: Answer | None) -> AnswerScore | None:
        rule = self.dataset.rule
        return score_question(question, answer.text, rule) if answer and rule else None

    def _outcome(self, question: Question, answer: Answer | None) -> Outcome | None:
        return outcome_of(question, answer) if answer and self.dataset.rule is None else None

    def _trail(self, question: Question, response: _Response, meter: QuestionMeter) -> TrailRecord:
        passages_of = self.showing.passages
        readings = meter.readings(passages_of)
        return record_trail(
            question.id, fingerprint(question), response.answer, response.ranking, readings, passages_of
        )


@dataclass(frozen=True, slots=True)
class _Response:
    """An answer, or only a ranking, or an error."""

    answer: Answer | None = None
    ranking: Ranking = ()
    error: str | None = None


def corpus_ids(unit: Unit, ids: Mapping[str, Sequence[str]]) -> list[str]:
    """The corpus's ids of the documents that a unit was made from, in order, without repeats."""
    return list(dict.fromkeys(name for span in unit.sources for name in ids.get(span.document, ())))
