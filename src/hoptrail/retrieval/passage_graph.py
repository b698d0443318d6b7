"""Passages joined by the names that their sentences share, held in memory: what path search walks on.

A name is an entity of the stored extractions, or a title that a sentence mentions (`structures/mentions.py`); spellings that
differ in case, accents and punctuation are one name, and dates and numbers are none. Made from a snapshot when first asked for,
in proportion to the corpus: arrays of rows, and the passages themselves. Knows no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import IndexUnavailable
from hoptrail.language.offline.entities import Shape
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.mentions import TitleScanner, name_key, passages_called
from hoptrail.structures.names import MENTIONS
from hoptrail.structures.nearest import Rows
from hoptrail.structures.sentence_entities import mentions_in
from hoptrail.structures.sentences import sentence_places
from hoptrail.types import Kind, Span, Unit


@dataclass(frozen=True)
class Postings:
    """For each of so many rows a list of numbers: `values[starts[row]:starts[row + 1]]`, rising."""

    starts: NDArray[np.int64]
    values: Rows

    @classmethod
    def of(cls, rows: Rows, values: Rows, size: int) -> Postings:
        """From pairs in any order; repeats count once."""
        width = int(values.max(initial=0)) + 1
        keys = np.unique(rows.astype(np.int64) * width + values)
        return cls(np.searchsorted(keys, np.arange(size + 1) * width), (keys % width).astype(np.int32))

    def at(self, row: int) -> Rows:
        found: Rows = self.values[self.starts[row] : self.starts[row + 1]]
        return found

    def of_all(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.intp], Rows]:
        """The lists of several rows one after the other, and for each number the place in `rows` it comes from."""
        counts = self.counts[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, self.values[np.repeat(self.starts[rows], counts) + offsets]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


@dataclass(frozen=True)
class PassageGraph:
    """Passages, sentences and names by number: passages and sentences by rising id, names in alphabetical order.

    `titles[p]` is the name that passage p is called by, or -1; `owners` are the passages that a name calls, without those of
    names that too many have. Where sentences run over the borders of passages they belong to none.
    """

    passages: tuple[Unit, ...]
    names: tuple[str, ...]
    titles: Rows
    owners: Postings
    """Name to passages."""
    sentences: Postings
    """Passage to sentences, in no particular order."""
    passage_of: Rows
    """Sentence to passage, -1 for none."""
    names_in: Postings
    """Sentence to names."""
    namers: Postings
    """Name to passages whose sentences name it."""
    spans: tuple[tuple[int, int], ...]
    """Sentence to its characters within the passage."""
    passage_vectors: FloatMatrix
    sentence_vectors: FloatMatrix

    @classmethod
    def of(cls, snapshot: Snapshot) -> PassageGraph:
        """That of a snapshot, made once.

        Raises:
            IndexUnavailable: there are passages and no sentences, so that the structures are not built.
        """
        return snapshot.derived(cls.__name__, lambda: _read(snapshot))

    @cached_property
    def scanner(self) -> TitleScanner:
        """Finds the titles of passages in a question."""
        return TitleScanner(self.names[number] for number in np.unique(self.titles[self.titles >= 0]))

    @cached_property
    def named_by(self) -> Postings:
        """Passage to the names in its sentences, and its own."""
        names, passages = _pairs(self.namers)
        own = np.flatnonzero(self.titles >= 0).astype(np.int32)
        rows = np.concatenate([passages, own])
        return Postings.of(rows, np.concatenate([names, self.titles[own]]), len(self.passages))

    @cached_property
    def positions(self) -> Rows:
        """Sentence to its place in the text of its passage, from 0."""
        starts = np.array([start for start, _ in self.spans], dtype=np.int64)
        order = np.lexsort((starts, self.passage_of))
        ordered = self.passage_of[order]
        places = np.empty(len(order), dtype=np.int32)
        places[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return places

    def number(self, name: str) -> int:
        """The number of a name by its key, -1 where no passage names it."""
        return self._numbers.get(name, -1)

    def row(self, passage: str) -> int:
        """The number of a passage by its id.

        Raises:
            KeyError: there is none.
        """
        return self._rows[passage]

    def text(self, sentence: int) -> str:
        start, end = self.spans[sentence]
        text: str = self.passages[self.passage_of[sentence]].text
        return text[start:end]

    def best_of_passages(self, scores: FloatMatrix) -> FloatMatrix:
        """The highest score among each passage's sentences, -1 where it has none: (sentences, n) to (passages, n)."""
        best = np.full((len(self.passages), scores.shape[1]), -1, dtype=np.float32)
        some = self.sentences.counts > 0
        if some.any():
            best[some] = np.maximum.reduceat(scores[self.sentences.values], self.sentences.starts[:-1][some], axis=0)
        return best

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {unit.id: row for row, unit in enumerate(self.passages)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


def _read(snapshot: Snapshot) -> PassageGraph:
    passages = tuple(sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id))
    places = sentence_places(snapshot)
    if passages and not places.ids:
        raise IndexUnavailable(
            f"the index at {snapshot.folder} has no sentences, which path search walks on. Build the structures "
            "`sentences`, `extractions` and `mentions` first."
        )
    passage_of = places.passages(passages)
    inside = np.flatnonzero(passage_of >= 0).astype(np.int32)
    called = passages_called(passages)
    rows, keys = _named(snapshot, passages, places.ids)
    names = tuple(sorted({*keys, *called} - {""}))
    number = {name: at for at, name in enumerate(names)}
    named = np.array([(row, number[key]) for row, key in zip(rows, keys, strict=True) if key], dtype=np.int32)
    named = named.reshape(-1, 2)
    named = named[passage_of[named[:, 0]] >= 0]
    row_of = {unit.id: row for row, unit in enumerate(passages)}
    owned = np.array([(number[key], row_of[id_]) for key, ids in called.items() if key for id_ in ids], dtype=np.int32)
    owned = owned.reshape(-1, 2)
    titles = np.full(len(passages), -1, dtype=np.int32)
    titles[owned[:, 1]] = owned[:, 0]
    return PassageGraph(
        passages,
        names,
        titles,
        Postings.of(owned[:, 0], owned[:, 1], len(names)),
        Postings.of(passage_of[inside], inside, len(passages)),
        passage_of,
        Postings.of(named[:, 0], named[:, 1], len(places.ids)),
        Postings.of(named[:, 1], passage_of[named[:, 0]], len(names)),
        tuple(_characters(passages, passage_of, places.spans)),
        snapshot.vectors(Kind.PASSAGE).matrix,
        snapshot.vectors(Kind.SENTENCE).matrix,
    )


def _named(snapshot: Snapshot, passages: Sequence[Unit], ids: Sequence[str]) -> tuple[list[int], list[str]]:
    """Numbers of sentences, and the key of a name in each: entities, then mentioned titles."""
    found = mentions_in(
        sentence_places(snapshot), (one for _, one in snapshot.extractions()), {Shape.DATE, Shape.NUMBER}
    )
    keys = [name_key(name) for name in found.keys]
    rows = found.rows.tolist()
    named = [keys[entity] for entity in found.entities.tolist()]
    sentence = {id_: row for row, id_ in enumerate(ids)}
    key_of = {id_: key for key, called in passages_called(passages).items() for id_ in called}
    for link in snapshot.links(MENTIONS):
        if link.source in sentence and link.target in key_of:
            rows.append(sentence[link.source])
            named.append(key_of[link.target])
    return rows, named


def _characters(passages: Sequence[Unit], passage_of: Rows, spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    for row, span in zip(passage_of.tolist(), spans, strict=True):
        start = passages[row].sources[0].start if row >= 0 else 0
        yield span.start - start, span.end - start


def _pairs(postings: Postings) -> tuple[Rows, Rows]:
    rows = np.repeat(np.arange(len(postings.starts) - 1), postings.counts).astype(np.int32)
    return rows, postings.values
