"""Entities and facts of every passage, extracted once and stored; and every fact as a unit of its own.

SiReRAG section 4.2, "Extracting Propositions and Entities from Documents".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import EXTRACTIONS, FACTS, PASSAGES
from hoptrail.corpus.writer import Writer
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import ADDED
from hoptrail.language.tasks import Extract, Task
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived
from hoptrail.structures.encoding import kept_at_once
from hoptrail.structures.imported import import_extractions
from hoptrail.structures.json_lines import LinesFile
from hoptrail.structures.passage_tasks import PassageTasks, in_document_order
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Extraction, Kind, Span, Unit, content_id

READ = 8192
"""Passages that are read at a time with their extractions."""

SHOWN = 3
"""Number of passages without a line that a note names."""


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
        """Remove all extractions; their passages stay."""
        writer.drop_extractions()

    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        return snapshot.table.extracted()

    def task(self, passage: Unit, before: Unit | None) -> Task[Extraction]:
        """Extract from the passage; the one before it may resolve its references."""
        return Extract(passage, before, self.settings.figures)

    def keep(self, context: BuildContext, got: Sequence[tuple[Unit, Extraction]]) -> None:
        """Store each extraction with its passage, in place of an earlier one."""
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
        yield from ((unit, extractions[unit.id]) for unit in snapshot.texts.in_order(ids) if unit.id in extractions)


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
