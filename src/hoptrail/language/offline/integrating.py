"""A conclusion from findings and evidence: comparators or the last answer, with a fresh reading as a cross-check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.offline.hops import Plan
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.text.normal_forms import folded, stands_in
from hoptrail.text.values import same_value
from hoptrail.types import Span

_UNCHECKED = 0.6
"""Confidence in a conclusion from findings alone."""
_CONTRADICTED = 0.35
"""The same when reading the evidence gives another answer."""


def conclude(
    question: str, plan: Plan, findings: Sequence[Finding], evidence: EvidencePages, reading: Reading
) -> Reading:
    """What the findings conclude; without a conclusion from them, what `reading` (of all the evidence) says."""
    answer = _concluded(plan, findings)
    if answer is None:
        return reading
    if reading.answer is not None and same_value(reading.answer, answer):
        steps = (*reading.steps[:-1], replace(reading.steps[-1], answer=answer))
        return Reading(answer, steps, max(_UNCHECKED, reading.confidence))
    confidence = _UNCHECKED if reading.answer is None else _CONTRADICTED
    return Reading(answer, (Step(question, answer, _support(answer, evidence)),), confidence)


def _concluded(plan: Plan, findings: Sequence[Finding]) -> str | None:
    if plan.comparison is None and not plan.agreeing:
        return findings[-1].answer if findings else None
    by_question = {finding.question: finding.answer for finding in findings}
    if all(question in by_question for question in plan.questions):
        return plan.conclude([by_question[question] for question in plan.questions])
    return plan.conclude([finding.answer for finding in findings])


def _support(answer: str, evidence: EvidencePages) -> tuple[Span, ...]:
    """The first line that says the answer. None says a yes or a no: that follows from what the findings rest on."""
    sought = folded(answer)
    if sought in {"yes", "no"}:
        return ()
    lines = (line for page in evidence.pages for line in page.lines)
    return next((line.support for line in lines if stands_in(sought, folded(line.alone))), ())
