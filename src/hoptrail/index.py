"""An index as its users hold it: add and remove documents, ask, search, look inside. The door to everything below.

What searching does not need is imported where it is used, so that a search by itself starts soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar, cast

from hoptrail.errors import DocumentError, IndexDamaged, UsageError
from hoptrail.executing.executor import HERE, Executor
from hoptrail.language.late import CHAT, OFFLINE, OpenedLate
from hoptrail.models.encoder import Encoder
from hoptrail.notebook import documents_html
from hoptrail.recipes.catalogue import DEFAULT, check_built_for, gaining_by_model, needed_structures, open_recipe
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus, checked_question
from hoptrail.store.place import index_folder
from hoptrail.store.sharing import SharedSnapshot
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Answer, Ranking

if TYPE_CHECKING:
    from hoptrail.contents import Contents
    from hoptrail.documents.limits import ReadingLimits
    from hoptrail.indexing import Performer, Watcher
    from hoptrail.language.opening import LanguageContext
    from hoptrail.language.tasks import Language
    from hoptrail.settings import Settings
    from hoptrail.store.register import Withdrawn
    from hoptrail.structures.declaring import Structure
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
        from hoptrail.indexing import Watcher, update_index
        from hoptrail.models.opening import travelling
        from hoptrail.syncing import ReadingOptions

        recipes, sources = _one_or_several(recipes or self.settings.recipe), _one_or_several(sources)
        structures = self._structures(recipes)
        encoder = self.encoder if on is HERE else travelling(self.settings.encoder, self.encoder)
        performer = self._performer(recipes, structures, encoder, rebuild=rebuild)
        options = ReadingOptions(keep_lines, self.settings.sync if sync is None else sync, rebuild)
        limits, watcher = limits or self.settings.reading, watcher or Watcher()
        report = update_index(self.folder, sources, encoder, structures, limits, watcher, performer, on, options)
        _forget_replies(self.folder, self._shared)
        return report

    def check(self, recipes: Sequence[str]) -> None:
        """Refuse recipes that nothing could be built for with these settings, before any work is done.

        Raises:
            UsageError: a recipe is not known, or searches what the settings do not build.
        """
        needed_structures(recipes, self.settings.recipes)  # names all that are unknown
        check_built_for(recipes, self.settings.recipes, self.settings.structures.triples)

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
        from hoptrail.corpus.copying import copy_index
        from hoptrail.indexing import Performer, Watcher, update_index

        recipes, sources = _one_or_several(recipes or self.settings.recipe), _one_or_several(sources)
        structures = self._structures(recipes)
        needed = any(structure.needs_language for structure in structures)
        if not needed or not self._asks_model(recipes, rebuild=rebuild):
            return _looked_for(sources, recipes, self.settings.language)
        from hoptrail.language.chat.rehearsing import RehearsalLanguage

        context = self._language_context
        rehearsal = RehearsalLanguage(context.rehearsed_chat, context.chat, self._free_language)
        with TemporaryDirectory(prefix="hoptrail-estimate-") as temporary:
            copy = Path(temporary, "index")
            if not self.is_empty:
                copy_index(self.folder, copy)
            watcher = watcher or Watcher()
            performer = Performer(rehearsal, rebuild=rebuild)
            return update_index(copy, sources, self.encoder, structures, self.settings.reading, watcher, performer)

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
        from hoptrail.indexing import remove_documents

        with self._shared.reading():
            pass  # there is an index
        structures = self._structures(())
        withdrawn = remove_documents(
            self.folder, _one_or_several(documents), self.encoder, structures, self._free_language
        )
        _forget_replies(self.folder, self._shared)
        return withdrawn

    def clean(self) -> bool:
        """See that nothing that was removed is left in any file.

        Every removal does so, unless somebody reads an earlier state for long; False where that is so now.

        Raises:
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.store.writer import writing_to

        with writing_to(self.folder, self.encoder.identity) as writer:
            return writer.clean()

    def recipe(
        self, name: str | None = None, language: Language | str | None = None, limit: int | None = None
    ) -> Recipe:
        """A recipe over the index as it is now; hold on to it to ask many questions. `limit` replaces its setting `k`.

        Raises:
            UsageError: there is no such recipe or language, the index lacks a structure that the recipe needs, or the limit is
                no number of hits.
        """
        if limit is not None and not (hasattr(limit, "__index__") and limit >= 1):
            raise UsageError(f"at least one hit must be asked for, not {limit!r}: limit is a whole number.")
        own = self._given and self._given.recipes
        name = name or (self._given.recipe if self._given else DEFAULT)
        needed = needed_structures([name], own)
        corpus = self.corpus()
        missing = sorted(needed - set(corpus.snapshot.head.structures))
        if missing:
            raise UsageError(
                f"recipe {name} needs {', '.join(missing)}, which {self.folder} does not hold. Build it with "
                f"`hoptrail index SOURCE... --index {self.folder} --for {name}`."
            )
        if language is None or isinstance(language, str):
            language = self.language(language)
        return open_recipe(name, corpus, language, own, limit)

    def corpus(self) -> Corpus:
        """What recipes search: the last committed state, as long as it is held on to.

        Raises:
            IndexUnavailable: there is no index here.
        """
        lease = self._shared.lease()
        return Corpus(lease.snapshot, lambda: self.encoder, self._given and self._given.structures, lease)

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

    def ask(self, question: str, recipe: str | None = None, language: Language | str | None = None) -> Answer:
        """Answer a question, or abstain, with evidence and trail.

        Raises:
            UsageError: the question is empty or far too long.
        """
        question = checked_question(question)
        return self.recipe(recipe, language).answer(question)

    def search(self, question: str, recipe: str | None = None, limit: int | None = None) -> Ranking:
        """Retrieval only: what the recipe finds for a question, best first, at most `limit`."""
        question = checked_question(question)
        language = OpenedLate(self.language)
        return self.recipe(recipe, language, limit).retrieve(question)

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
        from hoptrail.indexing import Watcher, repair_index
        from hoptrail.structures.catalogue import structures_by_name

        structures = structures_by_name(self.settings.passages, self.settings.structures)
        return repair_index(self.folder, self.encoder, structures, watcher or Watcher(), self._free_language)

    def unfinished(self) -> tuple[str, ...]:
        """The structures that were begun or lost and are not there: the next `add` for a recipe that needs them goes on."""
        with self._shared.reading() as snapshot:
            return tuple(snapshot.head.unfinished)

    @cached_property
    def _language_context(self) -> LanguageContext:
        from hoptrail.language.opening import LanguageContext

        return LanguageContext(self.encoder, self.folder, self.settings.chat, self.settings.offline)

    def _structures(self, recipes: Sequence[str]) -> list[Structure]:
        """Those that `recipes` need and those that the index already has, in the order they are built."""
        self.check(recipes)
        wanted = needed_structures(recipes, self.settings.recipes)
        if not self.is_empty:
            with self._shared.reading() as snapshot:
                wanted |= set(snapshot.head.structures)
        return self._with_foundations(wanted)

    def _with_foundations(self, names: Iterable[str]) -> list[Structure]:
        from hoptrail.structures.catalogue import structures_by_name, with_foundations

        return with_foundations(names, structures_by_name(self.settings.passages, self.settings.structures))

    def _performer(
        self, recipes: Sequence[str], structures: Sequence[Structure], encoder: Encoder, *, rebuild: bool
    ) -> Performer | None:
        """Who makes structures, if any of them needs it: opening a language may need an endpoint.

        The rules get `encoder`, the form of it that goes where they go; a chat model is asked from here.
        """
        from hoptrail.indexing import Performer
        from hoptrail.language.opening import LanguageContext, open_language

        if not any(structure.needs_language for structure in structures):
            return None
        if self._asks_model(recipes, rebuild=rebuild):
            return Performer(self.language(), self.settings.chat.concurrency, rebuild)
        rules = open_language(OFFLINE, LanguageContext(encoder, self.folder, self.settings.chat, self.settings.offline))
        return Performer(rules, rebuild=rebuild)

    def _asks_model(self, recipes: Sequence[str], *, rebuild: bool) -> bool:
        """Whether building for these recipes is a chat model's affair."""
        if rebuild or self.settings.language != CHAT:
            return self.settings.language == CHAT
        makers = set[str]()
        if not self.is_empty:
            with self._shared.reading() as snapshot:
                makers = set(snapshot.head.languages.values())
        wanted = self._with_foundations(needed_structures(gaining_by_model(recipes), self.settings.recipes))
        return not makers <= {OFFLINE} or any(structure.needs_language for structure in wanted)

    @property
    def _free_language(self) -> Language:
        return self.language(OFFLINE)


def _one_or_several(given: T | Iterable[T]) -> list[T]:
    """A text alone is one name, not its characters."""
    return [cast("T", given)] if isinstance(given, str | Path) else list(cast("Iterable[T]", given))


def _looked_for(sources: Sequence[str | Path], recipes: Sequence[str], language: str) -> IndexingReport:
    """The estimate where no model is asked: why, and what of the sources cannot be found."""
    by_rules = f"what {', '.join(recipes)} needs is made by rules, so no model is asked"
    from hoptrail.documents.walking import files_of
    from hoptrail.syncing import IndexingReport

    found = [item for source in sources for item in files_of(Path(source))]
    return IndexingReport(
        documents=sum(isinstance(item, Path) for item in found),
        failures=[item for item in found if isinstance(item, DocumentError)],
        notes=[by_rules if language == CHAT else f"the language {language} asks no model"],
    )


def _forget_replies(folder: Path, shared: SharedSnapshot) -> None:
    """Forget what a chat model said about documents that are no longer here."""
    from hoptrail.models.remembered import FILE, RememberedReplies

    replies = RememberedReplies(folder / FILE)
    mentioned = replies.documents()
    if mentioned:
        with shared.reading() as snapshot:
            replies.forget(mentioned.difference(snapshot.register.ids()))
    replies.close()
