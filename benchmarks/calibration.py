"""Measures confidences: are answers given at .8 right four times in five, also on folders that nothing was fitted on?

    python -m benchmarks.calibration FOLDER... [--work DIR] [--recipe NAME] [--limit N] [--out FILE.json] [--html FILE.html]

FOLDER is a folder for `hoptrail evaluate`: a data set or people's own documents. Each is evaluated with a preset without a
threshold, and kept in DIR/NAME: the same command continues a stopped run after its last question. After each folder, standard
error reports the CPU seconds of this run, indexing included. An answer is right by the rule for own documents, for a data set
too: the words of an accepted answer with at most three more. Then every folder's confidences are calibrated by a monotone map
fitted on all the others (`hoptrail.evaluation.calibration`), and the answers are pooled: Brier score, calibration error, risk
against coverage, reliability, and the accuracy and number of answers with a confidence of .5 or more, raw beside calibrated. If
calibration does not improve them, the raw confidences are calibrated already. `--html` writes a page of plots (extra `plots`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import cpu_seconds_of_children, evaluated, parser, print_table, write_results

from hoptrail.evaluation.calibration import Quality, Source, held_out, quality_of, together
from hoptrail.evaluation.comparison_tables import TextTable
from hoptrail.evaluation.curves import Point
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import is_right
from hoptrail.evaluation.plots import PERFECT, RELIABILITY_TITLE, RIGHT, RISK_TITLE, lines, page_of
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.risk_coverage import Judged, RiskAt, calibration_table, risk_coverage_curve
from hoptrail.evaluation.run_folder import RUNS_FOLDER, Run, open_run

RECIPE = "trail:guessing"
INCOMPLETE = 4
"""Exit code of `hoptrail evaluate` if some documents could not be read."""

RAW, CALIBRATED = "raw", "calibrated"
COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
HEADER = (
    *("folder", "questions", "answers", "right", "Brier", "calibration error", "area under risk"),
    *("sure: right", "95 %", "sure: of all"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The same folders with raw confidences, and with calibrated ones (each by a map of the others)."""

    recipe: str
    raw: tuple[Quality, ...]
    calibrated: tuple[Quality, ...]
    risk: dict[str, list[RiskAt]]


def run_of(folder: Path, recipe: str, limit: int | None, work: Path) -> Run:
    """Run `hoptrail evaluate` in a separate process; exits if it fails."""
    run_folder = work / folder.resolve().name
    options = ["--recipes", recipe, "--work", str(run_folder), *(["--limit", str(limit)] if limit else [])]
    reports = evaluated(folder, *options, accepted=(0, INCOMPLETE))
    return open_run(run_folder / RUNS_FOLDER / reports[recipe]["run"])


def timed_source(folder: Path, recipe: str, limit: int | None, work: Path) -> Source:
    """The answers of a folder; reports their cost in this run."""
    before = cpu_seconds_of_children()
    source = source_of(run_of(folder, recipe, limit, work))
    spent = cpu_seconds_of_children() - before
    answers = f"{len(source.judged):,} answers to {source.questions:,} questions"
    print(f"{source.name}: {answers}, {spent:,.0f} CPU s", file=sys.stderr, flush=True)
    return source


def source_of(run: Run) -> Source:
    """The answers of a run that have a confidence."""
    pairs = [(question, run.results.get(question.id)) for question in run.questions]
    judged = [
        Judged(result.confidence, _right(question, result))
        for question, result in pairs
        if result is not None and result.prediction is not None and result.confidence is not None
    ]
    return Source(run.header.data, len(run.questions), tuple(judged))


def _right(question: Question, result: QuestionResult) -> bool:
    """Judge by the outcome if there is one, since it depends on the kind of answer."""
    return bool(result.right) if result.outcome is not None else is_right(question, result.prediction)


def measured(recipe: str, sources: Sequence[Source], calibrated: Sequence[Source]) -> Measured:
    """The qualities of all folders, raw and calibrated, with the pooled ones."""
    everything, fitted = together("all", sources), together("all", calibrated)
    return Measured(
        recipe,
        tuple(quality_of(source) for source in (*sources, everything)),
        tuple(quality_of(source) for source in (*calibrated, fitted)),
        {name: _thinned(one) for name, one in ((RAW, everything), (CALIBRATED, fitted))},
    )


def _thinned(source: Source) -> list[RiskAt]:
    """The first points of the curve to reach each of COVERAGES."""
    curve = risk_coverage_curve(source.judged, source.questions)
    reached = (next((point for point in curve if point.coverage >= coverage), None) for coverage in COVERAGES)
    return list(dict.fromkeys(point for point in reached if point is not None))


def cells(quality: Quality) -> tuple[object, ...]:
    """One row of the table."""
    ends = "{:.2f}-{:.2f}".format(*quality.sure.ends()) if quality.sure else "-"
    values = (quality.right, quality.brier, quality.calibration_error, quality.area_under_risk)
    precision = quality.sure.value if quality.sure else None
    shown = ["-" if value is None else value for value in (*values, precision)]
    return (quality.name, quality.questions, quality.answers, *shown, ends, quality.coverage)


def page(found: Measured, sources: Sequence[Source], calibrated: Sequence[Source]) -> str:
    """A page with reliability and risk against coverage, raw beside calibrated, above the tables."""
    both = {RAW: together("all", sources), CALIBRATED: together("all", calibrated)}
    reliability = [
        Point(name, row.confidence, row.accuracy) for name, one in both.items() for row in calibration_table(one.judged)
    ]
    perfect = [Point(PERFECT, 0.0, 0.0), Point(PERFECT, 1.0, 1.0)]
    risk = [
        Point(name, point.coverage, point.risk)
        for name, one in both.items()
        for point in risk_coverage_curve(one.judged, one.questions)
    ]
    charts = [
        lines([*perfect, *reliability], [PERFECT, *both], RELIABILITY_TITLE, "confidence", RIGHT, 0.1),
        lines(risk, list(both), RISK_TITLE, "coverage", "risk", 0.1),
    ]
    tables = [
        TextTable(title, HEADER, tuple(tuple(_text(cell) for cell in cells(quality)) for quality in qualities))
        for title, qualities in ((RAW, found.raw), (f"{CALIBRATED}, by the other folders", found.calibrated))
    ]
    return page_of(f"Confidence of {found.recipe}", charts, tables)


def _text(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    arguments.add_argument("--work", type=Path, metavar="DIR", help="indexes and results are kept in DIR/NAME")
    arguments.add_argument("--recipe", default=RECIPE, metavar="NAME", help=f"with a preset ({RECIPE})")
    arguments.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each folder")
    arguments.add_argument("--html", type=Path, metavar="FILE.html", help="write a page with plots")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        sources = [timed_source(folder, options.recipe, options.limit, work) for folder in options.folders]
    calibrated = held_out(sources)
    found = measured(options.recipe, sources, calibrated)
    for title, qualities in ((RAW, found.raw), (f"{CALIBRATED}, by the other folders", found.calibrated)):
        print(title)
        print_table(HEADER, map(cells, qualities))
    print_table(
        ("risk at", "coverage", "threshold", "risk"),
        (
            (name, *(point.coverage, point.threshold, point.risk))
            for name, curve in found.risk.items()
            for point in curve
        ),
    )
    write_results(options.out, found)
    if options.html:
        options.html.write_text(page(found, sources, calibrated), encoding="utf-8")


if __name__ == "__main__":
    main()
