"""The command that serves an agent over standard input and output. `cli.py` registers it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.serving.options import IndexFolder, LanguageName, SettingsFile, named, open_index


def mcp(
    folder: IndexFolder,
    recipes: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="RECIPE,...", help="Build what these recipes need for added documents."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer no tools that change documents.")] = False,
    language: LanguageName = None,
    settings: SettingsFile = None,
) -> None:
    """Serve one agent over standard input and output (Model Context Protocol)."""
    if find_spec("mcp") is None:
        raise UsageError("this needs the package mcp: install it with `pip install 'hoptrail[mcp]'`.")
    import asyncio

    from hoptrail.serving.server.mcp_server import serve_stdio
    from hoptrail.serving.server.workspaces import Workspace

    workspace = Workspace("main", open_index(folder, settings, language), named(recipes))
    asyncio.run(serve_stdio(workspace, may_change=not read_only))
