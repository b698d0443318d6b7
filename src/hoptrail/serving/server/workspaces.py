"""Workspaces: named indexes that many clients read while one job at a time writes.

Every question opens and closes its own snapshot; in-memory structures of a commit are shared. After a commit, by a job here or
by another process, the next question gets the new state. A workspace may be kept in step with a folder of documents, in a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final, TypeVar

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.errors import HoptrailError, Interrupted, UsageError
from hoptrail.index import contract
from hoptrail.index.contents import Contents, DocumentSummary, contents_of
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher
from hoptrail.index.syncing import IndexingReport
from hoptrail.index.watching import watch
from hoptrail.language.tasks import OFFLINE, Language
from hoptrail.recipes.catalogue import open_recipe, usable
from hoptrail.recipes.recipe import Recipe
from hoptrail.recipes.registry import recipe_names
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving.server.refusals import Refusal, not_valid
from hoptrail.serving.server.wire import indexing_json
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types.json_object import JsonObject

T = TypeVar("T")

log = logging.getLogger("hoptrail.server")

STOP_SECONDS = 2.0
"""Seconds that work in the background has to end itself when the server stops. What is not finished then is as after a kill."""
EXAMPLES = 4
LISTED = "GET /api/recipes, for agents the tool status,"


@dataclass(slots=True)
class FolderState:
    """A served folder: the progress of the current run (empty between runs), and the report of the last one."""

    progress: Progress = field(default_factory=Progress)
    report: IndexingReport = field(default_factory=IndexingReport)


class Workspace:
    """One index under a name. Thread-safe."""

    def __init__(self, name: str, index: Index, recipes: Sequence[str] = ()) -> None:
        """Raises: UsageError: nothing can be built for one of the recipes, whatever is uploaded."""
        self.name: Final = name
        self.index: Final = index
        self.recipes: Final = tuple(recipes) or (index.settings.recipe,)
        index.check(self.recipes)
        self.labels: frozenset[str] | None = None
        self.writing: Final = Lock()
        """Held by the thread of this server that writes: a job, the watch of a folder, or `clean`."""
        self.folder: FolderState | None = None  # of the served folder, if there is one
        self._opening = Lock()
        self._language = cache(index.language)

    def corpus(self, as_of: str = "", documents: Collection[str] = ()) -> Corpus:
        """The visible part of the last commit, as of a date, or only `documents` (ids) of it.
        Raises: Refusal: nothing is indexed yet, `as_of` is not a date, or none of the documents is here.
            IndexUnavailable: the index cannot be used.
        """
        if self.index.is_empty:
            raise Refusal(409, "empty_workspace", "This workspace holds no documents yet.", "Add some first.")
        try:
            view = self.index.view(as_of, self.labels)
        except UsageError as error:
            raise not_valid(f"as_of: {error}") from None
        if not documents:
            return self.index.corpus(view)
        corpus = self.index.corpus(replace(view, documents=frozenset(documents)))
        if not len(corpus.snapshot.register):
            raise Refusal(404, "not_found", "None of the selected documents is here any more.", "Select others.")
        return corpus

    def read(self, read: Callable[[Snapshot], T], nothing: T) -> T:
        """What `read` gives for the visible part of the last commit; `nothing` without an index. Raises: IndexUnavailable."""
        if self.index.is_empty:
            return nothing
        with self.index.reading(self.index.view(labels=self.labels)) as snapshot:
            return read(snapshot)

    def check_changeable(self) -> None:
        """Raises: Refusal: the workspace is read-only."""
        if self.index.is_read_only:
            what_to_do = "Change the index that it is published from, and publish that again."
            raise Refusal(409, "read_only", "This workspace is a published index, which is read-only.", what_to_do)

    def clean(self) -> bool:
        """Erase removed text from every file, once no other thread of this server writes. Returns False while another process
        still reads an earlier state. Raises: IndexBusy: another process is writing.
        """
        with self.writing:
            return self.index.is_empty or self.index.clean()

    def warm(self) -> None:
        """Load what the default recipe needs into memory, by a search that costs nothing. A failure is logged: the next question
        reports it.
        """
        try:
            self.language(None)
            self.index.encoder.encode(["ready"])
            with suppress(Refusal):  # nothing is indexed, or not for the default recipe
                self.recipe(None, self.language(OFFLINE)).retrieve("Who is ready?")
        except Exception as error:  # noqa: BLE001 - the border of a thread, which goes on
            self.log_failure("warmed", error)

    def log_failure(self, what: str, error: Exception) -> None:
        """Log that the workspace could not be `what`. Of errors that are not ours, only the type is fit for a log."""
        said = error if isinstance(error, HoptrailError) else type(error).__name__
        log.error("workspace %s could not be %s: %s", self.name, what, said)

    def language(self, name: str | None) -> Language:
        """The language of the settings, or `offline`. No other, since some read files and some spend money.
        Raises: Refusal: another language was requested. UsageError: the language of the settings cannot be opened.
        """
        if name and name not in self.language_names:
            raise not_valid(f"language: this workspace offers {', '.join(self.language_names)}.")
        with self._opening:
            return self._language(name or self.index.settings.language)

    @property
    def language_names(self) -> tuple[str, ...]:
        """The permitted languages, the default first."""
        return tuple(dict.fromkeys((self.index.settings.language, OFFLINE)))

    def recipe(
        self,
        name: str | None,
        language: Language,
        limit: int | None = None,
        as_of: str = "",
        documents: Collection[str] = (),
    ) -> Recipe:
        """A recipe over the current corpus, or over only `documents` (ids) of it.
        Raises: Refusal: there is no such recipe, its structures are not built here, or as `corpus`.
        """
        name = name or self.index.settings.recipe
        corpus = self.corpus(as_of, documents)
        try:
            used = usable(name, corpus.snapshot, self.index.settings.recipes)
        except UsageError:
            raise not_valid("recipe: there is no such recipe.", f"{LISTED} lists them.") from None
        if not used:
            message, what_to_do = f"What the recipe {name} searches was not built here.", "Choose another recipe"
            raise Refusal(409, "not_built", message, f"{what_to_do}: {LISTED} lists the usable ones.")
        return open_recipe(used, corpus, language, self.index.settings.recipes, limit)

    def recipe_names(self) -> dict[str, bool]:
        """Every recipe, and whether it is usable here now."""
        settings, nothing = self.index.settings.recipes, dict.fromkeys(recipe_names(), False)
        return self.read(lambda snapshot: {one: bool(usable(one, snapshot, settings)) for one in nothing}, nothing)

    def contents(self) -> Contents | None:
        """The contents of the index, read once per state; None if there is no index."""
        return self.read(_contents, None)

    def by_title(self) -> Sequence[DocumentSummary]:
        """The documents by title, sorted once per state; none if there is no index."""
        return self.read(_by_title, ())

    def existing_ids(self, names: Collection[str]) -> set[str]:
        """The ids among `names` whose documents are in the index."""
        return self.read(lambda snapshot: {one.id for one in snapshot.register.of(names)}, set()) if names else set()


def computes_here(workspace: Workspace, language: str | None) -> bool:
    """Whether a language (default: that of the settings) computes on this machine instead of waiting for a model."""
    return (language or workspace.index.settings.language) == OFFLINE


def state_json(workspace: Workspace) -> JsonObject:
    """What a workspace contains: the object of `hoptrail show --json`, with numbers in place of lists of documents and files."""
    contents = workspace.contents()
    counts = {"documents": len(contents.documents), "unread": len(contents.unread)} if contents else {}
    return {
        "workspace": workspace.name,
        "empty": contents is None,
        "contents": contract.contents_json(contents) | counts if contents else None,
        **indexing_json(contents.reached if contents else None),
    }


_contents = cached_per_snapshot(contents_of)


@cached_per_snapshot
def _by_title(snapshot: Snapshot) -> Sequence[DocumentSummary]:
    return tuple(sorted(_contents(snapshot).documents, key=lambda one: (one.title.casefold(), one.id)))


@cached_per_snapshot
def examples(snapshot: Snapshot) -> tuple[str, ...]:
    """Questions about a few documents with text, spread evenly over their titles. A title that is a question stands as it is."""
    titles = list(dict.fromkeys(one.title for one in _by_title(snapshot) if one.passages))
    some = titles[:: max(1, len(titles) // EXAMPLES)][:EXAMPLES]
    return tuple(title if title.endswith("?") else f"Tell me about {title.rstrip('.')}." for title in some)


def limited(workspace: Workspace, labels: frozenset[str] | None) -> Workspace:
    """The same workspace with documents that have one of these labels; None: all. Raises: UsageError: there is no such label."""
    if labels is None:
        return workspace
    workspace.index.view(labels=labels)
    restricted = copy(workspace)
    restricted.labels = labels
    return restricted


@contextmanager
def watched_folder(
    workspace: Workspace,
    folder: Path,
    on_report: Callable[[IndexingReport], None],
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Index a folder and watch it while the body runs, or until it is `stopped`. `on_report` gets the report of each run."""
    state, ended = FolderState(), Event()
    workspace.folder = state
    progress = partial(setattr, state, "progress")
    watcher = Watcher(stopped=lambda: ended.is_set() or stopped(), say=log.info, progress=progress)

    def follow() -> None:
        try:
            for report in watch(workspace.index, [folder], workspace.recipes, watcher, turn=workspace.writing):
                state.progress, state.report = Progress(), report
                on_report(report)
                workspace.warm()
        except Interrupted:
            log.info("workspace %s: stopped indexing %s; the next start continues", workspace.name, folder)
        except Exception as error:  # noqa: BLE001 - the border of the thread: the server goes on
            workspace.log_failure(f"kept in step with {folder}", error)

    thread = Thread(target=follow, name=f"folder of {workspace.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(STOP_SECONDS)
