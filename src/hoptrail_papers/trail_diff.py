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
from itertools import takewhile

from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.results import QuestionResult, TrailRecord
from hoptrail.evaluation.run_folder import Run
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
    counts = {stage.value: sum(departure.stage is stage for departure in departures) for stage in Stage}
    return {"runs": list(labels), "stages": counts, "departures": [asdict(departure) for departure in departures]}


def _departure(first: Run, second: Run, question: Question, exact: bool) -> Divergence:
    results = [run.results.get(question.id) for run in (first, second)]
    scores = [result.score.f1 for result in results if result and result.score]
    gain = scores[1] - scores[0] if len(scores) == 2 else None
    trails = [run.trails.get(question.id) for run in (first, second)]
    known = [trail for trail in trails if trail is not None]
    if len(known) < 2:
        sides = ["no trail" if trail is None else "" for trail in trails]
        return Divergence(question.id, Stage.UNKNOWN, 0, sides[0], sides[1], gain)
    gold = None if exact or not question.supporting else frozenset(question.supporting)
    steps = [list(_steps(trail, gold, result)) for trail, result in zip(known, results, strict=True)]
    one, two = next((pair for pair in zip(*steps, strict=False) if pair[0] != pair[1]), (steps[0][-1], steps[1][-1]))
    if one == two:
        return Divergence(question.id, Stage.NOWHERE, one.hop, one.items[0], two.items[0], gain)
    if one.stage is not two.stage:  # one of them has no further hop
        sides = [step.items[0] if step.stage is Stage.DECOMPOSITION else "no sub-question" for step in (one, two)]
        return Divergence(question.id, Stage.DECOMPOSITION, one.hop, sides[0], sides[1], gain)
    if one.stage in (Stage.RETRIEVAL, Stage.PACKING):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.items, two.items, strict=False)))
        sides = [_listed(step.items[same:]) for step in (one, two)]
    else:
        sides = [one.items[0], two.items[0]]
    return Divergence(question.id, one.stage, one.hop, sides[0], sides[1], gain)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a run has at a stage of a hop, that of the answer after the last one."""

    hop: int
    stage: Stage
    items: tuple[str, ...]


def _steps(trail: TrailRecord, gold: frozenset[str] | None, result: QuestionResult | None) -> Iterator[_Step]:
    """The steps of a trail in their order. Hits are compared by these gold passages, or by their units (None)."""
    for number, hop in enumerate(trail.hops):
        yield _Step(number, Stage.DECOMPOSITION, (hop.question,))
        yield _Step(number, Stage.COMPLETION, (hop.asked,))
        yield _Step(number, Stage.RETRIEVAL, _compared([((hit.unit,), hit.passages) for hit in hop.hits], gold))
        read = [(one.units, one.passages) for one in trail.readings if one.question == hop.asked]
        yield _Step(number, Stage.PACKING, _compared(read, gold))
        yield _Step(number, Stage.READING, (hop.answer or hop.verdict, hop.verdict))
    after = len(trail.hops)
    yield _Step(after, Stage.RETRIEVAL, _compared([((hit.unit,), hit.passages) for hit in trail.ranking], gold))
    given = "failed" if result is None or result.error is not None else result.prediction
    yield _Step(after, Stage.CONCLUSION, ("no answer" if given is None else given,))


def _compared(shown: Sequence[tuple[Sequence[str], Sequence[str]]], gold: frozenset[str] | None) -> tuple[str, ...]:
    """The units, or the gold passages, of pairs of units and passages."""
    if gold is None:
        return tuple(unit for units, _ in shown for unit in units)
    return tuple(sorted(gold.intersection(passage for _, passages in shown for passage in passages)))


def _listed(items: Sequence[str]) -> str:
    return ", ".join(items[:2]) + (f" and {len(items) - 2} more" if len(items) > 2 else "") if items else "nothing"
