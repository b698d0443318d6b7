"""Whole questions: followed hop by hop within the evidence and read at once; what is more probably right is the answer.

Comparisons, conditions that must agree, and figures that somebody has to work out are settled by rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hoptrail.language.offline.comparisons import Comparison
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.offline.hops import Followed, follow, make_plan
from hoptrail.language.offline.judging import Evidence, Judge, cut, stored_judge
from hoptrail.language.offline.page_reading import Found, Reader, same_answer
from hoptrail.language.offline.ruling_out import asks_twice, is_computed, may_answer, share_of_strangers
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.mentions import find_mentions, find_names
from hoptrail.text.questions import Wanted, analyse
from hoptrail.text.words import content_stems

_VERDICT = 0.25
"""The most that a yes or a no is believed which the reader gives and no rule: it is right where one statement says so outright
(FEVER .87, balanced), and no better than chance where several facts imply it (StrategyQA .55).
"""


@dataclass(frozen=True, slots=True)
class Option:
    """A possible answer with its steps and what speaks for it."""

    answer: str
    steps: tuple[Step, ...]
    evidence: Evidence
    ruled: float = 0.0
    """The belief in a yes or a no that a rule gives."""


@dataclass(frozen=True, slots=True)
class Studied:
    """A question with the plan as far as it was followed, and the answers to the whole of it."""

    question: str
    followed: Followed
    at_once: tuple[Found, ...]
    strangers: float


def study(question: str, evidence: EvidencePages, reader: Reader, settings: OfflineSettings) -> Studied:
    """Follow the plan, and read the question as it stands where the plan is another one."""
    plan = make_plan(question, settings)
    sides = () if plan.comparison else _sides(question)
    followed = Followed(plan, (), None) if sides else follow(plan, reader, question)
    at_once = _at_once(question, followed, sides, evidence, reader)
    conditions = [plan.questions[at] for at in plan.agreeing]
    strangers = max(share_of_strangers(one, evidence) for one in (question, *conditions))
    return Studied(question, followed, tuple(at_once), strangers)


def _at_once(
    question: str, followed: Followed, sides: Sequence[str], evidence: EvidencePages, reader: Reader
) -> list[Found]:
    """Answers to the whole question; none where the plan is just that question, or has settled a yes or no."""
    asked = analyse(question, evidence.titles)
    verdict = asked is not None and asked.wanted is Wanted.YES_NO
    if (followed.plan.is_plain and not sides) or (verdict and followed.answer):
        return []
    named = [mention.text for mention in find_mentions(question, question=True)]
    found = reader.ranked(question, [name for name in named if name not in sides])
    if sides:
        named_sides = ((one, next((side for side in sides if same_answer(one.answer, side)), "")) for one in found)
        return [replace(one, answer=side) for one, side in named_sides if side]
    allowed = [one for one in found if may_answer(one.answer, asked, followed.plan.comparison)]
    return [replace(one, answer=_whole_side(one.answer, followed.plan.comparison)) for one in allowed]


def _whole_side(answer: str, comparison: Comparison | None) -> str:
    """A side of a comparison by its whole name, where the answer is a part of it."""
    sides = comparison.sides if comparison else ()
    return next((side for side in sides if content_stems(answer) < content_stems(side)), answer)


def _sides(question: str) -> tuple[str, ...]:
    """The two names between which a question lets choose: `Which is older, Ida Berg or Bo Marsh?`."""
    for one, other in pairwise(find_names(question)):
        if question[one.end : other.start].lower().replace("the ", "").strip(' ,".') == "or":
            return one.text, other.text
    return ()


def options(studied: Studied) -> list[Option]:
    """The plan's answer and that of reading at once, as far as there are."""
    found: list[Option] = []
    if studied.strangers == 1.0:
        return found
    if studied.followed.answer is not None:
        found.append(_planned(studied.followed.answer, studied))
    if studied.at_once and not (found and same_answer(found[0].answer, studied.at_once[0].answer)):
        found.append(_read_at_once(studied.at_once[0], studied))
    return found


def _planned(answer: str, studied: Studied) -> Option:
    followed, weakest = studied.followed, studied.followed.weakest
    several = len(followed.hops) > 1
    verdict = float(any(hop.is_verdict for _, hop in followed.hops))
    steps = followed.steps
    if followed.concludes:
        spans = dict.fromkeys(span for step in steps for span in step.support)
        steps = (*steps, Step(studied.question, answer, tuple(spans)))
    evidence = Evidence(
        by_hops=float(several),
        compared=float(followed.plan.comparison is not None),
        cell=sum(hop.is_cell for _, hop in followed.hops) / len(followed.hops),
        verdict=verdict,
        verdict_odds=verdict * cut(weakest.odds),
        odds=cut(weakest.odds),
        odds_by_hops=cut(weakest.odds) * several,
        lead=cut(weakest.lead),
        helps=weakest.helps,
        agreed=float(any(same_answer(answer, one.answer) for one in studied.at_once[:1])),
        against=float(bool(studied.at_once) and not same_answer(answer, studied.at_once[0].answer)),
        hops=float(len(followed.hops) - 1),
        strangers=studied.strangers,
        said=weakest.said,
    )
    ruled = weakest.confidence if answer in {"yes", "no"} and not several and not weakest.is_verdict else 0.0
    return Option(answer, steps, evidence, ruled)


def _read_at_once(best: Found, studied: Studied) -> Option:
    followed = studied.followed
    verdict = float(best.is_verdict)
    evidence = Evidence(
        at_once=1.0,
        cell=float(best.is_cell),
        verdict=verdict,
        verdict_odds=verdict * cut(best.odds),
        odds=cut(best.odds),
        lead=cut(best.lead),
        helps=best.helps,
        against=float(followed.answer is not None),
        hops=float(len(followed.plan.questions) - 1),
        broken_off=float(not followed.is_complete and bool(followed.hops)),
        strangers=studied.strangers,
        said=best.said,
    )
    return Option(best.answer, (Step(studied.question, best.answer, best.support),), evidence)


def _believed(option: Option, judge: Judge) -> float:
    if option.ruled:
        return option.ruled
    probability = judge.probability(option.evidence)
    return min(probability, _VERDICT) if option.evidence.verdict else probability


def read_by_hops(
    question: str, evidence: EvidencePages, reader: Reader, settings: OfflineSettings, judge: Judge | None = None
) -> Reading:
    """Answer `question` by what is most probably right, one step for each hop with its support."""
    studied = study(question[: settings.question_characters], evidence, reader, settings)
    if is_computed(studied.question, evidence) or asks_twice(studied.question):
        return Reading(None, studied.followed.steps)
    judge = judge or stored_judge()
    judged = [(_believed(option, judge), option) for option in options(studied)]
    probability, best = max(judged, key=lambda one: one[0], default=(0.0, None))
    if best is None:
        return Reading(None, studied.followed.steps)
    return Reading(best.answer, best.steps, round(probability, 4))
