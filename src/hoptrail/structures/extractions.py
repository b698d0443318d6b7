"""Structures with one language task per passage: entities and facts, extracted once and stored; every fact as a unit of its own.

Outputs are stored in batches; failures are noted and retried by the next run. SiReRAG section 4.2, "Extracting Propositions and
Entities from Documents".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Generic, TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import EXTRACTIONS, FACTS, PASSAGES
from hoptrail.corpus.units import in_document_order
from hoptrail.corpus.writer import Writer
from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import batched, is_remote_safe
from hoptrail.fingerprints import ADDED
from hoptrail.language.tasks import Extract, Language, Task
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived, Structure
from hoptrail.structures.encoding import kept_at_once
from hoptrail.structures.imported import import_extractions
from hoptrail.structures.json_lines import LinesFile
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Extraction, Kind, Span, Unit, content_id

READ = 8192  # passages that are read at a time with their extractions
SHOWN = 3  # number of passages without a line that a note names


T = TypeVar("T")


BATCH = 256  # the least number of passages whose outputs are stored at a time


class PassageTasks(Structure, Generic[T]):
    """A structure with one language task and one stored row per passage."""

    __slots__ = ()
    doing: str  # the name of the work in reports and notes
    looks_back: bool  # whether the task of a passage gets the passage before it too

    def row_id(self, passage: str) -> str:
        return passage

    @abstractmethod
    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        """The ids of the rows that are stored."""

    @abstractmethod
    def task(self, passage: Unit, before: Unit | None) -> Task[T]:
        """The task of a passage."""

    @abstractmethod
    def keep(self, context: BuildContext, got: Sequence[tuple[Unit, T]]) -> None:
        """Store the outputs for passages."""

    def missing(self, context: BuildContext) -> list[tuple[str, Span]]:
        """Ids and places of the passages without a row. Removes the rows of removed passages."""
        snapshot = context.writer.snapshot()
        if context.change:  # rows were removed with their documents
            return list(snapshot.table.first_sources(Kind.PASSAGE, context.change.added))
        places, stored = list(snapshot.table.first_sources(Kind.PASSAGE)), set(self.stored(snapshot))
        for kind in self.units:
            context.writer.remove_units(kind, stored.difference(self.row_id(id_) for id_, _ in places))
        return [(id_, place) for id_, place in places if self.row_id(id_) not in stored]

    def update(self, context: BuildContext) -> None:
        """Ask about the passages without a row, in document order; does nothing without a language.
        Raises: EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: earlier outputs are kept.
        """
        missing, language = self.missing(context), context.language
        if language is None:
            return
        ordered = in_document_order(missing)
        size = kept_at_once(context, len(ordered), BATCH)
        for start in range(0, len(ordered), size):
            context.pause()
            got: list[tuple[Unit, T]] = []
            outputs = self._asked(context, language, ordered[start : start + size])
            try:
                for done, (unit, output) in enumerate(outputs, start + 1):
                    if isinstance(output, TaskFailed):
                        where = f"{self.doing}: passage {unit.id} of {unit.title!r}"
                        context.account.notes.append(f"{where}: {output}. Run the same command again to ask once more.")
                    else:
                        got.append((unit, output))
                    context.report(self.doing, done, len(ordered))
            finally:  # whatever stops the run: the outputs may have been paid for
                self.keep(context, got)
                context.writer.checkpoint()

    def _asked(
        self, context: BuildContext, language: Language, passages: Sequence[str]
    ) -> Iterator[tuple[Unit, T | TaskFailed]]:
        snapshot = context.writer.snapshot()
        batch = list(snapshot.numbered.in_order(passages))
        before: dict[str, Unit] = {}
        if self.looks_back and not is_remote_safe(language):  # the rules get the passages alone
            near = snapshot.table.within(Kind.PASSAGE, {unit.document for unit in batch})
            pairs = pairwise(sorted(near, key=lambda unit: unit.sources))
            before = {unit.id: prior for prior, unit in pairs if prior.document == unit.document}
        outputs = context.perform(language, (self.task(unit, before.get(unit.id)) for unit in batch))
        return zip(batch, outputs, strict=True)


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """`from_file`: a file of extractions (format: `imported.py`) to import instead of asking the language. `figures`: whether a
    model lists dates and quantities as entities, too.
    """

    from_file: str = ""
    figures: bool = field(default=False, metadata={ADDED: True})


@dataclass(frozen=True, slots=True)
class Extractions(PassageTasks[Extraction]):
    """One extraction per passage, with the passage's id."""

    settings: ExtractionSettings = field(default_factory=ExtractionSettings)
    name = EXTRACTIONS
    cost = 0.025
    built_from = (PASSAGES,)
    doing = "extracting"
    looks_back = True

    @property
    def needs_language(self) -> bool:
        """False if a file has the extractions."""
        return not self.settings.from_file

    def discard(self, writer: Writer) -> None:
        writer.drop_extractions()

    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        return snapshot.table.extracted()

    def task(self, passage: Unit, before: Unit | None) -> Task[Extraction]:
        return Extract(passage, before, self.settings.figures)

    def keep(self, context: BuildContext, got: Sequence[tuple[Unit, Extraction]]) -> None:
        context.writer.put_extractions({unit.id: extraction for unit, extraction in got})

    def update(self, context: BuildContext) -> None:
        """Ask, or import the file. Raises: UsageError: the file cannot be read; and see `PassageTasks.update`."""
        if self.settings.from_file:
            file = LinesFile(Path(self.settings.from_file), EXTRACTIONS)
            _import(context, file, self.missing(context))
        else:
            PassageTasks.update(self, context)


def stored_in_order(snapshot: Snapshot, documents: Collection[str] | None = None) -> Iterator[tuple[Unit, Extraction]]:
    """The passages that have an extraction, with it, in document order, as a stream; of all documents or of these."""
    for ids in batched(in_document_order(snapshot.table.first_sources(Kind.PASSAGE, documents)), READ):
        extractions = dict(snapshot.extractions(ids))
        yield from ((unit, extractions[unit.id]) for unit in snapshot.numbered.in_order(ids) if unit.id in extractions)


@dataclass(frozen=True, slots=True)
class Facts(Derived):
    """One unit per fact, with the title of its passage: the propositions that SiReRAG's ablations B to D put into the pool."""

    name = FACTS
    built_from = (EXTRACTIONS,)
    units = (Kind.FACT,)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """A unit for each stored fact that has a text; its id depends on the text and on where it is stated."""
        for passage, extraction in stored_in_order(context.writer.snapshot(), documents):
            for fact in extraction.facts:
                text, place = squeeze(fact.text), fact.source
                if text:
                    name = content_id("f", text, place.document, str(place.start), str(place.end))
                    yield Unit(name, Kind.FACT, passage.title, text, (place,))


def _import(context: BuildContext, file: LinesFile, missing: Iterable[tuple[str, Span]]) -> None:
    snapshot, change = context.writer.snapshot(), context.change
    ids = {id_ for id_, _ in missing}
    if not ids:
        return
    places = snapshot.table.first_sources(Kind.PASSAGE, change.added if change else None)
    done, without, shown = 0, 0, list[str]()
    imported = import_extractions(file, snapshot, places, ids)
    for batch in batched(imported, kept_at_once(context, len(ids), READ)):
        context.writer.put_extractions({unit.id: found for unit, found in batch if found is not None})
        context.pause()
        lacking = [unit for unit, found in batch if found is None]
        without += len(lacking)
        shown += [f"{unit.title!r} ({unit.id})" for unit in lacking[: SHOWN - len(shown)]]
        done += len(batch)
        context.report("importing extractions", done, len(ids))
    context.account.notes += file.described
    if without:
        context.account.notes.append(
            f"{file.path} has no line for {without} passages, which are without entities and facts: {', '.join(shown)}"
            f"{', ...' if without > SHOWN else ''}. Add lines."
        )
