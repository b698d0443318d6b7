"""Follow a plan with a beam search over the likeliest answers of each hop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import UNITS
from hoptrail.language.conversation.references import complete, unresolved
from hoptrail.language.offline.statement_reading import ReadAnswer, StatementReader
from hoptrail.language.questions.comparisons import YES_OR_NO, Comparison
from hoptrail.language.questions.plans import Plan
from hoptrail.language.tasks import Finding, Step
from hoptrail.text.mentions import find_mentions
from hoptrail.text.words import content_stems
from hoptrail.types import Unit

_BEAM, _UNLIKELY = 3, 0.05
"""Width of the beam, and the share of the best way's probability below which a way is dropped."""


Hops = tuple[tuple[str, ReadAnswer], ...]
"""Completed sub-questions with their answers."""


@dataclass(frozen=True, slots=True)
class FollowedPlan:
    """A plan, its hops as far as they have answers, and the answer they conclude, if any."""

    plan: Plan
    hops: Hops
    answer: str | None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The hops as steps of a reading."""
        return tuple(Step(asked, hop.answer, hop.support) for asked, hop in self.hops)


def follow(plan: Plan, units: Sequence[Unit], reader: StatementReader, question: str) -> FollowedPlan:
    """Follow the plan along the likeliest way through the evidence, up to the first hop without an answer. Names in the question
    are no answers.
    """
    named = [mention.text for mention in find_mentions(question, question=True)]
    ways: list[Hops] = [()]
    hops: Hops = ()
    for at, planned in enumerate(plan.questions):
        ways = sorted(_onward(ways, planned, plan, units, reader, named), key=_probability, reverse=True)
        # If no later hop needs the answer, alternatives would only crowd out the others.
        is_needed = any(f"#{at + 1}" in later for later in plan.questions[at + 1 :])
        likely = [way for way in ways if _probability(way) >= _UNLIKELY * _probability(ways[0])]
        ways = likely[: _BEAM if is_needed else 1]
        if not ways:
            break
        hops = ways[0]
    found = [hop for _, hop in hops]
    ambiguous = plan.comparison is not None and _share_a_sentence(plan.comparison, found)
    return FollowedPlan(plan, hops, None if ambiguous else plan.conclude([hop.answer for hop in found]))


def _probability(way: Hops) -> float:
    return math.prod(hop.confidence for _, hop in way)


def _onward(
    ways: Sequence[Hops], planned: str, plan: Plan, units: Sequence[Unit], reader: StatementReader, named: Sequence[str]
) -> list[Hops]:
    """The ways with one more hop, by up to `_BEAM` answers each."""
    longer: list[Hops] = []
    for way in ways:
        asked = complete(planned, [Finding(before, before, hop.answer) for before, hop in way])
        if unresolved(asked):
            continue
        used = [hop.answer for number, (_, hop) in enumerate(way, 1) if f"#{number}" in planned]
        near = _nearest(asked, units) if len(plan.questions) > 1 else units
        longer += ((*way, (asked, hop)) for hop in reader.ranked(asked, near, [*named, *used])[:_BEAM])
    return longer


def _nearest(asked: str, units: Sequence[Unit]) -> list[Unit]:
    """The units that say most of a sub-question, these first: they were ranked for the whole question."""
    stems = content_stems(asked)
    return sorted(units, key=lambda unit: -len(stems & content_stems(unit.searchable)))[:UNITS]


def _share_a_sentence(comparison: Comparison, found: Sequence[ReadAnswer]) -> bool:
    """Whether values of both sides come from one sentence, so that it is unknown which side each belongs to."""
    each = len(comparison.questions)
    if len(found) < 2 * each or comparison.by in YES_OR_NO:
        return False
    return any(one.support == other.support for one, other in zip(found[:each], found[each : 2 * each], strict=True))
