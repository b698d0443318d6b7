"""Where two runs part on a question: the first stage at which their trails differ, and whether that did good.

The trails are walked hop by hop. A hop that only one has, or another sub-question, is `decomposition`; other words for the same
sub-question `completion`; other gold passages among the hits `retrieval`; other gold passages handed to the reader `packing`;
another answer `reading`; and after the last hop another answer to the question `conclusion`. Two recipes hardly ever find the
same units, so hits are compared by the gold passages they show; `exact`, or where a question has no gold passages, by their
units in order. Scores of hits are not compared: those of different channels mean different things.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.run_comparison import common_questions
from hoptrail.evaluation.run_folder import Run
from hoptrail.evaluation.trail_records import HitRecord, HopRecord, TrailRecord


class Stage(StrEnum):
    """Where trails part, in the order of the way to an answer."""

    DECOMPOSITION = "decomposition"
    COMPLETION = "completion"
    RETRIEVAL = "retrieval"
    PACKING = "packing"
    READING = "reading"
    CONCLUSION = "conclusion"
    NOWHERE = "nowhere"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Departure:
    """One question (its id): where the trails part, at which hop (from 0), what the two have there, what the second gained.

    `gain` is the F1 of the second's answer less that of the first's; None where one of them has no score.
    """

    question: str
    stage: Stage
    hop: int
    first: str
    second: str
    gain: float | None


def diff_trails(first: Run, second: Run, *, exact: bool = False) -> tuple[Departure, ...]:
    """One departure for every question that both runs have, in the order of the first.

    Raises:
        UsageError: they have no question in common.
    """
    return tuple(_departure(first, second, question, exact) for question in common_questions([first, second]))


def _departure(first: Run, second: Run, question: Question, exact: bool) -> Departure:
    results = first.results.get(question.id), second.results.get(question.id)
    one, two = first.trails.get(question.id), second.trails.get(question.id)
    if one is None or two is None:
        hop, parting = 0, _Parting(Stage.UNKNOWN, *("no trail" if trail is None else "" for trail in (one, two)))
    else:
        gold = None if exact or not question.supporting else frozenset(question.supporting)
        hop, parting = _first_parting(_Pair(one, two, gold), *(_said(result) for result in results))
    return Departure(question.id, parting.stage, hop, parting.first, parting.second, _gain(*results))


@dataclass(frozen=True, slots=True)
class _Parting:
    stage: Stage
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two trails of one question. `gold` is what hits are compared by; None: by their units."""

    first: TrailRecord
    second: TrailRecord
    gold: frozenset[str] | None

    def at_hop(self, one: HopRecord | None, two: HopRecord | None) -> _Parting | None:
        """The stage at which these hops part, and what each has there."""
        if one is None or two is None or one.question != two.question:
            return _Parting(
                Stage.DECOMPOSITION, *("no sub-question" if hop is None else hop.question for hop in (one, two))
            )
        if one.asked != two.asked:
            return _Parting(Stage.COMPLETION, one.asked, two.asked)
        for stage, seen in (
            (Stage.RETRIEVAL, (self.found(one.hits), self.found(two.hits))),
            (Stage.PACKING, (self._handed(self.first, one), self._handed(self.second, two))),
        ):
            if seen[0] != seen[1]:
                return _Parting(stage, *_apart(*seen))
        if (one.answer, one.verdict) != (two.answer, two.verdict):
            return _Parting(Stage.READING, one.answer or one.verdict, two.answer or two.verdict)
        return None

    def found(self, hits: Sequence[HitRecord]) -> list[str]:
        """What these hits are compared by."""
        if self.gold is None:
            return [hit.unit for hit in hits]
        return sorted(self.gold.intersection(passage for hit in hits for passage in hit.passages))

    def _handed(self, trail: TrailRecord, hop: HopRecord) -> list[str]:
        readings = [reading for reading in trail.readings if reading.question == hop.asked]
        if self.gold is None:
            return [unit for reading in readings for unit in reading.units]
        return sorted(self.gold.intersection(passage for reading in readings for passage in reading.passages))


def _first_parting(pair: _Pair, *said: str) -> tuple[int, _Parting]:
    """The hop, and what differs there; the number of hops where it is what comes after them."""
    for number, hops in enumerate(zip_longest(pair.first.hops, pair.second.hops)):
        if parting := pair.at_hop(*hops):
            return number, parting
    after = len(pair.first.hops)
    found = pair.found(pair.first.ranking), pair.found(pair.second.ranking)
    if found[0] != found[1]:
        return after, _Parting(Stage.RETRIEVAL, *_apart(*found))
    return after, _Parting(Stage.NOWHERE if said[0] == said[1] else Stage.CONCLUSION, *said)


def _apart(one: Sequence[str], two: Sequence[str]) -> tuple[str, str]:
    """What each of two lists has from the first item on in which they differ."""
    place = next(place for place, (first, second) in enumerate(zip_longest(one, two)) if first != second)
    return _rest(one[place:]), _rest(two[place:])


def _rest(items: Iterable[str]) -> str:
    listed = list(items)
    return ", ".join(listed[:2]) + (f" and {len(listed) - 2} more" if len(listed) > 2 else "") if listed else "nothing"


def _said(result: QuestionResult | None) -> str:
    if result is None or result.error is not None:
        return "failed"
    return "no answer" if result.prediction is None else result.prediction


def _gain(one: QuestionResult | None, two: QuestionResult | None) -> float | None:
    if one is None or two is None or one.score is None or two.score is None:
        return None
    return two.score.f1 - one.score.f1
