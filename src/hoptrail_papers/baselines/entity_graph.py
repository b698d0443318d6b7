"""The entity graph of HippoRAG, GraphRAG and LightRAG: entities and passages linked by triples.

Nodes are the subjects and objects of the stored triples (ignoring case and white space) and optionally the passages. Edges join
the two ends of a triple, an entity and each passage with a triple about it, and similar names. Built from the whole corpus on
first use, and kept with the snapshot. Names are the only texts in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows, paired, unpaired
from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import ranked_units
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.setting_limits import AtLeast0, Limited, ShareAbove0
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Ranking
from hoptrail_papers.baselines.pagerank import RandomWalk
from hoptrail_papers.comprag.space import slot_vectors, stored_triples
from hoptrail_papers.nearest import Nearest

CHANNEL = "entities"

EXACT_UP_TO = 5_000
PROBES = 4  # for the search for synonyms: exact up to EXACT_UP_TO names; above, only in the PROBES nearest cells


@dataclass(frozen=True, slots=True)
class EntityGraphSettings(Limited):
    """With `passages` these are nodes too. A name is joined to those of the `synonym_k` nearest names (0: none, which saves the
    search) whose cosine is at least `synonyms`.
    """

    passages: bool = True
    synonyms: ShareAbove0 = 0.8
    synonym_k: AtLeast0 = 0


class EntityGraph:
    """Entities by number, in alphabetical order, passages by their row in `StoredTriples.passage_ids`. Use `of`."""

    def __init__(self, corpus: Corpus, settings: EntityGraphSettings) -> None:
        self.corpus, self._settings = corpus, settings
        self.triples = stored_triples(corpus.snapshot)
        self.names = tuple(sorted(self.triples.entities))
        numbers = {name: number for number, name in enumerate(self.names)}
        ends = [[numbers[name] for name in self.triples.named_by(row)] for row in range(len(self.triples))]
        self.ends = np.array(ends, dtype=np.int32).reshape(-1, 2)
        """For each triple the numbers of its subject and its object: shape (n, 2)."""

    @classmethod
    def of(cls, corpus: Corpus, settings: EntityGraphSettings = EntityGraphSettings()) -> EntityGraph:
        """The graph of all triples, made once per snapshot."""
        return corpus.snapshot.derived((cls.__name__, settings), lambda: cls(corpus.without_lease, settings))

    @cached_property
    def mentions(self) -> tuple[Rows, Rows, NDArray[np.float64]]:
        """Entities, passages, and the number of the passage's triples with the entity: arrays of one length."""
        places = np.repeat(self.triples.passages, 2)
        stated = places >= 0
        pairs, counts = np.unique(paired(self.ends.reshape(-1)[stated], places[stated]), return_counts=True)
        return *unpaired(pairs), counts.astype(np.float64)

    @cached_property
    def passage_counts(self) -> NDArray[np.int64]:
        """The number of passages that name each entity, at least 1; its inverse is HippoRAG's node specificity."""
        return np.maximum(1, np.bincount(self.mentions[0], minlength=len(self.names)))

    def nearest(self, texts: Sequence[str], limit: int) -> dict[int, float]:
        """The `limit` entities nearest to each text, with their best cosine."""
        best: dict[int, float] = {}
        if not texts or not self.names:
            return best
        for vector in self.corpus.encoder.encode(texts):
            scores = self._name_vectors @ vector
            for number in top_rows(scores, limit):
                best[number] = max(float(scores[number]), best.get(number, -1.0))
        return best

    def passage_likeness(self, question: str) -> NDArray[np.float64]:
        """Each passage's cosine with the question, scaled so that the lowest is 0 and the highest 1: shape (passages,)."""
        scores = (self._passage_vectors @ self.corpus.encoder.encode([question])[0]).astype(np.float64)
        scaled: NDArray[np.float64] = (scores - scores.min()) / max(scores.max() - scores.min(), 1e-12)
        return scaled

    def pagerank(
        self, entities: Mapping[int, float], passages: NDArray[np.floating] | None, damping: float
    ) -> NDArray[np.float64]:
        """The PageRank of each passage: shape (passages,). The walk restarts at `entities` (weights above 0) and `passages`.

        If passages are not nodes, a passage gets the sum over its entities, counted once for each triple.
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
        """The `limit` passages with the highest `scores` (shape (passages,)) above 0."""
        best = [row for row in top_rows(scores, limit) if scores[row] > 0]
        score_of = {self.triples.passage_ids[row]: float(scores[row]) for row in best}
        return ranked_units(self.corpus.snapshot, Kind.PASSAGE, score_of, CHANNEL)

    @cached_property
    def _walk(self) -> RandomWalk:
        return self.corpus.snapshot.derived((EntityGraph.__name__, self._settings, "walk"), self._build_walk)

    def _build_walk(self) -> RandomWalk:
        distinct = self.ends[self.ends[:, 0] != self.ends[:, 1]]
        parts, size = [(distinct[:, 0], distinct[:, 1], np.ones(len(distinct)))], len(self.names)
        if self._settings.passages:
            named, places, _ = self.mentions
            parts.append((named, places + size, np.ones(len(named))))
            size += len(self.triples.passage_ids)
        parts.append(self._synonyms())
        firsts, seconds, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return RandomWalk.along(firsts, seconds, weights, size)

    def _synonyms(self) -> tuple[Rows, Rows, NDArray[np.float64]]:
        """Pairs of entities with similar names, without repeats, and their cosines."""
        none = np.zeros(0, dtype=np.int32)
        if not self._settings.synonym_k or len(self.names) < 2:
            return none, none, np.zeros(0)
        nearest = Nearest(self._name_vectors, self._settings.synonym_k, EXACT_UP_TO, PROBES)
        found = nearest.of(np.arange(len(self.names), dtype=np.int32))
        near = found.weights >= self._settings.synonyms
        pairs = np.sort(np.stack((found.sources[near], found.targets[near]), axis=1), axis=1)
        pairs, firsts = np.unique(pairs, axis=0, return_index=True)
        return pairs[:, 0], pairs[:, 1], found.weights[near][firsts]

    @cached_property
    def fact_rows(self) -> Mapping[str, int]:
        """Unit id of a triple -> its row."""
        return {name: row for row, name in enumerate(self.triples.ids)}

    @cached_property
    def _name_vectors(self) -> FloatMatrix:
        """The vector of each entity's name, which is its first spelling: shape (entities, dimension)."""
        spellings: dict[str, str] = {}
        for subject, _, object_ in self.triples.slots:
            spellings.setdefault(folded(subject), subject)
            spellings.setdefault(folded(object_), object_)
        return slot_vectors(self.corpus, [spellings[name] for name in self.names])

    @cached_property
    def _passage_vectors(self) -> FloatMatrix:
        return self.corpus.snapshot.search.vectors_in_order([Kind.PASSAGE], self.triples.passage_ids)


def facts_about(graph: EntityGraph, entities: Mapping[int, float], question: str, limit: int) -> dict[int, float]:
    """The `limit` best facts about these entities, by similarity to the question (0 to 1) times the score of the best entity."""
    if not entities:
        return {}
    rows: list[int] = np.unique(np.concatenate([graph.triples.entities[graph.names[one]] for one in entities])).tolist()
    vector = graph.corpus.encoder.encode([question])[0]
    vectors = graph.corpus.snapshot.search.vectors_in_order([Kind.TRIPLE], [graph.triples.ids[row] for row in rows])
    entity_scores = np.zeros(len(graph.names))
    entity_scores[list(entities)] = list(entities.values())
    weights = entity_scores[graph.ends[rows]].max(axis=1)
    scores = (1 + (vectors @ vector).astype(np.float64)) / 2 * weights
    return {rows[place]: float(scores[place]) for place in top_rows(scores, limit) if scores[place] > 0}


def facts_like(graph: EntityGraph, text: str, limit: int, least: float) -> dict[int, float]:
    """Those of the `limit` facts nearest to a text that are in the graph and have a cosine of at least `least` (above 0)."""
    return {
        graph.fact_rows[hit.unit.id]: hit.score
        for hit in dense_search(graph.corpus, text, limit, (Kind.TRIPLE,))
        if hit.score >= least and hit.unit.id in graph.fact_rows
    }


def neighbours(graph: EntityGraph, facts: Mapping[int, float], known: Mapping[int, float]) -> dict[int, float]:
    """The entities of facts that are not `known`, with the score of their best fact."""
    best: dict[int, float] = {}
    for row, score in sorted(facts.items()):
        for end in map(int, graph.ends[row]):
            if end not in known:
                best[end] = max(score, best.get(end, 0.0))
    return best


def passages_of(graph: EntityGraph, facts: Mapping[int, float], limit: int) -> Ranking:
    """The `limit` best passages that state these facts, by the sum of the facts' scores."""
    scores = np.zeros(len(graph.triples.passage_ids))
    for row, score in sorted(facts.items()):
        if graph.triples.passages[row] >= 0:
            scores[graph.triples.passages[row]] += score
    return graph.passages(scores, limit)


def hits_of(graph: EntityGraph, facts: Mapping[int, float], limit: int) -> Ranking:
    scores = {graph.triples.ids[row]: score for row, score in facts.items()}
    return ranked_units(graph.corpus.snapshot, Kind.TRIPLE, scores, CHANNEL)[:limit]
