"""The triples of a corpus in memory, read once per snapshot, their composed vectors, and exact search among these.

Composed on first use (in seconds) and kept with the snapshot, so that another composition needs no rebuilding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.searching import top_rows
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.errors import NotBuilt
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.sentences import SentencePlaces
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind
from hoptrail_papers.comprag.composition import BLOCK, SLOTS, CompositionSettings, compose
from hoptrail_papers.comprag.lemmas import lemmatised
from hoptrail_papers.comprag.question_triples import Pattern
from hoptrail_papers.comprag.triples import slot_id, slots_in


@dataclass(frozen=True)
class StoredTriples:
    """Triples by rising id: `slots` are their texts, `passages` rows in `passage_ids` of the passage around each, or -1."""

    ids: tuple[str, ...]
    slots: tuple[tuple[str, str, str], ...]
    passages: Rows
    passage_ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def entities(self) -> Mapping[str, Rows]:
        """Rows of the triples with this subject or object, rising; case and white space do not matter."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, (subject, _, object_) in enumerate(self.slots):
            for key in {folded(subject), folded(object_)}:
                found[key].append(row)
        return {key: np.array(rows, dtype=np.int32) for key, rows in found.items()}

    def named_by(self, row: int) -> tuple[str, str]:
        """The keys of a triple's subject and object in `entities`."""
        subject, _, object_ = self.slots[row]
        return folded(subject), folded(object_)


@cached_per_snapshot
def stored_triples(snapshot: Snapshot) -> StoredTriples:
    """All triples of a snapshot, read once."""
    units = sorted(snapshot.units(Kind.TRIPLE), key=lambda unit: unit.id)
    passages = sorted((unit.sources[0], unit.id) for unit in snapshot.units(Kind.PASSAGE))
    places = SentencePlaces((unit.id, unit.sources[0]) for unit in units)  # their rows are by rising id, too
    return StoredTriples(
        tuple(unit.id for unit in units),
        tuple(slots_in(unit.text) for unit in units),
        places.passages(span for span, _ in passages),
        tuple(id_ for _, id_ in passages),
    )


def slot_vectors(corpus: Corpus, texts: Sequence[str]) -> FloatMatrix:
    """The vectors of slots of visible triples: shape (len(texts), dimension).

    A slot is stored with the source of one of its triples, so that a view may hide it; then it is encoded here.
    Raises: KeyError: without a view, some have no vector.
    """
    snapshot, ids = corpus.snapshot, list(map(slot_id, texts))
    if not snapshot.is_view:
        return snapshot.search.vectors_in_order([Kind.SLOT], ids)
    stored = snapshot.table.stored(Kind.SLOT, ids)
    visible = np.array([id_ in stored for id_ in ids], dtype=bool)
    vectors = np.zeros((len(ids), snapshot.head.encoder.dimension), dtype=np.float32)
    vectors[visible] = snapshot.search.vectors_in_order([Kind.SLOT], [id_ for id_ in ids if id_ in stored])
    if not visible.all():
        vectors[~visible] = corpus.encoder.encode([text for text, seen in zip(texts, visible, strict=True) if not seen])
    return vectors


RELATION = 1  # its place among the slots


def how_to_add(setting: str) -> str:
    """Advice for an error message: how to make the index hold the vectors of a setting."""
    return f"Set {setting} = true under [structures.{TRIPLES}] and index again: only the missing vectors are added."


class TripleSpace:
    """The composed vectors of triples, and of patterns in the same space. Use `of`."""

    def __init__(self, corpus: Corpus, settings: CompositionSettings) -> None:
        self.triples = stored_triples(corpus.snapshot)
        self.settings = settings
        self.corpus = corpus
        self._by_text = settings.method == "text"
        self._normalise: Callable[[str], str] = lemmatised if settings.lemmatise else str
        texts = {self._normalise(slot) for slots in self.triples.slots for slot in slots}
        if self._by_text:
            texts.update(" ".join(slots) for slots in self.triples.slots)
        ordered = sorted(texts, key=slot_id)
        try:
            self._slots = slot_vectors(corpus, ordered)
        except KeyError as error:
            advice = how_to_add(settings.needed_setting)
            raise NotBuilt(f"{corpus.snapshot.folder} does not hold the vectors of all triples. {advice}") from error
        self._row_of = {text: row for row, text in enumerate(ordered)}

    @classmethod
    def of(cls, corpus: Corpus, settings: CompositionSettings) -> TripleSpace:
        """The space of all triples, made once per snapshot. Raises: NotBuilt: the index lacks vectors that are compared."""
        return corpus.snapshot.derived((TRIPLES, settings), lambda: cls(corpus.without_lease, settings))

    @cached_property
    def matrix(self) -> FloatMatrix:
        """One unit vector for each triple: shape (n, length of the composition)."""
        return self.corpus.snapshot.derived((TRIPLES, self.settings, "composed"), self._composed)

    def _composed(self) -> FloatMatrix:
        if self._by_text:
            return unit_length(self._texts - self._text_mean)
        all_known = np.ones((BLOCK, SLOTS), dtype=bool)
        length = self._slots.shape[1] * (SLOTS if self.settings.method == "concatenation" else 1)
        composed = np.empty((len(self.triples), length), dtype=np.float32)
        for start in range(0, len(composed), BLOCK):
            slots = unit_length(self._slots[self._rows[start : start + BLOCK]] - self._means)
            composed[start : start + BLOCK] = compose(slots, all_known[: len(slots)], self.settings)
        return composed

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """For each triple the rows of its slots in `_slots`: shape (n, 3)."""
        distinct = dict.fromkeys(slot for slots in self.triples.slots for slot in slots)
        row_of = {slot: self._row_of[self._normalise(slot)] for slot in distinct}
        rows = [[row_of[slot] for slot in slots] for slots in self.triples.slots]
        return np.array(rows, dtype=np.intp).reshape(-1, SLOTS)

    @cached_property
    def _means(self) -> FloatMatrix:
        """The mean vector of all subjects, of all relations, of all objects: shape (3, dimension)."""
        if not self.settings.centred or not len(self.triples):
            return np.zeros((SLOTS, self._slots.shape[1]), dtype=np.float32)
        counts = [np.bincount(column, minlength=len(self._slots)) for column in self._rows.T]
        return np.stack([(count / len(self.triples)).astype(np.float32) @ self._slots for count in counts])

    def relations(self, rows: NDArray[np.integer]) -> FloatMatrix:
        """The vectors of the relations of these triples: shape (len(rows), dimension)."""
        return unit_length(self._slots[self._rows[rows, RELATION]] - self._means[RELATION])

    def encode_slot(self, texts: Sequence[str], place: int) -> FloatMatrix:
        """The vectors of texts as slots in one place: shape (n, dimension)."""
        normalised = list(map(self._normalise, texts))
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
        return compose(*self.known(patterns), self.settings)

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

    @cached_property
    def _texts(self) -> FloatMatrix:
        return self._slots[[self._row_of[" ".join(slots)] for slots in self.triples.slots]]

    @cached_property
    def _text_mean(self) -> FloatMatrix:
        """The mean vector of whole triples, 0 without centring: shape (dimension,)."""
        centred = self.settings.centred and len(self.triples) > 0
        return self._texts.mean(axis=0) if centred else np.zeros(self._slots.shape[1], dtype=np.float32)
