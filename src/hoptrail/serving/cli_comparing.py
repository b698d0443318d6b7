"""The commands that analyse runs of `hoptrail evaluate`: compare, trail diff, errors; and reproduce, for the papers' tables.

`cli.py` registers them.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hoptrail import interrupts
from hoptrail.atomic_write import replace_file
from hoptrail.errors import UsageError
from hoptrail.recipes.papers import PREFIX
from hoptrail.serving.options import AsJson, SettingsFile, console_of, print_json, say, write_text
from hoptrail.serving.render import plain

if TYPE_CHECKING:
    from hoptrail.evaluation.published_tables import Cell
    from hoptrail.evaluation.published_tables import Table as PublishedTable
    from hoptrail.evaluation.run_tables import TextTable
    from hoptrail.settings import Settings

trail = typer.Typer(help="Analyse the trails of runs.", no_args_is_help=True, rich_markup_mode=None)

Examples = Annotated[int, typer.Option("--examples", metavar="N", min=0, help="Show the first N questions of each.")]

_NUMERIC = frozenset("0123456789.,+-*[] ")


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders in DIR/runs; the first is the baseline.")
    ],
    markdown: Annotated[Path | None, typer.Option("--markdown", metavar="FILE.md", help="Write the tables.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Write every mean and test.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE.html", help="Write a page with plots.")] = None,
) -> None:
    """Compare runs: means with intervals and significant differences, also by hops and by type."""
    from hoptrail.evaluation import run_comparison, run_tables
    from hoptrail.evaluation.run_folder import open_run

    opened = [open_run(run) for run in runs]
    comparison = run_comparison.compare(opened)
    if markdown is not None:
        write_text(markdown, run_tables.to_markdown(comparison))
    if csv is not None:
        write_text(csv, run_tables.to_csv(comparison))
    if html is not None:
        from hoptrail.evaluation.plots import to_page

        write_text(html, to_page(comparison, opened))
    show_tables(run_tables.tables_of(comparison))


@trail.command("diff")
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A folder in DIR/runs.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another, over the same questions.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare all units of the hits instead of their gold passages.")
    ] = False,
    examples: Examples = 3,
    as_json: AsJson = False,
) -> None:
    """Find where the trails of two runs first differ: at which stage, how often, and whether it helped."""
    from hoptrail.evaluation import run_comparison, run_tables, trail_diff
    from hoptrail.evaluation.run_folder import open_run

    runs = [open_run(first), open_run(second)]
    departures, labels = trail_diff.diff_trails(*runs, exact=exact), run_comparison.labels_of(runs)
    if as_json:
        print_json(run_tables.departures_json(departures, labels))
    else:
        show_tables(run_tables.departures_tables(departures, labels, examples))


def errors(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders in DIR/runs.")],
    examples: Examples = 3,
    as_json: AsJson = False,
) -> None:
    """Count the first causes of wrong answers."""
    from hoptrail.evaluation import error_analysis, run_comparison, run_tables
    from hoptrail.evaluation.run_folder import open_run

    opened = [open_run(run) for run in runs]
    analyses, labels = list(map(error_analysis.analyse_errors, opened)), run_comparison.labels_of(opened)
    if as_json:
        print_json(run_tables.errors_json(analyses, labels))
    else:
        show_tables(run_tables.errors_tables(analyses, labels, examples))


def show_tables(tables: Iterable[TextTable]) -> None:
    """Print tables with words aligned left and numbers right."""
    for table in tables:
        shown = Table(box=None, pad_edge=False)
        for name, column in zip(table.header, zip(*table.rows, strict=True), strict=True):
            numeric = all(set(cell) <= _NUMERIC for cell in column)
            shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*(plain(cell) for cell in row))
        note = [Text(table.note, style="dim")] if table.note else []
        console_of().print(Group(Text(table.title, style="bold"), shown, *note, Text("")))


def reproduce(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE...", help="Its cells; default: count all cells.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Make possible runs; with an endpoint, also those that call it.")
    ] = False,
    data: Annotated[Path | None, typer.Option("--data", metavar="DIR", help="The folder of the data sets.")] = None,
    work: Annotated[
        Path | None, typer.Option("--work", metavar="DIR", help="Keep runs here, and read their results.")
    ] = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Compare the papers' tables: what is reproduced here, what differs, and what it would take."""
    from hoptrail.evaluation.published_tables import cells_of, tables_named
    from hoptrail.evaluation.reproducing import digest_of_settings, found_values
    from hoptrail.models.environment import configured_model
    from hoptrail.settings import load_settings

    named = tables_named(tables or [])
    own = load_settings(settings)
    if run:
        if data is None or work is None or not tables:
            raise UsageError("--run needs the tables, --data (the folder with the data sets) and --work.")
        if not data.is_dir():
            raise UsageError(f"--data {data} is not a folder: name the one that holds the data sets.")
        for table in named:
            _run(table, data, work, settings, own)
    model, digest = configured_model(own.chat.model), digest_of_settings(own)
    found = {table.id: found_values(table, work, model, data, digest) if work else None for table in named}
    cells = {table.id: cells_of(table, found[table.id]) for table in named}
    if as_json:
        print_json([asdict(cell) for own in cells.values() for cell in own])
    elif tables:
        for table in named:
            _show_cells(table, cells[table.id])
    else:
        _show_counts(named, cells)


def _run(table: PublishedTable, data: Path, work: Path, settings: Path | None, own: Settings) -> None:
    """Make every unfinished run, one at a time; print the reason for each one skipped."""
    from hoptrail.evaluation.reproducing import digest_of_settings, planned_runs, runs_left_out
    from hoptrail.models.environment import configured_model

    missing_endpoint, model = _missing_endpoint(own), configured_model(own.chat.model)
    planned_here = planned_runs(table, data, work, model, digest_of_settings(own))
    left_out = runs_left_out(table, data, model)
    if not planned_here and not left_out:
        say(f"{table.id}: no part of it can be run here; its cells say why.")
    for run, reason in left_out.items():
        say(f"not run ({reason}): {run}")
    for planned in planned_here:
        arguments = _with_user_settings(planned.arguments, settings, work)
        command = f"hoptrail {' '.join(arguments)}"
        if planned.out.is_file():
            continue
        if planned.asks_model and missing_endpoint:
            say(f"not run ({missing_endpoint}): {command}")
            continue
        say(command)
        if code := _run_command([sys.executable, "-m", "hoptrail", *arguments]):
            raise typer.Exit(code)


def _run_command(command: Sequence[str]) -> int:
    """Run a command, to which signals are passed on. Returns its exit code."""
    run = subprocess.Popen(
        command,
        stdout=sys.stderr,  # our standard output is for the cells only
        start_new_session=True,  # keeps Ctrl-C away: it would come twice
    )
    with interrupts.answered(lambda: run.send_signal(signal.SIGINT), patience=None):
        return run.wait()


def _with_user_settings(arguments: Sequence[str], settings: Path | None, work: Path) -> list[str]:
    """The arguments of a run with the user's settings, on top of a paper's if the run uses these."""
    from hoptrail.evaluation.reproducing import OUT_FOLDER

    if settings is None:
        return list(arguments)
    paper = next((word for word in arguments if word.startswith(PREFIX)), None)
    if paper is None:
        return [*arguments, "--settings", str(settings)]
    if str(settings).startswith(PREFIX):
        return list(arguments)
    name = paper.removeprefix(PREFIX)
    both = work / OUT_FOLDER / f"{name}.toml"
    both.parent.mkdir(parents=True, exist_ok=True)
    replace_file(both, f'paper = "{name}"\n{settings.read_text(encoding="utf-8")}'.encode())
    return [str(both) if word == paper else word for word in arguments]


def _missing_endpoint(own: Settings) -> str:
    """Why no model can be called; empty if one can."""
    from hoptrail.models.environment import find_address

    chat = own.chat
    try:
        find_address("it", chat.base_url, chat.model, chat.api_key_variable)
    except UsageError as error:
        return str(error)
    return ""


def _show_counts(tables: tuple[PublishedTable, ...], cells: dict[str, tuple[Cell, ...]]) -> None:
    from hoptrail.evaluation.published_tables import Status
    from hoptrail.evaluation.run_tables import TextTable

    counts = {table.id: Counter(cell.status for cell in cells[table.id]) for table in tables}
    rows = [(table.id, *(str(counts[table.id][status]) for status in Status)) for table in tables]
    total = Counter(cell.status for own in cells.values() for cell in own)
    rows.append(("all", *(str(total[status]) for status in Status)))
    title = f"{total.total()} published values in {len(tables)} tables"
    note = "`hoptrail reproduce TABLE` shows the cells of a table, with the run that would produce each."
    header = ("table", *(status.name.replace("_", " ").lower() for status in Status))
    show_tables([TextTable(title, header, tuple(rows), note)])


def _show_cells(table: PublishedTable, cells: tuple[Cell, ...]) -> None:
    from hoptrail.evaluation.run_tables import TextTable

    rows = []
    for cell in cells:
        ours = ("-" if found is None else f"{found:.2f}" for found in (cell.measured, cell.by_rules))
        rows.append((cell.row, cell.column, f"{cell.value:g}", *ours, cell.status, cell.why))
    header = ("row", "column", "published", "here", "by rules", "status", "why")
    note = f"Published: {table.setting}. Here: {table.here}. Tolerance {table.tolerance:g}."
    show_tables([TextTable(f"{table.paper}: {table.title}", header, tuple(rows), note)])
    for run in dict.fromkeys(cell.run for cell in cells if cell.run):
        console_of().print(Text(run), soft_wrap=True)
