"""Every fact as a unit of its own: the propositions that SiReRAG's ablations B to D put into the pool (Table 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.structure_names import EXTRACTIONS, FACTS
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Kind, Unit, content_id


@dataclass(frozen=True, slots=True)
class Facts(Derived):
    """One unit per fact, with the title of its passage."""

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
