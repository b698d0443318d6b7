"""An index as its users hold it: add and remove documents, ask, search, look inside. The door to everything below.

What searching does not need is imported where it is used, so that a search by itself starts soon.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from hoptrail.corpus.places import index_folder
from hoptrail.corpus.sharing import SharedSnapshot
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.view import EVERYTHING, View
from hoptrail.errors import IndexDamaged, UsageError
from hoptrail.executing.executor import HERE, Executor
from hoptrail.labels import patterns_of
from hoptrail.language.late import OpenedLate
from hoptrail.models.encoder import Encoder
from hoptrail.notebook import documents_html
from hoptrail.recipes.catalogue import DEFAULT, needed_structures, open_recipe, usable
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus, checked_question
from hoptrail.types import Answer, Ranking

if TYPE_CHECKING:
    from hoptrail.building import Building
    from hoptrail.contents import Contents
    from hoptrail.corpus.register import Withdrawn
    from hoptrail.documents.limits import ReadingLimits
    from hoptrail.indexing import Watcher
    from hoptrail.language.opening import LanguageContext
    from hoptrail.language.tasks import Language
    from hoptrail.settings import Settings
    from hoptrail.syncing import IndexingReport

T = TypeVar("T")


class Index:
    """One index with settings. Opening it reads nothing; every call sees the last committed state.

    `folder` also holds the replies that were paid for. Any number of processes and threads may read while one writes.
    """

    def __init__(self, where: str | Path, settings: Settings | None = None) -> None:
        self.folder = index_folder(where)
        self._given = settings
        self._shared = SharedSnapshot(self.folder)

    @cached_property
    def settings(self) -> Settings:
        """Those that were given, or the defaults, which are gathered when they are first needed."""
        from hoptrail.settings import Settings

        return self._given or Settings()

    def __repr__(self) -> str:
        return f"<Index at {self.folder}>"

    def _repr_html_(self) -> str:
        found = () if self.is_empty else self.contents().documents
        return documents_html(str(self.folder), [(one.title, one.passages, one.sources[0]) for one in found])

    is_read_only = False
    """Whether nothing can be added to it or removed from it."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever committed here."""
        return not Snapshot.exists(self.folder)

    @cached_property
    def encoder(self) -> Encoder:
        from hoptrail.models.opening import open_encoder

        return open_encoder(self.settings.encoder)

    def add(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
        on: Executor = HERE,
        limits: ReadingLimits | None = None,
        keep_lines: bool = False,
        sync: bool | None = None,
    ) -> IndexingReport:
        """Add or update documents from a file or folder or several, and build what `recipes` need beside what is there already.

        Documents that could not be read are in the report's `failures`; the others are in the index. Structures that need
        a language are made by that of the settings; with `rebuild`, also where another one has made them before, and files that
        look unchanged are read again. Where no recipe gains by a model they are made by rules, unless a model has made them
        before. `on` says where: in this process, or on a cluster (`executing.on_ray`), which gives the same index. `limits`
        stand in for those of the settings, for sources that have passed these before. Documents whose lines a JSONL file no
        longer has go, unless `keep_lines` says otherwise. With `sync`, documents whose files are no longer in a folder that is
        named go as well; without it the report's `gone` says how many files those are. The default is the setting `sync`.

        Raises:
            UsageError: a recipe is not known, or another language has made a structure; nothing was changed.
            Interrupted: the watcher asked to stop.
            WorkFailed: the cluster lost a batch of work for good; what was finished is kept.
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.syncing import ReadingOptions

        synced = self.settings.sync if sync is None else sync
        options = ReadingOptions(keep_lines, synced, rebuild, self.settings.follow_links)
        sources, recipes = _one_or_several(sources), _one_or_several(recipes or ())
        return self._building.add(sources, recipes, watcher, limits, options, on)

    def check(self, recipes: Sequence[str]) -> None:
        """Refuse recipes that nothing could be built for with these settings, before any work is done.

        Raises:
            UsageError: a recipe is not known, or searches what the settings do not build.
        """
        self._building.check(recipes)

    def estimate(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
    ) -> IndexingReport:
        """What `add` would do, and spend on language tasks (`usage`), by a rehearsal in a temporary copy: it takes as long as
        indexing by rules. Where nothing is spent nothing is rehearsed: the files are only looked for, and `documents` counts
        them.

        Without an address of a chat endpoint no reply that was paid for is known, so all are counted.

        Raises: as `add` does, but not for want of an address.
        """
        return self._building.estimate(
            _one_or_several(sources), _one_or_several(recipes or ()), watcher, rebuild=rebuild
        )

    def remove(self, documents: str | Iterable[str]) -> list[str]:
        """Remove a document or several, each named by id, path or title, and all that stands on them alone; gives the titles of
        those that went. `withdraw` tells also of those that stay, because they were read from other paths too.

        Raises: as `withdraw` does.
        """
        return [document.title for document in self.withdraw(documents) if not document.left]

    def withdraw(self, documents: str | Iterable[str]) -> list[Withdrawn]:
        """Remove as `remove` does; gives what became of each document that was named, or of which a path was.

        What a chat model made from them and from others is taken away and made again by the next `add`: removing is free.

        Raises:
            UsageError: a name fits no document or several.
            IndexUnavailable: there is no index here.
        """
        return self._building.withdraw(_one_or_several(documents))

    def clean(self) -> bool:
        """See that nothing that was removed is left in any file.

        Every removal does so, unless somebody reads an earlier state for long; False where that is so now.

        Raises:
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.corpus.writer import writing_to

        with writing_to(self.folder, self.encoder.identity) as writer:
            return writer.clean()

    def recipe(
        self,
        name: str | None = None,
        language: Language | str | None = None,
        limit: int | None = None,
        view: View = EVERYTHING,
    ) -> Recipe:
        """A recipe over the index as it is now, as far as it is seen; hold on to it to ask many questions. `limit` replaces its
        setting `k`. Where the first run for it has not ended, `hybrid` or `bm25` answers in its place, by what is there
        (`contents().reached`).

        Raises:
            UsageError: there is no such recipe or language, the index lacks a structure that the recipe needs, or the limit is
                no number of hits.
        """
        if limit is not None and not (hasattr(limit, "__index__") and limit >= 1):
            raise UsageError(f"at least one hit must be asked for, not {limit!r}: limit is a whole number.")
        own = self._given.recipes if self._given else None
        name = name or (self._given.recipe if self._given else DEFAULT)
        corpus = self.corpus(view)
        used = usable(name, corpus.snapshot, own)
        if not used:
            missing = sorted(needed_structures([name], own) - set(corpus.snapshot.head.structures))
            raise UsageError(
                f"recipe {name} needs {', '.join(missing)}, which {self.folder} does not hold. Build it with "
                f"`hoptrail index SOURCE... --index {self.folder} --for {name}`."
            )
        if language is None or isinstance(language, str):
            language = self.language(language)
        return open_recipe(used, corpus, language, own, limit)

    def corpus(self, view: View = EVERYTHING) -> Corpus:
        """What recipes search: the last committed state, as far as it is seen, as long as it is held on to.

        Raises:
            IndexUnavailable: there is no index here.
        """
        lease = self._shared.seen(view).lease()
        structures = self._given.structures if self._given else None
        return Corpus(lease.snapshot, lambda: self.encoder, structures, lease)

    def language(self, name: str | None = None, *, fully_priced: bool = False) -> Language:
        """Who performs the tasks; `chat` keeps its replies and its ledger in this folder, and is shared by all who ask here. A
        task costs what is paid now; with `fully_priced`, what its replies took, also those that were there already.

        Raises:
            UsageError: there is no such language, or it cannot be used.
        """
        from hoptrail.language.opening import open_language

        context = self._language_context
        return open_language(
            name or self.settings.language, replace(context, fully_priced=True) if fully_priced else context
        )

    def ask(
        self,
        question: str,
        recipe: str | None = None,
        language: Language | str | None = None,
        *,
        as_of: str = "",
        labels: Collection[str] | None = None,
    ) -> Answer:
        """Answer a question, or abstain, with evidence and trail: from what was said by the date `as_of` (`2024`, `2024-03` or
        `2024-03-05`), and by documents that have one of `labels`, where these are given.

        Raises:
            UsageError: the question is empty or far too long, `as_of` is no date, or there is no such label.
        """
        question = checked_question(question)
        return self.recipe(recipe, language, view=self.view(as_of, labels)).answer(question)

    def search(
        self,
        question: str,
        recipe: str | None = None,
        limit: int | None = None,
        *,
        as_of: str = "",
        labels: Collection[str] | None = None,
    ) -> Ranking:
        """Retrieval only: what the recipe finds for a question, best first, at most `limit`; `as_of`, `labels`: as for `ask`."""
        question = checked_question(question)
        language = OpenedLate(self.language)
        return self.recipe(recipe, language, limit, self.view(as_of, labels)).retrieve(question)

    def view(self, as_of: str = "", labels: Collection[str] | None = None) -> View:
        """What is seen by a date, and of documents that have one of some labels (None: all).

        Raises:
            UsageError: it is no date, or there is no such label.
        """
        return View(as_of, None if labels is None else patterns_of(self.settings.labels, labels))

    def contents(self) -> Contents:
        """What is in the index."""
        from hoptrail.contents import contents_of

        with self._shared.reading() as snapshot:
            return contents_of(snapshot)

    def verify(self) -> int:
        """Read every file of the index and compare it with its checksums; how many files were compared.

        Raises:
            IndexDamaged: names the first that is missing or altered, or does not belong.
            IndexUnavailable: there is no index here.
        """
        from hoptrail.corpus.repairing import damage, files_of_index

        found = damage(self.folder)
        if found:
            raise IndexDamaged(
                f"{self.folder}: {found[0]}. Run `hoptrail repair --index {self.folder}` to rebuild what the stored documents "
                f"allow."
            )
        return files_of_index(self.folder)

    def repair(self, watcher: Watcher | None = None) -> list[str]:
        """Rebuild what is damaged from the stored documents; the names of the files that were.

        What a chat model has made is not made again here: repairing is free. `unfinished` names it afterwards.

        Raises:
            IndexDamaged: the documents themselves are damaged, so their sources must be indexed again.
        """
        return self._building.repair(watcher)

    def unfinished(self) -> tuple[str, ...]:
        """The structures that were begun or lost and are not there: the next `add` for a recipe that needs them goes on."""
        with self._shared.reading() as snapshot:
            return tuple(snapshot.head.unfinished)

    @cached_property
    def _language_context(self) -> LanguageContext:
        from hoptrail.language.opening import LanguageContext

        return LanguageContext(self.encoder, self.folder, self.settings.chat, self.settings.offline)

    @property
    def _building(self) -> Building:
        from hoptrail.building import Building

        return Building(self.folder, self.settings, self._shared, lambda: self.encoder, lambda: self._language_context)


def _one_or_several(given: T | Iterable[T]) -> list[T]:
    """A text alone is one name, not its characters."""
    return [cast("T", given)] if isinstance(given, str | Path) else list(cast("Iterable[T]", given))
