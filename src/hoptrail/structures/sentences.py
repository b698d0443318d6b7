"""Every sentence of the documents as a unit with a vector: the nodes of ChainRAG's sentence graph.

The text of a unit is its span without surrounding white space; a sentence needs at least one letter or digit. Equal sentences at
different places are different units.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places, Rows, paired, ranges, unpaired
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.corpus.structure_names import PASSAGES, SENTENCES
from hoptrail.execution.executor import batched
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived
from hoptrail.text.sentences import without_space
from hoptrail.types import Document, Kind, Span, Unit, content_id

READ = 8192  # sentences whose places are read at a time


@dataclass(frozen=True, slots=True)
class Sentences(Derived):
    """One unit per sentence; no settings."""

    name = SENTENCES
    built_from = (PASSAGES,)
    units = (Kind.SENTENCE,)
    encodes = Kind.SENTENCE

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """The sentences with a letter or a digit, read from the stored documents."""
        snapshot = context.writer.snapshot()
        return (unit for document in snapshot.documents(documents) for unit in sentence_units(document))


class SentencePlaces:
    """The places of sentences: `starts` and `ends` in their documents. The row of one is its position in `ids` (sorted)."""

    def __init__(self, spans: Iterable[tuple[str, Span]]) -> None:
        """`spans`: the ids of sentences with their spans, in any order."""
        self._documents: dict[str, int] = {}
        ids, documents, starts, ends = [np.zeros(0, np.bytes_)], array("i"), array("i"), array("i")
        for batch in batched(spans, READ):
            ids.append(np.array([id_.encode() for id_, _ in batch]))
            documents.extend([self._documents.setdefault(span.document, len(self._documents)) for _, span in batch])
            starts.extend([span.start for _, span in batch])
            ends.extend([span.end for _, span in batch])
        encoded = np.concatenate(ids)
        order = np.argsort(encoded, kind="stable")
        self._ids = encoded[order]
        numbers, self.starts, self.ends = (np.array(column, np.int64)[order] for column in (documents, starts, ends))
        self._rows: Rows = np.lexsort((self.ends, self.starts, numbers)).astype(np.int32)  # the rows in text order
        self._begins = paired(numbers, self.starts)[self._rows]  # pairs of document and start, in text order

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all sentences, as strings only for those who need all."""
        return self.ids_of(slice(None))

    def ids_of(self, rows: Rows | slice) -> list[str]:
        return [id_.decode() for id_ in self._ids[rows].tolist()]

    def overlapping(self, spans: Sequence[Span]) -> tuple[Places, Rows]:
        """The sentences that overlap spans: pairs of a position in `spans` and a row, by position, then in text order."""
        documents = np.array([self._documents.get(span.document, -1) for span in spans], np.int64)
        starts, ends = _bounds(spans)
        first, last = (self._begins.searchsorted(paired(documents, at)) for at in (starts, ends))
        if len(self._rows):
            before = np.maximum(first - 1, 0)
            same = unpaired(self._begins[before])[0] == documents
            first -= (first > 0) & same & (self.ends[self._rows[before]] > starts)
        which, places = ranges(first, np.maximum(last - first, 0))
        return which, self._rows[places]

    def passages(self, passages: Iterable[Span]) -> Rows:
        """The number of the first of `passages` that contains each sentence, -1 where none does: shape (len(ids),)."""
        spans = list(passages)
        which, rows = self.overlapping(spans)
        starts, ends = _bounds(spans)
        inside = (self.starts[rows] >= starts[which]) & (self.ends[rows] <= ends[which])
        numbers = np.full(len(self._rows), -1, np.int32)
        # Reversed, so that the first of several passages is written last.
        numbers[rows[inside][::-1]] = which[inside][::-1]
        return numbers


def _bounds(spans: Sequence[Span]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([span.start for span in spans], np.int64), np.array([span.end for span in spans], np.int64)


def sentence_units(document: Document, within: Span | None = None) -> Iterator[Unit]:
    """The sentences of a document, or those that overlap a part of it, in order."""
    for span in document.sentences(within):
        place = Span(document.id, *without_space(document.text, span.start, span.end))
        text = document.slice(place)
        if any(character.isalnum() for character in text):
            name = content_id("s", document.id, str(place.start), str(place.end))
            yield Unit(name, Kind.SENTENCE, document.title, text, (place,), document.blocks_within(place), (len(text),))


def sentences_inside(passage: Unit, document: Document) -> Iterator[Unit]:
    whole = passage.sources[0]
    return (unit for unit in sentence_units(document, whole) if whole.covers(unit.sources[0]))


@cached_per_snapshot
def sentence_places(snapshot: Snapshot) -> SentencePlaces:
    """The places of all sentences, read once per snapshot."""
    return SentencePlaces(snapshot.table.first_sources(Kind.SENTENCE))
