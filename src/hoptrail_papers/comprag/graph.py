"""The graph of triples around a question, built when it is asked: from the triples nearest to its patterns, step by step.

CompRAG's "just-in-time local graph". A step follows similarity (the nearest triples, as on the poster) or shared entities (from a
triple about Orla Finch to the others about her, which gives hops instead of paraphrases). Passages get the scores of their
triples. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE
from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.rankings import best_first, ranked_units
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.types import Kind, Ranking
from hoptrail_papers.baselines.pagerank import RandomWalk
from hoptrail_papers.comprag.question_triples import QuestionTriples
from hoptrail_papers.comprag.space import RELATION, TripleSpace

LEAST_RELATION = 0.3  # the least similarity of a triple that shares an entity to the relations of the question
DAMPING = 0.85


@dataclass(frozen=True, slots=True)
class TripleGraphSettings(Limited):
    """How far the graph goes, and how passages are scored.

    The seeds are the `seed_k` triples nearest to each pattern of the question. Each of `depth` - 1 steps goes from at most `beam`
    best triples along `links` to `branching_k` others each. Entities in more than `entity_most` triples link nothing. A new
    triple's score is that of its predecessor, times its similarity to that (`similarity`) or to a relation of the question
    (`entity`; at least LEAST_RELATION). A passage's `score` is the `max` of its triples' scores, their `sum`, or the sum of
    their `pagerank` with the seeds' scores as reset.
    """

    depth: AtLeast1 = 2
    seed_k: AtLeast1 = 10
    branching_k: AtLeast1 = 8
    links: tuple[Literal["similarity", "entity"], ...] = ("entity",)
    score: Literal["max", "sum", "pagerank"] = "max"
    beam: AtLeast1 = 100
    entity_most: AtLeast1 = 200


@dataclass
class LocalGraph:
    """Scores of triples by row; `seeds` are the first ones; edges lead from a triple to those reached from it."""

    scores: dict[int, float] = field(default_factory=dict)
    seeds: dict[int, float] = field(default_factory=dict)
    edges: dict[tuple[int, int], float] = field(default_factory=dict)


def search_triples(space: TripleSpace, asked: QuestionTriples, limit: int, settings: TripleGraphSettings) -> Ranking:
    """The `limit` best passages by their triples; none if the question or the corpus has no triples."""
    graph = local_graph(space, asked, settings)
    triple_scores = pagerank(graph) if settings.score == "pagerank" else graph.scores
    return best_passages(space, triple_scores, limit, "triples", added=settings.score != "max")


def local_graph(space: TripleSpace, asked: QuestionTriples, settings: TripleGraphSettings) -> LocalGraph:
    graph = LocalGraph()
    if not asked.patterns or not len(space.triples):
        return graph
    for found in space.nearest(space.vectors_of(asked.patterns), settings.seed_k):
        for row, score in found:
            if score > graph.seeds.get(row, 0.0):
                graph.seeds[row] = score
    graph.scores = dict(graph.seeds)
    relations = space.encode_slot(asked.relations, RELATION) if asked.relations else None
    frontier = list(best_first(graph.seeds, settings.beam))
    for _ in range(settings.depth - 1):
        reached: dict[int, float] = {}
        known = np.zeros(len(space.triples), dtype=bool)
        known[list(graph.scores)] = True
        for source, target, weight in _links(space, frontier, known, relations, settings):
            score = graph.scores[source] * weight
            graph.edges[source, target] = max(weight, graph.edges.get((source, target), 0.0))
            reached[target] = max(score, reached.get(target, 0.0))
        graph.scores |= reached
        frontier = list(best_first(reached, settings.beam))
    return graph


def best_passages(
    space: TripleSpace, scores: Mapping[int, float], limit: int, channel: str, *, added: bool = False
) -> Ranking:
    """The `limit` best passages by the highest of their triples' `scores` (by row), or with `added` by their sum."""
    passages: dict[str, float] = {}
    for row, score in sorted(scores.items()):
        place = int(space.triples.passages[row])
        if place >= 0:
            name = space.triples.passage_ids[place]
            before = passages.get(name, 0.0)
            passages[name] = before + score if added else max(before, score)
    return ranked_units(space.corpus.snapshot, Kind.PASSAGE, best_first(passages, limit), channel)


def pagerank(graph: LocalGraph) -> dict[int, float]:
    """Personalised PageRank over the edges, both ways, with the seeds' scores as reset. Sums to 1."""
    rows = sorted(graph.scores)
    places = {row: place for place, row in enumerate(rows)}
    if not rows:
        return {}
    ends = np.array([(places[a], places[b]) for a, b in graph.edges], dtype=np.intp).reshape(-1, 2)
    walk = RandomWalk.along(ends[:, 0], ends[:, 1], np.array(list(graph.edges.values())), len(rows))
    ranks = walk.ranks(np.array([graph.seeds.get(row, 0.0) for row in rows]), DAMPING)
    return dict(zip(rows, ranks.tolist(), strict=True))


def _links(
    space: TripleSpace,
    frontier: Sequence[int],
    known: NDArray[np.bool_],
    relations: FloatMatrix | None,
    settings: TripleGraphSettings,
) -> Iterator[tuple[int, int, float]]:
    """Source, target and weight of every link from the frontier to a triple that is not `known`."""
    if "similarity" in settings.links and frontier:
        nearest = space.nearest(space.matrix[list(frontier)], settings.branching_k, known)
        for source, found in zip(frontier, nearest, strict=True):
            yield from ((source, target, score) for target, score in found if score > 0)
    for source in frontier if "entity" in settings.links else ():
        of_entities = [space.triples.entities[key] for key in space.triples.named_by(source)]
        linked = [rows for rows in of_entities if len(rows) <= settings.entity_most]
        rows = np.unique(np.concatenate([NONE, *linked]))
        rows = rows[~known[rows]]
        weights = np.full(len(rows), LEAST_RELATION, dtype=np.float32)
        if relations is not None and len(rows):
            # Rounded, so that equal relations stay equal however the product is computed.
            weights = np.maximum(weights, np.round((space.relations(rows) @ relations.T).max(axis=1), 6))
        for place in top_rows(weights, settings.branching_k):
            yield source, int(rows[place]), float(weights[place])
