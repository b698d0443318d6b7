"""Passages joined by the names that their sentences share, held in memory: what path search walks on.

A name is an entity of the stored extractions, or a title that a sentence mentions (`structures/mentions.py`); spellings that
differ in case, accents and punctuation are one name, and dates and numbers are none. Made from a snapshot when first asked for,
in proportion to the corpus: arrays of rows, and the passages themselves. Knows no question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import NotBuilt
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import Rows, ranges
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.called import HeldNames, TitleScanner, first_passages, place_of, without_headings
from hoptrail.structures.names import MENTIONS
from hoptrail.structures.sentence_entities import entity_key
from hoptrail.structures.sentences import READ, SentencePlaces, sentence_places
from hoptrail.types import Kind, Unit


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
        places, every = ranges(self.starts[rows], self.counts[rows])
        return places, self.values[every]

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
    counts: NDArray[np.int64]
    """How many passages of the corpus have a name in their sentences; `size` is how many passages the corpus has."""
    size: int
    spans: tuple[tuple[int, int], ...]
    """Sentence to its characters within the passage."""
    passage_vectors: FloatMatrix
    sentence_vectors: FloatMatrix

    @classmethod
    def of(cls, snapshot: Snapshot) -> PassageGraph:
        """That of a snapshot, made once.

        Raises:
            NotBuilt: there are passages and no sentences, so that the structures are not built.
        """
        return snapshot.derived(cls.__name__, lambda: _read(snapshot))

    @cached_property
    def scanner(self) -> TitleScanner:
        """Finds the titles of passages in a question."""
        return TitleScanner(HeldNames(self.names[number] for number in np.unique(self.titles[self.titles >= 0])))

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


@dataclass(frozen=True)
class GraphParts:
    """What a graph is made of, of all passages or of some."""

    passages: tuple[Unit, ...]
    """By rising id."""
    places: SentencePlaces
    extractions: Iterable[Extraction]
    mentioned: Iterable[tuple[str, str]]
    """Ids of sentences with the key of a title that each mentions."""
    called: Mapping[str, Sequence[str]]
    """The passages that a key calls."""
    passage_vectors: FloatMatrix
    sentence_vectors: FloatMatrix

    def graph(self, corpus_size: int, counted: Mapping[str, int] | None = None) -> PassageGraph:
        """The graph; `counted` says of how many passages of the corpus have a name, where that is not what is here."""
        passage_of = self.places.passages(unit.sources[0] for unit in self.passages)
        inside = np.flatnonzero(passage_of >= 0).astype(np.int32)
        rows, keys = self._named(passage_of)
        counted = counted or {}
        names = tuple(sorted({*keys, *self.called, *counted} - {""}))
        number = {name: at for at, name in enumerate(names)}
        named = np.array([number[key] for key in keys], dtype=np.int32)
        row_of = {unit.id: row for row, unit in enumerate(self.passages)}
        owned = [(number[key], row_of[id_]) for key, ids in self.called.items() if key for id_ in ids if id_ in row_of]
        owners = np.array(owned, dtype=np.int32).reshape(-1, 2)
        titles = np.full(len(self.passages), -1, dtype=np.int32)
        titles[owners[:, 1]] = owners[:, 0]
        namers = Postings.of(named, passage_of[rows], len(names))
        counts = namers.counts.copy()
        for name, count in counted.items():
            counts[number[name]] = count
        return PassageGraph(
            self.passages,
            names,
            titles,
            Postings.of(owners[:, 0], owners[:, 1], len(names)),
            Postings.of(passage_of[inside], inside, len(self.passages)),
            passage_of,
            Postings.of(rows, named, len(passage_of)),
            namers,
            counts,
            corpus_size,
            tuple(_characters(self.passages, passage_of, self.places)),
            self.passage_vectors,
            self.sentence_vectors,
        )

    def _named(self, passage_of: Rows) -> tuple[Rows, list[str]]:
        """Sentences that lie in a passage, and the key of a name in each: entities, then mentioned titles; pairs may repeat."""
        rows: list[int] = []
        keys: list[str] = []
        for some in batched((fact for extraction in self.extractions for fact in extraction.facts), READ):
            found = [[key for key in map(entity_key, fact.entities) if key] for fact in some]
            which, sentences = self.places.overlapping([fact.source for fact in some])
            inside = passage_of[sentences] >= 0
            for fact, row in zip(which[inside].tolist(), sentences[inside].tolist(), strict=True):
                rows += [row] * len(found[fact])
                keys += found[fact]
        sentence = {id_: row for row, id_ in enumerate(self.places.ids)}
        for id_, key in self.mentioned:
            if key and (row := sentence.get(id_, -1)) >= 0 and passage_of[row] >= 0:
                rows.append(row)
                keys.append(key)
        return np.array(rows, dtype=np.int32), keys


def _read(snapshot: Snapshot) -> PassageGraph:
    passages = tuple(sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id))
    places = sentence_places(snapshot)
    if passages and not places.ids:
        raise NotBuilt(
            f"the index at {snapshot.folder} has no sentences, which path search walks on. Build the structures "
            "`sentences`, `extractions` and `mentions` first."
        )
    called = without_headings(first_passages(map(place_of, passages)))
    key_of = {id_: key for key, ids in called.items() for id_ in ids}
    parts = GraphParts(
        passages,
        places,
        (found for _, found in snapshot.extractions()),
        ((link.source, key_of.get(link.target, "")) for link in snapshot.links(MENTIONS)),
        called,
        snapshot.vectors(Kind.PASSAGE).matrix,
        snapshot.vectors(Kind.SENTENCE).matrix,
    )
    return parts.graph(len(passages))


def _characters(passages: Sequence[Unit], passage_of: Rows, places: SentencePlaces) -> Iterator[tuple[int, int]]:
    for row, start, end in zip(passage_of.tolist(), places.starts.tolist(), places.ends.tolist(), strict=True):
        before = passages[row].sources[0].start if row >= 0 else 0
        yield start - before, end - before


def _pairs(postings: Postings) -> tuple[Rows, Rows]:
    rows = np.repeat(np.arange(len(postings.starts) - 1), postings.counts).astype(np.int32)
    return rows, postings.values
