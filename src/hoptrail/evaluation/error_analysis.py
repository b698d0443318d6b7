"""Why an answer is wrong: the first thing that went wrong on the way to it, told from the trail and the gold annotations.

An answer whose words stand in a gold answer, or the other way round, is `partly right`: it says less, or more, or the same in
other words. Any other is looked into. A recipe that reads once, for the question itself, is judged by the question's gold
passages, in this order:

    not in the pool    no unit that is searched was made from a gold passage
    not ranked         it is in the pool, but no hit shows it
    not handed over    a hit shows it, but nothing that was handed to the reader does (it was cut off, or not packed)
    not read           everything was handed over, and the answer is wrong all the same

A recipe that asks sub-questions is judged by the gold steps in their order (`gold_plan.py`). A step is done where its answer was
given, or a step that rests on it is done. The first that is not done has one of the causes above, or one of these:

    wrong decomposition    no sub-question asks it
    wrong completion       sub-questions were asked after the answers it rests on were known, but none names them
    wrong integration      all steps are done, and the answer is wrong

A sub-question asks a step if it has its words, or names the answers that the step rests on and has a word of its own (where
the data give a relation instead of words, naming is enough), or has half of the words of a step that rests on none. Answers
agree where the words of one stand in the other. Without gold steps a question that was read as a whole with all gold passages
in hand was not read; otherwise it can't be told which sub-question should have found a passage or which answer is wrong, and
the cause is `unknown`, with the reason. Abstentions are counted apart, and have the same causes; questions that failed have
none. Not covered: an answer that is right in other words than the gold's, and a step that is asked in none of its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Rule, normalise, score_answer
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.gold_plan import REFERENCE, Goal, gold_plan, is_relation
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.run_folder import Run
from hoptrail.evaluation.trail_records import HopRecord, ReadingRecord, TrailRecord
from hoptrail.language.tasks import TASK_NAMES, Integrate

ENOUGH_WORDS = 0.5
"""The share of a step's words that a sub-question which asks it has."""

_SMALL_WORDS = frozenset(
    {
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "to",
        "from",
        "with",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
    }
    | {"s", "be", "did", "does", "do", "who", "whom", "whose", "what", "which", "when", "where", "how"}
)

_VERDICTS = frozenset({"yes", "no"})


class Cause(StrEnum):
    """What went wrong first; in the order of the way to an answer."""

    NOT_IN_POOL = "not in the pool"
    WRONG_DECOMPOSITION = "wrong decomposition"
    WRONG_COMPLETION = "wrong completion"
    NOT_RANKED = "not ranked"
    NOT_HANDED_OVER = "not handed over"
    NOT_READ = "not read"
    WRONG_INTEGRATION = "wrong integration"
    PARTLY_RIGHT = "partly right"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why one question (its id) was answered wrongly or not at all; `why` says what the cause is told by."""

    question: str
    abstained: bool
    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """One run's errors. `diagnoses` are in the order of the questions; right and failed ones have none."""

    run: str
    questions: int
    right: int
    failed: int
    diagnoses: tuple[Diagnosis, ...]

    def count(self, cause: Cause, *, abstained: bool) -> int:
        """How many questions were answered wrongly, or were not answered, for this reason."""
        return sum((one.cause, one.abstained) == (cause, abstained) for one in self.diagnoses)


def analyse_errors(run: Run) -> ErrorAnalysis:
    """The first cause of every wrong answer and of every abstention.

    Raises:
        UsageError: the run did not answer, or its questions have outcomes and no gold way to be compared with.
    """
    if run.header.rule is None:
        raise UsageError(
            f"{run.name} is over somebody's own documents, whose questions have no gold steps; compare its outcomes instead."
        )
    if run.header.retrieval_only:
        raise UsageError(f"{run.name} has no answers: it was run with --retrieval-only.")
    diagnoses: list[Diagnosis] = []
    right = failed = 0
    for question in run.questions:
        result = run.results.get(question.id)
        if result is None or result.error is not None:
            failed += 1
        elif result.score is not None and result.score.em == 1:
            right += 1
        else:
            diagnoses.append(_diagnosis(run, question, result))
    return ErrorAnalysis(run.name, len(run.questions), right, failed, tuple(diagnoses))


def _diagnosis(run: Run, question: Question, result: QuestionResult) -> Diagnosis:
    trail = run.trails.get(question.id)
    near = _near(result.prediction, question.answers)
    missing = sorted(set(question.supporting).intersection(run.header.outside_pool))
    if near is not None:
        cause, why = Cause.PARTLY_RIGHT, f"{result.prediction!r} for {near!r}"
    elif not question.supporting:
        cause, why = Cause.UNKNOWN, "the question has no gold passages"
    elif missing:
        cause, why = Cause.NOT_IN_POOL, missing[0]
    elif trail is None:
        cause, why = Cause.UNKNOWN, "no trail was kept"
    else:
        cause, why = _Way(question, trail).first_cause()
    return Diagnosis(question.id, result.abstained, cause, why)


def _near(prediction: str | None, answers: Sequence[str]) -> str | None:
    """The gold answer that the prediction agrees with; a yes or no agrees with nothing but itself."""
    if prediction is None or {normalise(prediction), normalise(answers[0])} & _VERDICTS:
        return None
    return next((answer for answer in answers if _agree(prediction, answer)), None)


class _Way:
    """One question's trail beside its gold."""

    def __init__(self, question: Question, trail: TrailRecord) -> None:
        self._plan = gold_plan(question)
        self._trail = trail
        hits = [hit for hop in trail.hops for hit in hop.hits]
        self._ranked = {passage for hit in (*hits, *trail.ranking) for passage in hit.passages}
        self._handed = {passage for reading in trail.readings for passage in reading.passages}
        given = (*(hop.answer for hop in trail.hops), *(reading.answer for reading in trail.readings))
        self._given = [answer for answer in given if answer is not None]
        asked = (*(hop.asked for hop in trail.hops), *(reading.question for reading in trail.readings))
        self._asked = [text for text in dict.fromkeys(asked) if not self._is_whole(text)]

    def first_cause(self) -> tuple[Cause, str]:
        """The cause and what it is told by."""
        if all(self._is_whole(reading.question) for reading in self._trail.readings):
            return self._missed(self._plan.whole) or (Cause.NOT_READ, "all gold passages were handed over")
        if len(self._plan.steps) == 1:
            return self._without_steps()
        done = self._done()
        for step, is_done in zip(self._plan.steps, done, strict=True):
            if not is_done:
                return self._cause_at(step)
        return Cause.WRONG_INTEGRATION, "every step was answered"

    def _is_whole(self, text: str) -> bool:
        """Whether this asks the question itself, be it in another order."""
        return self._plan.is_whole(text) or _words(text) == _words(self._plan.whole.question)

    def _missed(self, goal: Goal) -> tuple[Cause, str] | None:
        """A gold passage that did not come as far as the reader."""
        for cause, reached in ((Cause.NOT_RANKED, self._ranked), (Cause.NOT_HANDED_OVER, self._handed)):
            if missing := sorted(goal.passages - reached):
                return cause, missing[0]
        return None

    def _without_steps(self) -> tuple[Cause, str]:
        missed = self._missed(self._plan.whole)
        if missed is None:
            if any(_agree(given, self._plan.whole.answers[0]) for given in self._given):
                return Cause.WRONG_INTEGRATION, "the right answer was given on the way"
            if any(self._is_whole_reading(reading) for reading in self._trail.readings):
                return Cause.NOT_READ, "all gold passages were handed over with the question itself"
            return (
                Cause.UNKNOWN,
                "all gold passages were handed over; without gold steps reading and integrating look alike",
            )
        cause, passage = missed
        if cause is Cause.NOT_RANKED:
            why = f"{passage} was not ranked; without gold steps nobody knows which sub-question should find it"
            return Cause.UNKNOWN, why
        return missed

    def _is_whole_reading(self, reading: ReadingRecord) -> bool:
        """Whether the question itself was read with all gold passages."""
        asked = reading.task != TASK_NAMES[Integrate] and self._is_whole(reading.question)
        return asked and self._plan.whole.passages <= set(reading.passages)

    def _done(self) -> list[bool]:
        """From the last step backwards, because a later step that is done vouches for those it rests on."""
        steps = self._plan.steps
        done = [any(_agree(given, step.answers[0]) for given in self._given) for step in steps]
        for position in reversed(range(len(steps))):
            if done[position]:
                for needed in steps[position].needs:
                    done[needed] = True
        return done

    def _cause_at(self, step: Goal) -> tuple[Cause, str]:
        """Of the first step that is not done: those it rests on are."""
        if not any(self._asks(text, step) for text in self._asked):
            needed = [self._plan.steps[position].answers[0] for position in sorted(step.needs)]
            named = any(all(_stands_in(answer, text) for answer in needed) for text in self._asked)
            if needed and not named and self._went_on_after(needed):
                return Cause.WRONG_COMPLETION, step.question
            return Cause.WRONG_DECOMPOSITION, step.question
        return self._missed(step) or (Cause.NOT_READ, step.question)

    def _asks(self, text: str, step: Goal) -> bool:
        place = self._plan.steps.index(step)
        if place in self._plan.worded_as(text):
            return True
        words, said = _words(step.question), _words(text)
        if not step.needs:
            return len(words & said) >= ENOUGH_WORDS * len(words)
        names = all(_stands_in(self._plan.steps[needed].answers[0], text) for needed in step.needs)
        return names and (is_relation(step.question) or not words or bool(words & said))

    def _went_on_after(self, needed: Sequence[str]) -> bool:
        """Whether a sub-question was asked once all these answers were known."""
        hops = [hop for hop in self._trail.hops if not self._is_whole(hop.asked)]
        known = [_first_telling(hops, answer) for answer in needed]
        return all(place is not None and place + 1 < len(hops) for place in known)


def _first_telling(hops: Sequence[HopRecord], answer: str) -> int | None:
    places = (place for place, hop in enumerate(hops) if hop.answer is not None and _agree(hop.answer, answer))
    return next(places, None)


def _agree(one: str, other: str) -> bool:
    return _stands_in(one, other) or _stands_in(other, one)


def _stands_in(answer: str, text: str) -> bool:
    """The words of the answer, at least one, next to each other."""
    return bool(normalise(answer)) and score_answer(text, (answer,), Rule.COVER).em == 1


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", REFERENCE.sub(" ", text.casefold()))) - _SMALL_WORDS
