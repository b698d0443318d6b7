"""Entities and passages, joined by the triples they stand in: what HippoRAG, GraphRAG and LightRAG search.

Nodes are the subjects and objects of the stored triples (case and white space do not part them) and, where the settings say so,
the passages. Edges join the two ends of a triple, an entity and a passage that has a triple of it, and names that are alike. Made
of the whole corpus when first asked for, and kept with the snapshot. Holds no text but names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.searching import VectorMirror
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pagerank import Walk
from hoptrail.retrieval.ranking import ranked
from hoptrail.retrieval.triples.stored import StoredTriples
from hoptrail.retrieval.units.dense import top_rows
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.triples import slot_id
from hoptrail.text.normal_forms import folded
from hoptrail.types import Hit, Kind, Ranking

CHANNEL = "entities"

EXACT_UP_TO = 5_000
PROBES = 4
SEED = 0
"""Of the search for synonyms: compared one by one up to so many names, above it in so many neighbouring cells."""


@dataclass(frozen=True, slots=True)
class EntityGraphSettings:
    """With `passages` these are nodes too. A name is joined to the `synonym_k` nearest names (0: to none, which saves a search of
    all names for each) whose cosine with it is at least `synonyms`.
    """

    passages: bool = True
    synonyms: float = 0.8
    synonym_k: int = 0

    def __post_init__(self) -> None:
        if self.synonym_k < 0 or not 0 < self.synonyms <= 1:
            raise ValueError("synonym_k is at least 0, and synonyms lies above 0 and at most at 1")


class EntityVectors:
    """The vectors of entities' names, by number."""

    def __init__(self, corpus: Corpus, triples: StoredTriples, names: Sequence[str]) -> None:
        self._corpus = corpus
        self._triples = triples
        self._names = names

    def nearest(self, texts: Sequence[str], limit: int) -> dict[int, float]:
        """The `limit` entities whose names are nearest to each text, with their best cosine."""
        best: dict[int, float] = {}
        if not texts or not self._names:
            return best
        for vector in self._corpus.encoder.encode(texts):
            scores = (self._slots.matrix @ vector)[self._rows]
            for number in top_rows(scores, limit):
                best[number] = max(float(scores[number]), best.get(number, -1.0))
        return best

    @property
    def matrix(self) -> FloatMatrix:
        """One vector of length 1 an entity: shape (n, dimension)."""
        return self._slots.matrix[self._rows]

    @cached_property
    def _slots(self) -> VectorMirror:
        return self._corpus.snapshot.search.vectors(Kind.SLOT)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """Of each entity the row of its name's vector."""
        rows = {name: row for row, name in enumerate(self._slots.ids)}
        written = self._written()
        return np.array([rows[slot_id(written[name])] for name in self._names], dtype=np.intp)

    def _written(self) -> Mapping[str, str]:
        """Each entity as it is written first."""
        written: dict[str, str] = {}
        for subject, _, object_ in self._triples.slots:
            written.setdefault(folded(subject), subject)
            written.setdefault(folded(object_), object_)
        return written


class EntityGraph:
    """Entities by number, in alphabetical order, passages by their row in `StoredTriples.passage_ids`. Use `of`."""

    def __init__(self, corpus: Corpus, settings: EntityGraphSettings, triples: StoredTriples) -> None:
        self.triples = triples
        self.names = tuple(sorted(self.triples.entities))
        self._corpus = corpus
        self._settings = settings
        self._numbers = {name: number for number, name in enumerate(self.names)}
        ends = [[self._numbers[name] for name in self.triples.named_by(row)] for row in range(len(self.triples))]
        self.ends = np.array(ends, dtype=np.int32).reshape(-1, 2)
        """Of each triple the numbers of its subject and its object: shape (n, 2)."""
        self.vectors = EntityVectors(corpus, triples, self.names)

    @classmethod
    def of(cls, corpus: Corpus, settings: EntityGraphSettings | None = None) -> EntityGraph:
        """That of all triples, made once a snapshot."""
        chosen = settings or EntityGraphSettings()
        triples = StoredTriples.of(corpus.snapshot)
        return corpus.snapshot.derived((cls.__name__, chosen), lambda: cls(corpus.unleased, chosen, triples))

    @cached_property
    def mentions(self) -> tuple[Rows, Rows, NDArray[np.float64]]:
        """Entities, passages, and in how many triples of that passage the entity stands: arrays of one length."""
        places = np.repeat(self.triples.passages, 2)
        held = places >= 0
        width = max(1, len(self.triples.passage_ids))
        keys = self.ends.reshape(-1)[held].astype(np.int64) * width + places[held]
        pairs, counts = np.unique(keys, return_counts=True)
        return (pairs // width).astype(np.int32), (pairs % width).astype(np.int32), counts.astype(np.float64)

    @cached_property
    def spread(self) -> NDArray[np.int64]:
        """In how many passages each entity is named, at least 1: the rarer, the more specific (HippoRAG's node specificity)."""
        return np.maximum(1, np.bincount(self.mentions[0], minlength=len(self.names)))

    def triples_of(self, entities: Iterable[int]) -> list[int]:
        """Rows of the triples that these entities stand in, rising."""
        rows = [self.triples.entities[self.names[number]] for number in sorted(set(entities))]
        return [int(row) for row in np.unique(np.concatenate(rows))] if rows else []

    def passage_likeness(self, question: str) -> NDArray[np.float64]:
        """Of each passage its cosine with the question, scaled to 0 for the least and 1 for the highest."""
        vector = self._corpus.encoder.encode([question])[0]
        scores = (self._passages.matrix @ vector)[self._passage_rows].astype(np.float64)
        scaled: NDArray[np.float64] = (scores - scores.min()) / max(scores.max() - scores.min(), 1e-12)
        return scaled

    def walked(
        self, entities: Mapping[int, float], passages: NDArray[np.floating] | None, damping: float
    ) -> NDArray[np.float64]:
        """What PageRank gives each passage, with these weights of entities (above 0) and of passages as home.

        Where passages are no nodes, it is the sum over its entities, as often as they stand in it.
        """
        home = np.zeros(len(self.names) + (len(self.triples.passage_ids) if self._settings.passages else 0))
        home[list(entities)] = list(entities.values())
        if passages is not None and self._settings.passages:
            home[len(self.names) :] = passages
        ranks = self._walk.ranks(home, damping)
        if self._settings.passages:
            return ranks[len(self.names) :]
        named, places, counts = self.mentions
        return np.bincount(places, ranks[named] * counts, len(self.triples.passage_ids)).astype(np.float64)

    def passages(self, scores: NDArray[np.floating], limit: int) -> Ranking:
        """The `limit` passages with the highest of these scores above 0, shape (passages,)."""
        best = [row for row in top_rows(scores.astype(np.float64), limit) if scores[row] > 0]
        wanted = {self.triples.passage_ids[row]: float(scores[row]) for row in best}
        units = self._corpus.snapshot.units(Kind.PASSAGE, wanted.keys())
        return ranked(Hit(unit, wanted[unit.id], CHANNEL) for unit in units)

    @cached_property
    def _walk(self) -> Walk:
        return self._corpus.snapshot.derived((EntityGraph.__name__, self._settings, "walk"), self._made_walk)

    def _made_walk(self) -> Walk:
        apart = self.ends[self.ends[:, 0] != self.ends[:, 1]]
        firsts, seconds, weights = [apart[:, 0]], [apart[:, 1]], [np.ones(len(apart))]
        size = len(self.names)
        if self._settings.passages:
            named, places, _ = self.mentions
            firsts, seconds = [*firsts, named], [*seconds, places + size]
            weights.append(np.ones(len(named)))
            size += len(self.triples.passage_ids)
        alike, others, cosines = self._synonyms()
        edges = [np.concatenate(parts) for parts in ([*firsts, alike], [*seconds, others], [*weights, cosines])]
        return Walk.along(edges[0], edges[1], edges[2], size)

    def _synonyms(self) -> tuple[Rows, Rows, NDArray[np.float64]]:
        """Pairs of entities with names alike, each once, and their cosines."""
        none = np.zeros(0, dtype=np.int32)
        if not self._settings.synonym_k or len(self.names) < 2:
            return none, none, np.zeros(0)
        nearest = Nearest(self.vectors.matrix, self._settings.synonym_k, EXACT_UP_TO, PROBES, SEED)
        found = nearest.of(np.arange(len(self.names), dtype=np.int32))
        near = found.weights >= self._settings.synonyms
        pairs = np.sort(np.stack((found.sources[near], found.targets[near]), axis=1), axis=1)
        pairs, firsts = np.unique(pairs, axis=0, return_index=True)
        return pairs[:, 0], pairs[:, 1], found.weights[near][firsts]

    @cached_property
    def fact_rows(self) -> Mapping[str, int]:
        """Of each triple, by its unit's id, its row."""
        return {name: row for row, name in enumerate(self.triples.ids)}

    def fact_vectors(self, rows: Sequence[int]) -> FloatMatrix:
        """The vectors of triples: shape (len(rows), dimension)."""
        ids = [self.triples.ids[row] for row in rows]
        return self._corpus.snapshot.search.vectors_in_order([Kind.TRIPLE], ids)

    @cached_property
    def _passages(self) -> VectorMirror:
        return self._corpus.snapshot.search.vectors(Kind.PASSAGE)

    @cached_property
    def _passage_rows(self) -> NDArray[np.intp]:
        """Of each passage the row of its vector."""
        rows = {name: row for row, name in enumerate(self._passages.ids)}
        return np.array([rows[name] for name in self.triples.passage_ids], dtype=np.intp)
