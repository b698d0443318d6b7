"""Error analyses and trail diffs as tables of text and as JSON. Knows nothing of how they were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from hoptrail.evaluation.comparison_tables import TextTable
from hoptrail.evaluation.error_analysis import Cause, ErrorAnalysis
from hoptrail.evaluation.trail_diff import Departure, Stage


def errors_tables(analyses: Sequence[ErrorAnalysis], labels: Sequence[str], examples: int) -> tuple[TextTable, ...]:
    """Counts of every cause by run, then of each run and cause the first examples."""
    rows = [
        ("right", *(str(one.right) for one in analyses)),
        *((cause.value, *(_counts(one, cause) for one in analyses)) for cause in Cause),
        ("failed", *(str(one.failed) for one in analyses)),
        ("questions", *(str(one.questions) for one in analyses)),
    ]
    note = "Wrong answers + abstentions, by the first cause on the way to the answer."
    tables = [TextTable("First causes", ("cause", *labels), tuple(rows), note)]
    for label, analysis in zip(labels, analyses, strict=True):
        shown = tuple(_error_examples(analysis, examples))
        if shown:
            tables.append(TextTable(f"Examples: {label}", ("question", "answer", "cause", "told by"), shown))
    return tuple(tables)


def errors_json(analyses: Sequence[ErrorAnalysis], labels: Sequence[str]) -> dict[str, Any]:
    """By run: counts, and every diagnosis."""
    return {
        label: {
            "run": one.run,
            "questions": one.questions,
            "right": one.right,
            "failed": one.failed,
            "wrong": {cause.value: one.count(cause, abstained=False) for cause in Cause},
            "abstained": {cause.value: one.count(cause, abstained=True) for cause in Cause},
            "diagnoses": [asdict(diagnosis) for diagnosis in one.diagnoses],
        }
        for label, one in zip(labels, analyses, strict=True)
    }


def departures_tables(departures: Sequence[Departure], labels: Sequence[str], examples: int) -> tuple[TextTable, ...]:
    """Counts of every stage with what the second run gained there, then the first examples of each."""
    first, second = labels
    header = ("stage", "questions", f"{second} better", "equal", "worse")
    rows = tuple(_stage_row(stage, departures) for stage in Stage if any(one.stage is stage for one in departures))
    counts = TextTable(f"Where {first} and {second} part", header, rows, "Better and worse by the F1 of the answer.")
    shown = tuple(_departure_examples(departures, examples))
    example_header = ("question", "stage", "hop", first, second, "gain")
    return (counts, *((TextTable("Examples", example_header, shown),) if shown else ()))


def departures_json(departures: Sequence[Departure], labels: Sequence[str]) -> dict[str, Any]:
    """Counts by stage, and every departure."""
    counts = {stage.value: sum(one.stage is stage for one in departures) for stage in Stage}
    return {"runs": list(labels), "stages": counts, "departures": [asdict(one) for one in departures]}


def _counts(analysis: ErrorAnalysis, cause: Cause) -> str:
    return f"{analysis.count(cause, abstained=False)} + {analysis.count(cause, abstained=True)}"


def _error_examples(analysis: ErrorAnalysis, examples: int) -> Iterable[tuple[str, ...]]:
    for cause in Cause:
        for one in [one for one in analysis.diagnoses if one.cause is cause][:examples]:
            yield one.question, "none" if one.abstained else "wrong", cause.value, one.why


def _departure_examples(departures: Sequence[Departure], examples: int) -> Iterable[tuple[str, ...]]:
    for stage in Stage:
        if stage is not Stage.NOWHERE:
            for one in [one for one in departures if one.stage is stage][:examples]:
                gain = "-" if one.gain is None else f"{one.gain:+.2f}"
                yield one.question, stage.value, str(one.hop + 1), one.first, one.second, gain


def _stage_row(stage: Stage, departures: Sequence[Departure]) -> tuple[str, ...]:
    gains = [one.gain for one in departures if one.stage is stage]
    scored = [gain for gain in gains if gain is not None]
    better, worse = sum(gain > 0 for gain in scored), sum(gain < 0 for gain in scored)
    return stage.value, str(len(gains)), str(better), str(len(scored) - better - worse), str(worse)
