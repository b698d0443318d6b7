"""Keeps what `hoptrail evaluate FOLDER --recipes trail --out REPORT.json` measured on own documents, and writes the tables of
docs/limits.md from it.

    python -m benchmarks.limits REPORT.json...

Run it with the code that measured: each report is kept as results/NAME.json with its origin. Every report must have outcomes of
the recipe `trail`. There are two tables: outcomes of all questions, one row per folder, with 95 % intervals, and the same by
type, pooled over the folders.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, markdown, origin_of_data, parser, write_results
from benchmarks.matrix import with_tables

from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.outcomes import Outcome

DOCUMENT = ROOT / "docs" / "limits.md"
RECIPE = "trail"
HEADER = ("folder", "questions", "right", "shown", "missed", "wrong", "right or shown", "sure: of all", "sure: right")
TYPES = ("type", "questions", *Outcome)


def by_folder(reports: Sequence[dict[str, Any]]) -> str:
    """One row per folder: shares of its questions, with 95 % intervals of right and wrong answers."""
    rows = []
    for report in reports:
        found = report["recipes"][RECIPE]
        shares, ends, sure = found["outcomes"], found["outcome_intervals"], found["sure"]
        with_ends = {one: _with_ends(shares[one], ends[one]) for one in ("right", "wrong")}
        cells = [with_ends.get(one, f"{shares[one]:.2f}") for one in Outcome]
        precision = "-" if sure["precision"] is None else _with_ends(sure["precision"], sure["interval"])
        either = f"{shares['right'] + shares['shown']:.2f}"
        rows.append([report["data"], str(found["n"]), *cells, either, f"{sure['coverage']:.2f}", precision])
    return markdown(HEADER, rows)


def by_type(reports: Sequence[dict[str, Any]]) -> str:
    totals: Counter[str] = Counter()
    became: Counter[tuple[str, str]] = Counter()
    for report in reports:
        found = report["recipes"][RECIPE]
        for kind, number in found["questions_by_type"].items():
            totals[kind] += number
            for outcome, share in found["by_type"][kind].items():
                became[kind, outcome] += round(share * number)
    rows = []
    for kind, number in totals.most_common():
        shares = [Share(became[kind, outcome], number) for outcome in Outcome]
        rows.append([kind, str(number), *(f"{one.value:.2f}" for one in shares)])
    return markdown(TYPES, rows)


def _with_ends(value: float, ends: Sequence[float]) -> str:
    return f"{value:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"


def with_origin(report: dict[str, Any]) -> dict[str, Any]:
    """The report with the origin of its figures; the judge of answers was fitted to these folders."""
    name = report["data"]
    own = ROOT / "benchmarks" / "folders" / name
    return {"of": asdict(origin_of_data(name, own if own.is_dir() else None)), **report}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    options = arguments.parse_args()
    reports = [with_origin(json.loads(path.read_text(encoding="utf-8"))) for path in options.reports]
    for report in reports:
        write_results(ROOT / "results" / f"{report['data']}.json", report)
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_tables(text, iter((by_folder(reports), by_type(reports)))), encoding="utf-8")


if __name__ == "__main__":
    main()
