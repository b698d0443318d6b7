"""Entities and facts of every passage, found once and stored: what aggregates and facts are made from.

SiReRAG section 4.2, "Extracting Propositions and Entities from Documents". The language is asked once a passage, or a file is
read in its place (`imported.py`). Knows nothing of prompts, and does not judge what was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.executing.executor import batched
from hoptrail.fingerprints import fingerprint
from hoptrail.language.tasks import Extract, Extraction
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.asking import Inquiry, ask_about, passages_in_order, passages_without
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import kept_at_once
from hoptrail.structures.imported import import_extractions
from hoptrail.structures.json_lines import Faults, LinesFile
from hoptrail.structures.names import EXTRACTIONS, PASSAGES
from hoptrail.structures.passage_places import PassagePlaces
from hoptrail.types import Kind, Span, Unit

READ = 8192
"""Passages read at a time with what was found in them."""

SHOWN = 3
"""Passages without a line that are named."""


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """`from_file`: a file of extractions (`imported.py` says what it holds), taken in place of asking the language."""

    from_file: str = ""


@dataclass(frozen=True, slots=True)
class Extractions:
    """One extraction a passage, by the passage's id."""

    settings: ExtractionSettings = field(default_factory=ExtractionSettings)
    name: str = EXTRACTIONS
    built_from: tuple[str, ...] = (PASSAGES,)

    @property
    def needs_language(self) -> bool:
        return not self.settings.from_file

    @property
    def fingerprint(self) -> str:
        """That of the file's content, where there is a file: moving it changes nothing, editing it does.

        Raises:
            UsageError: the file cannot be read.
        """
        if not self.settings.from_file:
            return fingerprint(self.settings)
        return fingerprint(ExtractionSettings(_file(self.settings).digest()))

    def discard(self, writer: Writer) -> None:
        writer.drop_extractions()

    def update(self, workshop: Workshop) -> None:
        """Extract from the passages without an extraction; what was found in passages that are gone goes.

        Raises:
            UsageError: the file cannot be read.
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: what was found until then is kept.
        """
        if self.settings.from_file:
            _import(workshop, _file(self.settings))
        else:
            inquiry = Inquiry(Extract, lambda got: _keep(workshop.writer, got), "extracting", looks_back=True)
            ask_about(workshop, _missing(workshop), inquiry)


def stored_in_order(snapshot: Snapshot, documents: Collection[str] | None = None) -> Iterator[tuple[Unit, Extraction]]:
    """Every passage that has an extraction, with it, in document order, as a stream; of all documents or of some."""
    places = snapshot.first_sources(Kind.PASSAGE) if documents is None else _places_within(snapshot, documents)
    for ids in PassagePlaces(places, snapshot.scratch).batches(READ):
        found = dict(snapshot.extractions(ids))
        yield from ((unit, found[unit.id]) for unit in passages_in_order(snapshot, ids) if unit.id in found)


def _places_within(snapshot: Snapshot, documents: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Ids and places of the passages of some documents."""
    return ((unit.id, unit.sources[0]) for unit in snapshot.units_within(Kind.PASSAGE, documents))


def _missing(workshop: Workshop) -> Iterator[tuple[str, Span]]:
    """Ids and places of the passages without an extraction; extractions without a passage are removed."""
    writer, snapshot = workshop.writer, workshop.writer.snapshot()
    if workshop.change:  # with a document that goes, what was found in it has gone
        return _places_within(snapshot, workshop.change.came)
    there = writer.scratch.digests(map(hash, snapshot.unit_ids(Kind.PASSAGE)))
    done = writer.scratch.digests(map(hash, snapshot.extracted()))
    writer.remove_units(Kind.PASSAGE, (id_ for id_ in snapshot.extracted() if hash(id_) not in there))
    return passages_without(snapshot, done)


def _keep(writer: Writer, got: Sequence[tuple[Unit, Extraction]]) -> None:
    writer.put_extractions({unit.id: extraction for unit, extraction in got})


def _file(settings: ExtractionSettings) -> LinesFile:
    return LinesFile(Path(settings.from_file), EXTRACTIONS)


def _import(workshop: Workshop, file: LinesFile) -> None:
    snapshot, change = workshop.writer.snapshot(), workshop.change
    wanted = workshop.writer.scratch.digests(hash(id_) for id_, _ in _missing(workshop))
    if not wanted:
        return
    places = _places_within(snapshot, change.came) if change else snapshot.first_sources(Kind.PASSAGE)
    faults, done, without, shown = Faults(file), 0, 0, list[str]()
    imported = import_extractions(faults, snapshot, places, wanted)
    for some in batched(imported, kept_at_once(workshop, len(wanted), READ)):
        workshop.writer.put_extractions({unit.id: found for unit, found in some if found is not None})
        workshop.pause()
        lacking = [unit for unit, found in some if found is None]
        without += len(lacking)
        shown += [f"{unit.title!r} ({unit.id})" for unit in lacking[: SHOWN - len(shown)]]
        done += len(some)
        workshop.report("importing extractions", done, len(wanted))
    workshop.account.notes += faults.told
    if without:
        workshop.account.notes.append(
            f"{file.path} has no line for {without} passages, which are without entities and facts: {', '.join(shown)}"
            f"{', ...' if without > SHOWN else ''}. Add lines."
        )
