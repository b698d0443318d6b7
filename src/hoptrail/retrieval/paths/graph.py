"""The graph of path search: passages linked by the names that their sentences share.

A name is an entity of the stored extractions, or a title that a sentence mentions (`structures/title_mentions.py`). Spellings
that differ only in case, accents and punctuation are one name; dates and numbers are not names. Names and vectors are
memory-mapped from the commit, and texts are read on demand. Independent of any question.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.names import NameList
from hoptrail.corpus.passage_graph import MADE_BY, NAMES, make_graph, stored_graph
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import MENTIONS
from hoptrail.errors import NotBuilt
from hoptrail.models.encoder import FloatMatrix
from hoptrail.text.title_scanning import can_be_found, names_in
from hoptrail.types import Kind, Unit


class PassageGraph:
    """The arrays of `GraphArrays`, with the vectors, texts and names that belong to them. Use `of`."""

    def __init__(self, snapshot: Snapshot) -> None:
        arrays = stored_graph(snapshot) or make_graph(snapshot)
        self.passage_numbers, self.size = arrays.numbers, len(arrays.numbers)
        self.titles, self.owners = arrays.titles, arrays.owners
        self.namers, self.named_by = arrays.namers, arrays.named_by
        self.passage_of, self.spans, self.positions = arrays.passage_of, arrays.spans, arrays.positions
        self.sentences, self.names_in = arrays.sentences, arrays.names_in
        self.passage_vectors = snapshot.search.matrix(Kind.PASSAGE)
        self.sentence_vectors = snapshot.search.matrix(Kind.SENTENCE)
        self.keys: NameList = snapshot.names.of(NAMES)
        """The names, in alphabetical order."""
        self._texts, self._read = snapshot.numbered, dict[int, Unit]()

    @classmethod
    def of(cls, snapshot: Snapshot) -> PassageGraph:
        """The graph of a snapshot, made once. Raises: NotBuilt: there are no sentences, or no names (by an earlier version)."""
        if snapshot.head.structures.get(MENTIONS, MADE_BY) != MADE_BY:
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

    def number(self, name: str) -> int:
        """The number of the name with this key, -1 if no passage mentions it or has it as title."""
        number = self.keys.row(name)
        return number if number >= 0 and (self.namers.counts(number) or self.owners.counts(number)) else -1

    def name(self, number: int) -> str:
        """The key of the name with this number."""
        return self.keys[int(number)].decode(errors="surrogatepass")

    def passages_with(self, name: int) -> Rows:
        """The passages that mention a name or have it as title, rising; none for -1."""
        if name < 0:
            return np.zeros(0, np.int32)
        return np.union1d(self.namers.at(name), self.owners.at(name))

    def titles_in(self, question: str) -> tuple[str, ...]:
        """The keys of the titles of passages that a question names."""

        def is_title(key: str) -> bool:
            number = self.number(key)
            return can_be_found(key) and number >= 0 and bool(self.owners.counts(number))

        return names_in(question, is_title)

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
