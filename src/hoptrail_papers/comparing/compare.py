"""`hoptrail compare`: runs beside each other. Commands that analyse runs print their tables by `show_tables`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from hoptrail.serving.options import console_of, option, write_text
from hoptrail.serving.render import table_of

if TYPE_CHECKING:
    from hoptrail_papers.comparing.run_tables import TextTable


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders in DIR/runs; the first is the baseline.")
    ],
    markdown: Annotated[Path | None, option("--markdown", "FILE.md", "Write the tables.")] = None,
    csv: Annotated[Path | None, option("--csv", "FILE.csv", "Write every mean and test.")] = None,
    html: Annotated[Path | None, option("--html", "FILE.html", "Write a page with plots.")] = None,
) -> None:
    """Compare runs: means with intervals and significant differences, also by hops and by type."""
    from hoptrail.evaluation.run_folder import open_run
    from hoptrail_papers.comparing import run_comparison, run_tables

    opened = [open_run(run) for run in runs]
    comparison = run_comparison.compare(opened)
    if markdown is not None:
        write_text(markdown, run_tables.to_markdown(comparison))
    if csv is not None:
        write_text(csv, run_tables.to_csv(comparison))
    if html is not None:
        from hoptrail_papers.comparing.plots import to_page

        write_text(html, to_page(comparison, opened))
    show_tables(run_tables.tables_of(comparison))


def show_tables(tables: Iterable[TextTable]) -> None:
    for table in tables:
        note = [Text(table.note, style="dim")] if table.note else []
        shown = table_of(table.header, table.rows)
        console_of().print(Group(Text(table.title, style="bold"), shown, *note, Text("")))
