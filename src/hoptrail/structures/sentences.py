"""Every sentence of the documents as a unit of its own, with its vector: the nodes of ChainRAG's sentence graph.

A unit's text is its span without the white space around it; what holds neither letter nor digit is no sentence. Sentences that
say the same are units of their own: what stands in two places is told apart by its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ID, PackedIds, Places, Rows, as_bytes, id_bytes, in_order, ranges
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.executing.executor import batched
from hoptrail.structures.building import Workshop
from hoptrail.structures.declaring import Derived
from hoptrail.structures.names import PASSAGES, SENTENCES
from hoptrail.types import Document, Kind, Span, Unit, content_id

READ = 8192
"""Sentences whose places are read at a time."""

_PLACE = np.dtype([("id", ID), ("document", ID), ("start", ">u8"), ("end", ">u8")])
_IN_TEXT = np.dtype([("document", ID), ("start", ">u8"), ("end", ">u8"), ("row", ">u4")])
"""Numbers with their high bytes first: in order of their bytes the first are in order of ids, the second of the text."""


@dataclass(frozen=True, slots=True)
class Sentences(Derived):
    """One unit a sentence; it has no settings."""

    name = SENTENCES
    built_from = (PASSAGES,)
    units = (Kind.SENTENCE,)

    def rows(self, workshop: Workshop, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`."""
        snapshot = workshop.writer.snapshot()
        return (unit for document in snapshot.documents(documents) for unit in sentence_units(document))


class SentencePlaces:
    """Where sentences stand. A sentence's row is its place in `ids`, which rise.

    Sentence `row` is characters `starts[row]` to `ends[row]` of its document.
    """

    def __init__(self, spans: Iterable[tuple[str, Span]]) -> None:
        """Of ids with their spans, in any order."""
        places = in_order(_PLACE, map(_places, batched(spans, READ)))
        self.ids = PackedIds(np.ascontiguousarray(places["id"]))
        self.starts, self.ends = (places[name].astype(np.int64) for name in ("start", "end"))
        self._in_text = in_order(_IN_TEXT, [_by_text(places)])

    def overlapping(self, spans: Sequence[Span]) -> tuple[Places, Rows]:
        """The sentences that share characters with some spans: places in `spans`, rising, each with a row.

        Those of a span are in the order of the text.
        """
        which, places = self._sharing(spans)
        return which, self._in_text["row"][places].astype(np.int32)

    def _sharing(self, spans: Sequence[Span]) -> tuple[Places, Places]:
        """As `overlapping`, with places in the text for rows."""
        after, before = (np.zeros(len(spans), _IN_TEXT) for _ in range(2))
        after["document"] = before["document"] = [id_bytes(span.document) for span in spans]
        after["start"] = [span.start for span in spans]
        before["start"] = [span.end for span in spans]
        text = as_bytes(self._in_text)
        first, last = (text.searchsorted(as_bytes(keys)) for keys in (after, before))
        if len(text):
            earlier = self._in_text[np.maximum(first - 1, 0)]
            reaching = (earlier["document"] == after["document"]) & (earlier["end"] > after["start"])
            first -= (first > 0) & reaching
        return ranges(first, np.maximum(last - first, 0))

    def passages(self, passages: Iterable[Span]) -> Rows:
        """Of each sentence the number of the first of `passages` that holds it, -1 where none does; shape (len(ids),)."""
        numbers = np.zeros(len(self.ids), np.int32)  # one more than that
        first = 1
        for some in batched(passages, READ):
            which, places = self._sharing(some)
            sentences = self._in_text[places]
            starts, ends = np.array([(span.start, span.end) for span in some]).T
            rows = sentences["row"].astype(np.int32)
            inside = (sentences["start"] >= starts[which]) & (sentences["end"] <= ends[which]) & (numbers[rows] == 0)
            which, rows = which[inside][::-1], rows[inside][::-1]
            numbers[rows] = first + which  # of several the last to be written, which is the first
            first += len(some)
        numbers -= 1
        return numbers


def _places(spans: Sequence[tuple[str, Span]]) -> NDArray[np.void]:
    rows = [(id_bytes(id_), id_bytes(span.document), span.start, span.end) for id_, span in spans]
    return np.array(rows, dtype=_PLACE)


def _by_text(places: NDArray[np.void]) -> NDArray[np.void]:
    rows = np.empty(len(places), dtype=_IN_TEXT)
    for name in ("document", "start", "end"):
        rows[name] = places[name]
    rows["row"] = np.arange(len(places))
    return rows


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


def sentence_places(snapshot: Snapshot) -> SentencePlaces:
    """Those of all sentences, read once a snapshot."""
    return snapshot.derived((SENTENCES, "places"), lambda: _read_places(snapshot))


def _read_places(snapshot: Snapshot) -> SentencePlaces:
    return SentencePlaces(snapshot.table.first_sources(Kind.SENTENCE))
