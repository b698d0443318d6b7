"""Base of recipes that answer hop by hop; each adds how hops are made, and some conclude in their own way.

`next_questions` is the commonest way to sub-questions: one at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.questions.references import is_completion, is_left_open, points_back, word_references
from hoptrail.language.tasks import Abstain, Complete, Decompose, Finding, Integrate, Language, Read, Reading, Recall
from hoptrail.recipes.answering import (
    CitedHop,
    check_support,
    cite,
    findings_of,
    memory_hop,
    report_hops,
    stored_hits,
    verdict_of,
)
from hoptrail.recipes.closest import closest
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import interleave, pack
from hoptrail.types import Answer, Hop, Ranking, Trail, Unit, Verdict

Concluded = tuple[str | None, list[CitedHop]]
"""The answer to a question (None: an abstention), and hops to add if concluding read something new."""


@dataclass(frozen=True)
class Hopwise(ABC):
    """Ask sub-questions, retrieve and read for each, conclude. A failed task is a failed hop, never an error."""

    corpus: Corpus
    language: Language
    settings: PassageSettings

    name: ClassVar[str]

    @abstractmethod
    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """The hops in order; a failed task makes a failed hop."""

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """Conclude from the findings and the hits that can be read at once; abstain if allowed and no hop has an answer."""
        if meter.abstain is not Abstain.NEVER and all(cited.hop.answer is None for cited in hops):
            return None, []
        return integrate_packed(question, hops, found, self.settings.evidence_tokens, meter)

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """The stored hits of all hops, interleaved: every hop's first, then every hop's second, and so on."""
        return interleave([stored_hits(cited.hop.hits) for cited in hops], self.settings.k)

    def retrieve(self, question: str) -> Ranking:
        """The hits of all hops. They are read too, because a sub-question needs the answers before it."""
        return self.everything(self.hops(question, Meter(self.language)))

    def answer(self, question: str) -> Answer:
        """The conclusion from all hops, which are its trail; its confidence is None."""
        meter = Meter(self.language, self.settings.abstain)
        hops = self.hops(question, meter)
        found = self.everything(hops)
        text, concluding = self.conclude(question, hops, found, meter)
        report_hops(concluding, meter)
        hops = [*hops, *concluding]
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        return Answer(
            *(question, text, self.name, self.language.name, evidence, trail, meter.total, found),
            closest=closest(question, found, self.corpus, self.language),
        )


def next_questions(
    question: str,
    meter: Meter,
    most: int,
    ask: Callable[[str, str], CitedHop],
    goes_on: Callable[[Sequence[CitedHop]], bool] = lambda _: True,
    known: Collection[str] = (),
    left_open_counts: bool = False,
) -> list[CitedHop]:
    """Ask one sub-question after another until none is left, one repeats or is `known`, a task fails, there are `most` hops, or
    `goes_on` (called with the hops so far) returns False.

    Each sub-question is chosen given the findings so far and, if it points back, completed from them. `ask` gets the
    sub-question and its completed form, without numbers. A hop whose completed form still says `she` or `this author` counts as
    failed unless `left_open_counts`: what was read for it may be about anybody.
    """
    hops: list[CitedHop] = []
    asked = set(known)
    while len(hops) < most and goes_on(hops):
        findings = findings_of(hops)
        try:
            following = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
            if not following:
                break
            sub_question, completed, left_open = following[0], following[0], False
            if points_back(sub_question, findings):
                completed = meter.perform(Complete(sub_question, findings))
                completed = word_references(completed, [one.asked for one in findings])
                left_open = is_left_open(completed) and not left_open_counts
        except TaskFailed:
            hops += report_hops([failed_hop(question, question)], meter)
            break
        if completed in asked:
            break
        asked.add(completed)
        meter.asked(sub_question, completed)
        cited = ask(sub_question, completed)
        hops += report_hops([failed_hop(sub_question, completed, cited.hop.hits) if left_open else cited], meter)
    return hops


def reading_for(
    question: str,
    asked: str,
    found: Ranking,
    read: Ranking,
    units: Sequence[Unit],
    meter: Meter,
    abstain: Abstain = Abstain.ALWAYS,
) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from `units`, which come from the hits `read`, a part of `found`."""
    try:
        reading = meter.perform(Read(asked, tuple(units), abstain)) if units else Reading(None)
        support = tuple(span for step in reading.steps for span in step.support)
        check_support(support, read)
    except TaskFailed:
        return Reading(None), failed_hop(question, asked, found)
    if reading.answer is None:
        return reading, CitedHop(Hop(question, asked, found, None, Verdict.UNANSWERED))
    return reading, CitedHop(Hop(question, asked, found, reading.answer, verdict_of(reading)), support)


def read_packed(
    question: str, asked: str, found: Ranking, tokens: int, meter: Meter, abstain: Abstain = Abstain.ALWAYS
) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from the part of `found` that fits `tokens`."""
    packed = pack(found, tokens)
    return reading_for(question, asked, found, packed, [hit.unit for hit in packed], meter, abstain)


def complete_question(question: str, findings: tuple[Finding, ...], complete: Callable[[], str]) -> str:
    """The sub-question with earlier answers filled in if it needs them and `complete` gives valid ones; others are worded."""
    if any(finding.answer is not None for finding in findings) and points_back(question, findings):
        rewritten = complete()
        question = rewritten if is_completion(question, rewritten, findings) else question
    return word_references(question, [finding.asked for finding in findings])


def next_step(question: str, findings: tuple[Finding, ...], meter: Meter) -> tuple[str, str] | None:
    """The next sub-question and its completed form; the question itself if it is not decomposed. None: nothing is left."""
    questions = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
    if findings and not questions:
        return None
    following = questions[0] if questions else question
    return following, complete_question(following, findings, lambda: meter.perform(Complete(following, findings)))


def recalled(question: str, asked: str, meter: Meter) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from the model's memory."""
    try:
        reading = meter.perform(Recall(asked, meter.abstain))
    except TaskFailed:
        return Reading(None), failed_hop(question, asked)
    return reading, memory_hop(question, asked, reading)


def conclusion(
    task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter
) -> tuple[Reading, list[CitedHop]]:
    """Perform `task`, abstaining as `meter` says. Its evidence was made from the hits `read`.

    Returns the reading, and a hop for it unless an earlier hop had that answer or it follows from the findings alone.
    Raises: TaskFailed: from the language, or because the reading cites a span outside the evidence.
    """
    reading = meter.perform(replace(task, abstain=meter.abstain))
    support = tuple(span for step in reading.steps for span in step.support)
    check_support(support, read)
    from_answers = reading.supported and not support
    if reading.answer is None or from_answers or reading.answer in {cited.hop.answer for cited in hops}:
        return reading, []
    hop = Hop(task.question, task.question, read, reading.answer, verdict_of(reading))
    return reading, [CitedHop(hop, support)]


def integrate(task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter) -> Concluded:
    """The answer of the `conclusion` and its hop; None and a failed hop if the task fails."""
    try:
        reading, concluding = conclusion(task, hops, read, meter)
    except TaskFailed:
        return None, [failed_hop(task.question, task.question, read)]
    return reading.answer, concluding


def integrate_packed(question: str, hops: Sequence[CitedHop], found: Ranking, tokens: int, meter: Meter) -> Concluded:
    """Integrate the findings and the part of `found` that fits `tokens`."""
    packed = pack(found, tokens)
    return integrate(Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed)), hops, packed, meter)


def failed_hop(question: str, asked: str, found: Ranking = ()) -> CitedHop:
    return CitedHop(Hop(question, asked, found, None, Verdict.FAILED))


@dataclass(frozen=True, slots=True)
class QuestionBudget:
    """At most `tasks` tasks through `meter`, and none after `tokens` are spent. 0: no limit."""

    meter: Meter
    tasks: int = 0
    tokens: int = 0

    def affords(self, tasks: int) -> bool:
        usage = self.meter.usage
        if self.tokens and usage.prompt_tokens + usage.completion_tokens >= self.tokens:
            return False
        return not self.tasks or self.meter.tasks + tasks <= self.tasks
