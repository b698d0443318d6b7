"""A comparison as tables of text: for the terminal, Markdown, CSV and the page alike. Knows nothing of runs or drawing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hoptrail.evaluation.risk_coverage import SURE
from hoptrail.evaluation.run_comparison import SIGNIFICANT, Breakdown, Comparison, Group, Score

QUALITY = ("right", "shown", "wrong", "shows@5", "em", "f1", "recall@5", "full@5")
COST = ("answered", "tasks", "tokens", "money", "seconds")
"""What the tables show, as far as it was measured; the CSV has everything."""

CSV_COLUMNS = (
    *("data", "run", "breakdown", "group", "measure", "n", "mean", "low", "high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "corrected_p"),
)

MARK = "*"
"""Stands behind what differs from the baseline significantly."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of cells under a header; `note` says how to read them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables_of(comparison: Comparison) -> tuple[TextTable, ...]:
    """Means over all questions, differences from the baseline, groups by hops and by type, confidences; none is empty."""
    tables = (
        _means(comparison),
        _differences(comparison),
        *(_groups(comparison, by) for by in (Breakdown.HOPS, Breakdown.TYPE)),
        _confidences(comparison),
    )
    return tuple(table for table in tables if table.rows)


def to_markdown(comparison: Comparison) -> str:
    """All tables as GitHub's Markdown."""
    return "\n".join(_markdown(table) for table in tables_of(comparison))


def to_csv(comparison: Comparison) -> str:
    """One line for every run, group and measure, unrounded."""
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
    return TextTable(title, ("run", *measures), tuple(rows), _legend(comparison))


def _legend(comparison: Comparison) -> str:
    return (
        f"Means with 95 % bootstrap intervals. {MARK} differs from {comparison.runs[0]} (paired randomisation, Holm-corrected "
        f"p < {SIGNIFICANT})."
    )


def _differences(comparison: Comparison) -> TextTable:
    rows = []
    for score in comparison.scores:
        if score.difference is not None and score.group.by is Breakdown.ALL:
            found = score.difference
            interval = f"[{found.paired.interval.low:+.3f}, {found.paired.interval.high:+.3f}]"
            values = (f"{found.paired.mean:+.3f}", interval, f"{found.paired.p:.4f}", f"{found.corrected:.4f}")
            rows.append((score.run, score.measure, *values, "yes" if found.significant else "no"))
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
            one.run,
            *(str(one.answers), *(f"{value:.3f}" for value in (one.risk, one.area, one.calibration, one.brier))),
            f"{one.sure.value:.3f} [{one.sure.interval.low:.2f} {one.sure.interval.high:.2f}]" if one.sure else "-",
            f"{one.coverage:.3f}",
        )
        for one in comparison.confidences
    )
    note = (
        f"Risk: the share of wrong answers. Its area is below the risk where the sure answers are the right ones. Sure: a "
        f"confidence of {SURE} or more, with what share of them is right, and their share of all questions."
    )
    header = ("run", "with confidence", "risk", "area", "calibration error", "Brier", "sure: right", "sure: of all")
    return TextTable("Confidence", header, tuple(rows), note)


def _cells(comparison: Comparison, run: str, group: Group, measures: Sequence[str]) -> Iterator[str]:
    for measure in measures:
        score = comparison.score(run, group, measure)
        yield "-" if score is None else _cell(score)


def _cell(score: Score) -> str:
    """The mean; with its interval where it is about quality: what was spent was spent."""
    if score.measure in COST:
        return f"{score.mean:.5f}" if score.measure == "money" else f"{score.mean:,.2f}"
    mark = MARK if score.difference is not None and score.difference.significant else ""
    return f"{score.mean:.3f}{mark} [{score.interval.low:.2f} {score.interval.high:.2f}]"


def _markdown(table: TextTable) -> str:
    lines = [f"## {table.title}", ""]
    lines += [_markdown_row(row) for row in (table.header, ["---"] * len(table.header), *table.rows)]
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])


def _markdown_row(cells: Iterable[str]) -> str:
    """A line break in a cell (types of questions are the data's) would end the row."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _csv_row(comparison: Comparison, score: Score) -> list[object]:
    group = (score.group.by.value, score.group.value)
    own = [
        comparison.data,
        score.run,
        *group,
        score.measure,
        score.n,
        score.mean,
        score.interval.low,
        score.interval.high,
    ]
    if score.difference is None:
        return [*own, "", "", "", "", "", ""]
    paired = score.difference.paired
    interval = (paired.interval.low, paired.interval.high)
    return [*own, comparison.runs[0], paired.mean, *interval, paired.p, score.difference.corrected]
