"""The command that serves: workspaces, keys and address from its options. Entered in the command line by `cli.py`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.index import Index
from hoptrail.serving.options import LanguageName, SettingsFile, named, open_index
from hoptrail.store.place import Place

NEEDED = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")


def serve(
    folder: Annotated[
        Place | None,
        typer.Option(
            "--index", metavar="DIR", parser=Place.of, help="The index: a folder, or an address as s3://BUCKET/PATH."
        ),
    ] = None,
    workspaces: Annotated[
        list[str] | None,
        typer.Option("--workspace", metavar="NAME=DIR", help="A named index; may be given several times."),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port.")] = 8765,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME,...", help="Host names that clients use for this server."),
    ] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help="Lines `WORKSPACE KEY`.")] = None,
    recipes: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="RECIPE,...", help="Build what these recipes need for what is added."),
    ] = None,
    agents_may_change: Annotated[
        bool, typer.Option("--agents-may-change", help="Give agents tools that add and remove documents.")
    ] = False,
    language: LanguageName = None,
    settings: SettingsFile = None,
) -> None:
    """Serve the page and the API; keys come from HOPTRAIL_KEY, HOPTRAIL_KEY_NAME or a file."""
    missing = [module for module in NEEDED if find_spec(module) is None]
    if missing:
        raise UsageError(f"serving needs {', '.join(missing)}: install them with `pip install hoptrail[server]`.")
    from hoptrail.serving.server.app import LOOPBACK, create_app
    from hoptrail.serving.server.keys import find_keys
    from hoptrail.serving.server.running import check_address, log_to_stderr, serve_app
    from hoptrail.serving.server.workspaces import Workspace

    indexes = _indexes(folder, workspaces or [], settings, language)
    keys = find_keys(indexes, key_file)
    check_address(host, keys, next(iter(indexes)))
    limits = next(iter(indexes.values())).settings.server
    served = [Workspace(name, index, named(recipes)) for name, index in indexes.items()]
    log_to_stderr()
    hosts = {*LOOPBACK, host, *named(names)}
    app = create_app(served, keys, hosts, limits, agents_may_change=agents_may_change)
    serve_app(app, host, port, limits)


def _indexes(place: Place | None, listed: list[str], settings: Path | None, language: str | None) -> dict[str, Index]:
    """The indexes to serve, by the names of their workspaces.

    Raises:
        UsageError: none is named, or an entry is not `NAME=DIR`, or a name is there twice.
    """
    pairs = [("main", str(place))] if place else []
    pairs += [(name, where) for name, _, where in (entry.partition("=") for entry in listed)]
    if not pairs or not all(name and where for name, where in pairs):
        raise UsageError(
            "name what to serve: `--index DIR` for one index, or `--workspace NAME=DIR` for each of several."
        )
    if len({name for name, _ in pairs}) < len(pairs):
        raise UsageError("two workspaces have the same name (an `--index` is called main).")
    return {name: open_index(Place.of(where), settings, language) for name, where in pairs}
