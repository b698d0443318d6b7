"""Tables of what goes wrong in runs: the causes of errors, and where two trails depart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.run_tables import TextTable
from hoptrail_papers.error_analysis import Cause, ErrorAnalysis
from hoptrail_papers.trail_diff import Divergence, Stage


def errors_tables(analyses: Sequence[ErrorAnalysis], labels: Sequence[str], examples: int) -> tuple[TextTable, ...]:
    """Counts of every cause by run, and the first examples of each cause for each run."""
    rows = [
        ("right", *(str(analysis.right) for analysis in analyses)),
        *((cause.value, *(_counts(analysis, cause) for analysis in analyses)) for cause in Cause),
        ("failed", *(str(analysis.failed) for analysis in analyses)),
        ("questions", *(str(analysis.questions) for analysis in analyses)),
    ]
    note = "Wrong answers + abstentions, by first cause."
    tables = [TextTable("First causes", ("cause", *labels), tuple(rows), note)]
    for label, analysis in zip(labels, analyses, strict=True):
        example_rows = tuple(_error_examples(analysis, examples))
        if example_rows:
            tables.append(TextTable(f"Examples: {label}", ("question", "answer", "cause", "reason"), example_rows))
    return tuple(tables)


def errors_json(analyses: Sequence[ErrorAnalysis], labels: Sequence[str]) -> JsonObject:
    """Counts and every diagnosis, by run."""
    return {
        label: asdict(analysis)
        | {
            name: {cause.value: analysis.count(cause, abstained=abstained) for cause in Cause}
            for name, abstained in (("wrong", False), ("abstained", True))
        }
        for label, analysis in zip(labels, analyses, strict=True)
    }


def departures_tables(departures: Sequence[Divergence], labels: Sequence[str], examples: int) -> tuple[TextTable, ...]:
    """Counts of every stage with the gains of the second run, and the first examples of each stage."""
    first, second = labels
    header = ("stage", "questions", f"{second} better", "equal", "worse")
    stages = {departure.stage for departure in departures}
    rows = tuple(_stage_row(stage, departures) for stage in Stage if stage in stages)
    counts = TextTable(f"Where {first} and {second} diverge", header, rows, "Better and worse by the F1 of the answer.")
    example_rows = tuple(_departure_examples(departures, examples))
    example_header = ("question", "stage", "hop", first, second, "gain")
    return (counts, *((TextTable("Examples", example_header, example_rows),) if example_rows else ()))


def departures_json(departures: Sequence[Divergence], labels: Sequence[str]) -> JsonObject:
    """Counts by stage, and every departure."""
    counts = {stage.value: sum(departure.stage is stage for departure in departures) for stage in Stage}
    return {"runs": list(labels), "stages": counts, "departures": [asdict(departure) for departure in departures]}


def _counts(analysis: ErrorAnalysis, cause: Cause) -> str:
    return f"{analysis.count(cause, abstained=False)} + {analysis.count(cause, abstained=True)}"


def _error_examples(analysis: ErrorAnalysis, examples: int) -> Iterable[tuple[str, ...]]:
    for cause in Cause:
        for diagnosis in [item for item in analysis.diagnoses if item.cause is cause][:examples]:
            yield diagnosis.question, "none" if diagnosis.abstained else "wrong", cause.value, diagnosis.why


def _departure_examples(departures: Sequence[Divergence], examples: int) -> Iterable[tuple[str, ...]]:
    for stage in Stage:
        if stage is not Stage.NOWHERE:
            for item in [departure for departure in departures if departure.stage is stage][:examples]:
                gain = "-" if item.gain is None else f"{item.gain:+.2f}"
                yield item.question, stage.value, str(item.hop + 1), item.first, item.second, gain


def _stage_row(stage: Stage, departures: Sequence[Divergence]) -> tuple[str, ...]:
    gains = [departure.gain for departure in departures if departure.stage is stage]
    scored = [gain for gain in gains if gain is not None]
    better, worse = sum(gain > 0 for gain in scored), sum(gain < 0 for gain in scored)
    return stage.value, str(len(gains)), str(better), str(len(scored) - better - worse), str(worse)
