"""From entities and texts to facts (stored triples), and from facts to the entities and passages they lead to.

Steps of searching an entity graph locally, as GraphRAG and LightRAG do; which steps are taken is the recipes' affair. Facts are
rows of `StoredTriples` with a score.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.entities.graph import CHANNEL, EntityGraph
from hoptrail.retrieval.ranking import ranked
from hoptrail.retrieval.units.dense import dense_search, top_rows
from hoptrail.types import Hit, Kind, Ranking

Facts = Mapping[int, float]


def facts_about(
    corpus: Corpus, graph: EntityGraph, entities: Mapping[int, float], question: str, limit: int
) -> dict[int, float]:
    """The `limit` best facts about these entities: the likeness to the question (0 to 1) times the higher entity's score."""
    rows = graph.triples_of(entities)
    if not rows:
        return {}
    vector = corpus.encoder.encode([question])[0]
    vectors = graph.fact_vectors(rows)
    known = np.zeros(len(graph.names))
    known[list(entities)] = list(entities.values())
    weights = known[graph.ends[rows]].max(axis=1)
    scores = (1 + (vectors @ vector).astype(np.float64)) / 2 * weights
    return {rows[place]: float(scores[place]) for place in top_rows(scores, limit) if scores[place] > 0}


def facts_like(corpus: Corpus, graph: EntityGraph, text: str, limit: int, least: float) -> dict[int, float]:
    """The `limit` facts nearest to a text whose cosine with it is at least `least`, which is above 0; those in the graph."""
    found = dense_search(corpus, text, limit, (Kind.TRIPLE,))
    return {
        graph.fact_rows[hit.unit.id]: hit.score
        for hit in found
        if hit.score >= least and hit.unit.id in graph.fact_rows
    }


def neighbours(graph: EntityGraph, facts: Facts, known: Mapping[int, float]) -> dict[int, float]:
    """The entities at the ends of facts that are not `known`, with the score of their best fact."""
    found: dict[int, float] = {}
    for row, score in sorted(facts.items()):
        for end in map(int, graph.ends[row]):
            if end not in known:
                found[end] = max(score, found.get(end, 0.0))
    return found


def passages_of(graph: EntityGraph, facts: Facts, limit: int) -> Ranking:
    """The `limit` best passages that state these facts, by the sum of their scores."""
    scores = np.zeros(len(graph.triples.passage_ids))
    for row, score in sorted(facts.items()):
        if graph.triples.passages[row] >= 0:
            scores[graph.triples.passages[row]] += score
    return graph.passages(scores, limit)


def hits_of(corpus: Corpus, graph: EntityGraph, facts: Facts, limit: int) -> Ranking:
    """The `limit` best facts as hits."""
    wanted = {graph.triples.ids[row]: score for row, score in facts.items()}
    units = corpus.snapshot.units(Kind.TRIPLE, wanted.keys())
    return ranked((Hit(unit, wanted[unit.id], CHANNEL) for unit in units), limit)
