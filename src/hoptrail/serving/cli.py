"""The command line: one function per command, without logic. Results go to standard output, everything else to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 stopped but resumable, 4 done but some documents could not be read.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from hoptrail.corpus.locations import index_folder, refuse_documents
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import EndpointRefused, HoptrailError, IndexUnavailable, Interrupted, UsageError, exhausted
from hoptrail.index import contract
from hoptrail.index.index import Index
from hoptrail.language.tasks import CHAT
from hoptrail.plugins import found, loaded
from hoptrail.serving import cli_asking, cli_evaluation, cli_serving, options, render, setup
from hoptrail.serving.output import OutputRefused, silence, standard_output
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.index.syncing import IndexingReport

DAILY, EVALUATION, UPKEEP, FURTHER = "Every day", "Evaluation", "Upkeep", "Research, publishing and other packages"
"""The groups of commands in the help, in this order."""


MEANT = {
    **dict.fromkeys(("list", "ls", "status", "info", "documents"), "show"),
    **dict.fromkeys(("delete", "rm", "del", "forget"), "remove"),
    **dict.fromkeys(("add", "update", "sync", "import", "init"), "index"),
    **dict.fromkeys(("find", "grep"), "search"),
    **dict.fromkeys(("chat", "query", "question"), "ask"),
    **dict.fromkeys(("open", "web", "start", "run", "ui"), "serve"),
}
"""What other programs call a command, which is run all the same, and its name here."""


class Grouped(TyperGroup):
    """Lists commands under their headings in the help, and finds those of installed packages (`plugins.py`)."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, those of the engine first."""
        return [*super().list_commands(ctx), *found("commands")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; that of a package is imported only when it is asked for."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in found("commands"):
            return own
        made = loaded("commands", cmd_name)
        if isinstance(made, typer.Typer):
            command: Any = typer.main.get_group(made)
            command.name = cmd_name
        else:
            alone = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
            alone.command(cmd_name)(made)
            command = typer.main.get_command(alone)
        command.rich_help_panel = FURTHER
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whatever other programs call it. A question without a command is answered with `ask`."""
        name, *given = args
        if self.get_command(ctx, name) is None and " " in name:
            ctx.fail(f'There is no command {name!r}. Did you mean `hoptrail ask "{name}"`?')
        if name == "help" and not given:
            options.console_of().print(ctx.get_help(), markup=False, highlight=False)
            ctx.exit()
        if name == "help":
            name, given = given[0], ["--help"]
        if self.get_command(ctx, name) is None:
            name = MEANT.get(name, name)
        return super().resolve_command(ctx, [name, *given])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list per heading, in the order of registration."""
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (DAILY, EVALUATION, UPKEEP, FURTHER)}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            rows[command.rich_help_panel].append((name, (command.help or "").partition("\n\n")[0]))
        for heading, listed in rows.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed)


app = typer.Typer(
    name="hoptrail",
    cls=Grouped,
    help="Answers questions whose answer is spread over several documents, and shows the trail.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"hoptrail {version('hoptrail')}")  # noqa: T201
        raise typer.Exit


@app.callback()
def program(
    *,
    version: Annotated[
        bool, options.option("--version", None, "Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Answers questions whose answer is spread over several documents, and shows the trail."""


@app.command(rich_help_panel=DAILY)
def index(
    sources: Annotated[list[str] | None, typer.Argument(metavar="SOURCE...", help="Files, folders, or JSONL.")] = None,
    folder: options.IndexFoundOrNew = None,
    recipes: options.BuiltFor = None,
    language: options.LanguageName = None,
    rebuild: options.Rebuild = False,
    sync: options.Sync = False,
    watch: options.Watch = False,
    exclude: options.Exclude = None,
    no_gitignore: options.NoGitignore = False,
    estimate: options.Estimate = False,
    on: options.Place = options.LOCAL,
    address: options.RayAddress = "",
    verbose: options.Loudness = None,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Add or update documents; resumable; processes only what changed."""
    sources, built = sources or [], options.named(recipes)
    options.refuse_missing(sources, folder)
    make = bool(sources or recipes) and not estimate
    folder = folder or options.found_or_new(Path.cwd(), make=make, quiet=verbose is False)
    keys, asked = options.Given(given, built or [None], ["server"]), language or (CHAT if estimate else None)
    opened = options.open_index(folder, settings, asked, keys, building=True, rehearsed=estimate)
    if exclude or no_gitignore:
        opened = Index(folder, opened.settings.excluding(exclude or (), gitignore=not no_gitignore))
    alone = on == options.LOCAL and not address and not (watch and (rebuild or estimate))
    _check(opened, None if estimate else language, sources, recipes, refused=(estimate or watch) and not alone)
    if watch:
        _watch(opened, sources, built, sync=sync or None, verbose=verbose)
        return
    if estimate:
        with options.watching() as watcher, options.without_failed_tasks_logged():
            report = opened.estimate(sources, built, watcher, rebuild=rebuild)
        cost = render.render_estimate(report.usage, opened.settings.chat.of("build"))
        options.console_of().print(cost, soft_wrap=True)
        shortfalls = render.render_shortfalls(report, verbose=bool(verbose))
        options.console_of(error=True).print(shortfalls, soft_wrap=True, end="")
    else:  # Ray installs signal handlers when it starts; ours are installed after it and win
        shown = options.watching(quiet=verbose is False)
        with options.open_executor(on, address) as place, shown as watcher, options.without_failed_tasks_logged():
            report = opened.add(sources, built, watcher, rebuild=rebuild, on=place, sync=sync or None)
        _say_report(report, verbose)
    if report.failures:
        raise typer.Exit(options.INCOMPLETE if report.documents else options.FAILED)


def _check(
    opened: Index, language: str | None, sources: list[str], recipes: list[str] | None, *, refused: bool
) -> None:
    """Raises: UsageError: the folder holds documents and no index, there is nothing to do, or options exclude each other."""
    folder, builder = opened.folder, opened.settings.builder
    refuse_documents(folder)
    if language and language != builder:
        raise UsageError(f"--language {language} and language = {builder!r} under [build]: leave one out.")
    if refused:
        raise UsageError(
            "--estimate and --watch cannot be combined with --on or --address, nor --watch with --rebuild or --estimate."
        )
    if not sources and not recipes:
        raise UsageError("name at least one file or folder to index.")
    if not sources and not Snapshot.exists(folder):
        raise UsageError(f"there is no index at {folder} to build more for: name at least one file or folder to index.")


def _say_report(report: IndexingReport, verbose: bool | None) -> None:
    """Print what a run did; if `verbose` is False, as against None, only what failed."""
    if verbose is not False:
        options.say(render.render_indexing(report, verbose=bool(verbose)))
    elif report.failures:
        options.say(render.render_failures(report.failures))


def _watch(opened: Index, sources: list[str], recipes: list[str], *, sync: bool | None, verbose: bool | None) -> None:
    """Index again after each change; print the first report and every later one that did something."""
    from hoptrail.index.watching import watch

    with options.watching(quiet=verbose is False) as watcher, options.without_failed_tasks_logged():
        shown = False
        for report in watch(opened, sources, recipes, watcher, sync=sync):
            if not shown or report.did_something:
                _say_report(report, verbose)
            if not shown and verbose is not False:
                options.say("watching; Ctrl-C ends")
            shown = True


@app.command(rich_help_panel=DAILY)
def remove(
    documents: options.Documents,
    folder: options.IndexFolder,
    quiet: options.Quiet = False,
    settings: options.SettingsFile = None,
) -> None:
    """Remove documents from the index, and everything derived from them alone. Their files stay."""
    with options.watching("removing documents", quiet=quiet):
        removed = options.open_index(folder, settings).withdraw(documents)
    for line in () if quiet else render.render_removed(removed):
        options.say(line)


app.command(rich_help_panel=DAILY)(cli_asking.ask)
app.command(rich_help_panel=DAILY)(cli_asking.search)


@app.command(rich_help_panel=DAILY)
def show(
    folder: options.IndexFolder,
    document: Annotated[str, typer.Argument(metavar="[DOCUMENT]", help="An id, path, folder or title.")] = "",
    as_json: options.AsJson = False,
    settings: options.SettingsFile = None,
) -> None:
    """List the documents of an index by folder, what was not read, and what is stored; or print a document as it was read."""
    opened = options.open_index(folder, settings)
    if document:
        read = opened.documents(document)
        content: JsonObject | list[JsonObject] = [asdict(one) for one in read]
        shown = map(render.render_document, read)
    else:
        contents = opened.contents()
        content, shown = contract.contents_json(contents), map(render.render_contents, [contents])
    if as_json:
        options.print_json(content)
    else:
        for one in shown:
            options.console_of().print(one)


@app.command(rich_help_panel=UPKEEP)
def verify(folder: options.IndexFolder, settings: options.SettingsFile = None) -> None:
    """Compare every file of an index with its checksum, and tell of removed text that is still in its files."""
    opened = options.open_index(folder, settings)
    if owed := opened.owes_erasure():
        options.say(options.OWED)
    options.say(f"{opened.verify()} files match their checksums.")
    if owed:
        raise typer.Exit(options.STOPPED)


@app.command(rich_help_panel=UPKEEP)
def repair(folder: options.IndexFolder, settings: options.SettingsFile = None) -> None:
    """Rebuild damaged parts of an index from its stored documents."""
    with options.watching() as watcher:
        index = options.open_index(folder, settings)
        damaged, unfinished = index.repair(watcher), ", ".join(index.unfinished())
    for name in damaged:
        options.say(f"was damaged: {name}")
    outcome = "the index is complete"
    if unfinished:
        outcome = f"not rebuilt, because repair calls no model: {unfinished}. `hoptrail index --for RECIPE` builds them"
    options.say(f"{len(damaged)} damaged files; {outcome}.")


app.command(rich_help_panel=EVALUATION)(cli_evaluation.evaluate)
app.command(rich_help_panel=EVALUATION)(cli_evaluation.score)
app.command(rich_help_panel=DAILY)(cli_serving.serve)
app.command(rich_help_panel=DAILY)(cli_serving.mcp)


@app.command(rich_help_panel=EVALUATION)
def recipes(as_json: options.AsJson = False) -> None:
    """List the recipes and the structures each needs."""
    from hoptrail.recipes.catalogue import presets_of, recipe_settings
    from hoptrail.recipes.registry import recipe_class, recipe_names

    width = max(map(len, recipe_names()))
    rows, own, others = list[JsonObject](), list[str](), list[str]()
    for name in recipe_names():
        recipe, structures = recipe_class(name), list(recipe_settings(name).structures)
        said = (recipe.__doc__ or "").splitlines()[0]
        rows.append({"name": name, "description": said, "structures": structures, "presets": list(presets_of(name))})
        (own if recipe.__module__.startswith("hoptrail.") else others).append(f"{name:{width}} {said}")
    if as_json:
        options.print_json(rows)
    else:
        papers = "Published systems and their baselines, to compare with; most are made for a chat model:"
        print("\n".join([*own, "", papers, *others]))  # noqa: T201


@app.command(rich_help_panel=UPKEEP)
def replies(
    folder: options.IndexFolder, out: Annotated[Path, options.option("--out", "FILE.jsonl", "The file to write.")]
) -> None:
    """Write the chat model's replies stored in an index as a recording, for `--language replay:FILE`."""
    from hoptrail.models.ledger import FILE, RememberedReplies, write_recording

    remembered = RememberedReplies(folder / FILE)
    if not remembered.path.exists() and not Snapshot.exists(folder):
        raise IndexUnavailable(f"there is no index at {folder}, and no reply is stored there: nothing was written.")
    count = write_recording(remembered.stored(), out)
    options.console_of(error=True).print(render.render_ledger(count, remembered.ledger()))


@app.command(rich_help_panel=UPKEEP)
def doctor(
    folder: Annotated[
        Path | None, options.option("--index", "DIR", "The index whose ledger records the calls.", parser=index_folder)
    ] = None,
    settings: options.SettingsFile = None,
) -> None:
    """Test the chat endpoint, its model, its reply formats and the embeddings, and say how to fix what fails."""
    from hoptrail.index.settings import load_settings
    from hoptrail.serving.doctor import report

    report(load_settings(settings), folder)


app.command(rich_help_panel=UPKEEP)(setup.setup)


@app.command(rich_help_panel=UPKEEP)
def settings(settings: options.SettingsFile = None) -> None:
    """Print every setting with its current value, as the TOML that sets it."""
    from hoptrail.index.settings import load_settings, to_toml

    print(to_toml(load_settings(settings)), end="")  # noqa: T201


def main() -> NoReturn:
    """Run the command line and end the process with one of the five exit codes."""
    try:
        with standard_output():
            code = _run()
    except BrokenPipeError:  # the reader closed the pipe early (`| head`)
        silence()
        code = options.FAILED
    except OutputRefused as error:
        silence()
        code = _report_error(error)
    sys.exit(code)


def _run() -> str | int | None:
    try:
        app(standalone_mode=True)
    except OutputRefused:
        raise
    except SystemExit as ended:
        return ended.code
    except Exception as error:
        shown = exhausted(error) or error
        if not isinstance(shown, HoptrailError):
            raise
    else:
        return 0
    # Only here is the memory of the failed command free again, which reporting a lack of memory needs.
    return _report_error(shown)


def _report_error(error: HoptrailError) -> int:
    options.say(f"hoptrail: {error}")
    if isinstance(error, UsageError):
        return options.WRONG_USAGE
    return options.STOPPED if isinstance(error, Interrupted | EndpointRefused) else options.FAILED
