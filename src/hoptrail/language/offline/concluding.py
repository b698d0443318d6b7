"""Answer whole questions: follow the plan hop by hop, also read the question at once, and take the more probable answer.

Rules settle comparisons, and leave questions unanswered whose figures would have to be computed. Findings of earlier hops are
concluded by the plan too, and a new reading of the evidence checks them.

The reader ranks answers within one question; a logistic model over features of how an answer was found compares them between
questions and between ways of reading. `benchmarks/train_judge.py` fits its weights (`weights/judge.json`) to known answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from importlib.resources import files

from hoptrail.language.offline.evidence import OpenedEvidence
from hoptrail.language.offline.hops import FollowedPlan, follow
from hoptrail.language.offline.page_reading import ReadAnswer, Reader, logistic
from hoptrail.language.offline.ruling_out import asks_twice, is_computed, may_answer, share_of_strangers
from hoptrail.language.questions.choices import find_choice
from hoptrail.language.questions.comparisons import Comparison
from hoptrail.language.questions.plans import Plan, make_plan
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.models.reader import log_odds
from hoptrail.text.mentions import find_mentions, find_names
from hoptrail.text.normal_forms import folded, stands_in
from hoptrail.text.questions import Wanted, analyse
from hoptrail.text.values import same_answer, same_value
from hoptrail.text.words import content_stems
from hoptrail.types import Span

_VERDICT = 0.25
"""Most confidence in a yes or no by the reader alone: right if a statement says it (FEVER .87), else chance (StrategyQA .55)."""
_LEAST_COMPARED = -3.0  # log odds below which the value of a side is a guess
_UNCHECKED = 0.6  # confidence in a conclusion from findings if reading the evidence gives no answer
_CONTRADICTED = 0.35  # confidence in a conclusion from findings if reading the evidence gives another answer


@dataclass(frozen=True, slots=True)
class Evidence:
    """The features of an answer; odds are log odds, cut at `MOST`. Features that do not apply are 0.

    `odds`, `lead`, `helps` (in log odds) and `said` are those of the weakest hop. `agreed`: reading at once and hop by
    hop gave the same answer; `against`: different ones. `hops`: number of hops beyond the first. `strangers`: share of the
    question's names that the evidence does not have.
    """

    at_once: float = 0.0
    by_hops: float = 0.0
    compared: float = 0.0
    cell: float = 0.0
    verdict: float = 0.0
    verdict_odds: float = 0.0
    odds: float = 0.0
    lead: float = 0.0
    helps: float = 0.0
    agreed: float = 0.0
    against: float = 0.0
    hops: float = 0.0
    broken_off: float = 0.0
    strangers: float = 0.0
    said: float = 0.0


NAMES = tuple(field.name for field in fields(Evidence))
MOST = 8.0
"""Bound on log odds: higher ones carry no more information."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The weights of the features of `Evidence`, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, evidence: Evidence) -> float:
        """The probability that the answer is right."""
        weighted = (weight * value for weight, value in zip(self.weights, astuple(evidence), strict=True))
        return logistic(self.constant + sum(weighted))


def cut(odds: float) -> float:
    """Log odds, cut at `MOST`."""
    return max(-MOST, min(MOST, odds))


@cache
def stored_judge() -> Judge:
    """The judge shipped with the package. Raises: ValueError: it was fitted to other features."""
    stored = json.loads((files("hoptrail.language.offline") / "weights" / "judge.json").read_text(encoding="utf-8"))
    if tuple(stored["names"]) != NAMES:
        raise ValueError("the judge was fitted to other values: run benchmarks/train_judge.py again")
    return Judge(tuple(stored["weights"]), stored["constant"])


@dataclass(frozen=True, slots=True)
class Option:
    """A possible answer with its steps and the evidence for it."""

    answer: str
    steps: tuple[Step, ...]
    evidence: Evidence
    ruled: float = 0.0
    """The confidence of a yes or no that a rule gives, else 0."""


@dataclass(frozen=True, slots=True)
class Study:
    """A question with the followed plan, the answers from reading it at once, and the share of its names that are unknown."""

    question: str
    followed: FollowedPlan
    at_once: tuple[ReadAnswer, ...]
    strangers: float


def study(question: str, reader: Reader) -> Study:
    """Follow the plan, and read the question at once if the plan decomposes it."""
    settings, titles = reader.settings, reader.evidence.titles
    plan = make_plan(question, settings.most_hops, settings.question_characters, titles)
    choice = None if plan.comparison else find_choice(question)
    sides = choice.sides if choice and all(map(find_names, choice.sides)) else ()
    followed = FollowedPlan(plan, (), None) if sides else follow(plan, reader, question)
    at_once = _at_once(question, followed, sides, reader)
    return Study(question, followed, tuple(at_once), share_of_strangers(question, reader.evidence))


def _at_once(question: str, followed: FollowedPlan, sides: Sequence[str], reader: Reader) -> list[ReadAnswer]:
    """Answers from reading the whole question; none if the plan is that question, or has settled a yes or no."""
    asked = analyse(question, reader.evidence.titles)
    is_settled = followed.answer and asked is not None and asked.wanted is Wanted.YES_NO
    is_plain = len(followed.plan.questions) == 1 and followed.plan.comparison is None
    if is_settled or (is_plain and not sides):
        return []
    named = [mention.text for mention in find_mentions(question, question=True)]
    found = reader.ranked(question, [name for name in named if name not in sides])
    if sides:
        matches = ((one, next((side for side in sides if same_answer(one.answer, side)), "")) for one in found)
        return [replace(one, answer=side) for one, side in matches if side]
    allowed = [one for one in found if may_answer(one.answer, asked, followed.plan.comparison)]
    return [replace(one, answer=_whole_side(one.answer, followed.plan.comparison)) for one in allowed]


def _whole_side(answer: str, comparison: Comparison | None) -> str:
    """The whole name of a side of the comparison if the answer is a part of it, else the answer."""
    sides = comparison.sides if comparison else ()
    return next((side for side in sides if content_stems(answer) < content_stems(side)), answer)


def options(studied: Study) -> list[Option]:
    """The plan's answer and the one from reading at once, if any; none if all names of the question are unknown."""
    possible: list[Option] = []
    if studied.strangers == 1.0:
        return possible
    followed, compared = studied.followed, studied.followed.plan.comparison is not None
    is_guess = compared and bool(followed.hops) and followed.weakest.odds < _LEAST_COMPARED
    if followed.answer is not None and not is_guess:
        possible.append(_option_by_plan(followed.answer, studied))
    for best in studied.at_once[:1]:
        if not (possible and compared and same_answer(possible[0].answer, best.answer)):
            possible.append(_option_at_once(best, studied))
    return possible


def _option_by_plan(answer: str, studied: Study) -> Option:
    hops, weakest = [hop for _, hop in studied.followed.hops], studied.followed.weakest
    agreed = [same_answer(answer, one.answer) for one in studied.at_once[:1]]
    evidence = Evidence(
        by_hops=len(hops) > 1,
        compared=studied.followed.plan.comparison is not None,
        cell=sum(hop.is_cell for hop in hops) / len(hops),
        agreed=agreed == [True],
        against=agreed == [False],
        hops=len(hops) - 1,
    )
    evidence = _with_reading(evidence, weakest, studied, is_verdict=any(hop.is_verdict for hop in hops))
    is_ruled = answer in {"yes", "no"} and len(hops) == 1 and not weakest.is_verdict
    return Option(answer, _steps_of_plan(studied, answer), evidence, weakest.confidence if is_ruled else 0.0)


def _steps_of_plan(studied: Study, answer: str) -> tuple[Step, ...]:
    """The plan's hops as steps to `answer`, with a step for what they conclude."""
    steps = studied.followed.steps
    if studied.followed.plan.comparison is None:
        return (*steps[:-1], replace(steps[-1], answer=answer))
    spans = dict.fromkeys(span for step in steps for span in step.support)
    return (*steps, Step(studied.question, answer, tuple(spans)))


def _option_at_once(best: ReadAnswer, studied: Study) -> Option:
    followed, planned = studied.followed, len(studied.followed.plan.questions)
    agreed = followed.answer is not None and same_answer(followed.answer, best.answer)
    evidence = Evidence(
        at_once=1.0,
        cell=best.is_cell,
        agreed=agreed,
        against=followed.answer is not None and not agreed,
        hops=planned - 1,
        broken_off=0 < len(followed.hops) < planned,
    )
    alone = (Step(studied.question, best.answer, best.support),)
    steps = _steps_of_plan(studied, best.answer) if agreed else alone
    return Option(best.answer, steps, _with_reading(evidence, best, studied, is_verdict=best.is_verdict))


def _with_reading(evidence: Evidence, weakest: ReadAnswer, studied: Study, *, is_verdict: bool) -> Evidence:
    """The evidence with the features of the weakest hop."""
    odds, helps = cut(weakest.odds), cut(log_odds(weakest.helps))
    return replace(
        evidence,
        verdict=is_verdict,
        verdict_odds=is_verdict * odds,
        odds=odds,
        lead=cut(weakest.lead),
        helps=helps,
        strangers=studied.strangers,
        said=weakest.said,
    )


def _confidence(option: Option) -> float:
    if option.ruled:
        return option.ruled
    probability = stored_judge().probability(option.evidence)
    return min(probability, _VERDICT) if option.evidence.verdict else probability


def read_by_hops(question: str, reader: Reader) -> Reading:
    """The most probable answer to `question`, with one step for each hop."""
    studied = study(question[: reader.settings.question_characters], reader)
    if is_computed(studied.question, reader.evidence) or asks_twice(studied.question):
        return Reading(None, studied.followed.steps)
    judged = [(_confidence(option), option) for option in options(studied)]
    probability, best = max(judged, key=lambda pair: pair[0], default=(0.0, None))
    if best is None:
        return Reading(None, studied.followed.steps)
    return Reading(best.answer, best.steps, round(probability, 4))


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
