"""The command that compares the papers' tables with measurements here. `cli.py` registers it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hoptrail.atomic_write import replace_file
from hoptrail.errors import UsageError
from hoptrail.recipes.papers import PREFIX
from hoptrail.serving.cli_comparing import show_table
from hoptrail.serving.options import AsJson, SettingsFile, console_of, print_json
from hoptrail.serving.render import plain

if TYPE_CHECKING:
    from hoptrail.evaluation.published_tables import Cell, Table


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
    if run:
        if data is None or work is None or not tables:
            raise UsageError("--run needs the tables, --data (the folder with the data sets) and --work.")
        if not data.is_dir():
            raise UsageError(f"--data {data} is not a folder: name the one that holds the data sets.")
        for table in named:
            _run(table, data, work, settings)
    own = load_settings(settings)
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


def _run(table: Table, data: Path, work: Path, settings: Path | None) -> None:
    """Make every unfinished run, one at a time; print the reason for each one skipped."""
    from hoptrail.evaluation.reproducing import digest_of_settings, planned_runs, runs_left_out
    from hoptrail.models.environment import configured_model
    from hoptrail.settings import load_settings

    missing_endpoint, own = _missing_endpoint(settings), load_settings(settings)
    model = configured_model(own.chat.model)
    planned_here = planned_runs(table, data, work, model, digest_of_settings(own))
    left_out = runs_left_out(table, data, model)
    if not planned_here and not left_out:
        _print_message(f"{table.id}: no part of it can be run here; its cells say why.")
    for run, reason in left_out.items():
        _print_message(f"not run ({reason}): {run}")
    for planned in planned_here:
        arguments = _with_user_settings(planned.arguments, settings, work)
        command = f"hoptrail {' '.join(arguments)}"
        if planned.out.is_file():
            continue
        if planned.asks_model and missing_endpoint:
            _print_message(f"not run ({missing_endpoint}): {command}")
            continue
        _print_message(command)
        ended = subprocess.run(
            [sys.executable, "-m", "hoptrail.serving.cli", *arguments],
            check=False,
            stdout=sys.stderr,  # our standard output is for the cells only
        )
        if ended.returncode:
            raise typer.Exit(ended.returncode)


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


def _missing_endpoint(settings: Path | None) -> str:
    """Why no model can be called; empty if one can."""
    from hoptrail.models.environment import find_address
    from hoptrail.settings import load_settings

    chat = load_settings(settings).chat
    try:
        find_address("it", chat.base_url, chat.model, chat.api_key_variable)
    except UsageError as error:
        return str(error)
    return ""


def _print_message(line: str) -> None:
    console_of(error=True).print(plain(line), soft_wrap=True)


def _show_counts(tables: tuple[Table, ...], cells: dict[str, tuple[Cell, ...]]) -> None:
    from hoptrail.evaluation.published_tables import Status
    from hoptrail.evaluation.reproducing import count_statuses
    from hoptrail.evaluation.run_tables import TextTable

    counts = {table.id: count_statuses(cells[table.id]) for table in tables}
    rows = [(table.id, *(str(counts[table.id][status]) for status in Status)) for table in tables]
    total = count_statuses(cell for own in cells.values() for cell in own)
    rows.append(("all", *(str(total[status]) for status in Status)))
    title = f"{sum(total.values())} published values in {len(tables)} tables"
    note = "`hoptrail reproduce TABLE` shows the cells of a table, with the run that would produce each."
    header = ("table", *(status.name.replace("_", " ").lower() for status in Status))
    show_table(TextTable(title, header, tuple(rows), note))


def _show_cells(table: Table, cells: tuple[Cell, ...]) -> None:
    from hoptrail.evaluation.run_tables import TextTable

    rows = tuple(
        (
            cell.row,
            cell.column,
            f"{cell.value:g}",
            *("-" if found is None else f"{found:.2f}" for found in (cell.measured, cell.by_rules)),
            cell.status,
            cell.why,
        )
        for cell in cells
    )
    runs = dict.fromkeys(cell.run for cell in cells if cell.run)
    note = f"Published: {table.setting}. Here: {table.here}. Tolerance {table.tolerance:g}."
    show_table(
        TextTable(
            f"{table.paper}: {table.title}",
            ("row", "column", "published", "here", "by rules", "status", "why"),
            rows,
            note,
        )
    )
    for run in runs:
        console_of().print(Text(run), soft_wrap=True)
