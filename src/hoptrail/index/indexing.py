"""Bringing an index up to date with its sources: read, compare by content, keep what is new, build what recipes need.

A run reads all documents and stores the new ones, then brings every structure up to date with them. Both are resumable: the next
run does not repeat what was finished when a run stopped. New documents can be found by their words as soon as they are read; each
commit makes more of them found by their vectors.

Afterwards new versions take the places of earlier ones, and what the sources no longer hold is removed: in one commit with the
structures made from it, or, where it is a lot, in several, each with all that is made from some of the documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hoptrail.corpus.copying import copy_index
from hoptrail.corpus.head import Head
from hoptrail.corpus.journal import History
from hoptrail.corpus.register import Withdrawn, withdraw
from hoptrail.corpus.repairing import repair
from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.walking import files_in
from hoptrail.errors import DocumentError, EndpointRefused, Interrupted, MadeByAnother, UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.fingerprints import digest_with
from hoptrail.index.asked import AskedIndex
from hoptrail.index.reading import SourcesRead
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import USUAL, IndexingReport, ReadingOptions
from hoptrail.language.factory import open_language
from hoptrail.language.tasks import CHAT, OFFLINE, Language
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import remote_safe_encoder
from hoptrail.models.ledger import FILE, RememberedReplies
from hoptrail.recipes.catalogue import built_by_model, check_built_for, needed_structures
from hoptrail.structures.build_context import Account, BuildContext, Report
from hoptrail.structures.catalogue import discard_unknown, structures_by_name, with_foundations
from hoptrail.structures.cost_estimates import estimated_steps
from hoptrail.structures.declaration import Structure
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import Progress, ProgressTracker, ignore
from hoptrail.types import Usage, content_id


@dataclass(frozen=True, slots=True)
class Watcher:
    """Callbacks of a run: `report` gets each step, `progress` the run as a whole, `spent` what language tasks have cost so far,
    `say` lines that the user should read at once. `stopped` is asked whether to stop.
    """

    report: Report = ignore
    stopped: Callable[[], bool] = lambda: False
    spent: Callable[[Usage], None] = ignore
    say: Callable[[str], None] = ignore
    progress: Callable[[Progress], None] = ignore

    def tracker(self) -> ProgressTracker:
        """A new `ProgressTracker` that reports to this watcher."""
        return ProgressTracker(self._report_progress, self.say)

    def _report_progress(self, progress: Progress) -> None:
        self.progress(progress)
        self.report(progress.what, progress.done, progress.total)


@dataclass(frozen=True, slots=True)
class BuildLanguage:
    """The language that performs tasks while building, at most `workers` at once.

    A structure that another language has made is an error, unless `rebuild` asks to make it anew: then nothing counts as up to
    date.
    """

    language: Language
    workers: int = 1
    rebuild: bool = False


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
        return _estimate_by_rules(sources, recipes, settings)
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


def _estimate_by_rules(sources: Sequence[str | Path], recipes: Sequence[str], settings: Settings) -> IndexingReport:
    by_rules = f"what {', '.join(recipes)} needs is made by rules, so no model is asked"
    files = list(files_in(sources, settings.selection))
    return IndexingReport(
        documents=sum(isinstance(item, Path) for item in files),
        failures=[item for item in files if isinstance(item, DocumentError)],
        notes=[by_rules if settings.builder == CHAT else f"the language {settings.builder} asks no model"],
    )


def update_index(
    where: Path,
    sources: Sequence[str | Path],
    encoder: Encoder,
    structures: Sequence[Structure],
    watcher: Watcher,
    performer: BuildLanguage | None = None,
    executor: Executor = LOCAL_EXECUTOR,
    options: ReadingOptions = USUAL,
) -> IndexingReport:
    """Add or update the documents of `sources`, and bring `structures` up to date with all documents of the index.

    `executor` may run work in other processes; only this one reads files, asks endpoints and writes.

    Raises:
        MadeByAnother: a structure was made by another language than the performer's; nothing was changed.
        Interrupted: the watcher asked to stop; what was finished is kept.
        WorkFailed: the executor lost a batch for good; what was finished is kept.
        IndexBusy, IndexMismatch, IndexDamaged, StorageError: see `corpus.writer.writing_to`.
    """
    started, anew = time.perf_counter(), performer is not None and performer.rebuild
    with writing_to(where, encoder.identity) as writer:
        if performer and not anew:
            _check_makers(writer, structures, performer.language.name)
        context = replace(_build_context(writer, encoder, watcher), executor=executor)
        if performer:
            context = replace(context, language=performer.language, workers=performer.workers)
        with _spending(context, started) as spent:
            reading = SourcesRead(where, context, options)
            reading.read(sources, _passage_cutter(structures, context))
            report = reading.report
            built = reading.is_over or anew or (writer.snapshot().commit > 0 and not _is_up_to_date(writer, structures))
            if built:
                _bring_up_to_date(structures, context, spent, anew=anew, last=reading.is_over)
            while not reading.is_over:
                writer.begin_run(undivided=True, built=built)
                reading.replace_next()
                _bring_up_to_date(structures, context, spent, anew=False, last=reading.is_over)
                built = True
        report.documents = len(writer.snapshot().register)
    report.notes += dict.fromkeys(context.account.notes)
    report.usage = context.account.usage
    return report


def _is_up_to_date(writer: Writer, structures: Iterable[Structure]) -> bool:
    """Whether nothing is to be built before documents are replaced."""
    built = all(writer.structures.get(structure.name) == structure.fingerprint for structure in structures)
    return built and not writer.changed


def _bring_up_to_date(
    structures: Sequence[Structure], context: BuildContext, spent: Callable[[], Usage], *, anew: bool, last: bool
) -> None:
    """Build and commit. Removed text is erased with the last commit of a run, so that a reader who delays it delays no other."""
    writer = context.writer
    context.tracker.plan(estimated_steps(structures, context))
    settled = build(structures, context, {} if anew else writer.head.settled)
    if writer.changed:
        writer.publish(spent(), settled, last=last)
    elif writer.snapshot().commit > 0:
        if settled != writer.head.settled or writer.documents.has_files:
            writer.settle(settled)
        writer.erase_removed()  # an earlier run may have been stopped after its commit and before this


def _build_context(writer: Writer, encoder: Encoder, watcher: Watcher) -> BuildContext:
    tracker = watcher.tracker()

    def _pause() -> None:
        writer.checkpoint()
        if watcher.stopped():
            raise Interrupted("stopped; what was finished is kept. Run the same command again to resume here.")

    account, stopped = Account(on_usage=watcher.spent), watcher.stopped
    return BuildContext(writer, encoder, tracker.report, _pause, account=account, tracker=tracker, stopped=stopped)


def _passage_cutter(structures: Sequence[Structure], context: BuildContext) -> Callable[[Collection[str]], None]:
    """Enter the structures to be built as unfinished. Returns a function that cuts new documents into passages as they are read,
    so that they can be found by their words. It does nothing where no passages are wanted, or where the existing ones were cut
    by other limits: these must be removed first.
    """
    writer, passages = context.writer, next((item for item in structures if isinstance(item, Passages)), None)
    for structure in structures:
        if structure.name not in writer.structures:
            writer.unfinished.setdefault(structure.name, structure.fingerprint)
    fingerprints = writer.structures | writer.unfinished
    if passages is None or fingerprints.get(PASSAGES, passages.fingerprint) != passages.fingerprint:
        return lambda _: None
    return lambda documents: passages.cut(context, documents)


def build(
    structures: Iterable[Structure], context: BuildContext, settled: Mapping[str, str], *, as_built: bool = False
) -> dict[str, str]:
    """Bring structures up to date. One whose settings or language have changed is built anew, unless `as_built` asks to keep
    finished structures as they are.

    Without a language, structures that need one keep what they have, except what was made from removed documents alone.

    `settled` maps the structures that are complete in the published state to their build fingerprints. Where those of a structure
    and of all that it is built from are unchanged, it gets the changes of the documents since then, and is skipped if there are
    none: finding out that nothing is to be done can take as long as doing it. Returns the mapping for the new state.
    """
    followed: set[str] = set()
    now: dict[str, str] = {}
    discard_unknown(context.writer)
    if (change := context.writer.change) and change.nothing:
        change.release()
    for structure in structures:
        change = context.writer.change
        maker = context.language.name if structure.needs_language and context.language else ""
        fingerprint = _fingerprint_to_build(structure, maker, as_built=as_built)
        unchanged = settled.get(structure.name) == fingerprint and followed.issuperset(structure.built_from)
        since = change if unchanged else None
        if since:
            followed.add(structure.name)
            if since.nothing:
                now[structure.name] = fingerprint
                continue
        lacks_language = structure.needs_language and not maker
        if fingerprint and not lacks_language and not (as_built and structure.name not in context.writer.unfinished):
            _discard_outdated(structure, context.writer, maker)
        notes = len(context.account.notes)
        context.tracker.begin(structure.name)
        structure.update(replace(context, change=since))
        if fingerprint and not lacks_language:
            _finish(structure, context.writer)
        complete = since is not None or not (lacks_language or as_built)
        if complete and len(context.account.notes) == notes and now.keys() >= set(structure.built_from):
            now[structure.name] = fingerprint
    return now


def build_fingerprint(structure: Structure, maker: str) -> str:
    """Of all that a structure depends on beside documents: settings (also ADDED ones), language, code; not other packages."""
    return content_id("", repr(structure), structure.fingerprint, maker, digest_with(structure))


def _fingerprint_to_build(structure: Structure, maker: str, *, as_built: bool) -> str:
    """As `build_fingerprint`; empty if the file that it was made from no longer exists and it is kept as it is."""
    try:
        return build_fingerprint(structure, maker)
    except UsageError:
        if not as_built:
            raise
        return ""


def _discard_outdated(structure: Structure, writer: Writer, maker: str) -> None:
    """Discard a structure that other settings or another language made, and enter it as unfinished unless it is finished."""
    stored = (writer.structures | writer.unfinished).get(structure.name, structure.fingerprint)
    if stored != structure.fingerprint or writer.languages.get(structure.name, maker) != maker:
        structure.discard(writer)
        writer.structures.pop(structure.name, None)
    if structure.name not in writer.structures:
        writer.unfinished[structure.name] = structure.fingerprint
    writer.languages.pop(structure.name, None)
    if maker:
        writer.languages[structure.name] = maker


def _finish(structure: Structure, writer: Writer) -> None:
    """Enter an updated structure as finished, if all that it is built from is finished."""
    if structure.name in writer.unfinished and writer.structures.keys() >= set(structure.built_from):
        writer.structures[structure.name] = writer.unfinished.pop(structure.name)


def _check_makers(writer: Writer, structures: Iterable[Structure], language: str) -> None:
    """Refuse to mix, or to make anew unasked, what another language has made: it may have been paid for.
    Raises: MadeByAnother: a structure was made by another language than `language`.
    """
    asking = (structure.name for structure in structures if structure.needs_language)
    others = {name: maker for name in asking if (maker := writer.languages.get(name, language)) != language}
    if others:
        name, maker = next(iter(others.items()))
        raise MadeByAnother(
            f"{', '.join(others)} of this index: made by {maker}, not by {language}",
            f"Continue with `--language {maker.partition(':')[0]}`, or use `--rebuild` to have {language} make {name} and the "
            f"like anew.",
        )


def remove_documents(
    where: Path,
    names: Sequence[str],
    encoder: Encoder,
    structures: Sequence[Structure],
    language: Language | None = None,
) -> list[Withdrawn]:
    """Remove documents by id, path or title, with everything derived from them alone. Returns what became of each.

    A document that was read from several paths loses only the named path, and is removed with its last one. What another
    language than `language` has made is not made again: removing never spends. Removing what was removed before is no error: the
    first removal may have been stopped after its commit.

    Raises:
        UsageError: a name fits no document, or a title fits several; nothing is removed.
        IndexBusy, IndexMismatch, IndexDamaged, StorageError: see `corpus.writer.writing_to`.
    """
    started = time.perf_counter()
    with writing_to(where, encoder.identity) as writer:
        writer.begin_run(undivided=True)
        withdrawn = withdraw(writer, names)
        context = BuildContext(writer, encoder, ignore, pause=ignore, language=_sole_maker(writer, language))
        # Changed settings apply at the next update.
        settled = build(structures, context, writer.head.settled, as_built=True)
        writer.publish(Usage(seconds=time.perf_counter() - started), settled)
    return withdrawn


def _sole_maker(writer: Writer, language: Language | None) -> Language | None:
    return language if language and set(writer.languages.values()) <= {language.name} else None


def repair_index(
    where: Path,
    encoder: Encoder,
    structures: Mapping[str, Structure],
    watcher: Watcher,
    language: Language | None = None,
) -> list[str]:
    """Make damaged files anew from the stored documents. Returns the names of these files.

    Where rows were lost, the structures of the index are brought up to date, if `language` has made them. Structures that an
    earlier run left unfinished are continued.

    Raises:
        IndexUnavailable: there is no index.
        IndexDamaged: the documents themselves are damaged; nothing is changed.
        Interrupted: the watcher asked to stop; what was finished is kept.
    """
    started = time.perf_counter()
    repaired = repair(where, encoder.encode)
    with writing_to(where, encoder.identity) as writer:
        unfinished = writer.head.unfinished
        if repaired.lost or unfinished or not writer.head.whole:
            names = writer.head.structures | unfinished
            maker = _sole_maker(writer, language)
            context = replace(_build_context(writer, encoder, watcher), language=maker)
            with _spending(context, started) as spent:
                build([structure for name, structure in structures.items() if name in names], context, {})
            if writer.changed:
                writer.publish(spent())
    return list(repaired.files)


@contextmanager
def _spending(context: BuildContext, started: float) -> Iterator[Callable[[], Usage]]:
    """Yields a function that returns what has been spent since it was called last. When a run is stopped inside `with`, what it
    has not published is discarded, and the index notes what was spent on that.
    """
    since = started

    def spent() -> Usage:
        nonlocal since
        usage, context.account.unpublished = context.account.unpublished, Usage()
        seconds, since = time.perf_counter() - since, time.perf_counter()
        return replace(usage, seconds=seconds)

    try:
        yield spent
    except (Interrupted, EndpointRefused):
        context.writer.note_spent(spent())
        raise
