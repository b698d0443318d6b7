"""Whole questions: planned as hops, read hop by hop within the evidence, concluded from the answers or weighed against others.

A plan is what `comparing` or `decomposing` makes of the question; a question that neither takes apart is its own plan of one.
Beside the plan's answer stand the best of all candidates by the learned scorer and, where the question offers its answers, the
better side; the one that the calibration holds most probably right is the answer, if that is probable enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hoptrail.language.offline.choosing import choose, find_sides
from hoptrail.language.offline.comparing import Comparison, find_comparison
from hoptrail.language.offline.completing import complete, unresolved
from hoptrail.language.offline.decomposing import chain
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.offline.features import CALIBRATED, FEATURES, Planned, Seen, describe
from hoptrail.language.offline.intersecting import agreed, find_conditions
from hoptrail.language.offline.paths import Paths
from hoptrail.language.offline.questions import Wanted, analyse
from hoptrail.language.offline.reading import Found, Reader
from hoptrail.language.offline.ruling_out import from_one_place, is_computed, may_answer, share_of_strangers
from hoptrail.language.offline.scorer import Floats, Scorer, in_order, stored_scorer
from hoptrail.language.offline.searching import Weighed, share_of, weigh
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.text.mentions import find_mentions
from hoptrail.text.values import same_value
from hoptrail.text.words import RELATED, content_stems
from hoptrail.types import Span

_COMPARING = 0.8
"""What a comparison of two cells takes from the belief in them: they may be values of different things."""
_SURE = 0.8
_UNSAID = 0.01


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


@dataclass(frozen=True, slots=True)
class Followed:
    """A plan and its hops as far as they were read, with the answer they conclude (None: they do not)."""

    plan: Plan
    hops: tuple[tuple[str, Found], ...]
    answer: str | None

    @property
    def planned(self) -> Planned:
        """The same, as the learned scorer sees it."""
        confidence = min((hop.confidence for _, hop in self.hops), default=0.0) if self.answer is not None else 0.0
        if self.plan.agreeing:  # no condition is a step on the way to another
            return Planned(1, (self.answer,) if self.answer else (), self.answer, confidence)
        return Planned(len(self.plan.questions), tuple(hop.answer for _, hop in self.hops), self.answer, confidence)

    @property
    def broken_off(self) -> bool:
        """Whether a chain lost its way after a sure hop: what it leads to may not be in the evidence."""
        reached = bool(self.hops) and min(hop.confidence for _, hop in self.hops) > _SURE
        return (
            reached
            and not self.plan.comparison
            and not self.plan.agreeing
            and len(self.hops) < len(self.plan.questions)
        )

    @property
    def contradictory(self) -> bool:
        """Whether every condition of an intersection is surely met, but by nothing that meets them all."""
        if not self.plan.agreeing or self.answer is not None or len(self.hops) < len(self.plan.questions):
            return False
        return min(hop.confidence for _, hop in self.hops) > _SURE

    @property
    def settled(self) -> bool:
        """Whether a comparison or a yes or no concludes, which the weighing of candidates cannot give."""
        return self.answer is not None and (self.plan.comparison is not None or self.answer in {"yes", "no"})

    @property
    def sure(self) -> float:
        """1 for a plan without a weak hop."""
        return float(not self.settled and self.planned.confidence > _SURE)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(Step(asked, hop.answer, hop.support) for asked, hop in self.hops)


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
class Option:
    """A possible conclusion, with what the calibration looks at (in the order of `scorer.JUDGED`)."""

    answer: str
    judged: tuple[float, ...]
    by: Found | Weighed | None
    """The choice or the candidate that gives it; None: the plan."""


@dataclass(frozen=True, slots=True)
class Studied:
    """A question with what its evidence offers, before anything learned: plan, choice, candidates (texts and features)."""

    question: str
    followed: Followed
    chosen: Found | None
    paths: Paths
    seen: tuple[Seen, ...]
    strangers: float
    """How much of the names in the question, or in one of its conditions, the evidence does not know."""

    @property
    def leads_out(self) -> bool:
        """Whether the chain surely reached something without a page here, and of which nothing is said that the next hop asks.

        Of the last hop that may be said in other words: there the answer decides (`_off_the_trail`).
        """
        hops, questions = self.followed.hops, self.followed.plan.questions
        if not self.followed.broken_off or len(hops) == len(questions) - 1:
            return False
        asked = analyse(questions[len(hops)])
        relations = asked.relations if asked else frozenset[str]()
        wanted = frozenset[str]().union(*(RELATED.get(one, frozenset()) | {one} for one in relations))
        reached = content_stems(hops[-1][1].answer)
        evidence = self.paths.evidence
        titled = any(reached <= page.title_stems for page in evidence.pages)
        return not titled and not any(reached <= line.stems and wanted & line.stems for _, line in evidence.lines)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(one.candidate.text for one in self.seen)

    @property
    def values(self) -> Floats:
        return np.array([one.values for one in self.seen], dtype=np.float64).reshape(len(self.seen), len(FEATURES))


def study(question: str, evidence: EvidencePages, reader: Reader, settings: OfflineSettings) -> Studied:
    """Follow the plan and gather all candidates; none for questions of yes or no, or with a choice."""
    followed = follow(make_plan(question, settings), reader, question)
    paths = Paths(question, followed.plan.questions, evidence)
    offers = find_sides(question) is not None
    if offers and not followed.settled:
        followed = replace(followed, answer=None)  # what a plain hop found is not one of the sides
    chosen = choose(question, paths) if followed.answer is None else None
    open_ended = paths.question is not None and paths.question.wanted is not Wanted.YES_NO and not offers
    seen = describe(paths, followed.planned, settings.places) if open_ended else ()
    conditions = [followed.plan.questions[at] for at in followed.plan.agreeing]
    strangers = max(share_of_strangers(one, evidence) for one in (question, *conditions))
    return Studied(question, followed, chosen, paths, tuple(seen), strangers)


def options(studied: Studied, weighed: Sequence[Weighed]) -> list[Option]:
    """The plan's answer, the choice and the best candidate, as far as there are; a sure plan of several hops stands alone.

    None where the evidence knows nothing of what the question names, where the trail leads out of it, or where what meets one
    condition does not meet another.
    """
    found: list[Option] = []
    followed, chosen, answer = studied.followed, studied.chosen, studied.followed.answer
    if studied.strangers == 1.0 or studied.leads_out or followed.contradictory:
        return found
    if answer is not None:
        found.append(_planned(answer, studied, weighed))
        if followed.sure and len(followed.plan.questions) > 1:
            return found
    if chosen is not None:
        judged = {"chosen": 1.0, "choice gap": chosen.confidence, "strangers": studied.strangers}
        found.append(Option(chosen.answer, in_order(judged), chosen))
    agreed = answer is not None and bool(weighed) and _agree(weighed[0].answer, answer)
    if (
        weighed
        and not agreed
        and not _off_the_trail(weighed[0], followed)
        and may_answer(weighed[0].answer, studied.paths.question, followed.plan.comparison)
    ):
        found.append(_searched(weighed[0], studied))
    return found


def _off_the_trail(best: Weighed, followed: Followed) -> bool:
    """Whether only the last hop is open, and the candidate's place has nothing to do with what the hop before surely reached."""
    last = followed.broken_off and len(followed.hops) == len(followed.plan.questions) - 1
    seen = dict(zip(CALIBRATED, best.seen, strict=True))
    return last and not (seen["step in title"] or seen["step in line"])


def _planned(answer: str, studied: Studied, weighed: Sequence[Weighed]) -> Option:
    """The plan's answer; its place is that of the best candidate where they agree."""
    followed = studied.followed
    agreed = bool(weighed) and _agree(weighed[0].answer, answer)
    own = weighed[0] if agreed else share_of(answer, weighed)
    free = float(not followed.settled)
    several = float(followed.planned.hops > 1)
    judged = {
        "agreed": float(agreed),
        "planned": free,
        "planned in hops": free * several,
        "plan confidence": free * followed.planned.confidence,
        "compared": float(followed.settled),
        "sure plan": followed.sure,
        "sure plan in hops": followed.sure * several,
    }
    return Option(answer, in_order(judged | _seen(own, studied)), None)


def _searched(best: Weighed, studied: Studied) -> Option:
    """The best candidate, against the plan's answer or without one."""
    followed = studied.followed
    silent, several = float(followed.answer is None), float(len(followed.plan.questions) > 1)
    judged = {
        "against a verdict": float(followed.settled),
        "against a plan": float(followed.answer is not None and not followed.settled),
        "one hop unanswered": silent * (1 - several),
        "hops broken off": silent * several,
        "against a sure plan": followed.sure,
        "share, hops broken off": best.share * silent * several,
        "lost after a sure hop": float(followed.broken_off),
    }
    return Option(best.answer, in_order(judged | _seen(best, studied)), best)


def _seen(own: Weighed, studied: Studied) -> dict[str, float]:
    """What is judged of an answer's own place."""
    seen = dict(zip(CALIBRATED, own.seen, strict=True))
    several = float(len(studied.followed.plan.questions) > 1)
    unsaid = float(own.at >= 0 and seen["last"] < _UNSAID)
    return {
        "share": own.share,
        "lead": own.lead,
        "strangers": studied.strangers,
        "not among candidates": float(own.at < 0),
        "nothing said, one hop": unsaid * (1 - several),
        "nothing said, several hops": unsaid * several,
        **seen,
    }


def _agree(one: str, other: str) -> bool:
    return one == other or same_value(one, other)


def likeliest(found: Sequence[Option], scorer: Scorer) -> tuple[Option, float] | None:
    """The option that is most probably right, and how probably."""
    judged = [(option, scorer.judge(option.judged)) for option in found]
    return max(judged, key=lambda one: one[1], default=None)


def read_by_hops(question: str, evidence: EvidencePages, reader: Reader, settings: OfflineSettings) -> Reading:
    """Answer `question` hop by hop, one step each with its support, or by what all the evidence says together."""
    studied = study(question[: settings.question_characters], evidence, reader, settings)
    followed = studied.followed
    if is_computed(studied.question, evidence):
        return Reading(None, followed.steps)
    if followed.answer is not None and all(hop.is_cell for _, hop in followed.hops):
        likely = prod(hop.confidence for _, hop in followed.hops)
        if followed.plan.comparison is not None:
            likely *= _COMPARING
        return _by_plan(studied.question, followed, round(likely, 4))
    scorer = stored_scorer()
    best = likeliest(options(studied, weigh(studied.texts, studied.values, scorer)), scorer)
    if best is None or best[1] < settings.least_confidence:
        return Reading(None, followed.steps)
    option, confidence = best
    if option.by is None:
        return _by_plan(studied.question, followed, round(confidence, 4))
    step = Step(studied.question, option.answer, _support(option.by, studied))
    return Reading(option.answer, (step,), round(confidence, 4))


def _support(by: Found | Weighed, studied: Studied) -> tuple[Span, ...]:
    return by.support if isinstance(by, Found) else studied.paths.support(studied.seen[by.at].place)


def follow(plan: Plan, reader: Reader, question: str) -> Followed:
    """The hops read in order, up to the first that finds nothing; what the question names is no hop's answer."""
    named = [mention.text for mention in find_mentions(question, question=True)]
    found: list[tuple[str, Found]] = []
    offered: dict[int, list[Found]] = {}
    findings: list[Finding] = []
    for at, hop_question in enumerate(plan.questions):
        asked = complete(hop_question, findings) if findings else hop_question
        if unresolved(asked):
            break
        several = reader.ranked(asked, named) if at in plan.agreeing else []
        hop = several[0] if several else reader.read(asked, named)
        if hop is None:
            break
        offered[at] = several or [hop]
        found.append((asked, hop))
        findings.append(Finding(hop_question, asked, hop.answer))
    if plan.agreeing and len(found) == len(plan.questions):
        _agree_on_one(found, plan.agreeing, offered)
    told_apart = plan.comparison is None or not from_one_place(plan.comparison, [hop for _, hop in found])
    return Followed(plan, tuple(found), plan.conclude([hop.answer for _, hop in found]) if told_apart else None)


def _agree_on_one(
    found: list[tuple[str, Found]], places: Sequence[int], offered: Mapping[int, Sequence[Found]]
) -> None:
    """Put the candidate that answers every condition best in place of each condition's own best."""
    first, *others = places
    shared: list[tuple[float, list[Found]]] = []
    for one in offered[first]:
        same = [next((other for other in offered[at] if same_value(one.answer, other.answer)), None) for at in others]
        if all(same):
            row = [one, *(other for other in same if other is not None)]
            shared.append((min(hop.confidence for hop in row), row))
    if shared:
        row = max(shared, key=lambda one: one[0])[1]
        for at, hop in zip(places, row, strict=True):
            found[at] = (found[at][0], replace(hop, answer=row[0].answer))


def _by_plan(question: str, followed: Followed, confidence: float) -> Reading:
    """The plan's answer in the plan's words, with its steps."""
    steps = followed.steps
    concluded = followed.plan.comparison is not None or bool(followed.plan.agreeing)
    if concluded and followed.answer is not None:
        spans = dict.fromkeys(span for step in steps for span in step.support)
        steps = (*steps, Step(question, followed.answer, tuple(spans)))
    return Reading(followed.answer, steps, confidence)
