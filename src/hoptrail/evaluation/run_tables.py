"""Renders comparisons, error analyses and trail diffs of runs as text tables: for the terminal, and comparisons also as Markdown,
CSV, and in the HTML page.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from hoptrail.evaluation.error_analysis import Cause, ErrorAnalysis
from hoptrail.evaluation.risk_coverage import SURE
from hoptrail.evaluation.run_comparison import SIGNIFICANT, Breakdown, Comparison, Group, Score
from hoptrail.evaluation.trail_diff import Departure, Stage
from hoptrail.json_object import JsonObject

QUALITY = ("right", "shown", "wrong", "shows@5", "em", "f1", "recall@5", "full@5")
COST = ("answered", "tasks", "tokens", "seconds")
"""Measures in the tables, if they were measured; the CSV has all measures."""

CSV_COLUMNS = (
    *("data", "run", "breakdown", "group", "measure", "n", "mean", "low", "high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "corrected_p"),
)

MARK = "*"
"""Follows a value that differs significantly from the baseline."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of cells under a header; `note` explains them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables_of(comparison: Comparison) -> tuple[TextTable, ...]:
    """Tables of overall means, differences from the baseline, groups by hops and type, and confidences, without empty tables."""
    tables = (
        _means(comparison),
        _differences(comparison),
        *(_groups(comparison, by) for by in (Breakdown.HOPS, Breakdown.TYPE)),
        _confidences(comparison),
    )
    return tuple(table for table in tables if table.rows)


def to_markdown(comparison: Comparison) -> str:
    """All tables in GitHub Flavored Markdown."""
    return "\n".join(_markdown(table) for table in tables_of(comparison))


def to_csv(comparison: Comparison) -> str:
    """One CSV row for every run, group and measure, unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(_csv_row(comparison, score) for score in comparison.scores)
    return text.getvalue()


def _means(comparison: Comparison) -> TextTable:
    everything = comparison.groups[0]
    measures = [name for name in (*QUALITY, *COST) if name in comparison.measures]
    rows = ((run, *_cells(comparison, run, everything, measures)) for run in comparison.runs)
    left_out = f"; {comparison.left_out} that not all runs have are left out" if comparison.left_out else ""
    title = f"{comparison.data}: {comparison.questions} questions{left_out}"
    legend = (
        f"Means with 95 % bootstrap intervals. {MARK} differs from {comparison.runs[0]} (paired randomisation, Holm-corrected "
        f"p < {SIGNIFICANT})."
    )
    return TextTable(title, ("run", *measures), tuple(rows), legend)


def _differences(comparison: Comparison) -> TextTable:
    rows = []
    for score in comparison.scores:
        if (paired := score.difference) and score.group.by is Breakdown.ALL:
            interval = f"[{paired.interval.low:+.3f}, {paired.interval.high:+.3f}]"
            values = (f"{paired.mean:+.3f}", interval, f"{paired.p:.4f}", f"{score.corrected:.4f}")
            rows.append((score.run, score.measure, *values, "yes" if score.significant else "no"))
    header = ("run", "measure", "difference", "95 % interval", "p", "corrected p", "significant")
    return TextTable(f"Differences from {comparison.runs[0]}", header, tuple(sorted(rows, key=lambda row: row[1])))


def _groups(comparison: Comparison, by: Breakdown) -> TextTable:
    measures = [name for name in QUALITY if name in comparison.measures]
    rows = (
        (group.value, str(len(group.questions)), run, *_cells(comparison, run, group, measures))
        for group in comparison.groups
        if group.by is by
        for run in comparison.runs
    )
    return TextTable(f"By {by.value}", (by.value, "questions", "run", *measures), tuple(rows))


def _confidences(comparison: Comparison) -> TextTable:
    rows = (
        (
            row.run,
            *(str(row.answers), *(f"{value:.3f}" for value in (row.risk, row.area, row.calibration, row.brier))),
            f"{row.sure.value:.3f} [{row.sure.interval.low:.2f} {row.sure.interval.high:.2f}]" if row.sure else "-",
            f"{row.coverage:.3f}",
        )
        for row in comparison.confidences
    )
    note = (
        f"Risk: the share of wrong answers. Its area is below the risk if sure answers tend to be right. Sure: answers with a "
        f"confidence of {SURE} or more, the share of right ones among them, and their share of all questions."
    )
    header = ("run", "with confidence", "risk", "area", "calibration error", "Brier", "sure: right", "sure: of all")
    return TextTable("Confidence", header, tuple(rows), note)


def _cells(comparison: Comparison, run: str, group: Group, measures: Sequence[str]) -> Iterator[str]:
    """The means, those of measures of quality with their intervals."""
    for measure in measures:
        score = comparison.score(run, group, measure)
        if score is None:
            yield "-"
        elif measure in COST:
            yield f"{score.mean:,.2f}"
        else:
            mark = MARK if score.significant else ""
            yield f"{score.mean:.3f}{mark} [{score.interval.low:.2f} {score.interval.high:.2f}]"


def _markdown(table: TextTable) -> str:
    lines = [f"## {table.title}", ""]
    lines += [_markdown_row(row) for row in (table.header, ["---"] * len(table.header), *table.rows)]
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])


def _markdown_row(cells: Iterable[str]) -> str:
    """A Markdown row. Line breaks in cells, such as question types from the data, become spaces."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _csv_row(comparison: Comparison, score: Score) -> list[object]:
    values = (score.measure, score.n, score.mean, score.interval.low, score.interval.high)
    own = [comparison.data, score.run, score.group.by.value, score.group.value, *values]
    if score.difference is None:
        return [*own, "", "", "", "", "", ""]
    paired = score.difference
    interval = (paired.interval.low, paired.interval.high)
    return [*own, comparison.runs[0], paired.mean, *interval, paired.p, score.corrected]


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
        label: {
            "run": analysis.run,
            "questions": analysis.questions,
            "right": analysis.right,
            "failed": analysis.failed,
            "wrong": {cause.value: analysis.count(cause, abstained=False) for cause in Cause},
            "abstained": {cause.value: analysis.count(cause, abstained=True) for cause in Cause},
            "diagnoses": [asdict(diagnosis) for diagnosis in analysis.diagnoses],
        }
        for label, analysis in zip(labels, analyses, strict=True)
    }


def departures_tables(departures: Sequence[Departure], labels: Sequence[str], examples: int) -> tuple[TextTable, ...]:
    """Counts of every stage with the gains of the second run, and the first examples of each stage."""
    first, second = labels
    header = ("stage", "questions", f"{second} better", "equal", "worse")
    stages = {departure.stage for departure in departures}
    rows = tuple(_stage_row(stage, departures) for stage in Stage if stage in stages)
    counts = TextTable(f"Where {first} and {second} diverge", header, rows, "Better and worse by the F1 of the answer.")
    example_rows = tuple(_departure_examples(departures, examples))
    example_header = ("question", "stage", "hop", first, second, "gain")
    return (counts, *((TextTable("Examples", example_header, example_rows),) if example_rows else ()))


def departures_json(departures: Sequence[Departure], labels: Sequence[str]) -> JsonObject:
    """Counts by stage, and every departure."""
    counts = {stage.value: sum(departure.stage is stage for departure in departures) for stage in Stage}
    return {"runs": list(labels), "stages": counts, "departures": [asdict(departure) for departure in departures]}


def _counts(analysis: ErrorAnalysis, cause: Cause) -> str:
    return f"{analysis.count(cause, abstained=False)} + {analysis.count(cause, abstained=True)}"


def _error_examples(analysis: ErrorAnalysis, examples: int) -> Iterable[tuple[str, ...]]:
    for cause in Cause:
        for diagnosis in [item for item in analysis.diagnoses if item.cause is cause][:examples]:
            yield diagnosis.question, "none" if diagnosis.abstained else "wrong", cause.value, diagnosis.why


def _departure_examples(departures: Sequence[Departure], examples: int) -> Iterable[tuple[str, ...]]:
    for stage in Stage:
        if stage is not Stage.NOWHERE:
            for item in [departure for departure in departures if departure.stage is stage][:examples]:
                gain = "-" if item.gain is None else f"{item.gain:+.2f}"
                yield item.question, stage.value, str(item.hop + 1), item.first, item.second, gain


def _stage_row(stage: Stage, departures: Sequence[Departure]) -> tuple[str, ...]:
    gains = [departure.gain for departure in departures if departure.stage is stage]
    scored = [gain for gain in gains if gain is not None]
    better, worse = sum(gain > 0 for gain in scored), sum(gain < 0 for gain in scored)
    return stage.value, str(len(gains)), str(better), str(len(scored) - better - worse), str(worse)
