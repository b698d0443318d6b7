"""Changing an index: which structures recipes need, which language makes them, and what to forget with removed documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hoptrail.corpus.copying import copy_index
from hoptrail.corpus.head import Head
from hoptrail.corpus.journal import History
from hoptrail.documents.walking import files_in
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.index.asked import AskedIndex
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.language.factory import open_language
from hoptrail.language.tasks import CHAT, OFFLINE
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import remote_safe_encoder
from hoptrail.models.ledger import FILE, RememberedReplies
from hoptrail.recipes.catalogue import built_by_model, check_built_for, needed_structures
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from hoptrail.structures.declaration import Structure


def check_recipes(settings: Settings, recipes: Sequence[str]) -> None:
    """See `Index.check`."""
    needed_structures(recipes, settings.recipes)  # its error names all unknown recipes
    check_built_for(recipes, settings.recipes, settings.structures)


def add(
    index: AskedIndex,
    sources: Sequence[str | Path],
    recipes: Sequence[str],
    watcher: Watcher | None,
    options: ReadingOptions,
    on: Executor = LOCAL_EXECUTOR,
) -> IndexingReport:
    """See `Index.add`."""
    recipes = recipes or [index.settings.recipe]
    structures = structures_for(index, recipes)
    encoder = index.encoder if on is LOCAL_EXECUTOR else remote_safe_encoder(index.settings.encoder, index.encoder)
    performer = _performer(index, recipes, structures, encoder, rebuild=options.reread)
    report = update_index(index.folder, sources, encoder, structures, watcher or Watcher(), performer, on, options)
    forget_removed(index)
    return report


def estimate(
    index: AskedIndex, sources: Sequence[str | Path], recipes: Sequence[str], watcher: Watcher | None, *, rebuild: bool
) -> IndexingReport:
    """See `Index.estimate`."""
    from hoptrail.language.chat.estimating import RehearsalLanguage

    settings = index.settings
    recipes = recipes or [settings.recipe]
    structures = structures_for(index, recipes)
    needed = any(structure.needs_language for structure in structures)
    if not needed or not _asks_model(index, recipes, rebuild=rebuild):
        return _estimate_without_model(sources, recipes, settings)
    chat = settings.chat.of("build")
    rehearsal = RehearsalLanguage(index.language_context.rehearsed_chat(chat), chat, index.language(OFFLINE))
    with TemporaryDirectory(prefix="hoptrail-estimate-") as temporary:
        copy = Path(temporary, "index")
        if not index.is_empty:
            copy_index(index.folder, copy)
        performer = BuildLanguage(rehearsal, rebuild=rebuild)
        options = ReadingOptions(selection=settings.selection, limits=settings.reading)
        return update_index(copy, sources, index.encoder, structures, watcher or Watcher(), performer, options=options)


def structures_for(index: AskedIndex, recipes: Sequence[str]) -> list[Structure]:
    """The structures that `recipes` need and those that the index already has, in the order they are built."""
    check_recipes(index.settings, recipes)
    needed = needed_structures(recipes, index.settings.recipes)
    return _with_foundations(index.settings, needed | _head(index).structures.keys())


def _head(index: AskedIndex) -> Head:
    """The metadata of the last commit; empty before the first."""
    if index.is_empty:
        return Head()
    with index.reading() as snapshot:
        return snapshot.head


def _with_foundations(settings: Settings, names: Iterable[str]) -> list[Structure]:
    return with_foundations(names, structures_by_name(settings.passages, settings.structures))


def _performer(
    index: AskedIndex, recipes: Sequence[str], structures: Sequence[Structure], encoder: Encoder, *, rebuild: bool
) -> BuildLanguage | None:
    """Open the language that makes structures, if any of them needs one: opening it may need an endpoint.

    The rules may run in other processes, so they get `encoder` in the form that can be sent there. A chat model is asked
    from this process.
    """
    if not any(structure.needs_language for structure in structures):
        return None
    context, settings = index.language_context, index.settings
    if _asks_model(index, recipes, rebuild=rebuild):
        language = open_language(settings.builder, replace(context, chat=settings.chat.of("build")))
        return BuildLanguage(language, settings.chat.concurrency, rebuild)
    return BuildLanguage(open_language(OFFLINE, replace(context, encoder=encoder)), rebuild=rebuild)


def _asks_model(index: AskedIndex, recipes: Sequence[str], *, rebuild: bool) -> bool:
    settings = index.settings
    if rebuild or settings.builder != CHAT:
        return settings.builder == CHAT
    needed = _with_foundations(settings, needed_structures(built_by_model(recipes), settings.recipes))
    paid = not set(_head(index).languages.values()) <= {OFFLINE}
    return paid or any(structure.needs_language for structure in needed)


def forget_removed(index: AskedIndex) -> None:
    """Forget what a chat model said about documents that are no longer here, and answers that came from them."""
    replies, history = RememberedReplies(index.folder / FILE), History(index.folder)
    mentioned, cited = replies.documents(), history.documents()
    if mentioned or cited:
        with index.reading() as snapshot:
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
