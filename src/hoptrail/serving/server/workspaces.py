"""Workspaces: named indexes that many people read while one job at a time writes.

Every question opens a snapshot of its own and closes it with its end; what was made of the commit in memory is shared. After a
commit, by a job here or by another process, the next question gets the new state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.errors import DocumentError, UsageError
from hoptrail.index import Index
from hoptrail.index_contents import Contents, DocumentSummary, contents_of, reached
from hoptrail.language.lazy import OFFLINE
from hoptrail.language.tasks import Language
from hoptrail.recipes.catalogue import needed_structures, open_recipe, usable
from hoptrail.recipes.recipe import Recipe
from hoptrail.recipes.registry import RECIPES
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving.contract import Json
from hoptrail.serving.server.refusals import Refusal, not_valid
from hoptrail.serving.server.wire import indexing_json
from hoptrail.structures.course import Progress
from hoptrail.types import Document

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(slots=True)
class FolderState:
    """How the folder of a workspace stands: the progress of a run (empty between runs) and what the last one could not read."""

    progress: Progress = field(default_factory=Progress)
    unread: Sequence[DocumentError] = ()


def indexing_of(workspace: Workspace) -> Json:
    """What answers carry besides while an indexing run has not ended (`wire.indexing_json`)."""
    with workspace.reading() as snapshot:
        return indexing_json(reached(snapshot))


class Workspace:
    """One index under a name. Safe to call from several threads."""

    def __init__(self, name: str, index: Index, recipes: Sequence[str] = ()) -> None:
        """Raises: UsageError: nothing can be built for one of the recipes, which no upload could mend."""
        self.name: Final = name
        self.index: Final = index
        self.recipes: Final = tuple(recipes) or (index.settings.recipe,)
        index.check(self.recipes)
        self.labels: frozenset[str] | None = None
        self.writing: Final = Lock()
        """Held by whoever of this server writes: jobs, and what keeps a folder in step."""
        self.folder: FolderState | None = None
        """Of the folder that this workspace is kept in step with."""
        self._opening = Lock()
        self._languages: dict[str, Language] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever indexed here."""
        return self.index.is_empty

    def corpus(self, as_of: str = "", documents: Collection[str] = ()) -> Corpus:
        """What is searched: the last committed state, as far as it is seen, and was said by a date; or some `documents` of it.

        Raises:
            Refusal: nothing was indexed yet, it is no date, or none of the documents is here.
            IndexUnavailable: the index cannot be used.
        """
        if self.is_empty:
            raise Refusal(409, "empty_workspace", "This workspace holds no documents yet.", "Add some first.")
        try:
            view = self.index.view(as_of, self.labels)
        except UsageError as error:
            raise not_valid(f"as_of: {error}") from None
        if not documents:
            return self.index.corpus(view)
        corpus = self.index.corpus(replace(view, documents=frozenset(documents)))
        if not len(corpus.snapshot.register):
            raise Refusal(404, "not_found", "None of the chosen documents is here any more.", "Choose others.")
        return corpus

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """The last commit as far as it is seen, held open until the end of `with`. The index is not empty.

        Raises:
            IndexUnavailable: the index cannot be used.
        """
        with self.index.reading(self.index.view(labels=self.labels)) as snapshot:
            yield snapshot

    def check_changeable(self) -> None:
        """Raises: Refusal: documents can neither be added nor removed here."""
        if self.index.is_read_only:
            raise Refusal(
                409,
                "read_only",
                "This workspace is a published index, which can only be asked.",
                "Change the index that it is published from, and publish that again.",
            )

    def warm(self) -> None:
        """Have what the usual recipe searches with in memory: by a search, which with the rules costs nothing.

        Raises:
            HoptrailError: the index, the encoder or the language of the settings cannot be opened.
        """
        self.language(None)
        self.index.encoder.encode(["ready"])
        with suppress(Refusal):  # nothing is indexed, or not for the usual recipe
            self.recipe(None, self.language(OFFLINE)).retrieve("Who is ready?")

    def language(self, name: str | None) -> Language:
        """The language of the settings, or the rules. No other, since some read files and some spend what nobody allowed.

        Raises:
            Refusal: another one was named.
            UsageError: the language of the settings cannot be opened.
        """
        name = name or self.index.settings.language
        if name not in self.language_names:
            raise not_valid(f"language: this workspace offers {', '.join(self.language_names)}.")
        with self._opening:
            if name not in self._languages:
                self._languages[name] = self.index.language(name)
            return self._languages[name]

    @property
    def language_names(self) -> tuple[str, ...]:
        """Those that may be asked for, the usual one first."""
        return tuple(dict.fromkeys((self.index.settings.language, OFFLINE)))

    def computes(self, language: str | None) -> bool:
        """Whether questions to a language, or to that of the settings, are answered by this machine alone."""
        return (language or self.index.settings.language) == OFFLINE

    def recipe(
        self,
        name: str | None,
        language: Language,
        limit: int | None = None,
        as_of: str = "",
        documents: Collection[str] = (),
    ) -> Recipe:
        """A recipe over what is searched now, or over some `documents` (ids) of it as if there were no others.

        Raises:
            Refusal: there is no such recipe, or what it needs was not built here, or none of the documents is here, or `as_of` is
                no date.
        """
        name = name or self.index.settings.recipe
        corpus = self.corpus(as_of, documents)
        try:
            used = usable(name, corpus.snapshot, self.index.settings.recipes)
        except UsageError:
            raise not_valid(
                "recipe: there is no such recipe.",
                "GET /api/recipes lists them.",
                for_agents="The tool status names those that can be used.",
            ) from None
        if not used:
            raise Refusal(
                409,
                "not_built",
                f"What the recipe {name} searches was not built in this workspace.",
                "Choose another recipe, or have the documents indexed for this one (`--for`).",
                for_agents="Choose another recipe: the tool status names those that can be used.",
            )
        return open_recipe(used, corpus, language, self.index.settings.recipes, limit)

    def recipe_names(self) -> dict[str, bool]:
        """Every recipe, and whether it can be used here now."""
        settings = self.index.settings.recipes
        if self.is_empty:
            return {name: not needed_structures([name], settings) for name in RECIPES}
        with self.reading() as snapshot:
            return {name: bool(usable(name, snapshot, settings)) for name in RECIPES}

    def contents(self) -> Contents | None:
        """What is in the index, read once for each state; None where nothing is."""
        if self.is_empty:
            return None
        with self.reading() as snapshot:
            return _contents(snapshot)

    def by_title(self) -> Sequence[DocumentSummary]:
        """The documents by title, put in order once for each state; none where nothing is."""
        if self.is_empty:
            return ()
        with self.reading() as snapshot:
            return _in_order(snapshot)

    def those_there(self, names: Collection[str]) -> set[str]:
        """Of some ids of documents those that are in the index."""
        if self.is_empty:
            return set()
        with self.reading() as snapshot:
            return {entry.id for entry in snapshot.register.of(names)}

    def document(self, name: str) -> Document | None:
        """A document by its id."""
        return None if self.is_empty else self.corpus().documents({name}).get(name)


_contents = made_once(contents_of)


def limited(workspace: Workspace, labels: frozenset[str] | None) -> Workspace:
    """The same workspace of which only documents with one of some labels are seen; None: all.

    Raises:
        UsageError: there is no such label.
    """
    if labels is None:
        return workspace
    workspace.index.view(labels=labels)
    seen = copy(workspace)
    seen.labels = labels
    return seen


@made_once
def _in_order(snapshot: Snapshot) -> Sequence[DocumentSummary]:
    return tuple(sorted(_contents(snapshot).documents, key=lambda one: (one.title.casefold(), one.id)))


class Workspaces:
    """The workspaces of a server, by name."""

    def __init__(self, workspaces: Sequence[Workspace]) -> None:
        self._by_name: Mapping[str, Workspace] = {workspace.name: workspace for workspace in workspaces}
        if not workspaces or len(self._by_name) != len(workspaces):
            raise UsageError("name at least one workspace, and each name once.")
        for name in self._by_name:
            if not NAME.fullmatch(name):
                raise UsageError(f"{name!r} is no name of a workspace: letters, digits, - and _, at most 64.")
        places = [workspace.index.folder.resolve() for workspace in workspaces]
        if len(set(places)) != len(places):
            raise UsageError("two workspaces have the same folder: each needs its own.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Workspace | None:
        return self._by_name.get(name)
