"""What recipes that answer hop by hop have in common; each adds how a hop is found, and how the hops are concluded.

Knows nothing of where sub-questions come from, except for the commonest way, one at a time (`next_questions`).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.anaphora import is_completion, is_left_open, points_back
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Complete, Decompose, Finding, Integrate, Language, Read, Reading
from hoptrail.recipes.answering import CitedHop, check_support, cite, findings_of, report_hops, verdict_of
from hoptrail.recipes.closest import closest
from hoptrail.recipes.recipe import OneRecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.pack import pack
from hoptrail.types import Answer, Hop, Ranking, Trail, Unit, Verdict


@dataclass(frozen=True)
class Hopwise(ABC):
    """Ask sub-questions, find and read for each, conclude. A failed task is a failed hop, never an error."""

    corpus: Corpus
    language: Language
    settings: OneRecipeSettings

    name: ClassVar[str]

    @abstractmethod
    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """The hops in order; a task that fails makes a failed hop."""
        ...

    @abstractmethod
    def conclude(
        self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter
    ) -> tuple[str | None, list[CitedHop]]:
        """The answer to the question itself (None: an abstention), and hops to add where concluding read something new."""
        ...

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """What all hops found: every hop's first, then every hop's second, and so on."""
        return interleave([cited.hop.hits for cited in hops], self.settings.k)

    def retrieve(self, question: str) -> Ranking:
        """What all hops found, as `everything` says."""
        return self.everything(self.hops(question, Meter(self.language)))

    def answer(self, question: str) -> Answer:
        started = time.perf_counter()
        meter = Meter(self.language, self.settings.abstain)
        hops = self.hops(question, meter)
        found = self.everything(hops)
        text, concluding = self.conclude(question, hops, found, meter)
        report_hops(concluding, meter)
        hops = [*hops, *concluding]
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        usage = replace(meter.usage, seconds=time.perf_counter() - started)
        return Answer(
            *(question, text, self.name, self.language.name, evidence, trail, usage, found),
            closest=closest(question, found, self.corpus),
        )


def next_questions(
    question: str,
    meter: Meter,
    most: int,
    ask: Callable[[str, str, tuple[Finding, ...]], CitedHop],
    goes_on: Callable[[Sequence[CitedHop]], bool] = lambda _: True,
) -> list[CitedHop]:
    """Hops until nothing is left to ask, a sub-question repeats, a task fails, there are `most`, or one more has no use by
    `goes_on`, which is called with the hops so far before each.

    The next sub-question is chosen in the light of those before it and, where it points back, completed from their answers;
    `ask` is called with the sub-question, what is really asked, and the findings so far. One that still says `she` or `#1` then
    has failed: what was read for it may be about anybody.
    """
    hops: list[CitedHop] = []
    asked: set[str] = set()
    while len(hops) < most and goes_on(hops):
        findings = findings_of(hops)
        try:
            following = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
            if not following:
                break
            completed, left_open = following[0], False
            if points_back(completed, findings):
                completed = meter.perform(Complete(completed, findings))
                left_open = is_left_open(completed)
        except TaskFailed:
            hops += report_hops([failed(question, question)], meter)
            break
        if completed in asked:
            break
        asked.add(completed)
        meter.asked(following[0], completed)
        cited = ask(following[0], completed, findings)
        hops += report_hops([failed(following[0], completed, cited.hop.hits) if left_open else cited], meter)
    return hops


def read_for(question: str, asked: str, found: Ranking, read: Ranking, units: Sequence[Unit], meter: Meter) -> CitedHop:
    """The hop of a sub-question whose evidence is `units`, made of the hits `read`, out of all that was `found`."""
    return reading_for(question, asked, found, read, units, meter)[1]


def reading_for(
    question: str,
    asked: str,
    found: Ranking,
    read: Ranking,
    units: Sequence[Unit],
    meter: Meter,
    abstain: Abstain = Abstain.ALWAYS,
) -> tuple[Reading, CitedHop]:
    """As `read_for`, with the whole reading; one that abstains where there is no evidence, or the task failed."""
    try:
        reading = meter.perform(Read(asked, tuple(units), abstain)) if units else Reading(None)
        support = tuple(span for step in reading.steps for span in step.support)
        check_support(support, read)
    except TaskFailed:
        return Reading(None), failed(question, asked, found)
    if reading.answer is None:
        return reading, CitedHop(Hop(question, asked, found, None, Verdict.UNANSWERED))
    return reading, CitedHop(Hop(question, asked, found, reading.answer, verdict_of(reading)), support)


def read_packed(
    question: str, asked: str, found: Ranking, tokens: int, meter: Meter, abstain: Abstain = Abstain.ALWAYS
) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question whose evidence is what of `found` fits `tokens`."""
    packed = pack(found, tokens)
    return reading_for(question, asked, found, packed, [hit.unit for hit in packed], meter, abstain)


def completed(question: str, findings: tuple[Finding, ...], complete: Callable[[], str]) -> str:
    """The sub-question with earlier answers in it; as it stands where it needs none, or where `complete` did not do well."""
    if all(finding.answer is None for finding in findings) or not points_back(question, findings):
        return question
    rewritten = complete()
    return rewritten if is_completion(question, rewritten, findings) else question


def conclusion(
    task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter
) -> tuple[Reading, list[CitedHop]]:
    """What `task` concludes, abstaining as `meter` says, and a hop for it where no hop had that answer and it
    rests on more than the answers, or on nothing that there is.

    The task's evidence was made of the hits `read`.

    Raises:
        TaskFailed: as the language raised it, or it cites what it was not handed.
    """
    reading = meter.perform(replace(task, abstain=meter.abstain))
    support = tuple(span for step in reading.steps for span in step.support)
    check_support(support, read)
    from_answers = reading.supported and not support
    if reading.answer is None or from_answers or reading.answer in {cited.hop.answer for cited in hops}:
        return reading, []
    hop = Hop(task.question, task.question, read, reading.answer, verdict_of(reading))
    return reading, [CitedHop(hop, support)]


def integrated(
    task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter
) -> tuple[str | None, list[CitedHop]]:
    """The answer of the `conclusion`, and its hop; an abstention with a hop that says so where the task fails."""
    try:
        reading, concluding = conclusion(task, hops, read, meter)
    except TaskFailed:
        return None, [failed(task.question, task.question, read)]
    return reading.answer, concluding


def concluded(
    question: str, hops: Sequence[CitedHop], found: Ranking, tokens: int, meter: Meter
) -> tuple[str | None, list[CitedHop]]:
    """From the findings and what of `found` fits `tokens`; an abstention where no hop has an answer, if there may be one."""
    if meter.abstain is not Abstain.NEVER and all(cited.hop.answer is None for cited in hops):
        return None, []
    packed = pack(found, tokens)
    return integrated(Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed)), hops, packed, meter)


def failed(question: str, asked: str, found: Ranking = ()) -> CitedHop:
    """The hop of a sub-question on which a task failed."""
    return CitedHop(Hop(question, asked, found, None, Verdict.FAILED))
