"""Renders a comparison as one HTML page with plots. The page includes the drawing library, so it needs no network.

Plotted are its means, recall by k, passages reached hop by hop, risk by coverage, and reliability. Needs the extra `plots`
(altair, and vl-convert for the drawing library).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, recall_at
from hoptrail.evaluation.run_folder import Run
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.risk_coverage import calibration_table, risk_coverage_curve
from hoptrail_papers.comparing.run_comparison import RunComparison, common_questions, judged_answers, labelled
from hoptrail_papers.comparing.run_tables import QUALITY, TextTable, tables_of

WIDTH, HEIGHT = 420, 260  # the size of one plot in pixels
_PERFECT, _RIGHT, _REACHED = "as it should be", "share of right answers", "share of questions"
_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}"
    "td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left}p{color:#555;font-size:.85rem}"
)

HOP_CUTOFF = 10  # a hop is reached if its gold passage is among this many passages
Points = list[JsonObject]  # the points of a chart: the `run`, and the values by the names of the axes


def recall_by_k(runs: Sequence[Run]) -> Points:
    """Mean recall at every k up to the deepest cutoff; empty if no question has gold passages."""
    questions, points = [question for question in common_questions(runs) if question.supporting], []
    for label, run in labelled(runs) if questions else ():
        for k in range(1, DEEPEST_CUTOFF + 1):
            recall = mean([recall_at(k, _found(run, one), one.supporting) for one in questions])
            points.append({"run": label, "passages": k, "recall": recall})
    return points


def reached_by_hop(runs: Sequence[Run]) -> Points:
    """By number of hops and hop: the share of questions for which all gold passages up to this hop were found.

    Gold passages are in hop order if the data set knows it, so a question lost at one hop stays lost at all later ones.
    """
    questions = [question for question in common_questions(runs) if question.hops > 1]
    points = []
    for label, run in labelled(runs):
        for hops in sorted({question.hops for question in questions}):
            asked = [question for question in questions if question.hops == hops]
            gold = [list(dict.fromkeys(question.supporting)) for question in asked]
            found = [_found(run, question)[:HOP_CUTOFF] for question in asked]
            for hop in range(1, hops + 1):
                reached = [float(set(one[:hop]) <= set(there)) for one, there in zip(gold, found, strict=True)]
                points.append({"run": label, "hops": hops, "hop": hop, _REACHED: mean(reached)})
    return points


def risk_by_coverage(runs: Sequence[Run]) -> Points:
    """The risk-coverage curves of the runs whose answers have a confidence."""
    questions = common_questions(runs)
    return [
        {"run": label, "coverage": point.coverage, "risk": point.risk}
        for label, run in labelled(runs)
        for point in risk_coverage_curve(judged_answers(run, questions), len(questions))
    ]


def reliability(runs: Sequence[Run]) -> Points:
    """The accuracy of answers by confidence, for the runs whose answers have a confidence."""
    questions = common_questions(runs)
    return [
        {"run": label, "confidence": row.confidence, _RIGHT: row.accuracy}
        for label, run in labelled(runs)
        for row in calibration_table(judged_answers(run, questions))
    ]


def _found(run: Run, question: Question) -> tuple[str, ...]:
    result = run.results.get(question.id)
    return result.counted_passages if result else ()


def to_page(comparison: RunComparison, runs: Sequence[Run]) -> str:
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
    places = (f'<div id="plot{number}"></div>' for number in range(len(charts)))
    body = "".join((*places, *map(_table, tables_of(comparison))))
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


def _charts(comparison: RunComparison, runs: Sequence[Run]) -> Iterator[Any]:
    order = list(comparison.runs)
    if measured := [name for name in QUALITY if name in comparison.measures]:
        yield _ladder(comparison)
        yield _cost_against_quality(comparison, measured)
    if recall := recall_by_k(runs):
        yield _lines(recall, order, "passages", "recall", title="Recall by the number of passages", width=WIDTH)
    if hops := reached_by_hop(runs):
        yield _lines(hops, order, "hop", _REACHED, width=WIDTH / 2).facet(
            facet=_extra("altair").Facet("hops:N", title="hops of the question"),
            title=f"Questions whose gold passages up to this hop are among the first {HOP_CUTOFF}",
        )
    if risk := risk_by_coverage(runs):
        title = "Wrong answers among those given, by how many are given"
        yield _lines(risk, order, "coverage", "risk", 0.1, title=title, width=WIDTH)
        perfect: Points = [{"run": _PERFECT, "confidence": end, _RIGHT: end} for end in (0.0, 1.0)]
        points, lines = [*perfect, *reliability(runs)], [*order, _PERFECT]
        yield _lines(points, lines, "confidence", _RIGHT, 0.1, title="Reliability", width=WIDTH)


def _lines(points: Points, order: list[str], x: str, y: str, step: float = 1, **options: Any) -> Any:
    """A chart with one line per run and a y axis from 0 to 1; `step` is the minimal distance of ticks on the x axis."""
    draw = _extra("altair")
    chart = draw.Chart(draw.Data(values=points), height=HEIGHT, **options)
    return chart.mark_line(point=True).encode(
        x=draw.X(f"{x}:Q", title=x, axis=draw.Axis(tickMinStep=step)),
        y=draw.Y(f"{y}:Q", title=y, scale=draw.Scale(domain=[0, 1])),
        color=draw.Color("run:N", sort=order, title="run"),
        tooltip=[draw.Tooltip("run:N"), draw.Tooltip(f"{x}:Q"), draw.Tooltip(f"{y}:Q", format=".3f")],
    )


def _ladder(comparison: RunComparison) -> Any:
    """Every run's quality with its interval, in the order of the runs, so that an ablation reads from left to right."""
    draw = _extra("altair")
    found = (comparison.score(run, comparison.groups[0], name) for name in QUALITY for run in comparison.runs)
    rows = [
        {"run": one.run, "measure": one.measure, "mean": one.mean, "low": one.interval.low, "high": one.interval.high}
        for one in found
        if one is not None
    ]
    chart = draw.Chart(draw.Data(values=rows), width=WIDTH / 2, height=HEIGHT)
    base = chart.encode(x=draw.X("run:N", sort=list(comparison.runs), title=None))
    tips = [draw.Tooltip("run:N"), *(draw.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high"))]
    height = draw.Y("mean:Q", title=None, scale=draw.Scale(domain=[0, 1]))
    points = base.mark_line(point=True).encode(y=height, tooltip=tips)
    bars = base.mark_rule().encode(y="low:Q", y2="high:Q")
    return draw.layer(points, bars).facet(
        facet=draw.Facet("measure:N", sort=list(QUALITY), title=None), columns=4, title="Quality with 95 % intervals"
    )


def _cost_against_quality(comparison: RunComparison, measured: Sequence[str]) -> Any:
    """Tokens, else seconds, against right answers, else F1, else recall, whichever was measured."""
    draw = _extra("altair")
    quality = next(name for name in ("right", "f1", "recall@5", *measured) if name in measured)
    overall = (score for score in comparison.scores if score.group is comparison.groups[0])
    means = {(score.run, score.measure): score.mean for score in overall}
    cost = "tokens" if any(means.get((run, "tokens"), 0) > 0 for run in comparison.runs) else "seconds"
    rows = [
        {"run": run, "cost": means[run, cost], "quality": means[run, quality]}
        for run in comparison.runs
        if {(run, cost), (run, quality)} <= means.keys()
    ]
    tips = [draw.Tooltip("run:N"), draw.Tooltip("cost:Q", format=".4g"), draw.Tooltip("quality:Q", format=".3f")]
    chart = draw.Chart(draw.Data(values=rows), title="Cost against quality", width=WIDTH, height=HEIGHT)
    return chart.mark_circle(size=120, opacity=1).encode(
        x=draw.X("cost:Q", title=f"{cost} a question"),
        y=draw.Y("quality:Q", title=quality, scale=draw.Scale(zero=False, padding=20)),
        color=draw.Color("run:N", sort=list(comparison.runs)),
        tooltip=tips,
    )
