"""Plans of questions, and following them: hop by hop, a few of the likeliest answers of each hop kept beside one another.

A plan is what `comparing`, `intersecting` or `decomposing` makes of a question; one that nothing takes apart is its own plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hoptrail.language.completing import complete, unresolved
from hoptrail.language.offline.comparisons import Comparison, Verdictor, find_comparison
from hoptrail.language.offline.decomposing import chain
from hoptrail.language.offline.intersecting import agreed, find_conditions
from hoptrail.language.offline.page_reading import Found, Reader, same_answer
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Finding, Step
from hoptrail.text.mentions import find_mentions

_YES_OR_NO = frozenset({Verdictor.SAME, Verdictor.BOTH})
_BEAM, _UNLIKELY = 3, 0.05
"""Ways that are followed beside one another, and the share of the likeliest way's probability below which none is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions of a question, and what concludes them: a comparison, or agreement, or the last answer.

    `agreeing` are the places of the questions whose answers must agree (an intersection); empty otherwise.
    """

    questions: tuple[str, ...]
    comparison: Comparison | None = None
    agreeing: tuple[int, ...] = ()

    def conclude(self, answers: Sequence[str | None]) -> str | None:
        """The answer from those to `questions`: what the comparison says, what conditions agree on, or the last."""
        if len(answers) < len(self.questions):
            return None
        if self.agreeing:
            return agreed([answers[at] for at in self.agreeing])
        return self.comparison.verdict(answers) if self.comparison else answers[-1]

    @property
    def is_plain(self) -> bool:
        """Whether it is the question itself."""
        return len(self.questions) == 1 and self.comparison is None


def make_plan(question: str, settings: OfflineSettings) -> Plan:
    """The hops of `question`: at most `settings.most_hops`; one for a question too long to analyse."""
    if len(question) > settings.question_characters:
        return Plan((question,))
    comparison = find_comparison(question)
    if comparison is not None:
        asked = comparison.asked()
        if len(asked) <= settings.most_hops:
            return Plan(asked, comparison)
    return _intersection(question, settings.most_hops) or Plan(chain(question, settings.most_hops))


def _intersection(question: str, most: int) -> Plan | None:
    """The chains of all conditions, one after the other; the conditions may show only when what they name is resolved."""
    steps: tuple[str, ...] = ()
    conditions = find_conditions(question)
    if not conditions:
        *before, rest = chain(question, most)
        steps, conditions = tuple(before), find_conditions(rest)
    ends: list[int] = []
    for condition in conditions:
        steps += chain(condition, most, len(steps))
        ends.append(len(steps) - 1)
    return Plan(steps, agreeing=tuple(ends)) if ends and len(steps) <= most else None


@dataclass(frozen=True, slots=True)
class Followed:
    """A plan and its hops as far as they were read, with the answer they conclude (None: they do not)."""

    plan: Plan
    hops: tuple[tuple[str, Found], ...]
    answer: str | None

    @property
    def is_complete(self) -> bool:
        """Whether every hop has an answer."""
        return len(self.hops) == len(self.plan.questions)

    @property
    def concludes(self) -> bool:
        """Whether the answer was concluded from hops, none of which says it."""
        return self.plan.comparison is not None or bool(self.plan.agreeing)

    @property
    def weakest(self) -> Found:
        """The least likely hop; there must be one."""
        return min((hop for _, hop in self.hops), key=lambda hop: hop.odds)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The hops as steps of a reading."""
        return tuple(Step(asked, hop.answer, hop.support) for asked, hop in self.hops)


@dataclass(frozen=True, slots=True)
class _Way:
    """Hops that were taken, each building on those before."""

    hops: tuple[tuple[str, Found], ...] = ()
    findings: tuple[Finding, ...] = ()
    offered: tuple[tuple[Found, ...], ...] = ()
    """Of each hop, all that was found beside the answer taken."""
    probability: float = field(default=1.0)

    def then(self, planned: str, asked: str, hop: Found, found: Sequence[Found]) -> _Way:
        """With one more hop."""
        return _Way(
            (*self.hops, (asked, hop)),
            (*self.findings, Finding(planned, asked, hop.answer)),
            (*self.offered, tuple(found)),
            self.probability * hop.confidence,
        )


def follow(plan: Plan, reader: Reader, question: str) -> Followed:
    """The plan's hops along the likeliest way, up to the first that finds nothing; what the question names is no answer."""
    named = [mention.text for mention in find_mentions(question, question=True)]
    ways, reached = [_Way()], _Way()
    for at, planned in enumerate(plan.questions):
        ways = sorted(_onward(ways, planned, reader, named), key=lambda way: -way.probability)
        # What a later hop does not build on needs no second answer: it would only crowd out the others.
        likely = [way for way in ways if way.probability >= _UNLIKELY * ways[0].probability]
        ways = likely[: _BEAM if _is_built_on(plan, at) else 1]
        if not ways:
            break
        reached = ways[0]
    hops = reached.hops
    if plan.agreeing and len(hops) == len(plan.questions):
        hops = _agreeing_on_one(hops, plan.agreeing, reached.offered)
    told_apart = plan.comparison is None or not _from_one_place(plan.comparison, [hop for _, hop in hops])
    return Followed(plan, hops, plan.conclude([hop.answer for _, hop in hops]) if told_apart else None)


def _onward(ways: Sequence[_Way], planned: str, reader: Reader, named: Sequence[str]) -> list[_Way]:
    found: list[_Way] = []
    for way in ways:
        asked = complete(planned, list(way.findings)) if way.findings else planned
        if unresolved(asked):
            continue
        taken = [hop.answer for number, (_, hop) in enumerate(way.hops, 1) if f"#{number}" in planned]
        ranked = reader.ranked(asked, [*named, *taken])
        found += (way.then(planned, asked, hop, ranked) for hop in ranked[:_BEAM])
    return found


def _is_built_on(plan: Plan, at: int) -> bool:
    return any(f"#{at + 1}" in later for later in plan.questions[at + 1 :])


def _agreeing_on_one(
    hops: tuple[tuple[str, Found], ...], places: Sequence[int], offered: Sequence[Sequence[Found]]
) -> tuple[tuple[str, Found], ...]:
    """With the answer that meets every condition best in place of each condition's own best."""
    first, *others = places
    shared: list[tuple[float, list[Found]]] = []
    for one in offered[first]:
        same = [next((other for other in offered[at] if same_answer(one.answer, other.answer)), None) for at in others]
        row = [one, *(other for other in same if other is not None)]
        if len(row) == len(places):
            shared.append((min(hop.odds for hop in row), row))
    if not shared:
        return hops
    row = max(shared, key=lambda one: one[0])[1]
    changed = list(hops)
    for at, hop in zip(places, row, strict=True):
        changed[at] = (hops[at][0], replace(hop, answer=row[0].answer))
    return tuple(changed)


def _from_one_place(comparison: Comparison, found: Sequence[Found]) -> bool:
    """Whether the values of both sides were read off one sentence: nobody knows which of them is whose."""
    each = len(comparison.questions)
    if len(found) < 2 * each or comparison.by in _YES_OR_NO:
        return False
    first, second = found[:each], found[each : 2 * each]
    return any(one.support == other.support for one, other in zip(first, second, strict=True))
