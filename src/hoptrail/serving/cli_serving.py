"""The command that serves: workspaces, keys and address from its options. Entered in the command line by `cli.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.index import Index
from hoptrail.publishing.address import Address, is_address
from hoptrail.serving.options import LanguageName, SettingsFile, named, open_index, settings_with
from hoptrail.store.place import index_folder


def serve(
    where: Annotated[
        str | None,
        typer.Argument(metavar="INDEX", help="A folder, or the address of a published index: s3://BUCKET/PATH."),
    ] = None,
    folder: Annotated[str | None, typer.Option("--index", metavar="INDEX", help="The same as an option.")] = None,
    workspaces: Annotated[
        list[str] | None,
        typer.Option("--workspace", metavar="NAME=INDEX", help="A named index; may be given several times."),
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
    from hoptrail.serving.server.app import LOOPBACK, create_app
    from hoptrail.serving.server.keys import find_keys
    from hoptrail.serving.server.running import check_address, log_to_stderr, serve_app
    from hoptrail.serving.server.workspaces import Workspace

    indexes = _indexes([one for one in (where, folder) if one is not None], workspaces or [], settings, language)
    keys = find_keys(indexes, key_file)
    check_address(host, keys, next(iter(indexes)))
    limits = next(iter(indexes.values())).settings.server
    served = [Workspace(name, index, named(recipes)) for name, index in indexes.items()]
    log_to_stderr()
    hosts = {*LOOPBACK, host, *named(names)}
    app = create_app(served, keys, hosts, limits, agents_may_change=agents_may_change)
    serve_app(app, host, port, limits)


def _indexes(alone: list[str], listed: list[str], settings: Path | None, language: str | None) -> dict[str, Index]:
    """The indexes to serve, by the names of their workspaces.

    Raises:
        UsageError: none is named, or an entry is not `NAME=INDEX`, or a name is there twice.
    """
    pairs = [("main", where) for where in alone]
    pairs += [(name, where) for name, _, where in (entry.partition("=") for entry in listed)]
    if not pairs or not all(name and where for name, where in pairs):
        raise UsageError(
            "name what to serve: `hoptrail serve INDEX` for one index, or `--workspace NAME=INDEX` for each of several. INDEX "
            "is a folder or the address of a published index."
        )
    if len({name for name, _ in pairs}) < len(pairs):
        raise UsageError("two workspaces have the same name (an index without a name is called main).")
    return {name: _opened(where, settings, language) for name, where in pairs}


def _opened(where: str, settings: Path | None, language: str | None) -> Index:
    if not is_address(where):
        return open_index(index_folder(where), settings, language)
    from hoptrail.serving.server.published import PublishedIndex, folder_of

    return PublishedIndex(where, settings_with(settings, language, folder_of(Address.of(where))))
