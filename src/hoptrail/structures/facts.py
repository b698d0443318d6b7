"""Every fact as a unit of its own: the propositions that SiReRAG's ablations B to D put into the pool (Table 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.names import EXTRACTIONS, FACTS
from hoptrail.structures.renewing import renew_by_document
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Kind, Unit, content_id


@dataclass(frozen=True, slots=True)
class Facts:
    """One unit a fact, under its passage's title; it has no settings."""

    name: str = FACTS
    fingerprint: str = "1"
    built_from: tuple[str, ...] = (EXTRACTIONS,)
    needs_language: bool = False

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.FACT)

    def update(self, workshop: Workshop) -> None:
        """Bring the units to the facts that are stored."""
        renew_by_document(workshop, Kind.FACT, partial(_units, workshop.writer.snapshot()))


def _units(snapshot: Snapshot, documents: Collection[str] | None) -> Iterator[Unit]:
    for passage, extraction in stored_in_order(snapshot, documents):
        for fact in extraction.facts:
            text, place = squeeze(fact.text), fact.source
            if text:
                name = content_id("f", text, place.document, str(place.start), str(place.end))
                yield Unit(name, Kind.FACT, passage.title, text, (place,))
