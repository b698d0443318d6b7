"""The results of `hoptrail evaluate` as tables: one row per recipe and, for own documents, one per type of question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.serving.render import SHOWN_NOTES, first_of, plain, table_of
from hoptrail.types import LIKELY
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.evaluation.reports import EvaluationReport

COUNTS = ("n", "failed", "abstained")
SCORES = ("em", "f1")
RECALLS = ("recall@2", "recall@5", "recall@10", "full@5")
SHOWS = f"shows@{HITS}"


def render_evaluation(report: JsonObject) -> RenderableType:
    """The contract's object as tables; those without rows are left out."""
    recipes: JsonObject = report["recipes"]
    if any(SHOWS in result for result in recipes.values()):
        tables = [_outcomes(recipes), _sure(recipes), *(_by_type(*one) for one in recipes.items())]
    else:
        tables = [_scores(recipes), _by_hops(recipes)]
    head = Text(f"{report['data']}: {report['questions']} questions, language {report['language']}")
    first, *others = (table for table in tables if table.rows)
    return Group(head, first, *(part for table in others for part in (Text(), table)))


def _scores(recipes: JsonObject) -> Table:
    rows = []
    for name, result in recipes.items():
        retrieval = result["retrieval"] or {}
        shares = [*map(result.get, SCORES), *map(retrieval.get, RECALLS)]
        rows.append(_row(name, result, map(share, shares)))
    return table_of(("recipe", *COUNTS, *SCORES, *RECALLS, "s/question"), rows)


def _by_hops(recipes: JsonObject) -> Table:
    """A row per recipe and number of hops, unless all questions have the same number."""
    columns = (*RECALLS, "full@10")
    rows = [
        (name, hops, str(result["questions_by_hops"][hops]), *(share(scores[key]) for key in columns))
        for name, result in recipes.items()
        if len(result["by_hops"]) > 1
        for hops, scores in result["by_hops"].items()
    ]
    return table_of(("recipe", "hops", "n", *columns), rows)


def _outcomes(recipes: JsonObject) -> Table:
    """Shares of the outcomes; of right and wrong answers also the 95 % intervals."""
    right, shown, missed, wrong = Outcome
    rows = []
    for name, result in recipes.items():
        shares, intervals = result.get("outcomes", {}), result.get("outcome_intervals", {})
        tested = [cell for one in (right, wrong) for cell in (share(shares.get(one)), _ends(intervals.get(one)))]
        others = map(share, (shares.get(shown), shares.get(missed), result[SHOWS]))
        rows.append(_row(name, result, (*tested, *others)))
    return table_of(("recipe", *COUNTS, right, "95 %", wrong, "95 %", shown, missed, SHOWS, "s/question"), rows)


def _sure(recipes: JsonObject) -> Table:
    """Sure answers: their number, their share of all questions, and the share of them that is right."""
    rows = []
    for name, result in recipes.items():
        if sure := result.get("sure"):
            shares = (share(sure["coverage"]), share(sure["precision"]))
            rows.append((name, str(sure["answers"]), *shares, _ends(sure["interval"])))
    return table_of((f"confidence of {LIKELY} or more", "answers", "of all", "right", "95 %"), rows)


def _by_type(name: str, result: JsonObject) -> Table:
    rows = [
        (kind, str(result["questions_by_type"][kind]), *(share(shares[one]) for one in Outcome))
        for kind, shares in result.get("by_type", {}).items()
    ]
    return table_of((name, "n", *Outcome), rows)


def _row(name: str, result: JsonObject, cells: Iterable[str]) -> tuple[str, ...]:
    """The cells of a recipe between its counts and its seconds."""
    seconds = f"{sum(result['seconds_per_question'].values()):.3f}"
    return (name, *(str(result[key]) for key in COUNTS), *cells, seconds)


def _ends(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.2f}-{interval[1]:.2f}"


def failures(report: EvaluationReport) -> list[Text]:
    """A line per failed question, with the reason; of many, only the first."""
    lines = [
        plain(f"failed: {name}, question {question}: {reason}")
        for name, recipe in report.recipes
        for question, reason in recipe.failures
    ]
    return first_of(lines, SHOWN_NOTES, "; --work keeps them all")


def share(value: float | None) -> str:
    """A share with three decimals; - for none."""
    return "-" if value is None else f"{value:.3f}"
