"""The commands `serve` (workspaces, keys and address from its options) and `mcp`. `cli.py` registers them."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

import typer

from hoptrail.corpus.locations import find_index, index_folder, other_file
from hoptrail.errors import UsageError
from hoptrail.index.index import Index
from hoptrail.plugins import found, loaded
from hoptrail.recipes.registry import recipe_names
from hoptrail.serving import options
from hoptrail.serving.options import option
from hoptrail.serving.render import render_indexing
from hoptrail.system import interrupts

if TYPE_CHECKING:
    from hoptrail.index.settings import Settings
    from hoptrail.index.syncing import IndexingReport
    from hoptrail.serving.server.workspaces import Workspace

STOPPING = "stopping: requests in progress are finished, and what was indexed is kept. Ctrl-C again ends at once."
OPEN_SECONDS = 1.0  # seconds until the page is opened, after which the server listens

Served = Annotated[
    str | None,
    typer.Argument(
        metavar="FOLDER", help="Documents, to index and watch; an index; or the address of a published one."
    ),
]
Workspaces = Annotated[
    list[str] | None, option("--workspace", "NAME=INDEX", "A named index, also a new one; may be repeated.")
]
AgentsMayChange = Annotated[
    bool, option("--agents-may-change", None, "Offer agents tools that add and remove documents.")
]


def serve(
    where: Served = None,
    folder: Annotated[str | None, option("--index", "INDEX", "The same as FOLDER; it may be a new index.")] = None,
    workspaces: Workspaces = None,
    host: Annotated[str, option("--host", "ADDRESS", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("--port", "N", "The port.", min=0, max=65535)] = 8765,
    names: Annotated[list[str] | None, option("--name", "NAME,...", "Further host names of this server.")] = None,
    key_file: Annotated[Path | None, option("--key-file", "FILE", "Lines `WORKSPACE KEY`.")] = None,
    exclude: options.Exclude = None,
    no_gitignore: options.NoGitignore = False,
    recipes: options.BuiltFor = None,
    agents_may_change: AgentsMayChange = False,
    language: options.LanguageName = None,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Serve a folder of documents as a web page, with an API, and keep its index up to date."""
    from hoptrail.serving.server.app import LOOPBACK, create_app
    from hoptrail.serving.server.http_server import check_address, log_to_stderr, serve_app
    from hoptrail.serving.server.keys import find_keys
    from hoptrail.serving.server.workspaces import Workspace

    if where and where.strip() and "://" not in where and not Path(where).expanduser().exists():
        what_to_do = f"check the path. `--index {where}` serves a new, empty index there."
        raise UsageError(f"there is no folder {where}: {what_to_do}")
    documents = where if where is not None and _is_documents(where) else None
    keyed = partial(options.settings_with, settings, language, keys=options.Given(given, [None, *recipe_names()], []))
    opened = partial(_open, keyed=keyed, exclude=exclude or (), gitignore=not no_gitignore)
    indexes = _indexes([one for one in (where, folder) if one is not None], workspaces or [], opened)
    if documents is None and (exclude or no_gitignore):
        raise UsageError("--exclude and --no-gitignore are for a FOLDER of documents.")
    keys = find_keys(indexes, key_file)
    check_address(host, keys, next(iter(indexes)))
    _refuse_taken(host, port)
    served = [Workspace(name, index, options.named(recipes)) for name, index in indexes.items()]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if port:
        options.say(f"Open {address} in a browser. Ctrl-C ends.")
    log_to_stderr()
    limits, known = served[0].index.settings.server, {*LOOPBACK, host, *options.named(names)}
    app = create_app(served, keys, known, limits, agents_may_change=agents_may_change)
    with _running(served[0], documents, address if port else "") as stopped:
        serve_app(app, host, port, limits, stopped)


def _refuse_taken(host: str, port: int) -> None:
    """Refuse before anything is read. Raises: UsageError: the address cannot be had."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while ")[0]
        raise UsageError(f"cannot listen on {host}, port {port}: {reason}. `--port N` chooses another one.") from error


def _indexes(unnamed: list[str], entries: list[str], opened: Callable[[str], Index]) -> dict[str, Index]:
    """The indexes to serve, `opened` by workspace name; if none is given, that of the current folder or of one above it.
    Raises: UsageError: there is none, an entry is not `NAME=INDEX`, or a name occurs twice.
    """
    if not unnamed and not entries and (found := find_index()) is not None:
        unnamed = [str(found)]
    pairs = [("main", where) for where in unnamed]
    pairs += [(name, where) for name, _, where in (entry.partition("=") for entry in entries)]
    if not pairs or not all(name and where for name, where in pairs):
        raise UsageError(
            "name what to serve: `hoptrail serve FOLDER` for a folder of documents or an index, or one `--workspace NAME=INDEX` "
            "for each of several. INDEX is a folder or the address of a published index."
        )
    if len({name for name, _ in pairs}) < len(pairs):
        raise UsageError("two workspaces have the same name (an index without a name is called main).")
    return {name: opened(where) for name, where in pairs}


def _open(where: str, *, keyed: Callable[[Path], Settings], exclude: Sequence[str], gitignore: bool) -> Index:
    scheme, mark, _ = where.partition("://")
    if not mark:
        folder = index_folder(where)
        place = options.found_or_new(folder) if _is_documents(where) else folder
        return Index(place, keyed(place).excluding(exclude, gitignore=gitignore))
    if scheme not in found("indexes"):
        known = ", ".join(f"{name}://" for name in found("indexes")) or "none"
        raise UsageError(f"no installed package opens addresses of the form {scheme}://; known are: {known}.")
    opened: Index = loaded("indexes", scheme)(where, keyed)
    return opened


def _is_documents(where: str) -> bool:
    """Whether this is a folder with files but no index."""
    return "://" not in where and bool(where.strip()) and other_file(Path(where).expanduser()) is not None


@contextmanager
def _running(workspace: Workspace, documents: str | None, address: str) -> Iterator[Callable[[], bool]]:
    """While the body runs, keep the workspace in step with the folder of documents, if any, and open its page in a browser, if
    there is a terminal. Yields whether a signal has asked to stop.
    """
    with interrupts.answered(partial(options.say, STOPPING), patience=None) as stopped:
        if documents is None:
            yield stopped
            return
        from hoptrail.serving.server.workspaces import watched_folder

        def say_report(report: IndexingReport) -> None:
            if report.did_something:
                options.say(render_indexing(report))

        if address and sys.stderr.isatty():
            import webbrowser

            shown = Timer(OPEN_SECONDS, webbrowser.open, [address])  # once the server listens
            shown.daemon = True
            shown.start()
        with watched_folder(workspace, Path(documents).expanduser(), say_report, stopped):
            yield stopped


def mcp(
    folder: options.IndexFolder,
    recipes: options.BuiltFor = None,
    read_only: Annotated[bool, option("--read-only", None, "Offer no tools that change documents.")] = False,
    language: options.LanguageName = None,
    settings: options.SettingsFile = None,
) -> None:
    """Serve one agent over standard input and output (Model Context Protocol)."""
    if find_spec("mcp") is None:
        raise UsageError("this needs the package mcp: install it with `pip install 'hoptrail[mcp]'`.")
    import asyncio

    from hoptrail.serving.server.mcp_server import serve_stdio
    from hoptrail.serving.server.workspaces import Workspace

    workspace = Workspace("main", options.open_index(folder, settings, language), options.named(recipes))
    asyncio.run(serve_stdio(workspace, may_change=not read_only))
