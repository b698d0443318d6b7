"""Measures every recipe on every data set, by rules and by the oracle: the figures of the README and of docs/results.md.

    python -m benchmarks.matrix --work DIR [--data A,B] [--recipes A,B] [--limit N] [--oracle-limit N]
    python -m benchmarks.matrix --tables
    python -m benchmarks.matrix --check

The first measures, in one process per data set and language, and enters the rows into `results/matrix.json`. It replaces rows of
the same recipe, data, language and number of questions, and reuses what `hoptrail evaluate` has measured in DIR/NAME. The second
writes the tables of the two documents from that file and, below them, those of `results/ladder.json` (`ladder.py --out`); the
third fails if the documents have other tables. The oracle gives a gold answer exactly where the retrieved evidence supports it:
the share it answers is what a perfect reader could answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import ladder
from benchmarks.common import ROOT, Origin, data_folder, evaluated, markdown, origin_of_data, parser

DATA = ("2wiki", "hotpotqa", "musique", "multihoprag", "strategyqa")
QUESTIONS, ORACLE_QUESTIONS = 200, 100
RECIPES = (
    "bm25", "dense", "hybrid", "closed-book", "cot", "selfask", "ircot", "iter-retgen", "flare", "hipporag", "graphrag",
    "lightrag", "raptor", "sirerag", "chainrag", "hirag", "comprag", "sunar", "trail",
)  # fmt: skip
SHOWN = ("bm25", "hybrid", "sirerag", "chainrag", "hirag", "comprag", "sunar", "trail", "trail:guessing")
"""The recipes of the README's table."""
RESULTS = ROOT / "results" / "matrix.json"
README = ROOT / "README.md"
DOCUMENT = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- table from results/ -->", "<!-- end of table -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One recipe on one data set: shares of 1, means per question; None for what is not measured. `answerable` is
    the share that the oracle answered of the questions with gold passages. `by_hops` has recall@5 and full@5 by number of hops.
    """

    data: str
    recipe: str
    language: str
    questions: int
    failed: int
    abstained: int
    recall_5: float | None
    recall_10: float | None
    full_5: float | None
    em: float
    f1: float
    f1_low: float
    f1_high: float
    calls: float
    tokens: float
    tasks: float
    seconds: float
    answerable: float | None
    by_hops: Mapping[str, tuple[float, float]]
    of: Origin

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.data, self.recipe, self.language, self.questions


def measure(name: str, recipes: str, language: str, limit: int, work: Path) -> list[Row]:
    """Run `hoptrail evaluate` in a separate process; exits if it fails."""
    options = ["--recipes", recipes, "--language", language, "--limit", str(limit), "--work", str(work / name)]
    reports = evaluated(data_folder(name), *options)
    return [_row(name, recipe, language, found) for recipe, found in reports.items()]


def _row(name: str, recipe: str, language: str, found: Mapping[str, Any]) -> Row:
    questions = found["n"]
    retrieval = found.get("retrieval") or {}
    low, high = found["intervals"]["f1"]
    return Row(
        data=name,
        recipe=recipe,
        language=language,
        questions=questions,
        recall_5=retrieval.get("recall@5"),
        recall_10=retrieval.get("recall@10"),
        full_5=retrieval.get("full@5"),
        f1_low=low,
        f1_high=high,
        **{name: found[name] for name in ("failed", "abstained", "em", "f1")},
        **{name: found[name] / questions for name in ("calls", "tokens", "tasks")},
        seconds=sum(found["seconds_per_question"].values()),
        answerable=found.get("oracle_answerable"),
        by_hops={hops: (one["recall@5"], one["full@5"]) for hops, one in found["by_hops"].items()},
        of=replace(origin_of_data(name), settings=found["fingerprint"]),
    )


def stored() -> list[Row]:
    """The rows measured so far."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return [Row(**{**row, "of": Origin(**row["of"])}) for row in rows]


def enter(new: Iterable[Row]) -> None:
    """Enter rows into the results, in the order of DATA and RECIPES, replacing earlier ones."""
    rows = {row.place: row for row in (*stored(), *new)}
    order = sorted(rows.values(), key=lambda one: (*_rank(one), one.language, one.questions))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(one) for one in order], indent=1) + "\n", encoding="utf-8")


def _rank(row: Row) -> tuple[int, int, str]:
    known = RECIPES.index(row.recipe) if row.recipe in RECIPES else len(RECIPES)
    return DATA.index(row.data), known, row.recipe


def summary(rows: Sequence[Row]) -> str:
    """The table of the README: recall@5, F1 by rules, oracle share (* for fewer questions), tasks per question."""
    data = DATA[:3]
    header = ["recall@5 / F1 / oracle", *data, "tasks a question"]
    lines = [
        [f"`{recipe}`", *(_three(rows, name, recipe) for name in data), _tasks(rows, data, recipe)] for recipe in SHOWN
    ]
    return markdown(header, [line for line in lines if any(cell != "–" for cell in line[1:])])


def _three(rows: Sequence[Row], name: str, recipe: str) -> str:
    ours = {row.language: row for row in rows if (row.data, row.recipe) == (name, recipe)}
    if "offline" not in ours:
        return "–"
    by_rules, oracle = ours["offline"], ours.get("oracle")
    few = "*" if by_rules.questions < QUESTIONS else ""
    return (
        f"{percent(by_rules.recall_5)} / {percent(by_rules.f1)} / {percent(oracle.answerable if oracle else None)}{few}"
    )


def _tasks(rows: Sequence[Row], data: Sequence[str], recipe: str) -> str:
    ours = [row.tasks for row in rows if row.recipe == recipe and row.language == "offline" and row.data in data]
    return f"{sum(ours) / len(ours):.1f}" if ours else "–"


def full(rows: Sequence[Row], name: str) -> str:
    """The table with all figures of one data set."""
    header = [
        "recipe", "questions", "recall@5", "recall@10", "full@5", "EM", "F1", "95 %", "no answer", "tasks", "s", "oracle",
        "tasks (oracle)",
    ]  # fmt: skip
    oracle = {row.recipe: row for row in rows if row.data == name and row.language == "oracle"}
    return markdown(
        header,
        [
            [
                f"`{row.recipe}`",
                str(row.questions),
                *map(percent, (row.recall_5, row.recall_10, row.full_5, row.em, row.f1)),
                f"{percent(row.f1_low)}–{percent(row.f1_high)}",
                f"{row.abstained + row.failed}",
                f"{row.tasks:.1f}",
                f"{row.seconds:.2f}",
                percent(oracle[row.recipe].answerable if row.recipe in oracle else None),
                f"{oracle[row.recipe].tasks:.1f}" if row.recipe in oracle else "–",
            ]
            for row in rows
            if row.data == name and row.language == "offline"
        ],
    )


def by_hops(rows: Sequence[Row], name: str) -> str:
    """Recall@5 / full@5 of one data set by number of hops; empty if all questions have the same number."""
    split = [row for row in rows if row.data == name and row.language == "offline" and len(row.by_hops) > 1]
    hops = sorted({one for row in split for one in row.by_hops})
    lines = [
        [f"`{row.recipe}`", *(" / ".join(map(percent, row.by_hops.get(one, (None, None)))) for one in hops)]
        for row in split
    ]
    return markdown(["recall@5 / full@5", *(f"{one} hops" for one in hops)], lines) if split else ""


def percent(share: float | None) -> str:
    """A share as a percentage with one decimal."""
    return "–" if share is None else f"{100 * share:.1f}"


def with_tables(text: str, tables: Iterator[str]) -> str:
    """A document with each of its marked tables replaced by the next of `tables`."""
    parts = text.split(BEGIN)
    return parts[0] + "".join(f"{BEGIN}\n\n{next(tables)}\n\n{END}{part.partition(END)[2]}" for part in parts[1:])


def largest(rows: Iterable[Row]) -> list[Row]:
    """Of rows that differ only in their number of questions, the one with the most."""
    found: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        known = found.setdefault((row.data, row.recipe, row.language), row)
        if row.questions > known.questions:
            found[row.data, row.recipe, row.language] = row
    return list(found.values())


def documents() -> Iterator[tuple[Path, str]]:
    """The documents with the tables of the results."""
    rows = largest(stored())
    recipes = ["\n\n".join(filter(None, (full(rows, name), by_hops(rows, name)))) for name in DATA]
    parts = ladder.tables(ladder.stored())
    for path, tables in ((README, [summary(rows)]), (DOCUMENT, [*recipes, *parts])):
        yield path, with_tables(path.read_text(encoding="utf-8"), iter(tables))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, metavar="DIR", help="indexes and results are kept in DIR/NAME")
    arguments.add_argument("--data", default=",".join(DATA), metavar="A,B")
    arguments.add_argument("--recipes", default=",".join(RECIPES), metavar="A,B")
    arguments.add_argument("--limit", type=int, default=QUESTIONS, metavar="N")
    arguments.add_argument(
        "--oracle-limit", type=int, default=ORACLE_QUESTIONS, metavar="N", help="0: leave the oracle out"
    )
    arguments.add_argument("--tables", action="store_true", help="write the tables of README.md and docs/results.md")
    arguments.add_argument("--check", action="store_true", help="fail if these tables differ from the results")
    options = arguments.parse_args()
    if options.check:
        stale = [path.name for path, text in documents() if path.read_text(encoding="utf-8") != text]
        sys.exit(
            f"{', '.join(stale)}: tables differ from the results; run `python -m benchmarks.matrix --tables`"
            if stale
            else 0
        )
    if options.work is None and not options.tables:
        sys.exit("use --work DIR to measure, or --tables to write the tables of stored results")
    for name in options.data.split(",") if options.work else ():
        for language, limit in (("offline", options.limit), ("oracle", options.oracle_limit)):
            if limit:
                enter(measure(name, options.recipes, language, limit, options.work))
    if options.tables:
        for path, text in list(documents()):
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
