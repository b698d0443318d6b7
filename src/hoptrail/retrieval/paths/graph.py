"""The graph of path search: passages linked by the names that their sentences share.

A name is an entity of the stored extractions, or a title that a sentence mentions (`structures/title_mentions.py`). Spellings
that differ only in case, accents and punctuation are one name; dates and numbers are not names. Names and vectors are
memory-mapped from the commit, and texts are read on demand. Independent of any question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows, bounds_of, paired, ranges, rows_of, unpaired
from hoptrail.corpus.names import NameList
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.texts import Origins
from hoptrail.errors import NotBuilt
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.structure_names import MENTIONS
from hoptrail.structures.title_mentions import NAMES, TitleMentions
from hoptrail.structures.title_scanning import MOST_NAMESAKES, MOST_WORDS, can_be_found, names_in
from hoptrail.types import Kind, Unit


@dataclass(frozen=True)
class Postings:
    """A list of numbers for each row: `values[starts[row]:starts[row + 1]]`, rising."""

    starts: NDArray[np.intp]
    values: Rows

    @classmethod
    def of(cls, rows: Rows, values: Rows, size: int) -> Postings:
        """The postings of `size` rows from pairs in any order; repeats count once."""
        pairs = np.sort(paired(rows, values))
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs  # faster than np.unique
        return cls(bounds_of(pairs, size), unpaired(pairs)[1])

    def at(self, row: int) -> Rows:
        """The list of one row."""
        numbers: Rows = self.values[self.starts[row] : self.starts[row + 1]]
        return numbers

    def of_all(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.intp], Rows]:
        """For each number in the lists of several rows, its row's place in `rows`, and the number."""
        places, positions = ranges(self.starts[rows], self.counts[rows])
        return places, self.values[positions]

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """The lengths of the lists, shape (rows,)."""
        return np.diff(self.starts)


class PassageGraph:
    """Passages and sentences by number in the order they were added, names in alphabetical order. Use `of`.

    `titles[p]` is the name that is passage p's title, or -1; `owners` is the inverse. Titles of too many passages are left out.
    Sentences that cross the border of a passage belong to none.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        passages, sentences = (snapshot.texts.origins(kind) for kind in (Kind.PASSAGE, Kind.SENTENCE))
        self._keys = snapshot.names.of(NAMES)
        self._texts, self._read = snapshot.texts, dict[int, Unit]()
        self.passage_numbers = passages.numbers
        self.size = len(passages.numbers)
        self.passage_vectors = snapshot.search.matrix(Kind.PASSAGE)
        self.sentence_vectors = snapshot.search.matrix(Kind.SENTENCE)
        self.passage_of = _containing_passages(passages, sentences)
        """Sentence -> passage, -1 for none."""
        starts = passages.starts[self.passage_of]
        self.spans = np.stack([sentences.starts - starts, sentences.ends - starts], axis=1)
        """Sentence -> its offsets within the passage."""
        names = np.repeat(np.arange(len(self._keys), dtype=np.int32), np.diff(self._keys.starts))
        self._enter_titles(names, rows_of(self._keys.units, passages.numbers))
        self._enter_mentions(names, rows_of(self._keys.units, sentences.numbers))

    def _enter_titles(self, names: Rows, rows: NDArray[np.intp]) -> None:
        titled = rows >= 0
        namesakes = np.bincount(names[titled], minlength=len(self._keys))
        titled &= namesakes[names] <= MOST_NAMESAKES
        self.titles = np.full(self.size, -1, np.int32)
        self.titles[rows[titled]] = names[titled]
        self.owners = Postings.of(names[titled], rows[titled].astype(np.int32), len(self._keys))
        """Name -> passages with that title."""

    def _enter_mentions(self, names: Rows, rows: NDArray[np.intp]) -> None:
        inside = rows >= 0
        inside[inside] = self.passage_of[rows[inside]] >= 0
        names, sentences = names[inside], rows[inside].astype(np.int32)
        self.names_in = Postings.of(sentences, names, len(self.passage_of))
        """Sentence -> names."""
        self.namers = Postings.of(names, self.passage_of[sentences], len(self._keys))
        """Name -> passages whose sentences mention it."""
        self.counts = self.namers.counts
        """Name -> number of passages whose sentences mention it."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> PassageGraph:
        """The graph of a snapshot, made once. Raises: NotBuilt: there are no sentences, or no names (by an earlier version)."""
        current = TitleMentions().fingerprint
        if snapshot.head.structures.get(MENTIONS, current) != current:
            raise NotBuilt(
                f"the structure `mentions` of {snapshot.folder} was built by an earlier version of hoptrail. Run `hoptrail index "
                f"--index {snapshot.folder} --for trail` once: nothing is encoded again."
            )
        if snapshot.count(Kind.PASSAGE) and not snapshot.count(Kind.SENTENCE):
            raise NotBuilt(
                f"the index at {snapshot.folder} has no sentences, which path search needs. Build the structures "
                "`sentences`, `extractions` and `mentions` first."
            )
        return snapshot.derived(cls.__name__, lambda: cls(snapshot))

    @cached_property
    def sentences(self) -> Postings:
        """Passage -> sentences."""
        inside = np.flatnonzero(self.passage_of >= 0).astype(np.int32)
        return Postings.of(self.passage_of[inside], inside, self.size)

    @cached_property
    def named_by(self) -> Postings:
        """Passage -> the names in its sentences, and its title."""
        names = np.repeat(np.arange(len(self._keys), dtype=np.int32), self.namers.counts)
        own = np.flatnonzero(self.titles >= 0).astype(np.int32)
        rows = np.concatenate([self.namers.values, own])
        return Postings.of(rows, np.concatenate([names, self.titles[own]]), self.size)

    @cached_property
    def positions(self) -> Rows:
        """Sentence -> its position among the sentences of its passage, from 0."""
        order = np.lexsort((self.spans[:, 0], self.passage_of))
        ordered = self.passage_of[order]
        places = np.empty(len(order), dtype=np.int32)
        places[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return places

    def number(self, name: str) -> int:
        """The number of the name with this key, -1 if no passage mentions it or has it as title."""
        number = self._keys.row(name)
        return number if number >= 0 and (self.counts[number] or self.owners.counts[number]) else -1

    def name(self, number: int) -> str:
        """The key of the name with this number."""
        return self._keys[int(number)].decode(errors="surrogatepass")

    def passages_with(self, name: int) -> Rows:
        """The passages that mention a name or have it as title, rising; none for -1."""
        if name < 0:
            return np.zeros(0, np.int32)
        return np.union1d(self.namers.at(name), self.owners.at(name))

    def titles_in(self, question: str) -> tuple[str, ...]:
        """The keys of the titles of passages that a question names."""
        return names_in(question, _Titles(self, self._keys))

    def passages(self, rows: Iterable[int]) -> dict[int, Unit]:
        """Several passages by row, each read once; reading them together costs less than one by one."""
        wanted = list(map(int, rows))
        if missing := [row for row in wanted if row not in self._read]:
            self._read |= zip(missing, self._texts.units(self.passage_numbers[missing]), strict=True)
        return {row: self._read[row] for row in wanted}

    def texts(self, sentences: NDArray[np.integer]) -> list[str]:
        """The texts of sentences."""
        passages, spans = self.passage_of[sentences].tolist(), self.spans[sentences].tolist()
        text_of = {row: unit.text for row, unit in self.passages(set(passages)).items()}
        return [text_of[row][start:end] for row, (start, end) in zip(passages, spans, strict=True)]

    def best_sentences(self, rows: NDArray[np.integer], vectors: FloatMatrix) -> FloatMatrix:
        """The highest cosine of a sentence of each passage with each vector, -1 without any: shape (len(rows), len(vectors))."""
        of_passage, sentences = self.sentences.of_all(rows)
        cosines = self.sentence_vectors.products(sentences, vectors.T)
        best = np.full((len(rows), len(vectors)), -1, dtype=np.float32)
        filled, starts = np.unique(of_passage, return_index=True)
        if len(filled):
            best[filled] = np.maximum.reduceat(cosines, starts, axis=0)
        return best


class _Titles:
    """The names that are titles of passages. Satisfies `structures.title_scanning.Names`."""

    def __init__(self, graph: PassageGraph, keys: NameList) -> None:
        self._graph, self._keys = graph, keys

    def __contains__(self, key: str, /) -> bool:
        number = self._graph.number(key)
        return can_be_found(key) and number >= 0 and bool(self._graph.owners.counts[number])

    def longest(self, first: str) -> int:
        """See `Names.longest`; this gives an upper bound."""
        return MOST_WORDS if self._keys.begins(f"{first} ") else int(self._graph.number(first) >= 0)


def _containing_passages(passages: Origins, sentences: Origins) -> Rows:
    """For each sentence the row of the passage that contains all of it, or -1."""
    if not len(passages.numbers):
        return np.full(len(sentences.numbers), -1, np.int32)
    keys = paired(passages.documents, passages.starts)
    order = np.argsort(keys, kind="stable")
    before = np.searchsorted(keys[order], paired(sentences.documents, sentences.starts), side="right") - 1
    rows = order[np.maximum(before, 0)]
    inside = (before >= 0) & (passages.documents[rows] == sentences.documents)
    return np.where(inside & (sentences.ends <= passages.ends[rows]), rows, -1).astype(np.int32)
