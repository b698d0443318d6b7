"""Every sentence of the documents as a unit of its own, with its vector: the nodes of ChainRAG's sentence graph.

A unit's text is its span without the white space around it; what holds neither letter nor digit is no sentence. Sentences that
say the same are units of their own: what stands in two places is told apart by its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import batched
from hoptrail.store.columns import PackedIds, Rows
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.names import PASSAGES, SENTENCES
from hoptrail.structures.renewing import renew_by_document
from hoptrail.types import Document, Kind, Span, Unit, content_id

READ = 8192
"""Sentences whose places are read at a time."""


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
        renew_by_document(workshop, Kind.SENTENCE, partial(_units, workshop.writer.snapshot()))


def _units(snapshot: Snapshot, documents: Collection[str] | None) -> Iterator[Unit]:
    return (unit for document in snapshot.documents(documents) for unit in sentence_units(document))


@dataclass(frozen=True)
class SentencePlaces:
    """Where sentences stand. A sentence's row is its place in `ids`, which rise. Use `of`, or `sentence_places`.

    Sentence `row` is characters `starts[row]` to `ends[row]` of the document `documents[numbers[row]]`.
    """

    ids: PackedIds
    documents: tuple[str, ...]
    numbers: Rows
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, spans: Iterable[tuple[str, Span]]) -> SentencePlaces:
        """Of ids with their spans, in any order."""
        ids: list[PackedIds] = []
        known: dict[str, int] = {}
        numbers, starts, ends = array("i"), array("q"), array("q")
        for some in batched(spans, READ):
            ids.append(PackedIds.of(id_ for id_, _ in some))
            numbers.extend(known.setdefault(span.document, len(known)) for _, span in some)
            starts.extend(span.start for _, span in some)
            ends.extend(span.end for _, span in some)
        packed = PackedIds.joined(ids)
        order = np.argsort(packed)
        columns = (np.array(column)[order] for column in (numbers, starts, ends))
        return cls(packed[order], tuple(known), *columns)

    def span(self, row: int) -> Span:
        return Span(self.documents[self.numbers[row]], int(self.starts[row]), int(self.ends[row]))

    def overlapping(self, span: Span) -> Iterator[int]:
        """Rows of the sentences that share characters with `span`, in the order of the text."""
        number = self._number_of.get(span.document)
        if number is None:
            return iter(())
        order, starts, ends, firsts = self._in_text
        here = slice(int(firsts[number]), int(firsts[number + 1]))
        first, last = starts[here].searchsorted((span.start, span.end)).tolist()
        first -= first > 0 and bool(ends[here][first - 1] > span.start)
        return iter(order[here][first:last].tolist())

    def passages(self, units: Iterable[Unit]) -> Rows:
        """Of each sentence the number of the first of `units` that holds it, -1 where none does; shape (len(ids),)."""
        numbers = np.full(len(self.ids), -1, dtype=np.int32)
        for number, unit in enumerate(units):
            whole = unit.sources[0]
            for row in self.overlapping(whole):
                if numbers[row] < 0 and self.starts[row] >= whole.start and self.ends[row] <= whole.end:
                    numbers[row] = number
        return numbers

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {document: number for number, document in enumerate(self.documents)}

    @cached_property
    def _in_text(self) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        """Rows by document and place in its text, with their starts and ends, and where each document begins in them."""
        order = np.lexsort((self.ends, self.starts, self.numbers)).astype(np.int32)
        firsts = np.searchsorted(self.numbers[order], np.arange(len(self.documents) + 1))
        return order, self.starts[order], self.ends[order], firsts


def sentence_units(document: Document, within: Span | None = None) -> Iterator[Unit]:
    """The sentences of a document, or those that share characters with a part of it, in order."""
    for span in document.sentences(within):
        whole = document.slice(span)
        text = whole.strip()
        if any(character.isalnum() for character in text):
            start = span.start + len(whole) - len(whole.lstrip())
            place = Span(document.id, start, start + len(text))
            name = content_id("s", document.id, str(place.start), str(place.end))
            yield Unit(name, Kind.SENTENCE, document.title, text, (place,))


def sentences_inside(passage: Unit, document: Document) -> Iterator[Unit]:
    """The sentences that a passage of a document holds as a whole, in order."""
    whole = passage.sources[0]
    return (unit for unit in sentence_units(document, whole) if whole.covers(unit.sources[0]))


def sentence_places(snapshot: Snapshot) -> SentencePlaces:
    """Those of all sentences, read once a snapshot."""
    return snapshot.derived((SENTENCES, "places"), lambda: _read_places(snapshot))


def _read_places(snapshot: Snapshot) -> SentencePlaces:
    return SentencePlaces.of(snapshot.first_sources(Kind.SENTENCE))
