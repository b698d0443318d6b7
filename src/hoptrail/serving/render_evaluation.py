"""The results of `hoptrail evaluate` as tables: one row per recipe and, for own documents, one per type of question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.evaluation.risk_coverage import SURE
from hoptrail.serving.render import SHOWN_NOTES, plain
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.evaluation.reports import EvaluationReport

COUNTS = ("n", "failed", "abstained")
SCORES = ("em", "f1")
RECALLS = ("recall@2", "recall@5", "recall@10", "full@5")
SHOWS = f"shows@{HITS}"


def render_evaluation(report: JsonObject) -> RenderableType:
    """The contract's object as tables, one row per recipe."""
    head = Text(f"{report['data']}: {report['questions']} questions, language {report['language']}")
    recipes = report["recipes"]
    if any(SHOWS in result for result in recipes.values()):
        by_type = [table for name, result in recipes.items() if (table := _by_type(name, result))]
        return Group(*_apart(head, _outcomes(recipes), *([_sure(recipes)] if by_type else []), *by_type))
    by_hops = _by_hops(recipes)
    return Group(*_apart(head, _scores(recipes), *([by_hops] if by_hops else [])))


def _scores(recipes: JsonObject) -> Table:
    table = _table("recipe", *COUNTS, *SCORES, *RECALLS, "s/question")
    for name, result in recipes.items():
        retrieval = result["retrieval"] or {}
        answers = [share(result.get(key)) for key in SCORES]
        recalls = [share(retrieval.get(key)) for key in RECALLS]
        table.add_row(name, *_counts(result), *answers, *recalls, _seconds(result))
    return table


def _by_hops(recipes: JsonObject) -> Table | None:
    """A row per recipe and number of hops; None if all questions have the same number."""
    columns = (*RECALLS, "full@10")
    table = _table("recipe", "hops", "n", *columns)
    for name, result in recipes.items():
        if len(result["by_hops"]) > 1:
            for hops, scores in result["by_hops"].items():
                counted = str(result["questions_by_hops"][hops])
                table.add_row(name, hops, counted, *(share(scores[key]) for key in columns))
    return table if table.rows else None


def _outcomes(recipes: JsonObject) -> Table:
    """Shares of the outcomes; of right and wrong answers also the 95 % intervals."""
    right, shown, missed, wrong = Outcome
    table = _table("recipe", *COUNTS, right, "95 %", wrong, "95 %", shown, missed, SHOWS, "s/question")
    for name, result in recipes.items():
        shares, intervals = result.get("outcomes", {}), result.get("outcome_intervals", {})
        tested = [cell for one in (right, wrong) for cell in (share(shares.get(one)), _ends(intervals.get(one)))]
        others = [share(shares.get(one)) for one in (shown, missed)]
        table.add_row(name, *_counts(result), *tested, *others, share(result[SHOWS]), _seconds(result))
    return table


def _sure(recipes: JsonObject) -> Table:
    """Sure answers: their number, their share of all questions, and the share of them that is right."""
    table = _table(f"confidence of {SURE} or more", "answers", "of all", "right", "95 %")
    for name, result in recipes.items():
        if sure := result.get("sure"):
            right = (share(sure["precision"]), _ends(sure["interval"]))
            table.add_row(name, str(sure["answers"]), share(sure["coverage"]), *right)
    return table


def _apart(head: Text, *tables: Table) -> Iterator[RenderableType]:
    """The head and the tables, separated by empty lines."""
    yield head
    for place, table in enumerate(tables):
        if place:
            yield Text("")
        yield table


def _by_type(name: str, result: JsonObject) -> Table | None:
    if "by_type" not in result:
        return None
    table = _table(name, "n", *Outcome)
    for kind, shares in result["by_type"].items():
        table.add_row(kind, str(result["questions_by_type"][kind]), *(share(shares[one]) for one in Outcome))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=True)
    return table


def _counts(result: JsonObject) -> list[str]:
    return [str(result[key]) for key in COUNTS]


def _seconds(result: JsonObject) -> str:
    return f"{sum(result['seconds_per_question'].values()):.3f}"


def _ends(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.2f}-{interval[1]:.2f}"


def failures(report: EvaluationReport) -> list[Text]:
    """A line per failed question, with the reason; of many, only the first."""
    lines = [
        plain(f"failed: {name}, question {question}: {reason}")
        for name, recipe in report.recipes
        for question, reason in recipe.failures
    ]
    hidden = len(lines) - SHOWN_NOTES
    return lines[:SHOWN_NOTES] + ([Text(f"and {hidden:,} more; --work keeps them all")] if hidden > 0 else [])


def share(value: float | None) -> str:
    """A share with three decimals; - for none."""
    return "-" if value is None else f"{value:.3f}"
