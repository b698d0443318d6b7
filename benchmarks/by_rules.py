"""Runs the rows of the papers' tables without a model, by rules, and enters the results into `published.toml`.

    python -m benchmarks.by_rules --work DIR [--tables A,B] [--data A,B] [--limit N] [--no-run]

Runs every row whose recipe does not depend on a particular model, with the language `offline` and the settings of its paper,
over the first N development questions that come with passages. These passages form one corpus, or one per question where the
paper does that; MultiHop-RAG, which has none, is searched whole. So small a corpus is easier to search than the papers': compare
only rows of one table. SiReRAG's rows need the extra `raptor`. Results in DIR are not measured again; `--no-run` enters them and
measures nothing. A row is entered once all its data sets are measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.common import ROOT, data_folder, evaluated, parser, part_of

from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Dataset, load_dataset
from hoptrail_papers.presets import PREFIX
from hoptrail_papers.published_tables import AVERAGE, SHARES, PublishedValue, Table, cells_of, tables_named
from hoptrail_papers.reproducing import value_of

TABLES = (
    "sirerag-4,sirerag-5,sirerag-6,sirerag-8,sirerag-9,sirerag-11-single,sirerag-11,chainrag-main,chainrag-ablation,"
    "hirag-2,hirag-4,hirag-6,hirag-7,comprag"
)
"""Tables that compare systems by their answers, except `hirag-5`, which compares two corpora that are not available."""
WITH_PASSAGES = {"2wiki": "2wiki_context"}
"""The folder where the questions of a set come with their passages, if it is not the set's own."""
BY_RULES = "offline rules and the local encoder; "
FLAGS = ("--own-context", "--single-hops")
PUBLISHED = ROOT / "src" / "hoptrail_papers" / "published.toml"


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluation process, without its recipes: a data set, a paper's settings, and flags."""

    data: str
    settings: str
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        return "-".join([self.data, self.settings or "default", *(flag.strip("-") for flag in self.flags)])


def run_of(cell: PublishedValue) -> Run:
    words = cell.run.split()
    settings = next((word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)), "")
    return Run(WITH_PASSAGES.get(cell.data, cell.data), settings, tuple(flag for flag in FLAGS if flag in words))


def cells_by_rules(table: Table) -> list[PublishedValue]:
    """The cells that a run by rules can fill; averages are means of these."""
    return [
        cell
        for cell in cells_of(table)
        if cell.run.startswith("hoptrail evaluate ")
        and "--set " not in cell.run
        and "--language chat" in cell.run
        and not (cell.model or cell.indexed_by)
        and (cell.column.isdecimal() or cell.column.partition(" ")[2] in SHARES)
        and cell.data != AVERAGE
        and any((common.DATA / run_of(cell).data).glob("corpus.jsonl*"))
    ]


def small_set(name: str, work: Path, limit: int) -> Dataset:
    """The first questions that come with passages, over these passages; the whole set if none does."""
    whole = load_dataset(data_folder(name))
    chosen = [question for question in whole.questions if question.candidates][:limit]
    if not chosen:
        return load_dataset(data_folder(name), None, limit)
    return part_of(whole, chosen, {passage for one in chosen for passage in one.passages}, work / "data" / name)


def measure(run: Run, recipes: Sequence[str], work: Path, limit: int) -> None:
    """Run `hoptrail evaluate` in a separate process; exits if it fails."""
    dataset = small_set(run.data, work, limit)
    options = ["--recipes", ",".join(recipes), "--language", "offline", "--limit", str(limit), *run.flags]
    if run.settings:
        options += ["--settings", f"{PREFIX}{run.settings}"]
    reports = evaluated(dataset.corpus.parent, *options, "--work", str(work / (run.settings or "default")))
    reports = {**measured(run, work), **reports}
    (work / f"{run.name}.json").write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")


def measured(run: Run, work: Path) -> dict[str, Any]:
    file = work / f"{run.name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def rules_of(table: Table, cells: Sequence[PublishedValue], work: Path, limit: int) -> tuple[dict[str, float], str]:
    """The values of a row's cells by column, and a note on how they were made; empty unless all runs of the row were measured."""
    found: dict[str, float] = {}
    over: dict[str, None] = {}
    for cell in cells:
        report = measured(run_of(cell), work).get(cell.recipe)
        if report is None:
            return {}, ""
        value = value_of(cell, report)
        if value is not None:
            found[cell.column] = round(value, 2)
            over[_told(run_of(cell), report["n"], work, limit)] = None
    for measure in SHARES:
        average = f"{AVERAGE} {measure}"
        parts = [column for column in table.columns if column.endswith(f" {measure}") and column != average]
        if average in table.columns and all(column in found for column in parts):
            found[average] = round(mean([found[column] for column in parts]), 2)
    note = f"{BY_RULES}{'; '.join(over)}; `python -m benchmarks.by_rules --tables {table.id} --limit {limit}`"
    return {column: found[column] for column in table.columns if column in found}, note


def _told(run: Run, asked: int, work: Path, limit: int) -> str:
    dataset = small_set(run.data, work, limit)
    kind = "sub-questions that stand alone" if "--single-hops" in run.flags else "development questions"
    each = "each over its own passages" if "--own-context" in run.flags else f"over {dataset.passages:,} passages"
    return f"{run.data}: {asked} {kind}, {each}"


def entered(text: str, table: str, row: str, rules: Mapping[str, float], rules_by: str) -> str:
    """The text of `published.toml` with new values by rules in one row."""
    lines = text.split("\n")
    start = lines.index(f'name = "{row}"', lines.index(f'id = "{table}"'))
    end = lines.index("", start)
    other_lines = [line for line in lines[start:end] if not line.startswith(("rules = ", "rules_by = "))]
    values = ", ".join(f'"{column}" = {value:.2f}' for column, value in rules.items())
    other_lines += [f"rules = {{ {values} }}", f"rules_by = {json.dumps(rules_by)}"]
    return "\n".join([*lines[:start], *other_lines, *lines[end:]])


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR", help="corpora, indexes and results")
    arguments.add_argument("--tables", default=TABLES, metavar="A,B")
    arguments.add_argument("--data", default="", metavar="A,B", help="measure only these data sets")
    arguments.add_argument("--limit", type=int, default=50, metavar="N", help="number of questions of each data set")
    arguments.add_argument("--no-run", action="store_true", help="enter stored results, and measure nothing")
    options = arguments.parse_args()
    tables = tables_named(options.tables.split(","))
    cells = {table.id: cells_by_rules(table) for table in tables}
    runs: dict[Run, dict[str, None]] = {}
    for cell in (cell for own in cells.values() for cell in own):
        runs.setdefault(run_of(cell), {})[cell.recipe] = None
    if not options.no_run:
        options.work.mkdir(parents=True, exist_ok=True)
        for run, recipes in runs.items():
            if options.data and run.data not in options.data.split(","):
                continue
            measure(run, tuple(recipes), options.work, options.limit)
    text = PUBLISHED.read_text(encoding="utf-8")
    for table in tables:
        for row in table.row:
            own = [cell for cell in cells[table.id] if cell.row == row.name]
            values, told = rules_of(table, own, options.work, options.limit)
            if values:
                text = entered(text, table.id, row.name, values, told)
    PUBLISHED.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
