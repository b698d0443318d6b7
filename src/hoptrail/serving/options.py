"""What the commands share: options, opening an index, progress, output. Contains no command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType

from hoptrail.corpus.locations import find_index, index_folder, index_here, make_index_folder, new_index, writer_now
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import IndexUnavailable, UsageError, disk_errors
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.index import contract
from hoptrail.index.index import Index
from hoptrail.language.tasks import CHAT
from hoptrail.plugins import found, loaded
from hoptrail.recipes.catalogue import changed_keys, needed_structures, presets_of
from hoptrail.recipes.registry import recipe_names, settings_key
from hoptrail.serving.render import near, plain
from hoptrail.structures.progress_tracker import Progress as RunProgress
from hoptrail.system import interrupts
from hoptrail.system.atomic_write import refuse_unwritable, replace_file
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.index.indexing import Watcher
    from hoptrail.index.settings import Settings

FAILED, WRONG_USAGE, STOPPED, INCOMPLETE = 1, 2, interrupts.STOPPED, 4
"""Exit codes other than 0 (done). INCOMPLETE: done, but some documents could not be read."""

OWED = (
    "text of removed documents is still in files of this index: a removal was cut off, or an earlier state was being read. "
    "Whatever changes the index next erases it: `hoptrail index` or `hoptrail remove`."
)
PATIENCE = 0.5  # seconds before a spinner appears
HOW_TO_GO_ON = "The same command goes on from there; Ctrl-C again ends at once, and what was finished is kept."


def option(flags: str, metavar: str | None, help_text: str, **further: Any) -> Any:
    """An option by its `flags` (`--quiet -q`), with what its value is called and its help."""
    return typer.Option(*flags.split(), metavar=metavar, help=help_text, **further)


def recipes_beginning(incomplete: str) -> list[str]:
    return [name for name in recipe_names() if name.startswith(incomplete)]


def documents_beginning(ctx: typer.Context, incomplete: str) -> list[str]:
    """The titles and, from the current folder, the paths of the documents of the index that the command would use."""
    folder = ctx.params.get("folder") or find_index()
    documents = Index(folder).contents().documents if folder and Snapshot.exists(Path(folder)) else ()
    names = (name for one in documents for name in (one.title, *map(near, one.sources)))
    return sorted({name for name in names if name.startswith(incomplete)})


_WHERE = "The index folder; default: .hoptrail here or in a folder above"
IndexFolder = Annotated[
    Path, option("--index", "DIR", f"{_WHERE}.", parser=index_folder, default_factory=index_here, show_default=False)
]
IndexFoundOrNew = Annotated[Path | None, option("--index", "DIR", f"{_WHERE}, or a new one here.", parser=index_folder)]
RecipeName = Annotated[
    str | None,
    option("--recipe", "NAME", "The recipe; `hoptrail recipes` lists them.", autocompletion=recipes_beginning),
]
Documents = Annotated[
    list[str],
    typer.Argument(metavar="DOCUMENT...", help="An id, path, folder or title.", autocompletion=documents_beginning),
]
Loudness = Annotated[
    bool | None,
    option("--verbose/--quiet -v/-q", None, "Name the skipped files, or print errors only.", show_default=False),
]
Quiet = Annotated[bool, option("--quiet -q", None, "Print errors only.")]
BuiltFor = Annotated[
    list[str] | None, option("--for", "RECIPE,...", "Build what these recipes need.", autocompletion=recipes_beginning)
]
LanguageName = Annotated[str | None, option("--language", "NAME", "What performs the language tasks.")]
LOCAL = "here"
Place = Annotated[str, option("--on", "WHERE", "Where to build: here, or on ray.")]
RayAddress = Annotated[
    str, option("--address", "ADDRESS", "A running Ray cluster: auto or HOST:PORT. Without it, Ray is started here.")
]
AsOf = Annotated[
    str, option("--as-of", "DATE", "Ask the past: ignore what is dated later than this day, month or year.")
]
Rebuild = Annotated[bool, option("--rebuild", None, "Read all files again, and rebuild what another language made.")]
Estimate = Annotated[bool, option("--estimate", None, "Only estimate the cost of language tasks; index nothing.")]
Sync = Annotated[bool, option("--sync", None, "Remove documents whose files are gone or no longer readable.")]
Watch = Annotated[bool, option("--watch", None, "Keep running: index again whenever the folders change.")]
Exclude = Annotated[
    list[str] | None,
    option("--exclude", "PATTERN", "Do not read what matches, as in .gitignore (drafts/, *.log); may be repeated."),
]
NoGitignore = Annotated[bool, option("--no-gitignore", None, "Also read what .gitignore files ignore.")]
AsJson = Annotated[bool, option("--json", None, "Print JSON.")]
SettingsFile = Annotated[
    Path | None,
    option("--settings", "FILE", "A TOML file, or paper:NAME; see `hoptrail settings`.", envvar="HOPTRAIL_SETTINGS"),
]
SetKeys = Annotated[
    list[str] | None,
    option("--set", "KEY=VALUE", "Set one key over the settings file and over a preset; may be repeated."),
]


@dataclass(frozen=True, slots=True)
class Given:
    """What `--set` says to a command of `recipes` (None: the settings'), what it leaves `unused`, its option `language`, and
    whether it uses their structures `alone`.
    """

    given: Sequence[str] | None
    recipes: Sequence[str | None] = (None,)
    unused: Sequence[str] = (
        "sync", "labels", "follow_links", "gitignore", "exclude", "reading", "passages", "server", "build", "chat.build"
    )  # fmt: skip
    language: str | None = None
    alone: bool = False

    def check(self, settings: Settings, language: str | None) -> None:
        """Say what is changed of presets. Raises: UsageError: a key has no effect; the message says what to do."""
        from hoptrail.index.settings import from_line, values_of

        used = [name or settings.recipe for name in self.recipes]
        for line in self.given or ():
            for key, _ in values_of(from_line(line)):
                if why := self._without_effect(key, used, settings, language):
                    raise UsageError(f"--set {key} has no effect {why}.")
        for name in used:
            if changed := changed_keys(name, settings.recipes):
                say(f"{name} with {', '.join(changed)}")

    def _without_effect(self, key: str, used: Sequence[str], settings: Settings, language: str | None) -> str:
        """Why a key has no effect, and what to do; empty if it has one."""
        tables = [f"recipes.{settings_key(name.partition(':')[0])}." for name in used]
        decided = [*(["recipe"] if all(self.recipes) else []), *(["language"] if language else [])]
        asking = language or settings.language
        builder = settings.build.language or (settings.language if self.alone else asking)
        asked = [builder, *([] if key.startswith("chat.build.") else [asking])]
        where = f"here, where {', '.join(used)} is used"
        if key.startswith("recipes.") and not key.startswith(tuple(tables)):
            return f"{where}: set {tables[0]}KEY, or name the other recipe"
        if f"{key}.".startswith(tuple(f"{name}." for name in (*self.unused, *decided))):
            return "on this command, or an option decides it: leave it out"
        if self.alone and key.startswith("structures.") and key.split(".")[1] not in _structures_of(used):
            return f"{where}: leave it out, or name a recipe with that structure"
        if key.startswith("chat.") and CHAT not in asked:
            return "here, where no model does that: name the language chat"
        return ""


def _structures_of(recipes: Sequence[str]) -> set[str]:
    """The keys of the structures that recipes use, with some preset or without."""
    from hoptrail.documents.splitting import PassageLimits
    from hoptrail.structures.catalogue import structures_by_name, with_foundations

    kinds = {name.partition(":")[0] for name in recipes}
    named = {f"{kind}:{preset}" for kind in kinds for preset in presets_of(kind)}
    needed = with_foundations(needed_structures(kinds | named), structures_by_name(PassageLimits()))
    return {settings_key(structure.name) for structure in needed}


def open_index(
    folder: Path,
    settings_file: Path | None,
    language: str | None = None,
    keys: Given | None = None,
    *,
    building: bool = False,
    rehearsed: bool = False,
) -> Index:
    """The index with these settings. Its language answers, or builds (`building`); if only `rehearsed`, it needs no endpoint."""
    if settings_file is None and language is None and not (keys and keys.given):
        return Index(folder)
    return Index(folder, settings_with(settings_file, language, folder, keys, building=building, rehearsed=rehearsed))


def refuse_missing(sources: Sequence[str], folder: Path | None) -> None:
    """Where there is no index yet, none is made for sources of which none exists. Raises: typer.Exit: they are named."""
    if sources and not any(Path(source).exists() for source in sources):
        found = folder or find_index()
        if found is None or not Snapshot.exists(found):
            for source in sources:
                say(f"not read: {source}: does not exist: check the path")
            say("Nothing was indexed, and no index was made.")
            raise typer.Exit(FAILED)


def found_or_new(folder: Path, *, make: bool = True, quiet: bool = False) -> Path:
    """The index of a folder or of one above it, else the place of a new one, created with `make`, announced unless `quiet`."""
    folder = folder.expanduser()
    found = find_index(folder)
    if found is not None:
        return index_folder(found)
    new = new_index(folder)
    if make and not quiet:
        say(f"The index is created in {new.folder}{new.why and f', because {new.why}'}.")
    if make:
        make_index_folder(new.folder)
    return new.folder


def settings_with(
    file: Path | None,
    language: str | None,
    folder: Path,
    keys: Given | None = None,
    *,
    building: bool = False,
    rehearsed: bool = False,
) -> Settings:
    """Settings from a file and from `--set`, with another language, whose replies are stored in `folder`."""
    from hoptrail.index.settings import load_settings

    loaded = load_settings(file, keys.given or () if keys else ())
    if keys:
        keys.check(loaded, language or keys.language)
    if language is not None:
        from hoptrail.language.factory import LanguageContext, open_language

        if not (rehearsed and language == CHAT):
            chat = loaded.chat.of("build") if building else loaded.chat
            open_language(language, LanguageContext(None, folder, chat))
        loaded = replace(loaded, language=language)
    return loaded


@contextmanager
def watching(doing: str = "", *, quiet: bool = False) -> Iterator[Watcher]:
    """Progress on standard error, unless `quiet`. The first stop signal ends the run after saving, a second one at once. `doing`
    says what is being finished, until there is progress.
    """
    from hoptrail.index.indexing import Watcher
    from hoptrail.serving.progress import progress_reports

    console = console_of(error=True)

    print_line = partial(say, console=console)
    with nullcontext(Watcher()) if quiet else progress_reports(console) as shown:
        latest = [doing]

        def report(what: str, done: int, total: int) -> None:
            latest[0] = RunProgress(what, done, total).line
            shown.report(what, done, total)

        def finish() -> None:
            print_line(f"stopping after this step{latest[0] and f': {latest[0]}'}. {HOW_TO_GO_ON}")

        with interrupts.answered(finish) as asked:
            yield replace(shown, report=report, stopped=asked, say=shown.say if quiet else print_line)


@contextmanager
def without_failed_tasks_logged() -> Iterator[None]:
    """Do not log failed language tasks in commands whose report names them all. The next run repeats those of a stopped run."""
    log = logging.getLogger("hoptrail.language.chat.performer")
    previous = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(previous)


def refuse_empty(index: Index) -> None:
    """Raises: IndexUnavailable: the index has no document. Only an index that cannot be opened says so itself."""
    if not index.is_empty:
        with index.reading() as snapshot:
            if not len(snapshot.register):
                how = "`hoptrail index FOLDER` reads a folder of documents into it."
                raise IndexUnavailable(f"nothing is indexed in {index.folder} yet: {how}")


def say_unfinished(index: Index, used: str, requested: str) -> None:
    """If the last indexing run is unfinished, print on standard error what can be found so far, and which recipe is `used` in
    place of the one `requested`. If a removal is, say so.
    """
    with Snapshot.open(index.folder) as snapshot:
        if snapshot.owes_erasure and not writer_now(index.folder):
            say(OWED)
        if snapshot.head.whole:
            return
        from hoptrail.index.contents import reached

        state = reached(snapshot)
    if state:
        stands_in = "" if used == requested.partition(":")[0] else f"; {used} answers in place of {requested}"
        say(state.line + stands_in)


def named(lists: Iterable[str] | None) -> list[str]:
    """The names in a repeatable option with comma-separated names."""
    return [name.strip() for listed in lists or () for name in listed.split(",") if name.strip()]


def console_of(*, error: bool = False) -> Console:
    """A console on standard output or error. Files and pipes get a fixed width, so that scripts do not depend on a window."""
    console = Console(stderr=error, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    return console


def say(what: RenderableType, console: Console | None = None) -> None:
    """Print on standard error, where results do not go; a string as plain text. A terminal wraps it between words."""
    console = console or console_of(error=True)
    console.print(plain(what) if isinstance(what, str) else what, soft_wrap=not console.is_terminal)


@contextmanager
def waiting(doing: str = "searching and reading") -> Iterator[Callable[[str], None] | None]:
    """While the body runs, a spinner on a terminal's standard error once it has taken half a second. There it yields what shows a
    text beside the spinner.
    """
    console = console_of(error=True)
    if not console.is_terminal:
        yield None
        return
    shown = console.status(plain(doing))
    starting = Timer(PATIENCE, shown.start)
    starting.daemon = True
    starting.start()
    try:
        yield lambda text: shown.update(plain(text or doing))
    finally:
        starting.cancel()
        starting.join()  # it may be starting just now
        shown.stop()


def print_json(content: JsonObject | list[JsonObject]) -> None:
    print(contract.to_text(content))  # noqa: T201


def check_writable(path: Path | None) -> None:
    """Refuse an unwritable file before there is anything to lose. Raises: StorageError: it cannot be written."""
    if path is not None:
        with disk_errors(f"cannot write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            refuse_unwritable(path)


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically. Raises: StorageError: it cannot be written."""
    with disk_errors(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())


def open_executor(name: str, address: str = "") -> AbstractContextManager[Executor]:
    """A context manager of the executor `name`: `here` is this process, others come from packages; `ray` is a Ray cluster at
    `address`, else started here. Raises: UsageError: there is no such executor, or it takes no address; on entering: what it
    needs is not installed. WorkFailed: on entering: it does not respond or does not start.
    """
    if name != LOCAL and name in found("executors"):
        opened: AbstractContextManager[Executor] = loaded("executors", name)(address)
        return opened
    if name != LOCAL:
        raise UsageError(f"work can be done on {' or '.join((LOCAL, *found('executors')))}, not on {name!r}")
    if address:
        raise UsageError("--address is the address of Ray: use it with --on ray")
    return nullcontext(LOCAL_EXECUTOR)
