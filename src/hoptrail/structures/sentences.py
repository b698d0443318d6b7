"""Every sentence of the documents as a unit of its own, with its vector: the nodes of ChainRAG's sentence graph.

A unit's text is its span without the white space around it; what holds neither letter nor digit is no sentence. Sentences that
say the same are units of their own: what stands in two places is told apart by its place.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.names import PASSAGES, SENTENCES
from hoptrail.structures.nearest import Rows
from hoptrail.structures.renewing import renew_units
from hoptrail.types import Document, Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class Sentences:
    """One unit a sentence; it has no settings."""

    name: str = SENTENCES
    fingerprint: str = "1"
    built_from: tuple[str, ...] = (PASSAGES,)
    needs_language: bool = False

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.SENTENCE)

    def update(self, workshop: Workshop) -> None:
        """Encode and write the sentences that are not there yet."""
        snapshot = workshop.writer.snapshot()
        units = (unit for document in snapshot.documents() for unit in sentence_units(document))
        renew_units(workshop, Kind.SENTENCE, units)


@dataclass(frozen=True)
class SentencePlaces:
    """Where sentences stand: `ids` in rising order, and the span of each. A sentence's row is its place here."""

    ids: tuple[str, ...]
    spans: tuple[Span, ...]

    def overlapping(self, span: Span) -> Iterator[int]:
        """Rows of the sentences that share characters with `span`, in the order of the text."""
        places = self._by_document.get(span.document, [])
        at = bisect_left(places, (span.start,))
        at -= at > 0 and places[at - 1][1] > span.start
        while at < len(places) and places[at][0] < span.end:
            yield places[at][2]
            at += 1

    def passages(self, units: Iterable[Unit]) -> Rows:
        """Of each sentence the number of the first of `units` that holds it, -1 where none does; shape (len(ids),)."""
        numbers = np.full(len(self.ids), -1, dtype=np.int32)
        for number, unit in enumerate(units):
            for row in self.overlapping(unit.sources[0]):
                if numbers[row] < 0 and unit.sources[0].covers(self.spans[row]):
                    numbers[row] = number
        return numbers

    @cached_property
    def _by_document(self) -> dict[str, list[tuple[int, int, int]]]:
        """Start, end and row of each sentence, in order."""
        places: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for row, span in enumerate(self.spans):
            places[span.document].append((span.start, span.end, row))
        return {document: sorted(found) for document, found in places.items()}


def sentence_units(document: Document, within: Span | None = None) -> Iterator[Unit]:
    """The sentences of a document, or those that begin within a part of it, in order."""
    for span in document.sentences():
        if within is not None and not within.start <= span.start < within.end:
            continue
        whole = document.slice(span)
        text = whole.strip()
        if any(character.isalnum() for character in text):
            start = span.start + len(whole) - len(whole.lstrip())
            place = Span(document.id, start, start + len(text))
            name = content_id("s", document.id, str(place.start), str(place.end))
            yield Unit(name, Kind.SENTENCE, document.title, text, (place,))


def sentence_places(snapshot: Snapshot) -> SentencePlaces:
    """Those of all sentences, read once a snapshot."""
    return snapshot.derived((SENTENCES, "places"), lambda: _read_places(snapshot))


def _read_places(snapshot: Snapshot) -> SentencePlaces:
    spans = {unit.id: _held_once(unit.sources[0]) for unit in snapshot.units(Kind.SENTENCE)}
    ids = tuple(sorted(spans))
    return SentencePlaces(ids, tuple(spans[name] for name in ids))


def _held_once(span: Span) -> Span:
    """With the document's id that its other sentences have."""
    return Span(sys.intern(span.document), span.start, span.end)
