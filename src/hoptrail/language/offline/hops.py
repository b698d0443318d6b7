"""Answer a whole question at once and, if it can be taken apart, hop by hop; the likelier answer is taken.

A plan is followed by a beam search over the likeliest answers of each hop. The confidence in an answer by hops is a
regression on the product of theirs (`answer_weights.py`). A comparison takes the likeliest values that decide it. Findings of
earlier hops are concluded too, and a new reading checks them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

from hoptrail.language.closeness import UNITS
from hoptrail.language.offline.answer_weights import ReadAnswer, chain_numbers, stored_weights
from hoptrail.language.offline.statement_reading import StatementReader
from hoptrail.language.questions.comparisons import ORDERS, Comparison
from hoptrail.language.questions.plans import Plan
from hoptrail.language.questions.references import REFERENCE, complete
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.models.question_tagger import ComparisonRule, tag_question
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import folded, stands_in
from hoptrail.text.statements import UnitStatement
from hoptrail.text.values import same_answer, same_value
from hoptrail.text.words import content_stems
from hoptrail.types import Unit

_BEAM, _UNLIKELY = 3, 0.05  # width of the beam; the share of the best way's probability below which a way is dropped
_UNCHECKED = 0.65  # confidence in a conclusion from findings if reading gives no answer: `trail` just gives it as one
_CONTRADICTED = 0.35  # confidence in a conclusion from findings if reading the evidence gives another answer

Hops = tuple[tuple[str, ReadAnswer], ...]  # completed sub-questions with their answers


def read_by_hops(
    question: str, plan: Plan, units: Sequence[Unit], reader: StatementReader, values: Callable[[], StatementReader]
) -> Reading:
    """The likelier answer to `question` at once or, if it is taken apart, by its plan, with one step for each hop. What is
    compared is read by the reader that `values` gives.
    """
    if plan.comparison is not None:
        by_plan = compare(question, plan.comparison, units, reader, values())
        if plan.comparison.claimed and by_plan.answer is not None:
            return by_plan  # a statement about one side says yes or no of that alone
    elif len(plan.questions) == 1:
        return _at_once(question, units, reader)
    else:
        by_plan = by_hops(plan, likeliest_way(question, plan, units, reader))
    at_once = _at_once(question, units, reader)
    if plan.comparison and by_plan.answer is not None and at_once.answer not in plan.comparison.sides:
        return by_plan
    return max(by_plan, at_once, key=lambda reading: reading.confidence)


def _at_once(question: str, units: Sequence[Unit], reader: StatementReader) -> Reading:
    """The best answer to the whole question: one of the sides that are compared or offered, or no name in the question."""
    sides = [question[slice(*place)].strip(" ,") for place in tag_question(question).sides]
    named = [mention.text for mention in find_mentions(question, question=True)]
    avoided = [name for name in named if not any(same_answer(name, side) for side in sides)]
    best = next(iter(reader.ranked(question, units, avoided, pairs=True)), None)
    if best and (side := next((side for side in sides if same_answer(best.answer, side)), None)):
        best = replace(best, answer=side)
    return Reading(None) if best is None else Reading(best.answer, best.steps(question), round(best.confidence, 4))


def by_hops(plan: Plan, hops: Hops) -> Reading:
    """The answer at the end of a way through the evidence, or the steps up to a hop without one."""
    if len(hops) < len(plan.questions):
        return Reading(None, _steps(hops))
    confidence = stored_weights().chain.probability(chain_numbers([hop.confidence for _, hop in hops]))
    return Reading(hops[-1][1].answer, _steps(hops), round(confidence, 4))


def likeliest_way(question: str, plan: Plan, units: Sequence[Unit], reader: StatementReader) -> Hops:
    """The likeliest hops of a plan, up to one without an answer; no answer is a name in the question."""
    named = [mention.text for mention in find_mentions(question, question=True)]
    ways: list[Hops] = [()]
    hops: Hops = ()
    for planned in plan.questions:
        longer: list[Hops] = []
        for way in ways:
            asked = complete(planned, [Finding(before, before, hop.answer) for before, hop in way])
            if not REFERENCE.search(asked):
                used = [hop.answer for number, (_, hop) in enumerate(way, 1) if f"#{number}" in planned]
                found = reader.ranked(asked, _nearest(asked, units), [*named, *used])
                longer += ((*way, (asked, hop)) for hop in found[:_BEAM])
        ways = sorted(longer, key=_probability, reverse=True)
        ways = [way for way in ways[:_BEAM] if _probability(way) >= _UNLIKELY * _probability(ways[0])]
        if not ways:
            break
        hops = ways[0]
    return hops


def compare(
    question: str, comparison: Comparison, units: Sequence[Unit], reader: StatementReader, values: StatementReader
) -> Reading:
    """The answer from the likeliest values of both sides that decide; without one, the likeliest values as steps."""
    spans = comparison.rule is not ComparisonRule.BOTH
    sides: list[list[tuple[str, ReadAnswer]]] = []
    for asked in comparison.questions:
        near = _nearest(asked, units)
        found = (values if spans else reader).ranked(asked, near, comparison.sides, pairs=True, spans=spans)
        sides.append([(asked, one) for one in found[:_BEAM]])
    for way in sorted(product(*sides), key=_probability, reverse=True):
        (_, first), (_, second) = way
        is_one = first.support == second.support and first.answer == second.answer  # perhaps of the other side
        if not is_one and (verdict := comparison.verdict(first.answer, second.answer)):
            likely = _probability(way)
            # A wrong value leaves the order of two as often right as not.
            confidence = (1 + math.sqrt(likely)) / 2 if comparison.rule in ORDERS else likely
            support = tuple(dict.fromkeys((*first.support, *second.support)))
            return Reading(verdict, (*_steps(way), Step(question, verdict, support)), round(confidence, 4))
    return Reading(None, _steps([side[0] for side in sides if side]))


def read_value(asked: str, side: str, units: Sequence[Unit], values: StatementReader) -> Reading:
    """The likeliest value of one side of a comparison, read by the reader of `values`."""
    found = values.ranked(asked, _nearest(asked, units), [side], pairs=True, spans=True)
    return Reading(found[0].answer, _steps([(asked, found[0])]), found[0].confidence) if found else Reading(None)


def _steps(way: Sequence[tuple[str, ReadAnswer]]) -> tuple[Step, ...]:
    return tuple(Step(asked, one.answer, one.support) for asked, one in way)


def _probability(way: Hops) -> float:
    return math.prod(hop.confidence for _, hop in way)


def _nearest(asked: str, units: Sequence[Unit]) -> list[Unit]:
    """The units that say most of a sub-question, these first: they were ranked for the whole question."""
    stems = content_stems(asked)
    return sorted(units, key=lambda unit: -len(stems & content_stems(unit.searchable)))[:UNITS]


def conclude(
    question: str, plan: Plan, findings: Sequence[Finding], lines: Iterable[UnitStatement], reading: Reading
) -> Reading:
    """The conclusion from the findings, else `reading`, which is of all the evidence, whose statements are `lines`."""
    given = [finding.answer for finding in findings]
    answer = given[-1] if given else None
    if (comparison := plan.comparison) and given and findings[-1].question != question:
        # Values found by way of others decide an order; that they differ may as well come from a wrong one.
        values = given[1::2] if comparison.is_led else given
        decided = reading.answer is None or (comparison.is_led and comparison.rule in ORDERS)
        answer = comparison.verdict(*values[:2]) if decided and len(values) > 1 else None
    if answer is None:
        return reading
    if reading.answer is not None and same_value(reading.answer, answer):
        steps = (*reading.steps[:-1], replace(reading.steps[-1], answer=answer))
        return Reading(answer, steps, max(_UNCHECKED, reading.confidence))
    confidence, said = _UNCHECKED if reading.answer is None else _CONTRADICTED, folded(answer)
    saying = (line.support for line in lines if stands_in(said, folded(line.alone)))
    support = () if said in {"yes", "no"} else next(saying, ())  # yes or no follows from the findings
    return Reading(answer, (Step(question, answer, support),), confidence)
