"""Bringing an index up to date with its sources: read, compare by content, keep what is new, build what recipes need.

Two phases, both resumable: documents are read and stored as they are, then every structure brings itself up to date with
them. What was finished when a run stopped is not done again by the next. What is read is found by its words at once; each
commit lets more be found by its vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.corpus.register import Withdrawn, removal_mark, remove_unsourced, withdraw
from hoptrail.corpus.repairing import repair
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.limits import ReadingLimits
from hoptrail.errors import EndpointRefused, Interrupted, MadeByAnother, UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.fingerprints import digest_of_code
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import Encoder
from hoptrail.structures.build_context import Account, BuildContext, Report, report_nothing, say_nothing, tell_nobody
from hoptrail.structures.course import Course, Progress, tell_no_progress
from hoptrail.structures.declaring import Structure
from hoptrail.structures.foretelling import foretold
from hoptrail.structures.passages import Passages
from hoptrail.structures.structure_names import PASSAGES
from hoptrail.syncing import USUAL, IndexingReport, ReadingOptions, read_all
from hoptrail.types import Usage, content_id


def never() -> bool:
    """For callers that never stop a run."""
    return False


@dataclass(frozen=True, slots=True)
class Watcher:
    """Whoever watches a run: told of each step (`report`) and of the run as a whole (`progress`), asked whether to stop, told
    what language tasks have cost so far; `say` is given lines that the user should read at once.
    """

    report: Report = report_nothing
    stopped: Callable[[], bool] = never
    spent: Callable[[Usage], None] = tell_nobody
    say: Callable[[str], None] = say_nothing
    progress: Callable[[Progress], None] = tell_no_progress

    def course(self) -> Course:
        """What follows a run for this watcher."""
        return Course(self._told, self.say)

    def _told(self, progress: Progress) -> None:
        self.progress(progress)
        self.report(progress.what, progress.done, progress.total)


@dataclass(frozen=True, slots=True)
class Performer:
    """Who performs language tasks while building, at most `workers` at once.

    What another language has made is refused, unless `rebuild` says that it shall be made anew; nothing counts as settled then.
    """

    language: Language
    workers: int = 1
    rebuild: bool = False


def update_index(
    where: Path,
    sources: Sequence[str | Path],
    encoder: Encoder,
    structures: Sequence[Structure],
    limits: ReadingLimits,
    watcher: Watcher,
    performer: Performer | None = None,
    executor: Executor = LOCAL_EXECUTOR,
    options: ReadingOptions = USUAL,
) -> IndexingReport:
    """Add or update the documents of `sources`, and bring `structures` up to date with all documents of the index.

    What can be done in other processes is done on `executor`; only this one reads files, asks endpoints and writes.

    Raises:
        MadeByAnother: a structure was made by another language than the performer's; nothing was changed.
        Interrupted: the watcher asked to stop; what was finished is kept.
        WorkFailed: the executor lost a batch for good; what was finished is kept.
        IndexBusy, IndexMismatch, IndexDamaged, StorageError: see `corpus.writer.writing_to`.
    """
    started, account = time.perf_counter(), Account(on_usage=watcher.spent)
    with writing_to(where, encoder.identity) as writer:
        if performer and not performer.rebuild:
            _check_makers(writer, structures, performer.language.name)
        context = replace(_workshop(writer, encoder, watcher), account=account, executor=executor)
        if performer:
            context = replace(context, language=performer.language, workers=performer.workers)
        with _spending(context, started) as spent:
            report = read_all(where, sources, limits, context, options, _cutting(structures, context))
            context.course.plan(foretold(structures, context))
            anew = performer is not None and performer.rebuild
            settled = build(structures, context, {} if anew else writer.head.settled)
        if writer.changed:
            writer.publish(spent(), settled)
        elif writer.committed:
            if settled != writer.head.settled or writer.has_files:
                writer.settle(settled)
            writer.clean()  # where a run before was stopped between its commit and that
        report.documents = len(writer.snapshot().register)
    report.notes += account.notes
    report.usage = account.usage
    return report


def _workshop(writer: Writer, encoder: Encoder, watcher: Watcher) -> BuildContext:
    course = watcher.course()
    return BuildContext(writer, encoder, course.report, lambda: _pause(writer, watcher), say=watcher.say, course=course)


def _cutting(structures: Sequence[Structure], context: BuildContext) -> Callable[[Collection[str]], None]:
    """Note what is to be built, and give what cuts new documents into passages as they are read, so that they are found by their
    words. It does nothing where passages are not wanted, and where those that there are were cut by other limits: they go first.
    """
    writer, found = context.writer, [one for one in structures if isinstance(one, Passages)]
    for structure in structures:
        if structure.name not in writer.structures:
            writer.unfinished.setdefault(structure.name, structure.fingerprint)
    marks = writer.structures | writer.unfinished
    if not found or marks.get(PASSAGES, found[0].fingerprint) != found[0].fingerprint:
        return lambda _: None
    return lambda documents: found[0].cut(context, documents)


def build(
    structures: Iterable[Structure], context: BuildContext, settled: Mapping[str, str], *, as_built: bool = False
) -> dict[str, str]:
    """Bring structures up to date; one whose settings or language have changed is built anew, unless those that are whole are
    to stay `as_built`.

    Without a language, those that need one keep what they have, except what removed documents have left behind.

    `settled` says of structures what they hung on when they wanted nothing more, in the published state. Where that is still so
    of one, and of all that it is built from, it is told what has happened to the documents since, and left alone if nothing
    has: working out that nothing is to be done can take as long as doing it. Gives the same of the state it leaves.
    """
    followed: set[str] = set()
    now: dict[str, str] = {}
    for structure in _clearing(structures, context.writer):
        change = context.writer.change()
        maker = context.language.name if structure.needs_language and context.language else ""
        try:
            hangs_on = build_fingerprint(structure, maker)
        except UsageError:
            if not as_built:
                raise
            hangs_on = ""  # the file that it was made from is gone: taking away needs none
        steady = settled.get(structure.name) == hangs_on and followed.issuperset(structure.built_from)
        since = change if steady else None
        if since:
            followed.add(structure.name)
            if since.nothing:
                now[structure.name] = hangs_on
                continue
        waits = structure.needs_language and not maker
        if hangs_on and not waits and not (as_built and structure.name not in context.writer.unfinished):
            _discard_outdated(structure, context.writer, maker)
        notes = len(context.account.notes)
        context.course.begin(structure.name)
        structure.update(replace(context, change=since))
        if hangs_on and not waits:
            _finish(structure, context.writer)
        whole = since is not None or not (waits or as_built)
        if whole and len(context.account.notes) == notes and now.keys() >= set(structure.built_from):
            now[structure.name] = hangs_on
    return now


def _clearing(structures: Iterable[Structure], writer: Writer) -> Iterator[Structure]:
    """The structures in order; documents without a source go once what replaces them has passages."""
    waiting = True
    for structure in structures:
        if waiting and structure.built_from:
            remove_unsourced(writer)
            waiting = False
        yield structure
    if waiting:
        remove_unsourced(writer)


def build_fingerprint(structure: Structure, maker: str) -> str:
    """Settings of all kinds, also those that only add; who performs language tasks; the code. Not covered: other packages."""
    return content_id("", repr(structure), structure.fingerprint, maker, digest_of_code("hoptrail"))


def _discard_outdated(structure: Structure, writer: Writer, maker: str) -> None:
    """Take away what other settings or another language have made, and enter those that go on."""
    made = (writer.structures | writer.unfinished).get(structure.name, structure.fingerprint)
    if made != structure.fingerprint or writer.languages.get(structure.name, maker) != maker:
        structure.discard(writer)
        writer.structures.pop(structure.name, None)
    if structure.name not in writer.structures:
        writer.unfinished[structure.name] = structure.fingerprint
    writer.languages.pop(structure.name, None)
    if maker:
        writer.languages[structure.name] = maker


def _finish(structure: Structure, writer: Writer) -> None:
    """Enter one that is up to date as present, if all that it stands on is."""
    if structure.name in writer.unfinished and writer.structures.keys() >= set(structure.built_from):
        writer.structures[structure.name] = writer.unfinished.pop(structure.name)


def _check_makers(writer: Writer, structures: Iterable[Structure], language: str) -> None:
    """Refuse to mix, or to make anew unasked, what another language has made: it may have been paid for."""
    makers = {
        structure.name: writer.languages.get(structure.name, language)
        for structure in structures
        if structure.needs_language
    }
    others = {name: maker for name, maker in makers.items() if maker != language}
    if others:
        name, maker = next(iter(others.items()))
        raise MadeByAnother(
            f"{', '.join(others)} of this index: made by {maker}, not by {language}",
            f"Go on with `--language {maker.partition(':')[0]}`, or say `--rebuild` to have {language} make {name} and the "
            f"like anew.",
        )


def remove_documents(
    where: Path,
    names: Sequence[str],
    encoder: Encoder,
    structures: Sequence[Structure],
    language: Language | None = None,
) -> list[Withdrawn]:
    """Remove documents by id, path or title, with everything derived from them alone; gives what became of those meant.

    A document that was read from several paths loses only the path that is named, and goes with the last. What another
    language than `language` has made is not made again: removing never spends. Removing by a name once more, right after a
    removal by it, is no error: that one may have been stopped before its end was seen.

    Raises:
        UsageError: a name fits no document, or a title fits several; nothing is removed then.
        IndexBusy, IndexMismatch, IndexDamaged, StorageError: see `corpus.writer.writing_to`.
    """
    started = time.perf_counter()
    with writing_to(where, encoder.identity) as writer:
        withdrawn = withdraw(writer, names)
        context = BuildContext(writer, encoder, report_nothing, _go_on, _sole_maker(writer, language))
        settled = build(structures, context, writer.head.settled, as_built=True)  # settings are for the next update
        writer.publish(Usage(seconds=time.perf_counter() - started), settled, {removal_mark(name) for name in names})
    return withdrawn


def _go_on() -> None:
    """Removing is one commit: where it is stopped, nothing has been removed."""


def _sole_maker(writer: Writer, language: Language | None) -> Language | None:
    """The language, if it has made all that any language has made here."""
    return language if language and set(writer.languages.values()) <= {language.name} else None


def repair_index(
    where: Path,
    encoder: Encoder,
    structures: Mapping[str, Structure],
    watcher: Watcher,
    language: Language | None = None,
) -> list[str]:
    """Make damaged files anew from the stored documents; the names of the files that were damaged.

    Where rows were lost, the structures that the index holds bring themselves up to date, as far as `language` has made them.
    What an earlier run has left unfinished is gone on with.

    Raises:
        IndexUnavailable: there is no index.
        IndexDamaged: the documents themselves are damaged; nothing is touched.
        Interrupted: the watcher asked to stop; what was finished is kept.
    """
    started = time.perf_counter()
    repaired = repair(where, encoder.encode)
    with writing_to(where, encoder.identity) as writer:
        unfinished = writer.head.unfinished
        if repaired.lost or unfinished or not writer.head.whole:
            held = writer.head.structures | unfinished
            maker = _sole_maker(writer, language)
            context = replace(_workshop(writer, encoder, watcher), language=maker)
            with _spending(context, started) as spent:
                build([structure for name, structure in structures.items() if name in held], context, {})
            if writer.changed:
                writer.publish(spent())
    return list(repaired.files)


@contextmanager
def _spending(context: BuildContext, started: float) -> Iterator[Callable[[], Usage]]:
    """Tells what has been spent by now; of what is stopped inside `with`, the index notes it, since nothing is published."""

    def spent() -> Usage:
        return replace(context.account.usage, seconds=time.perf_counter() - started)

    try:
        yield spent
    except (Interrupted, EndpointRefused):
        context.writer.note_spent(spent())
        raise


def _pause(writer: Writer, watcher: Watcher) -> None:
    writer.checkpoint()
    if watcher.stopped():
        raise Interrupted("stopped; what was finished is kept. Run the same command again to go on from here.")
