"""The composed vectors of triples, and exact search among them.

Composed on first use (in seconds) and kept with the snapshot, so that another composition needs no rebuilding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.searching import VectorMirror, top_rows
from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.errors import NotBuilt
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind
from hoptrail_papers.comprag.composition import BLOCK, SLOTS, CompositionSettings, compose, length_of
from hoptrail_papers.comprag.lemmas import lemmatised
from hoptrail_papers.comprag.question_triples import Pattern
from hoptrail_papers.comprag.stored import StoredTriples, slot_vectors, stored_triples
from hoptrail_papers.comprag.triples import slot_id

SUBJECT, RELATION, OBJECT = range(SLOTS)


@dataclass(frozen=True, slots=True)
class TripleSpaceSettings:
    """How triples are compared: with `lemmatise` by the base forms of their words (the index must hold them). `open_slots` is the
    text in open slots of patterns; if empty, they are ignored.
    """

    composition: CompositionSettings = field(default_factory=CompositionSettings)
    lemmatise: bool = False
    open_slots: str = ""

    @property
    def needed_setting(self) -> str:
        """The setting of the structure `triples` that stores the compared vectors; empty if they are always stored."""
        if self.composition.method == "text":
            return "texts"
        return "lemmas" if self.lemmatise else ""


def how_to_add(setting: str) -> str:
    """Advice for an error message: how to make the index hold the vectors of a setting."""
    return f"Set {setting} = true under [structures.{TRIPLES}] and index again: only the missing vectors are added."


class TripleSpace:
    """The composed vectors of triples, and of patterns in the same space. Use `of`."""

    def __init__(self, corpus: Corpus, settings: TripleSpaceSettings) -> None:
        self.triples = stored_triples(corpus.snapshot)
        self.settings = settings
        self.corpus = corpus
        self._by_text = settings.composition.method == "text"
        if corpus.snapshot.is_view:
            texts = _compared_texts(self.triples, settings)
            slots = VectorMirror(tuple(map(slot_id, texts)), slot_vectors(corpus, texts))
        else:
            slots = corpus.snapshot.search.vectors(Kind.SLOT)
        self._slots = slots.matrix
        self._row_of = {name: row for row, name in enumerate(slots.ids)}
        self._vocabularies: dict[int, tuple[list[str], FloatMatrix]] = {}

    @classmethod
    def of(cls, corpus: Corpus, settings: TripleSpaceSettings) -> TripleSpace:
        """The space of all triples, made once per snapshot. Raises: NotBuilt: the index lacks vectors that are compared."""
        return corpus.snapshot.derived((TRIPLES, settings), lambda: cls(corpus.without_lease, settings))

    @cached_property
    def matrix(self) -> FloatMatrix:
        """One unit vector for each triple: shape (n, length of the composition)."""
        return self.corpus.snapshot.derived((TRIPLES, self.settings, "composed"), self._composed)

    def _composed(self) -> FloatMatrix:
        composition = self.settings.composition
        if self._by_text:
            return unit_length(self._texts - self._text_mean)
        all_known = np.ones((BLOCK, SLOTS), dtype=bool)
        composed = np.empty((len(self.triples), length_of(self._slots.shape[1], composition)), dtype=np.float32)
        for start in range(0, len(composed), BLOCK):
            slots = unit_length(self._slots[self._rows[start : start + BLOCK]] - self._means)
            composed[start : start + BLOCK] = compose(slots, all_known[: len(slots)], composition)
        return composed

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """For each triple the rows of its slots in `_slots`: shape (n, 3)."""
        normalise = lemmatised if self.settings.lemmatise else str
        distinct = dict.fromkeys(slot for slots in self.triples.slots for slot in slots)
        row_of = {slot: self._row(normalise(slot), "lemmas") for slot in distinct}
        rows = [[row_of[slot] for slot in slots] for slots in self.triples.slots]
        return np.array(rows, dtype=np.intp).reshape(-1, SLOTS)

    @cached_property
    def _means(self) -> FloatMatrix:
        """The mean vector of all subjects, of all relations, of all objects: shape (3, dimension)."""
        if not self.settings.composition.centred or not len(self.triples):
            return np.zeros((SLOTS, self._slots.shape[1]), dtype=np.float32)
        counts = [np.bincount(column, minlength=len(self._slots)) for column in self._rows.T]
        return np.stack([(count / len(self.triples)).astype(np.float32) @ self._slots for count in counts])

    def _row(self, text: str, setting: str) -> int:
        """The row of a text's vector. Raises: NotBuilt: the index has none; the message says that `setting` adds it."""
        row = self._row_of.get(slot_id(text))
        if row is None:
            folder = self.corpus.snapshot.folder
            raise NotBuilt(f"{folder} does not hold the vector of {text!r}. {how_to_add(setting)}")
        return row

    def relations(self, rows: NDArray[np.integer]) -> FloatMatrix:
        """The vectors of the relations of these triples: shape (len(rows), dimension)."""
        return unit_length(self._slots[self._rows[rows, RELATION]] - self._means[RELATION])

    def encode_slot(self, texts: Sequence[str], place: int) -> FloatMatrix:
        """The vectors of texts as slots in one place: shape (n, dimension)."""
        normalised = [lemmatised(text) for text in texts] if self.settings.lemmatise else texts
        distinct = list(dict.fromkeys(normalised))
        rows = {text: row for row, text in enumerate(distinct)}
        vectors = self.corpus.encoder.encode(distinct)[[rows[text] for text in normalised]]
        return unit_length(vectors - self._means[place])

    def known(self, patterns: Sequence[Pattern]) -> tuple[FloatMatrix, NDArray[np.bool_]]:
        """The vectors of the patterns' slots (open ones: 0), and which are not open: shapes (n, 3, dimension) and (n, 3)."""
        vectors = np.zeros((len(patterns), SLOTS, self._slots.shape[1]), dtype=np.float32)
        known = np.array([[slot is not None for slot in pattern.slots] for pattern in patterns], dtype=bool)
        for place in range(SLOTS):
            texts = [slot for pattern in patterns if (slot := pattern.slots[place]) is not None]
            if texts:
                vectors[known[:, place], place] = self.encode_slot(texts, place)
        return vectors, known

    def vectors_of(self, patterns: Sequence[Pattern]) -> FloatMatrix:
        """One vector for each pattern: shape (len(patterns), length of the composition)."""
        if filler := self.settings.open_slots:
            patterns = [Pattern(*(slot or filler for slot in pattern.slots)) for pattern in patterns]
        if self._by_text:
            texts = [" ".join(slot for slot in pattern.slots if slot) for pattern in patterns]
            return unit_length(self.corpus.encoder.encode(texts) - self._text_mean)
        return compose(*self.known(patterns), self.settings.composition)

    def nearest(
        self, vectors: FloatMatrix, limit: int, without: NDArray[np.bool_] | None = None
    ) -> list[list[tuple[int, float]]]:
        """For each vector the rows and scores of the `limit` nearest triples, by falling score, then rising row.

        Those marked in `without` (shape (n,)) are left out.
        """
        scores = np.round(vectors @ self.matrix.T, 6)  # equal triples stay equal, however the product is computed
        if without is not None:
            scores[:, without] = -np.inf
        return [[(row, float(own[row])) for row in top_rows(own, limit) if own[row] > -np.inf] for own in scores]

    def vocabulary(self, place: int) -> tuple[list[str], FloatMatrix]:
        """The distinct texts of one slot, and their vectors there: shape (len(texts), dimension)."""
        if place not in self._vocabularies:
            rows, firsts = np.unique(self._rows[:, place], return_index=True)
            texts = [self.triples.slots[first][place] for first in firsts.tolist()]
            self._vocabularies[place] = texts, unit_length(self._slots[rows] - self._means[place])
        return self._vocabularies[place]

    @cached_property
    def _texts(self) -> FloatMatrix:
        return self._slots[[self._row(" ".join(slots), "texts") for slots in self.triples.slots]]

    @cached_property
    def _text_mean(self) -> FloatMatrix:
        """The mean vector of whole triples, 0 without centring: shape (dimension,)."""
        centred = self.settings.composition.centred and len(self.triples) > 0
        return self._texts.mean(axis=0) if centred else np.zeros(self._slots.shape[1], dtype=np.float32)


def _compared_texts(triples: StoredTriples, settings: TripleSpaceSettings) -> list[str]:
    """The distinct texts whose vectors are compared, in the order of their ids."""
    normalise = lemmatised if settings.lemmatise else str
    texts = {normalise(slot) for slots in triples.slots for slot in slots}
    if settings.composition.method == "text":
        texts.update(" ".join(slots) for slots in triples.slots)
    return sorted(texts, key=slot_id)
