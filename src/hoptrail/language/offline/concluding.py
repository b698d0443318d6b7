"""Answer whole questions: at once, and, if they can be taken apart, hop by hop; the likelier answer is taken.

An answer by hops has the confidence of its least likely hop, because one wrong step makes the rest a guess. Where both ways
give the same answer, they count together. Findings of earlier hops are concluded by the plan too, and a new
reading checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hoptrail.language.offline.evidence import OpenedEvidence
from hoptrail.language.offline.hops import FollowedPlan, follow
from hoptrail.language.offline.statement_reading import ReadAnswer, StatementReader
from hoptrail.language.questions.choices import find_choice
from hoptrail.language.questions.plans import Plan
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.text.mentions import find_mentions, find_names
from hoptrail.text.normal_forms import folded, stands_in
from hoptrail.text.values import same_answer, same_value
from hoptrail.types import Span, Unit

_UNCHECKED = 0.65  # confidence in a conclusion from findings if reading the evidence gives no answer
_CONTRADICTED = 0.35  # confidence in a conclusion from findings if reading the evidence gives another answer


def read_by_hops(question: str, plan: Plan, units: Sequence[Unit], reader: StatementReader) -> Reading:
    """The likelier answer to `question` at once or, if it is taken apart, by its plan, with one step for each hop."""
    found = _at_once(question, plan, units, reader)
    at_once = (
        Reading(None) if found is None else Reading(found.answer, found.steps(question), round(found.confidence, 4))
    )
    if len(plan.questions) == 1 and plan.comparison is None:
        return at_once
    by_plan = _by_plan(question, follow(plan, units, reader, question))
    if by_plan.answer is None or at_once.answer is None:
        return at_once if by_plan.answer is None and at_once.answer is not None else by_plan
    if same_answer(by_plan.answer, at_once.answer):
        together = 1 - (1 - by_plan.confidence) * (1 - at_once.confidence)
        return replace(by_plan, confidence=round(together, 4))
    return max(by_plan, at_once, key=lambda reading: reading.confidence)


def _by_plan(question: str, followed: FollowedPlan) -> Reading:
    steps = followed.steps
    if followed.answer is None:
        return Reading(None, steps)
    if followed.plan.comparison is not None:
        spans = dict.fromkeys(span for step in steps for span in step.support)
        steps = (*steps, Step(question, followed.answer, tuple(spans)))
    return Reading(followed.answer, steps, round(min(hop.confidence for _, hop in followed.hops), 4))


def _at_once(question: str, plan: Plan, units: Sequence[Unit], reader: StatementReader) -> ReadAnswer | None:
    """The best answer to the whole question: one of the sides that are compared or offered, else no name in the question."""
    choice = find_choice(question)
    sides = (
        plan.comparison.sides
        if plan.comparison
        else choice.sides
        if choice and all(map(find_names, choice.sides))
        else ()
    )
    if not sides:
        named = [mention.text for mention in find_mentions(question, question=True)]
        return next(iter(reader.ranked(question, units, named, paths=True)), None)
    found = reader.ranked(question, units, paths=True)
    matching = ((one, side) for one in found for side in sides if same_answer(one.answer, side))
    return next((replace(one, answer=side) for one, side in matching), None)


def conclude(
    question: str, plan: Plan, findings: Sequence[Finding], evidence: OpenedEvidence, reading: Reading
) -> Reading:
    """The conclusion from the findings, else `reading`, which is of all the evidence."""
    answer = _conclusion_of(plan, findings)
    if answer is None:
        return reading
    if reading.answer is not None and same_value(reading.answer, answer):
        steps = (*reading.steps[:-1], replace(reading.steps[-1], answer=answer))
        return Reading(answer, steps, max(_UNCHECKED, reading.confidence))
    confidence = _UNCHECKED if reading.answer is None else _CONTRADICTED
    return Reading(answer, (Step(question, answer, _support(answer, evidence)),), confidence)


def _conclusion_of(plan: Plan, findings: Sequence[Finding]) -> str | None:
    if plan.comparison is None:
        return findings[-1].answer if findings else None
    by_question = {finding.question: finding.answer for finding in findings}
    if all(question in by_question for question in plan.questions):
        return plan.conclude([by_question[question] for question in plan.questions])
    return plan.conclude([finding.answer for finding in findings])


def _support(answer: str, evidence: OpenedEvidence) -> tuple[Span, ...]:
    """The spans of the first line with the answer's words; none for yes or no, which follow from the findings."""
    folded_answer = folded(answer)
    if folded_answer in {"yes", "no"}:
        return ()
    return next((line.support for line in evidence.lines if stands_in(folded_answer, folded(line.alone))), ())
