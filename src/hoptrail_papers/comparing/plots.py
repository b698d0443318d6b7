"""Renders a comparison as one HTML page with plots. The page includes the drawing library, so it needs no network.

Plotted are its means, recall by k, passages reached hop by hop, risk by coverage, and reliability. Needs the extra `plots`
(altair, and vl-convert for the drawing library).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, recall_at
from hoptrail.evaluation.risk_coverage import calibration_table, risk_coverage_curve
from hoptrail.evaluation.run_folder import Run
from hoptrail_papers.comparing import run_comparison
from hoptrail_papers.comparing.run_tables import QUALITY, TextTable, tables_of

WIDTH, HEIGHT = 420, 260
"""The size of one plot in pixels."""

_PERFECT = "as it should be"
_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}"
    "td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left}p{color:#555;font-size:.85rem}"
)

HOP_CUTOFF = 10
"""A hop is reached if its gold passage is among this many passages."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one run's curve."""

    run: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class HopPoint:
    """The `share` of questions with this number of `hops` for which a run found all gold passages up to this `hop`."""

    run: str
    hops: int
    hop: int
    share: float


def recall_by_k(runs: Sequence[Run]) -> list[Point]:
    """Mean recall at every k up to the deepest cutoff; empty if no question has gold passages."""
    questions = [question for question in run_comparison.common_questions(runs) if question.supporting]
    return [
        Point(label, k, mean([recall_at(k, _found(run, question), question.supporting) for question in questions]))
        for label, run in zip(run_comparison.labels_of(runs), runs, strict=True)
        for k in range(1, DEEPEST_CUTOFF + 1)
        if questions
    ]


def reached_by_hop(runs: Sequence[Run]) -> list[HopPoint]:
    """By number of hops and hop: the share of questions for which all gold passages up to this hop were found.

    Gold passages are in hop order if the data set knows it, so a question lost at one hop stays lost at all later ones.
    """
    questions = run_comparison.common_questions(runs)
    return [
        HopPoint(
            label, hops, hop, mean([_reached(run, question, hop) for question in questions if question.hops == hops])
        )
        for label, run in zip(run_comparison.labels_of(runs), runs, strict=True)
        for hops in sorted({question.hops for question in questions if question.hops > 1})
        for hop in range(1, hops + 1)
    ]


def risk_by_coverage(runs: Sequence[Run]) -> list[Point]:
    """The risk-coverage curves of the runs whose answers have a confidence."""
    questions = run_comparison.common_questions(runs)
    return [
        Point(label, point.coverage, point.risk)
        for label, run in zip(run_comparison.labels_of(runs), runs, strict=True)
        for point in risk_coverage_curve(run_comparison.judged_answers(run, questions), len(questions))
    ]


def reliability(runs: Sequence[Run]) -> list[Point]:
    """The accuracy of answers by confidence, for the runs whose answers have a confidence."""
    questions = run_comparison.common_questions(runs)
    return [
        Point(label, row.confidence, row.accuracy)
        for label, run in zip(run_comparison.labels_of(runs), runs, strict=True)
        for row in calibration_table(run_comparison.judged_answers(run, questions))
    ]


def _found(run: Run, question: Question) -> tuple[str, ...]:
    result = run.results.get(question.id)
    return result.counted_passages if result else ()


def _reached(run: Run, question: Question, hop: int) -> float:
    gold = list(dict.fromkeys(question.supporting))[:hop]
    return float(set(gold) <= set(_found(run, question)[:HOP_CUTOFF]))


def to_page(comparison: run_comparison.RunComparison, runs: Sequence[Run]) -> str:
    """The whole page: the plots of the compared runs in their order, and the tables.
    Raises: UsageError: the extra `plots` is not installed.
    """
    title = f"{comparison.data}: {', '.join(comparison.runs)}"
    charts = list(_charts(comparison, runs))
    script = _library()
    for number, chart in enumerate(charts):
        content = chart.to_json(indent=None).replace("<", "\\u003c")  # otherwise a name could end the script
        script += f"\nvegaEmbed('#plot{number}', {content}, {{actions: false}});"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style><script type="module">{script}</script>'
    body = "".join(
        (*(f'<div id="plot{number}"></div>' for number in range(len(charts))), *map(_table, tables_of(comparison)))
    )
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _extra(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError("a page with plots needs the extra: pip install 'hoptrail[plots]'.") from error


@cache
def _library() -> str:
    """The drawing library as one script; `vegaEmbed` is its entry."""
    script: str = _extra("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def _table(table: TextTable) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return f"<h2>{escape(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _charts(comparison: run_comparison.RunComparison, runs: Sequence[Run]) -> Iterator[Any]:
    order = list(comparison.runs)
    if measured := [name for name in QUALITY if name in comparison.measures]:
        yield _ladder(comparison)
        yield _cost_against_quality(comparison, measured)
    if recall := recall_by_k(runs):
        yield _lines(recall, order, "Recall by the number of passages", "passages", "recall")
    if hops := reached_by_hop(runs):
        yield _hops(hops, order)
    if risk := risk_by_coverage(runs):
        yield _lines(
            risk, order, "Wrong answers among those given, by how many are given", "coverage", "risk", step=0.1
        )
        points = [*(Point(_PERFECT, end, end) for end in (0.0, 1.0)), *reliability(runs)]
        yield _lines(points, [*order, _PERFECT], "Reliability", "confidence", "share of right answers", step=0.1)


def _lines(points: Sequence[Point], order: list[str], title: str, x: str, y: str, step: float = 1) -> Any:
    """A line chart with one line per run and a y axis from 0 to 1; `step` is the minimal distance of ticks on the x axis."""
    draw = _extra("altair")
    return _line_chart(points, order, title=title, width=WIDTH).encode(
        x=draw.X("x:Q", title=x, axis=draw.Axis(tickMinStep=step)),
        y=draw.Y("y:Q", title=y, scale=draw.Scale(domain=[0, 1])),
        tooltip=[draw.Tooltip("run:N"), draw.Tooltip("x:Q", title=x), draw.Tooltip("y:Q", title=y, format=".3f")],
    )


def _line_chart(points: Sequence[Point | HopPoint], order: list[str], **options: Any) -> Any:
    draw = _extra("altair")
    chart = draw.Chart(draw.Data(values=[asdict(point) for point in points]), height=HEIGHT, **options)
    return chart.mark_line(point=True).encode(color=draw.Color("run:N", sort=order, title="run"))


def _hops(points: Sequence[HopPoint], order: list[str]) -> Any:
    draw = _extra("altair")
    return (
        _line_chart(points, order, width=WIDTH / 2)
        .encode(
            x=draw.X("hop:Q", title="hop", axis=draw.Axis(tickMinStep=1)),
            y=draw.Y("share:Q", title="share of questions", scale=draw.Scale(domain=[0, 1])),
            tooltip=[draw.Tooltip("run:N"), draw.Tooltip("hop:Q"), draw.Tooltip("share:Q", format=".3f")],
        )
        .facet(
            facet=draw.Facet("hops:N", title="hops of the question"),
            title=f"Questions whose gold passages up to this hop are among the first {HOP_CUTOFF}",
        )
    )


def _ladder(comparison: run_comparison.RunComparison) -> Any:
    """Every run's quality with its interval, in the order of the runs, so that an ablation reads from left to right."""
    draw = _extra("altair")
    rows = [
        {"run": score.run, "measure": name, "mean": score.mean, "low": score.interval.low, "high": score.interval.high}
        for name in QUALITY
        for run in comparison.runs
        if (score := comparison.score(run, comparison.groups[0], name)) is not None
    ]
    base = draw.Chart(draw.Data(values=rows), width=WIDTH / 2, height=HEIGHT).encode(
        x=draw.X("run:N", sort=list(comparison.runs), title=None)
    )
    tips = [draw.Tooltip("run:N"), *(draw.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high"))]
    points = base.mark_line(point=True).encode(
        y=draw.Y("mean:Q", title=None, scale=draw.Scale(domain=[0, 1])), tooltip=tips
    )
    bars = base.mark_rule().encode(y="low:Q", y2="high:Q")
    return draw.layer(points, bars).facet(
        facet=draw.Facet("measure:N", sort=list(QUALITY), title=None), columns=4, title="Quality with 95 % intervals"
    )


def _cost_against_quality(comparison: run_comparison.RunComparison, measured: Sequence[str]) -> Any:
    """Tokens, else seconds, against right answers, else F1, else recall, whichever was measured."""
    draw = _extra("altair")
    quality = next(name for name in ("right", "f1", "recall@5", *measured) if name in measured)
    everything = comparison.groups[0]
    means = {
        (run, name): comparison.score(run, everything, name) for run in comparison.runs for name in comparison.measures
    }
    spent = any((score := means[run, "tokens"]) is not None and score.mean > 0 for run in comparison.runs)
    cost = "tokens" if spent else "seconds"
    rows = [
        {"run": run, "cost": spending.mean, "quality": good.mean}
        for run in comparison.runs
        if (spending := means[run, cost]) is not None and (good := means[run, quality]) is not None
    ]
    tips = [draw.Tooltip("run:N"), draw.Tooltip("cost:Q", format=".4g"), draw.Tooltip("quality:Q", format=".3f")]
    return (
        draw.Chart(draw.Data(values=rows), title="Cost against quality", width=WIDTH, height=HEIGHT)
        .mark_circle(size=120, opacity=1)
        .encode(
            x=draw.X("cost:Q", title=f"{cost} a question"),
            y=draw.Y("quality:Q", title=quality, scale=draw.Scale(zero=False, padding=20)),
            color=draw.Color("run:N", sort=list(comparison.runs)),
            tooltip=tips,
        )
    )
