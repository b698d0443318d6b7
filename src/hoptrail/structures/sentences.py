"""Every sentence of the documents as a unit of its own, with its vector: the nodes of ChainRAG's sentence graph.

A unit's text is its span without the white space around it; what holds neither letter nor digit is no sentence. Sentences that
say the same are units of their own: what stands in two places is told apart by its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.corpus.columns import Places, Rows, paired, ranges, unpaired
from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Derived
from hoptrail.structures.structure_names import PASSAGES, SENTENCES
from hoptrail.types import Document, Kind, Span, Unit, content_id

READ = 8192
"""Sentences whose places are read at a time."""


@dataclass(frozen=True, slots=True)
class Sentences(Derived):
    """One unit a sentence; it has no settings."""

    name = SENTENCES
    built_from = (PASSAGES,)
    units = (Kind.SENTENCE,)
    encodes = Kind.SENTENCE

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`."""
        snapshot = context.writer.snapshot()
        return (unit for document in snapshot.documents(documents) for unit in sentence_units(document))


class SentencePlaces:
    """Where sentences stand. A sentence's row is its place in `ids`, which rise.

    Sentence `row` is characters `starts[row]` to `ends[row]` of its document.
    """

    def __init__(self, spans: Iterable[tuple[str, Span]]) -> None:
        """Of ids with their spans, in any order."""
        found = sorted(spans)
        self.ids = [id_ for id_, _ in found]
        self.starts = np.array([span.start for _, span in found], np.int64)
        self.ends = np.array([span.end for _, span in found], np.int64)
        self._documents = {id_: number for number, id_ in enumerate(sorted({span.document for _, span in found}))}
        documents = np.array([self._documents[span.document] for _, span in found], np.int64)
        self._rows: Rows = np.lexsort((self.ends, self.starts, documents)).astype(np.int32)
        """In the order of the text."""
        self._begins = paired(documents, self.starts)[self._rows]
        """In the same order: where each begins, as one number with that of its document."""

    def overlapping(self, spans: Sequence[Span]) -> tuple[Places, Rows]:
        """The sentences that share characters with some spans: places in `spans`, rising, each with a row.

        Those of a span are in the order of the text.
        """
        documents = np.array([self._documents.get(span.document, -1) for span in spans], np.int64)
        starts, ends = (np.array([getattr(span, end) for span in spans], np.int64) for end in ("start", "end"))
        first, last = (self._begins.searchsorted(paired(documents, at)) for at in (starts, ends))
        if len(self._rows):
            before = np.maximum(first - 1, 0)
            same = unpaired(self._begins[before])[0] == documents
            first -= (first > 0) & same & (self.ends[self._rows[before]] > starts)
        which, places = ranges(first, np.maximum(last - first, 0))
        return which, self._rows[places]

    def passages(self, passages: Iterable[Span]) -> Rows:
        """Of each sentence the number of the first of `passages` that holds it, -1 where none does; shape (len(ids),)."""
        spans = list(passages)
        which, rows = self.overlapping(spans)
        starts, ends = (np.array([getattr(span, end) for span in spans], np.int64) for end in ("start", "end"))
        inside = (self.starts[rows] >= starts[which]) & (self.ends[rows] <= ends[which])
        numbers = np.full(len(self.ids), -1, np.int32)
        numbers[rows[inside][::-1]] = which[inside][::-1]  # of several the last to be written, which is the first
        return numbers


def sentence_units(document: Document, within: Span | None = None) -> Iterator[Unit]:
    """The sentences of a document, or those that share characters with a part of it, in order."""
    for span in document.sentences(within):
        whole = document.slice(span)
        text = whole.strip()
        if any(character.isalnum() for character in text):
            start = span.start + len(whole) - len(whole.lstrip())
            place = Span(document.id, start, start + len(text))
            name = content_id("s", document.id, str(place.start), str(place.end))
            yield Unit(name, Kind.SENTENCE, document.title, text, (place,), document.blocks_within(place), (len(text),))


def sentences_inside(passage: Unit, document: Document) -> Iterator[Unit]:
    """The sentences that a passage of a document holds as a whole, in order."""
    whole = passage.sources[0]
    return (unit for unit in sentence_units(document, whole) if whole.covers(unit.sources[0]))


@made_once
def sentence_places(snapshot: Snapshot) -> SentencePlaces:
    """Those of all sentences, read once a snapshot."""
    return SentencePlaces(snapshot.table.first_sources(Kind.SENTENCE))
