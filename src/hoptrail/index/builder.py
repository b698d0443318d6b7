"""Changing an index: which structures recipes need, which language makes them; adding, estimating, removing, repairing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hoptrail.corpus.copying import copy_index
from hoptrail.corpus.head import Head
from hoptrail.corpus.journal import History
from hoptrail.corpus.register import Withdrawn
from hoptrail.corpus.snapshot import SharedSnapshot, Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.walking import files_in
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.index.indexing import BuildLanguage, Watcher, remove_documents, repair_index, update_index
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.lazy import CHAT, OFFLINE
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import remote_safe_encoder
from hoptrail.models.ledger import FILE, RememberedReplies
from hoptrail.recipes.catalogue import built_by_model, check_built_for, needed_structures
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from hoptrail.structures.declaration import Structure


@dataclass(frozen=True, slots=True)
class Building:
    """Changes the index in `folder`. The encoder and the context of language tasks are opened when they are needed."""

    folder: Path
    settings: Settings
    shared: SharedSnapshot
    encoder: Callable[[], Encoder]
    context: Callable[[], LanguageContext]

    @property
    def _free_language(self) -> Language:
        return open_language(OFFLINE, self.context())

    def check(self, recipes: Sequence[str]) -> None:
        """See `Index.check`."""
        needed_structures(recipes, self.settings.recipes)  # its error names all unknown recipes
        check_built_for(recipes, self.settings.recipes, self.settings.structures)

    def add(
        self,
        sources: Sequence[str | Path],
        recipes: Sequence[str],
        watcher: Watcher | None,
        options: ReadingOptions,
        on: Executor = LOCAL_EXECUTOR,
    ) -> IndexingReport:
        """See `Index.add`."""
        recipes = recipes or [self.settings.recipe]
        structures = self._structures(recipes)
        encoder = self.encoder() if on is LOCAL_EXECUTOR else remote_safe_encoder(self.settings.encoder, self.encoder())
        performer = self._performer(recipes, structures, encoder, rebuild=options.reread)
        report = update_index(self.folder, sources, encoder, structures, watcher or Watcher(), performer, on, options)
        self._forget_removed()
        return report

    def estimate(
        self, sources: Sequence[str | Path], recipes: Sequence[str], watcher: Watcher | None, *, rebuild: bool
    ) -> IndexingReport:
        """See `Index.estimate`."""
        from hoptrail.language.chat.estimating import RehearsalLanguage

        recipes = recipes or [self.settings.recipe]
        structures = self._structures(recipes)
        needed = any(structure.needs_language for structure in structures)
        if not needed or not self._asks_model(recipes, rebuild=rebuild):
            return _estimate_without_model(sources, recipes, self.settings)
        chat = self.settings.chat.of("build")
        rehearsal = RehearsalLanguage(self.context().rehearsed_chat(chat), chat, self._free_language)
        with TemporaryDirectory(prefix="hoptrail-estimate-") as temporary:
            copy = Path(temporary, "index")
            if Snapshot.exists(self.folder):
                copy_index(self.folder, copy)
            watcher, performer = watcher or Watcher(), BuildLanguage(rehearsal, rebuild=rebuild)
            options = ReadingOptions(selection=self.settings.selection, limits=self.settings.reading)
            return update_index(copy, sources, self.encoder(), structures, watcher, performer, options=options)

    def withdraw(self, documents: Sequence[str]) -> list[Withdrawn]:
        """See `Index.withdraw`."""
        with self.shared.reading():
            pass  # raises where there is no index
        structures = self._structures(())
        withdrawn = remove_documents(self.folder, documents, self.encoder(), structures, self._free_language)
        self._forget_removed()
        return withdrawn

    def clean(self) -> bool:
        """See `Index.clean`."""
        with writing_to(self.folder, self.encoder().identity) as writer:
            erased = writer.erase_removed()
        self._forget_removed()
        return erased

    def owes_erasure(self) -> bool:
        """See `Index.owes_erasure`."""
        if not Snapshot.exists(self.folder):
            return False
        replies = RememberedReplies(self.folder / FILE)
        mentioned = replies.documents() | History(self.folder).documents()
        replies.close()
        with Snapshot.open(self.folder) as snapshot:
            return snapshot.owes_erasure or not mentioned.issubset(snapshot.register.ids())

    def repair(self, watcher: Watcher | None) -> list[str]:
        """See `Index.repair`."""
        structures = structures_by_name(self.settings.passages, self.settings.structures)
        return repair_index(self.folder, self.encoder(), structures, watcher or Watcher(), self._free_language)

    def _structures(self, recipes: Sequence[str]) -> list[Structure]:
        """The structures that `recipes` need and those that the index already has, in the order they are built."""
        self.check(recipes)
        return self._with_foundations(needed_structures(recipes, self.settings.recipes) | self._head.structures.keys())

    @property
    def _head(self) -> Head:
        """The metadata of the last commit; empty before the first."""
        if not Snapshot.exists(self.folder):
            return Head()
        with self.shared.reading() as snapshot:
            return snapshot.head

    def _with_foundations(self, names: Iterable[str]) -> list[Structure]:
        return with_foundations(names, structures_by_name(self.settings.passages, self.settings.structures))

    def _performer(
        self, recipes: Sequence[str], structures: Sequence[Structure], encoder: Encoder, *, rebuild: bool
    ) -> BuildLanguage | None:
        """Open the language that makes structures, if any of them needs one: opening it may need an endpoint.

        The rules may run in other processes, so they get `encoder` in the form that can be sent there. A chat model is asked
        from this process.
        """
        if not any(structure.needs_language for structure in structures):
            return None
        if self._asks_model(recipes, rebuild=rebuild):
            context = replace(self.context(), chat=self.settings.chat.of("build"))
            language = open_language(self.settings.builder, context)
            return BuildLanguage(language, self.settings.chat.concurrency, rebuild)
        rules = open_language(OFFLINE, LanguageContext(encoder, self.folder, self.settings.chat, self.settings.offline))
        return BuildLanguage(rules, rebuild=rebuild)

    def _asks_model(self, recipes: Sequence[str], *, rebuild: bool) -> bool:
        if rebuild or self.settings.builder != CHAT:
            return self.settings.builder == CHAT
        needed = self._with_foundations(needed_structures(built_by_model(recipes), self.settings.recipes))
        paid = not set(self._head.languages.values()) <= {OFFLINE}
        return paid or any(structure.needs_language for structure in needed)

    def _forget_removed(self) -> None:
        """Forget what a chat model said about documents that are no longer here, and answers that came from them."""
        replies, history = RememberedReplies(self.folder / FILE), History(self.folder)
        mentioned, cited = replies.documents(), history.documents()
        if mentioned or cited:
            with self.shared.reading() as snapshot:
                ids = snapshot.register.ids()
            replies.forget(mentioned.difference(ids))
            history.forget(cited.difference(ids))
        replies.close()


def _estimate_without_model(
    sources: Sequence[str | Path], recipes: Sequence[str], settings: Settings
) -> IndexingReport:
    """The estimate where no model is asked: the reason, the number of files, and the sources that cannot be found."""
    by_rules = f"what {', '.join(recipes)} needs is made by rules, so no model is asked"
    files = list(files_in(sources, settings.selection))
    return IndexingReport(
        documents=sum(isinstance(item, Path) for item in files),
        failures=[item for item in files if isinstance(item, DocumentError)],
        notes=[by_rules if settings.builder == CHAT else f"the language {settings.builder} asks no model"],
    )
