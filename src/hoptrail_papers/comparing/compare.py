"""`hoptrail compare`: runs beside each other. Commands that analyse runs print their tables by `show_tables`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hoptrail.serving.options import console_of, write_text
from hoptrail.serving.render import plain

if TYPE_CHECKING:
    from hoptrail_papers.comparing.run_tables import TextTable


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
