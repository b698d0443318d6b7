"""Finds where two runs diverge on a question: the first stage at which their trails differ, and the gain or loss.

The trails are compared hop by hop, in this order:

    decomposition    one run has no such hop, or another sub-question
    completion       the same sub-question was completed in other words
    retrieval        other gold passages among the hits
    packing          other gold passages handed to the reader
    reading          another answer
    conclusion       after the last hop, another answer to the question

Two recipes rarely find the same units, so hits are compared by the gold passages that they show; with `exact`, or for a question
without gold passages, by their units in order. Scores are not compared, because those of different channels are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import zip_longest

from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.run_folder import Run
from hoptrail.evaluation.trail_records import HitRecord, HopRecord, TrailRecord
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.run_comparison import common_questions
from hoptrail_papers.comparing.run_tables import TextTable


class Stage(StrEnum):
    """The stage at which trails diverge, in the order in which an answer is made."""

    DECOMPOSITION = "decomposition"
    COMPLETION = "completion"
    RETRIEVAL = "retrieval"
    PACKING = "packing"
    READING = "reading"
    CONCLUSION = "conclusion"
    NOWHERE = "nowhere"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The divergence on one question (its id): its stage, hop (from 0), and what each run has there.

    `gain` is the F1 of the second run's answer minus that of the first; None if one has no score.
    """

    question: str
    stage: Stage
    hop: int
    first: str
    second: str
    gain: float | None


_Found = tuple[Stage, str, str]  # a stage, and what each run has there


def diff_trails(first: Run, second: Run, *, exact: bool = False) -> tuple[Divergence, ...]:
    """Compare the trails of every question that both runs have, in the order of the first run.
    Raises: UsageError: the runs have no question in common.
    """
    return tuple(_departure(first, second, question, exact) for question in common_questions([first, second]))


def departures_tables(departures: Sequence[Divergence], labels: Sequence[str], examples: int) -> Iterator[TextTable]:
    """Counts of every stage with the gains of the second run, and the first examples of each stage."""
    first, second = labels
    rows, shown = [], []
    for stage in Stage:
        found = [departure for departure in departures if departure.stage is stage]
        gains = [departure.gain for departure in found if departure.gain is not None]
        better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        if found:
            rows.append((stage.value, *map(str, (len(found), better, len(gains) - better - worse, worse))))
        for item in found[:examples] if stage is not Stage.NOWHERE else ():
            gain = "-" if item.gain is None else f"{item.gain:+.2f}"
            shown.append((item.question, stage.value, str(item.hop + 1), item.first, item.second, gain))
    header = ("stage", "questions", f"{second} better", "equal", "worse")
    title, note = f"Where {first} and {second} diverge", "Better and worse by the F1 of the answer."
    yield TextTable(title, header, tuple(rows), note)
    if shown:
        yield TextTable("Examples", ("question", "stage", "hop", first, second, "gain"), tuple(shown))


def departures_json(departures: Sequence[Divergence], labels: Sequence[str]) -> JsonObject:
    """Counts by stage, and every departure."""
    counts = {stage.value: sum(departure.stage is stage for departure in departures) for stage in Stage}
    return {"runs": list(labels), "stages": counts, "departures": [asdict(departure) for departure in departures]}


def _departure(first: Run, second: Run, question: Question, exact: bool) -> Divergence:
    results = [run.results.get(question.id) for run in (first, second)]
    scores = [result.score.f1 for result in results if result and result.score]
    gain = scores[1] - scores[0] if len(scores) == 2 else None
    one, two = first.trails.get(question.id), second.trails.get(question.id)
    if one is None or two is None:
        hop, stage, sides = 0, Stage.UNKNOWN, ["no trail" if trail is None else "" for trail in (one, two)]
    else:
        gold = None if exact or not question.supporting else frozenset(question.supporting)
        hop, (stage, *sides) = _first_divergence(_Pair(one, two, gold), *map(_answer, results))
    return Divergence(question.id, stage, hop, sides[0], sides[1], gain)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two trails of one question. `gold`: passages by which hits are compared, None to compare units."""

    first: TrailRecord
    second: TrailRecord
    gold: frozenset[str] | None

    def at_hop(self, one: HopRecord | None, two: HopRecord | None) -> _Found | None:
        """The first difference of two hops, or None."""
        if one is None or two is None or one.question != two.question:
            none = "no sub-question"
            return Stage.DECOMPOSITION, one.question if one else none, two.question if two else none
        if one.asked != two.asked:
            return Stage.COMPLETION, one.asked, two.asked
        for stage, items in (
            (Stage.RETRIEVAL, (self.items_of(one.hits), self.items_of(two.hits))),
            (Stage.PACKING, (self._read_items(self.first, one), self._read_items(self.second, two))),
        ):
            if items[0] != items[1]:
                return stage, *_differing_items(*items)
        if (one.answer, one.verdict) != (two.answer, two.verdict):
            return Stage.READING, one.answer or one.verdict, two.answer or two.verdict
        return None

    def items_of(self, hits: Sequence[HitRecord]) -> list[str]:
        """The gold passages or units by which these hits are compared."""
        if self.gold is None:
            return [hit.unit for hit in hits]
        return sorted(self.gold.intersection(passage for hit in hits for passage in hit.passages))

    def _read_items(self, trail: TrailRecord, hop: HopRecord) -> list[str]:
        readings = [reading for reading in trail.readings if reading.question == hop.asked]
        if self.gold is None:
            return [unit for reading in readings for unit in reading.units]
        return sorted(self.gold.intersection(passage for reading in readings for passage in reading.passages))


def _first_divergence(pair: _Pair, one: str, two: str) -> tuple[int, _Found]:
    """The hop and its difference; the number of hops if the difference comes after them."""
    for number, hops in enumerate(zip_longest(pair.first.hops, pair.second.hops)):
        if divergence := pair.at_hop(*hops):
            return number, divergence
    after = len(pair.first.hops)
    items = pair.items_of(pair.first.ranking), pair.items_of(pair.second.ranking)
    if items[0] != items[1]:
        return after, (Stage.RETRIEVAL, *_differing_items(*items))
    return after, (Stage.NOWHERE if one == two else Stage.CONCLUSION, one, two)


def _differing_items(one: Sequence[str], two: Sequence[str]) -> tuple[str, str]:
    """The items of two lists from their first difference on."""
    place = next(place for place, (first, second) in enumerate(zip_longest(one, two)) if first != second)
    return _list_items(one[place:]), _list_items(two[place:])


def _list_items(items: Sequence[str]) -> str:
    return ", ".join(items[:2]) + (f" and {len(items) - 2} more" if len(items) > 2 else "") if items else "nothing"


def _answer(result: QuestionResult | None) -> str:
    if result is None or result.error is not None:
        return "failed"
    return "no answer" if result.prediction is None else result.prediction
