"""Whole questions: planned as hops, read hop by hop within the evidence, concluded from the answers or weighed against others.

A plan is what `comparing` or `decomposing` makes of the question; a question that neither takes apart is its own plan of one.
Beside the plan's answer stand the best of all candidates by the learned scorer and, where the question offers its answers, the
better side; the one that the calibration holds most probably right is the answer, if that is probable enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hoptrail.language.offline.choosing import choose, find_sides
from hoptrail.language.offline.comparing import Comparison, find_comparison
from hoptrail.language.offline.completing import complete, unresolved
from hoptrail.language.offline.decomposing import chain
from hoptrail.language.offline.entities import Shape, find_mentions
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.offline.features import FEATURES, Planned, Seen, describe
from hoptrail.language.offline.paths import Paths
from hoptrail.language.offline.questions import Wanted
from hoptrail.language.offline.reading import Found, Reader
from hoptrail.language.offline.scorer import Floats, Scorer, stored_scorer
from hoptrail.language.offline.searching import NOT_WEIGHED, Weighed, share_of, weigh
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.text import content_stems
from hoptrail.language.offline.values import same_value
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.types import Span

_SURE = 0.8


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
        return Planned(len(self.plan.questions), tuple(hop.answer for _, hop in self.hops), self.answer, confidence)

    @property
    def broken_off(self) -> bool:
        """Whether a chain lost its way after a sure hop: what it leads to is not in the evidence, and a guess is worth little."""
        reached = bool(self.hops) and min(hop.confidence for _, hop in self.hops) > _SURE
        return reached and self.plan.comparison is None and len(self.hops) < len(self.plan.questions)

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
    return Plan(chain(question, settings.most_hops))


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
    return Studied(question, followed, chosen, paths, tuple(seen))


def options(followed: Followed, chosen: Found | None, weighed: Sequence[Weighed]) -> list[Option]:
    """The best candidate, the plan's answer and the choice, as far as there are; a sure plan of several hops stands alone."""
    found = []
    silent = float(followed.answer is None)
    several = float(len(followed.plan.questions) > 1)
    if followed.answer is not None:
        found.append(_planned(followed.answer, followed, weighed))
        if followed.sure and several:
            return found
    if chosen is not None:
        nothing = (0.0,) * 7
        found.append(
            Option(chosen.answer, (*nothing, 1.0, chosen.confidence, 0.0, 0.0, *NOT_WEIGHED.asked, *(0.0,) * 7), chosen)
        )
    if weighed and not (followed.answer is not None and _agree(weighed[0].answer, followed.answer)):
        best, planned = weighed[0], followed.answer is not None
        against = float(planned and followed.settled), float(planned and not followed.settled)
        nothing = (0.0,) * 7
        unanswered = silent * (1 - several), silent * several, silent * best.asked[-1]
        shares = best.share * unanswered[1], 0.0
        found.append(
            Option(
                best.answer,
                (best.share, best.lead, *nothing, *against, *best.asked, *unanswered, 0.0, followed.sure, *shares),
                best,
            )
        )
    return found


def _planned(answer: str, followed: Followed, weighed: Sequence[Weighed]) -> Option:
    agreed = bool(weighed) and _agree(weighed[0].answer, answer)
    own = weighed[0] if agreed else share_of(answer, weighed)
    free = float(not followed.settled)
    planned = followed.planned
    judged = (
        own.share, own.lead, float(agreed), free, free * float(planned.hops > 1), free * planned.confidence,
        float(followed.settled), 0.0, 0.0, 0.0, 0.0, *own.asked, 0.0, 0.0, 0.0,
        followed.sure, 0.0, 0.0, followed.sure * float(planned.hops > 1),
    )  # fmt: skip
    return Option(answer, judged, None)


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
    if followed.broken_off or names_a_stranger(studied.question, evidence):
        return Reading(None, followed.steps)
    scorer = stored_scorer()
    best = likeliest(options(followed, studied.chosen, weigh(studied.texts, studied.values, scorer)), scorer)
    if best is None or best[1] < settings.least_confidence:
        return Reading(None, followed.steps)
    option, confidence = best
    if option.by is None:
        return _by_plan(studied.question, followed, round(confidence, 4))
    step = Step(studied.question, option.answer, _support(option.by, studied))
    return Reading(option.answer, (step,), round(confidence, 4))


def names_a_stranger(question: str, evidence: EvidencePages) -> bool:
    """Whether the question names somebody or something of whom no word stands anywhere in the evidence."""
    known = frozenset().union(*(page.stems | page.title_stems for page in evidence.pages))
    mentions = find_mentions(question, question=True)
    return any(mention.shape is Shape.NAME and not content_stems(mention.text) & known for mention in mentions)


def _support(by: Found | Weighed, studied: Studied) -> tuple[Span, ...]:
    return by.support if isinstance(by, Found) else studied.paths.support(studied.seen[by.at].place)


def follow(plan: Plan, reader: Reader, question: str) -> Followed:
    """The hops read in order, up to the first that finds nothing; what the question names is no hop's answer."""
    named = [mention.text for mention in find_mentions(question, question=True)]
    found: list[tuple[str, Found]] = []
    findings: list[Finding] = []
    for hop_question in plan.questions:
        asked = complete(hop_question, findings) if findings else hop_question
        hop = None if unresolved(asked) else reader.read(asked, named)
        if hop is None:
            break
        found.append((asked, hop))
        findings.append(Finding(hop_question, asked, hop.answer))
    return Followed(plan, tuple(found), plan.conclude([hop.answer for _, hop in found]))


def _by_plan(question: str, followed: Followed, confidence: float) -> Reading:
    """The plan's answer in the plan's words, with its steps."""
    steps = followed.steps
    if followed.plan.comparison and followed.answer is not None:
        spans = dict.fromkeys(span for step in steps for span in step.support)
        steps = (*steps, Step(question, followed.answer, tuple(spans)))
    return Reading(followed.answer, steps, confidence)
