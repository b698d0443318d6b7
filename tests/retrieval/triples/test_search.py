"""Search by triples beside its plain definition: their space, and the graph around a question."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind
from hoptrail_papers.comprag.composition import CompositionSettings, Method, compose
from hoptrail_papers.comprag.graph import (
    LEAST_RELATION,
    TripleGraphSettings,
    best_passages,
    local_graph,
    search_triples,
)
from hoptrail_papers.comprag.question_triples import Pattern, QuestionTriples
from hoptrail_papers.comprag.space import RELATION, TripleSpace, stored_triples
from retrieval.triple_world import STRAY

PATTERNS = (Pattern("Orla Finch", "praised"), Pattern(None, "taught", "Milo Fen"))
ASKED = QuestionTriples(PATTERNS, (Pattern(subject="Orla Finch"), Pattern(subject="Ada Quill")), ("praised", "taught"))


def space_of(corpus: Corpus, method: Method = "roles", *, centred: bool = True) -> TripleSpace:
    return TripleSpace.of(corpus, CompositionSettings(method, centred=centred))


def slots_of(space: TripleSpace) -> tuple[FloatMatrix, FloatMatrix]:
    """The vectors of all slots, less the mean of their place, and these means."""
    vectors = np.array([space.corpus.encoder.encode(slots) for slots in space.triples.slots])
    means = vectors.mean(axis=0) if space.settings.centred else np.zeros(vectors.shape[1:], np.float32)
    return unit_length(vectors - means), means


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("method", ["roles", "concatenation"])
def test_triples_and_patterns_are_composed_of_slots_less_their_mean(
    facts: Corpus, method: Method, centred: bool
) -> None:
    space = space_of(facts, method, centred=centred)
    slots, means = slots_of(space)
    known = np.ones(slots.shape[:2], dtype=bool)
    assert np.allclose(space.matrix, compose(slots, known, space.settings), atol=1e-5)
    assert np.allclose(space.relations(np.array([3, 1])), slots[[3, 1], RELATION], atol=1e-5)
    patterns = [PATTERNS[1], Pattern("Ada Quill", "taught", "Ada Quill"), PATTERNS[1]]
    asked, filled = np.zeros((3, 3, slots.shape[2]), np.float32), np.zeros((3, 3), bool)
    for row, pattern in enumerate(patterns):
        for place, slot in enumerate(pattern.slots):
            if slot:
                filled[row, place] = True
                asked[row, place] = unit_length(facts.encoder.encode([slot])[0] - means[place])
    assert np.allclose(space.vectors_of(patterns), compose(asked, filled, space.settings), atol=1e-5)


@pytest.mark.parametrize("centred", [True, False])
def test_whole_texts_are_compared_less_their_mean(facts: Corpus, centred: bool) -> None:
    space = space_of(facts, "text", centred=centred)
    texts = facts.encoder.encode([" ".join(slots) for slots in space.triples.slots])
    mean = texts.mean(axis=0) if centred else np.float32(0)
    assert np.allclose(space.matrix, unit_length(texts - mean), atol=1e-5)
    asked = facts.encoder.encode(["taught Milo Fen"])
    assert np.allclose(space.vectors_of(PATTERNS[1:]), unit_length(asked - mean), atol=1e-5)


def nearest(space: TripleSpace, vector: FloatMatrix, limit: int, known: set[int]) -> list[tuple[int, float]]:
    scores = [(row, float(np.round(triple @ vector, 6))) for row, triple in enumerate(space.matrix) if row not in known]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))[:limit]


def test_the_nearest_leave_out_what_is_known_and_are_no_more_than_there_are(facts: Corpus) -> None:
    space = space_of(facts)
    without = np.arange(len(space.triples)) >= 4
    vectors = space.vectors_of(PATTERNS)
    for limit in (2, 99):
        for vector, found in zip(vectors, space.nearest(vectors, limit, without), strict=True):
            expected = nearest(space, vector, limit, set(np.flatnonzero(without).tolist()))
            assert [row for row, _ in found] == [row for row, _ in expected]
            assert len(found) == min(limit, 4)


def linked(space: TripleSpace, source: int, known: set[int], settings: TripleGraphSettings) -> list[tuple[int, float]]:
    """Links from a triple to triples that are not known, with their weights."""
    links: list[tuple[int, float]] = []
    if "similarity" in settings.links:
        near = nearest(space, space.matrix[source], settings.branching_k, known)
        links += [(row, score) for row, score in near if score > 0]
    if "entity" in settings.links:
        sharing: dict[int, float] = {}
        ends = [{said[0].lower(), said[2].lower()} for said in space.triples.slots]
        relations = space.encode_slot(ASKED.relations, RELATION)
        for entity in ends[source]:
            rows = {row for row, own in enumerate(ends) if entity in own}
            for row in rows - known if len(rows) <= settings.entity_most else ():
                cosines = relations @ space.relations(np.array([row]))[0]
                sharing[row] = max(LEAST_RELATION, float(np.round(cosines.max(), 6)))
        links += sorted(sharing.items(), key=lambda pair: (-pair[1], pair[0]))[: settings.branching_k]
    return links


@pytest.mark.parametrize("branching", [3, 99])
@pytest.mark.parametrize("links", [("entity",), ("similarity",), ("similarity", "entity")])
def test_the_graph_grows_step_by_step_as_defined(facts: Corpus, links: Any, branching: int) -> None:
    space = space_of(facts)
    most = sorted(map(len, space.triples.entities.values()))[-3]  # the two commonest entities link nothing
    depth = 4 if branching == 3 else 2
    settings = TripleGraphSettings(depth, 4, branching, links, beam=4, entity_most=most)
    seeds: defaultdict[int, float] = defaultdict(float)
    for vector in space.vectors_of(ASKED.patterns):
        for row, score in nearest(space, vector, 4, set()):
            seeds[row] = max(score, seeds[row])
    scores, edges, frontier = dict(seeds), dict[tuple[int, int], float](), dict(seeds)
    for _ in range(depth - 1):
        reached: defaultdict[int, float] = defaultdict(float)
        for source in sorted(frontier, key=lambda row: (-frontier[row], row))[:4]:
            for target, weight in linked(space, source, set(scores), settings):
                edges[source, target] = max(weight, edges.get((source, target), 0.0))
                reached[target] = max(scores[source] * weight, reached[target])
        assert reached
        scores |= reached
        frontier = dict(reached)
    graph = local_graph(space, ASKED, settings)
    assert graph.seeds == pytest.approx(seeds, abs=1e-5)
    assert graph.scores == pytest.approx(scores, abs=1e-5)
    assert graph.edges == pytest.approx(edges, abs=1e-5)


@pytest.mark.parametrize("score", ["max", "sum", "pagerank"])
def test_passages_have_the_best_or_the_sum_of_their_triples(facts: Corpus, score: Any) -> None:
    space = space_of(facts)
    triples, rows = space.triples, range(len(space.triples))
    given = {row: 1 / (2 + row) for row in rows}
    expected: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if triples.passages[row] >= 0:
            expected[triples.passage_ids[triples.passages[row]]].append(given[row])
    total = {name: (max if score == "max" else sum)(values) for name, values in expected.items()}
    for limit in (9, 99):
        found = best_passages(space, given, limit, "x", added=score != "max")
        assert [(hit.unit.id, hit.channel) for hit in found] == [
            (name, "x") for name in sorted(total, key=lambda name: (-total[name], name))[:limit]
        ]
        assert [hit.score for hit in found] == pytest.approx(sorted(total.values(), reverse=True)[:limit])
    settings = TripleGraphSettings(depth=3, score=score)
    ranking = search_triples(space, ASKED, 99, settings)
    if score != "pagerank":
        scores = local_graph(space, ASKED, settings).scores
        assert ranking == best_passages(space, scores, 99, "triples", added=score == "sum")
    assert STRAY not in {hit.unit.title for hit in ranking}
    if score == "pagerank":
        assert 0.5 < sum(hit.score for hit in ranking) <= 1 + 1e-6, "all but what triples without a passage have"


def test_triples_stand_in_their_passage_or_in_none(facts: Corpus) -> None:
    stored = stored_triples(facts.snapshot)
    passages = {unit.id: unit for unit in facts.snapshot.units(Kind.PASSAGE)}
    assert -1 in stored.passages
    for slots, place in zip(stored.slots, stored.passages.tolist(), strict=True):
        assert place < 0 or " ".join(slots) in passages[stored.passage_ids[place]].text
    for name, rows in stored.entities.items():
        assert rows.tolist() == [row for row in range(len(stored)) if name in stored.named_by(row)], "each once"
