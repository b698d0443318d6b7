"""Steps of local search in an entity graph, as in GraphRAG and LightRAG: between entities, facts and passages.

Recipes combine the steps. Facts are rows of `StoredTriples` with a score.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hoptrail.corpus.searching import top_rows
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.entities.graph import CHANNEL, EntityGraph
from hoptrail.retrieval.ranking import ranked_units
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.types import Kind, Ranking

Facts = Mapping[int, float]


def facts_about(
    corpus: Corpus, graph: EntityGraph, entities: Mapping[int, float], question: str, limit: int
) -> dict[int, float]:
    """The `limit` best facts about these entities, scored by similarity to the question (0 to 1) times the higher score of the
    fact's entities.
    """
    rows = graph.triples_of(entities)
    if not rows:
        return {}
    vector = corpus.encoder.encode([question])[0]
    vectors = graph.fact_vectors(rows)
    entity_scores = np.zeros(len(graph.names))
    entity_scores[list(entities)] = list(entities.values())
    weights = entity_scores[graph.ends[rows]].max(axis=1)
    scores = (1 + (vectors @ vector).astype(np.float64)) / 2 * weights
    return {rows[place]: float(scores[place]) for place in top_rows(scores, limit) if scores[place] > 0}


def facts_like(corpus: Corpus, graph: EntityGraph, text: str, limit: int, least: float) -> dict[int, float]:
    """Those of the `limit` facts nearest to a text that are in the graph and have a cosine of at least `least` (above 0)."""
    return {
        graph.fact_rows[hit.unit.id]: hit.score
        for hit in dense_search(corpus, text, limit, (Kind.TRIPLE,))
        if hit.score >= least and hit.unit.id in graph.fact_rows
    }


def neighbours(graph: EntityGraph, facts: Facts, known: Mapping[int, float]) -> dict[int, float]:
    """The entities of facts that are not `known`, with the score of their best fact."""
    best: dict[int, float] = {}
    for row, score in sorted(facts.items()):
        for end in map(int, graph.ends[row]):
            if end not in known:
                best[end] = max(score, best.get(end, 0.0))
    return best


def passages_of(graph: EntityGraph, facts: Facts, limit: int) -> Ranking:
    """The `limit` best passages that state these facts, by the sum of the facts' scores."""
    scores = np.zeros(len(graph.triples.passage_ids))
    for row, score in sorted(facts.items()):
        if graph.triples.passages[row] >= 0:
            scores[graph.triples.passages[row]] += score
    return graph.passages(scores, limit)


def hits_of(corpus: Corpus, graph: EntityGraph, facts: Facts, limit: int) -> Ranking:
    """The `limit` best facts as hits."""
    scores = {graph.triples.ids[row]: score for row, score in facts.items()}
    return ranked_units(corpus.snapshot, Kind.TRIPLE, scores, CHANNEL)[:limit]
