"""Renders comparisons, error analyses and trail diffs of runs as text tables: for the terminal, and comparisons also as Markdown,
CSV, and in the HTML page.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.text.normal_forms import squeeze
from hoptrail.types import LIKELY
from hoptrail_papers.comparing.run_comparison import SIGNIFICANT, Breakdown, RunComparison, Slice

QUALITY = ("right", "shown", "wrong", "shows@5", "em", "f1", "recall@5", "full@5")
COST = ("answered", "tasks", "tokens", "seconds")
"""Measures in the tables, if they were measured; the CSV has all measures."""

CSV_COLUMNS = (
    *("data", "run", "breakdown", "group", "measure", "n", "mean", "low", "high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "corrected_p"),
)

MARK = "*"  # follows a value that differs significantly from the baseline


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of cells under a header; `note` explains them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables_of(comparison: RunComparison) -> tuple[TextTable, ...]:
    """Tables of overall means, differences from the baseline, groups by hops and type, and confidences, without empty tables."""
    by_group = (_groups(comparison, by) for by in (Breakdown.HOPS, Breakdown.TYPE))
    tables = (_means(comparison), _differences(comparison), *by_group, _confidences(comparison))
    return tuple(table for table in tables if table.rows)


def to_markdown(comparison: RunComparison) -> str:
    lines: list[str] = []
    for table in tables_of(comparison):
        lines += [f"## {table.title}", ""]
        for cells in (table.header, ["---"] * len(table.header), *table.rows):
            # also line breaks of types in the data
            shown = (squeeze(cell).replace("|", "\\|") for cell in cells)
            lines.append(f"| {' | '.join(shown)} |")
        lines += ["", *([table.note, ""] if table.note else [])]
    return "\n".join(lines)


def to_csv(comparison: RunComparison) -> str:
    """One CSV row for every run, group and measure, unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for score in comparison.scores:
        group, paired = score.group, score.difference
        tested = (comparison.runs[0], paired.mean, *paired.interval, paired.p, score.corrected) if paired else [""] * 6
        row = (comparison.data, score.run, group.by.value, group.value, score.measure, score.n, score.mean)
        writer.writerow([*row, *score.interval, *tested])
    return text.getvalue()


def _means(comparison: RunComparison) -> TextTable:
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


def _differences(comparison: RunComparison) -> TextTable:
    rows = []
    for score in comparison.scores:
        if (paired := score.difference) and score.group.by is Breakdown.ALL:
            interval = f"[{paired.interval.low:+.3f}, {paired.interval.high:+.3f}]"
            values = (f"{paired.mean:+.3f}", interval, f"{paired.p:.4f}", f"{score.corrected:.4f}")
            rows.append((score.run, score.measure, *values, "yes" if score.significant else "no"))
    header = ("run", "measure", "difference", "95 % interval", "p", "corrected p", "significant")
    return TextTable(f"Differences from {comparison.runs[0]}", header, tuple(sorted(rows, key=lambda row: row[1])))


def _groups(comparison: RunComparison, by: Breakdown) -> TextTable:
    measures = [name for name in QUALITY if name in comparison.measures]
    rows = []
    for group in (group for group in comparison.groups if group.by is by):
        asked = str(len(group.questions))
        rows += [(group.value, asked, run, *_cells(comparison, run, group, measures)) for run in comparison.runs]
    return TextTable(f"By {by.value}", (by.value, "questions", "run", *measures), tuple(rows))


def _confidences(comparison: RunComparison) -> TextTable:
    rows = []
    for row in comparison.confidences:
        values = (f"{value:.3f}" for value in (row.risk, row.area, row.calibration, row.brier))
        sure = f"{row.sure.value:.3f} [{row.sure.interval.low:.2f} {row.sure.interval.high:.2f}]" if row.sure else "-"
        rows.append((row.run, str(row.answers), *values, sure, f"{row.coverage:.3f}"))
    note = (
        f"Risk: the share of wrong answers. Its area is below the risk if sure answers tend to be right. Sure: answers with a "
        f"confidence of {LIKELY} or more, the share of right ones among them, and their share of all questions."
    )
    header = ("run", "with confidence", "risk", "area", "calibration error", "Brier", "sure: right", "sure: of all")
    return TextTable("Confidence", header, tuple(rows), note)


def _cells(comparison: RunComparison, run: str, group: Slice, measures: Sequence[str]) -> Iterator[str]:
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
