"""Error analysis: the first cause of a wrong answer or abstention, from its trail and the gold annotations.

An answer that contains a gold answer, or is contained in one, is `partly right`. A recipe that reads once, for the question
itself, is judged by the question's gold passages, in this order:

    not in the pool    no searched unit was made from a gold passage
    not ranked         it is in the pool, but no hit shows it
    not handed over    a hit shows it, but no unit handed to the reader does (it was cut off, or not packed)
    not read           everything was handed over, and the answer is still wrong

A recipe that asks sub-questions is judged by the gold steps in their order (`gold_plan.py`). A step is done if its answer was
given, or if a step that depends on it is done. The first step that is not done has one of the causes above, or one of these:

    wrong decomposition    no sub-question asks it
    wrong completion       sub-questions were asked after the answers that it needs were known, but none names them
    wrong integration      all steps are done, and the answer is wrong

A sub-question asks a step if it has the same wording, or names the answers that the step needs and shares a word with it (for a
step written as a relation, naming them is enough), or has half of the words of a step that needs no answer. Answers agree if one
contains the other. Without gold steps, a question read as a whole with all gold passages was `not read`; otherwise nobody knows
which sub-question should have found a passage or which answer is wrong, and the cause is `unknown`, with the reason. Abstentions
have the same causes and are counted separately; failed questions have none. Not covered: right answers in other words than the
gold answer, and steps asked in none of their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Rule, normalise, score_answer
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.results import QuestionResult, TrailRecord
from hoptrail.evaluation.run_folder import Run
from hoptrail.language.tasks import TASK_NAMES, Integrate
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.run_tables import TextTable
from hoptrail_papers.gold_plan import ARROW, REFERENCE, Goal, gold_plan

ENOUGH_WORDS = 0.5  # the share of a step's words that a sub-question needs to ask it

_SMALL_WORDS = frozenset({
    "the", "a", "an", "of", "in", "on", "at", "by", "for", "to", "from", "with", "and", "or", "is", "are", "was", "were",
    "s", "be", "did", "does", "do", "who", "whom", "whose", "what", "which", "when", "where", "how",
})  # fmt: skip

_VERDICTS = frozenset({"yes", "no"})


class Cause(StrEnum):
    """The first cause of an error, in the order in which an answer is made."""

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
    """The cause of a wrong answer or abstention of one question (its id); `why` is the evidence for it."""

    question: str
    abstained: bool
    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """One run's errors. `diagnoses` are in the order of the questions; right and failed questions have none."""

    run: str
    questions: int
    right: int
    failed: int
    diagnoses: tuple[Diagnosis, ...]

    def count(self, cause: Cause, *, abstained: bool) -> int:
        """The number of wrong answers, or of abstentions, with this cause."""
        return sum((item.cause, item.abstained) == (cause, abstained) for item in self.diagnoses)


def analyse_errors(run: Run) -> ErrorAnalysis:
    """The first cause of every wrong answer and of every abstention.
    Raises: UsageError: the run has no answers, or is over own documents, whose questions have no gold steps.
    """
    if run.header.rule is None:
        raise UsageError(
            f"{run.name} is over own documents, whose questions have no gold steps; compare its outcomes instead."
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


def errors_tables(analyses: Sequence[ErrorAnalysis], labels: Sequence[str], examples: int) -> Iterator[TextTable]:
    """Counts of every cause by run, and the first examples of each cause for each run."""
    rows = [("right", *(str(analysis.right) for analysis in analyses))]
    for cause in Cause:
        counts = [[analysis.count(cause, abstained=abstained) for abstained in (False, True)] for analysis in analyses]
        rows.append((cause.value, *(f"{wrong} + {abstained}" for wrong, abstained in counts)))
    rows.append(("failed", *(str(analysis.failed) for analysis in analyses)))
    rows.append(("questions", *(str(analysis.questions) for analysis in analyses)))
    note = "Wrong answers + abstentions, by first cause."
    yield TextTable("First causes", ("cause", *labels), tuple(rows), note)
    for label, analysis in zip(labels, analyses, strict=True):
        shown = tuple(
            (item.question, "none" if item.abstained else "wrong", cause.value, item.why)
            for cause in Cause
            for item in [one for one in analysis.diagnoses if one.cause is cause][:examples]
        )
        if shown:
            yield TextTable(f"Examples: {label}", ("question", "answer", "cause", "reason"), shown)


def errors_json(analyses: Sequence[ErrorAnalysis], labels: Sequence[str]) -> JsonObject:
    return {
        label: asdict(analysis)
        | {
            name: {cause.value: analysis.count(cause, abstained=abstained) for cause in Cause}
            for name, abstained in (("wrong", False), ("abstained", True))
        }
        for label, analysis in zip(labels, analyses, strict=True)
    }


def _diagnosis(run: Run, question: Question, result: QuestionResult) -> Diagnosis:
    trail = run.trails.get(question.id)
    near = None  # the gold answer that the prediction agrees with
    if result.prediction is not None and not {normalise(result.prediction), normalise(question.answers[0])} & _VERDICTS:
        near = next((answer for answer in question.answers if _agree(result.prediction, answer)), None)
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
        cause, why = _TrailAnalysis(question, trail).first_cause()
    return Diagnosis(question.id, result.abstained, cause, why)


class _TrailAnalysis:
    def __init__(self, question: Question, trail: TrailRecord) -> None:
        self._plan = gold_plan(question)
        self._trail = trail
        hits = [hit for hop in trail.hops for hit in hop.hits]
        self._ranked = {passage for hit in (*hits, *trail.ranking) for passage in hit.passages}
        self._handed = {passage for reading in trail.readings for passage in reading.passages}
        answers = (*(hop.answer for hop in trail.hops), *(reading.answer for reading in trail.readings))
        self._answers = [answer for answer in answers if answer is not None]
        texts = (*(hop.asked for hop in trail.hops), *(reading.question for reading in trail.readings))
        self._sub_questions = [text for text in dict.fromkeys(texts) if not self._is_whole(text)]

    def first_cause(self) -> tuple[Cause, str]:
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
        """Whether a text is the whole question, possibly in another order of words."""
        return self._plan.is_whole(text) or _words(text) == _words(self._plan.whole.question)

    def _missed(self, goal: Goal) -> tuple[Cause, str] | None:
        """A gold passage that did not reach the reader, with the cause; None if all did."""
        for cause, reached in ((Cause.NOT_RANKED, self._ranked), (Cause.NOT_HANDED_OVER, self._handed)):
            if missing := sorted(goal.passages - reached):
                return cause, missing[0]
        return None

    def _without_steps(self) -> tuple[Cause, str]:
        if missed := self._missed(self._plan.whole):
            cause, passage = missed
            if cause is not Cause.NOT_RANKED:
                return missed
            why = f"{passage} was not ranked; without gold steps it is unknown which sub-question should find it"
        elif any(_agree(answer, self._plan.whole.answers[0]) for answer in self._answers):
            return Cause.WRONG_INTEGRATION, "the right answer was given on the way"
        elif any(
            self._is_whole(reading.question) and self._plan.whole.passages <= set(reading.passages)
            for reading in self._trail.readings
            if reading.task != TASK_NAMES[Integrate]
        ):
            return Cause.NOT_READ, "all gold passages were handed over with the question itself"
        else:
            why = "all gold passages were handed over; without gold steps, errors of reading and integration look alike"
        return Cause.UNKNOWN, why

    def _done(self) -> list[bool]:
        """Whether each step is done. A step that is done implies that the steps it depends on are done."""
        steps = self._plan.steps
        done = [any(_agree(answer, step.answers[0]) for answer in self._answers) for step in steps]
        for position in reversed(range(len(steps))):
            if done[position]:
                for needed in steps[position].needs:
                    done[needed] = True
        return done

    def _cause_at(self, step: Goal) -> tuple[Cause, str]:
        """The cause at the first step that is not done; the steps it depends on are done."""
        if not any(self._asks(text, step) for text in self._sub_questions):
            needed = [self._plan.steps[position].answers[0] for position in sorted(step.needs)]
            named = any(all(_is_in(answer, text) for answer in needed) for text in self._sub_questions)
            hops = [hop for hop in self._trail.hops if not self._is_whole(hop.asked)]
            known = [hop.answer for hop in hops[:-1] if hop.answer is not None]
            continued = all(any(_agree(given, answer) for given in known) for answer in needed)
            if needed and not named and continued:
                return Cause.WRONG_COMPLETION, step.question
            return Cause.WRONG_DECOMPOSITION, step.question
        return self._missed(step) or (Cause.NOT_READ, step.question)

    def _asks(self, text: str, step: Goal) -> bool:
        place = self._plan.steps.index(step)
        if place in self._plan.worded_as(text):
            return True
        words = _words(step.question)
        shared = words & _words(text)
        if not step.needs:
            return len(shared) >= ENOUGH_WORDS * len(words)
        names = all(_is_in(self._plan.steps[needed].answers[0], text) for needed in step.needs)
        return names and (ARROW in step.question or not words or bool(shared))


def _agree(one: str, other: str) -> bool:
    return _is_in(one, other) or _is_in(other, one)


def _is_in(answer: str, text: str) -> bool:
    """Whether a text contains the words of an answer, at least one, next to each other."""
    return bool(normalise(answer)) and score_answer(text, (answer,), Rule.COVER).em == 1


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", REFERENCE.sub(" ", text.casefold()))) - _SMALL_WORDS
