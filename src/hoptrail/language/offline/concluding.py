"""Whole questions: planned as hops, read hop by hop within the evidence, concluded from the answers.

A plan is what `comparing` or `decomposing` makes of the question; a question that neither takes apart is its own plan of one.
Where the first hop finds nothing the question is tried once as a whole, with less confidence, and otherwise left unanswered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.offline.comparing import Comparison, find_comparison
from hoptrail.language.offline.completing import complete, unresolved
from hoptrail.language.offline.decomposing import chain
from hoptrail.language.offline.entities import find_mentions
from hoptrail.language.offline.reading import Found, Reader, weaker
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Finding, Reading, Step

_WHOLE_FACTOR = 0.5
"""Confidence in an answer read without the hops that the question asks for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions of a question, and the comparison that concludes them, if it makes one."""

    questions: tuple[str, ...]
    comparison: Comparison | None = None

    def conclude(self, answers: Sequence[str | None]) -> str | None:
        """The answer from those to `questions`: what the comparison says, or the last."""
        if len(answers) < len(self.questions):
            return None
        return self.comparison.verdict(answers) if self.comparison else answers[-1]


def make_plan(question: str, settings: OfflineSettings) -> Plan:
    """The hops of `question`: at most `settings.most_hops`; one for a question too long to analyse."""
    if len(question) > settings.question_characters:
        return Plan((question,))
    comparison = find_comparison(question)
    if comparison is not None:
        asked = comparison.asked()
        if len(asked) <= settings.most_hops:
            return Plan(asked, comparison)
    return Plan(chain(question, settings.most_hops))


def read_by_hops(question: str, reader: Reader, settings: OfflineSettings) -> Reading:
    """Answer `question` hop by hop, one step each with its support."""
    plan = make_plan(question[: settings.question_characters], settings)
    named = [mention.text for mention in find_mentions(question[: settings.question_characters], question=True)]
    found = _follow(plan, reader, named)
    answer = plan.conclude([hop.answer for _, hop in found])
    if answer is not None:
        return _reading(question, plan, found, answer)
    untried = not found and len(plan.questions) > 1 and not plan.comparison
    whole = reader.read(question[: settings.question_characters]) if untried else None
    if whole is None:
        steps = tuple(Step(asked, hop.answer, hop.support) for asked, hop in found)
        return Reading(None, steps)
    whole = weaker(whole, _WHOLE_FACTOR)
    return Reading(whole.answer, (Step(question, whole.answer, whole.support),), whole.confidence)


def _follow(plan: Plan, reader: Reader, named: Sequence[str]) -> list[tuple[str, Found]]:
    """The hops read in order, up to the first that finds nothing; what the question `named` is no hop's answer."""
    found: list[tuple[str, Found]] = []
    findings: list[Finding] = []
    for question in plan.questions:
        asked = complete(question, findings) if findings else question
        hop = None if unresolved(asked) else reader.read(asked, named)
        if hop is None:
            break
        found.append((asked, hop))
        findings.append(Finding(question, asked, hop.answer))
    return found


def _reading(question: str, plan: Plan, found: Sequence[tuple[str, Found]], answer: str) -> Reading:
    steps = [Step(asked, hop.answer, hop.support) for asked, hop in found]
    if plan.comparison:
        spans = dict.fromkeys(span for step in steps for span in step.support)
        steps.append(Step(question, answer, tuple(spans)))
    return Reading(answer, tuple(steps), min(hop.confidence for _, hop in found))
