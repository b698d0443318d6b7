"""The entity graph beside its plain definition: dictionaries for its edges, and a linear system for its walk."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind
from hoptrail_papers.baselines.entity_graph import (
    EntityGraph,
    EntityGraphSettings,
    facts_about,
    facts_like,
    hits_of,
    neighbours,
    passages_of,
)
from hoptrail_papers.comprag.triples import slots_in
from retrieval.triple_world import STRAY

Node = str


def nodes_of(corpus: Corpus) -> list[tuple[Node, Node, Node | None]]:
    """Subject, object and passage of each triple by rising id; names in small letters."""
    passages = {unit.document: unit.id for unit in corpus.snapshot.units(Kind.PASSAGE)}
    triples = sorted(corpus.snapshot.units(Kind.TRIPLE), key=lambda unit: unit.id)
    slots = [(slots_in(unit.text), unit.document) for unit in triples]
    return [(said[0].lower(), said[2].lower(), passages.get(document)) for said, document in slots]


@pytest.fixture(scope="module")
def graph(facts: Corpus) -> EntityGraph:
    return EntityGraph.of(facts)


def cosine(corpus: Corpus, one: str, other: str) -> float:
    vectors = corpus.encoder.encode([one, other])
    return float(vectors[0] @ vectors[1])


def edges_of(corpus: Corpus, settings: EntityGraphSettings) -> dict[frozenset[Node], float]:
    """The weights of edges by their ends."""
    edges: defaultdict[frozenset[Node], float] = defaultdict(float)
    triples = nodes_of(corpus)
    for one, other, _ in triples:
        if one != other:
            edges[frozenset((one, other))] += 1
    if settings.passages:
        for pair in {frozenset((end, passage)) for *ends, passage in triples if passage for end in ends if end}:
            edges[pair] = 1
    names = sorted({end for one, other, _ in triples for end in (one, other)})
    near: dict[frozenset[Node], float] = {}
    for name in names if settings.synonym_k else []:
        others = sorted((cosine(corpus, name, other), other) for other in names if other != name)
        near |= {frozenset((name, other)): value for value, other in others[-settings.synonym_k :]}
    for pair, value in near.items():
        edges[pair] += value if value >= settings.synonyms else 0
    return edges


@pytest.mark.parametrize("passages", [True, False])
@pytest.mark.parametrize("synonym_k", [0, 3])
def test_the_walk_is_the_solution_of_its_linear_system(facts: Corpus, passages: bool, synonym_k: int) -> None:
    settings = EntityGraphSettings(passages, synonyms=0.55, synonym_k=synonym_k)
    graph = EntityGraph.of(facts, settings)
    order: list[Node] = [*graph.names, *(graph.triples.passage_ids if passages else ())]
    places = {node: place for place, node in enumerate(order)}
    matrix, home = np.zeros((len(order), len(order))), np.zeros(len(order))
    for pair, weight in edges_of(facts, settings).items():
        one, other = (places[end] for end in pair)
        matrix[one, other] += weight
        matrix[other, one] += weight
    start = {0: 3.0, 5: 1.0}
    home[list(start)] = list(start.values())
    likeness = np.arange(len(graph.triples.passage_ids)) / 10
    home[len(graph.names) :] = likeness if passages else ()
    leaving = matrix.sum(axis=0)
    assert (leaving > 0).all()
    solved = np.linalg.solve(np.eye(len(order)) - 0.5 * matrix / leaving, 0.5 * home / home.sum())
    if passages:
        expected = solved[len(graph.names) :]
    else:
        expected = np.zeros(len(graph.triples.passage_ids))
        for *ends, passage in nodes_of(facts):
            for end in ends:
                if passage and end:
                    expected[graph.triples.passage_ids.index(passage)] += solved[places[end]]
    assert graph.pagerank(start, likeness, 0.5) == pytest.approx(expected, abs=1e-5)


def test_mentions_count_the_triples_of_a_passage_with_an_entity(facts: Corpus, graph: EntityGraph) -> None:
    counts = Counter((end, passage) for *ends, passage in nodes_of(facts) if passage for end in ends)
    named, places, numbers = graph.mentions
    found = {
        (graph.names[name], graph.triples.passage_ids[place]): number
        for name, place, number in zip(named, places, numbers.tolist(), strict=True)
    }
    assert found == counts
    assert max(counts.values()) > 1
    spread = Counter(end for end, _ in counts)
    assert dict(zip(graph.names, graph.passage_counts.tolist(), strict=True)) == {
        name: max(1, spread[name]) for name in graph.names
    }


def test_the_nearest_entities_have_their_best_cosine_with_any_text(facts: Corpus, graph: EntityGraph) -> None:
    texts = ["Ada Quill praised", "Ada Reed"]
    cosines: FloatMatrix = np.array([[cosine(facts, text, name) for name in graph.names] for text in texts])
    expected: dict[int, float] = {}
    for row in cosines:
        for number in sorted(range(len(row)), key=lambda at: -row[at])[:4]:
            expected[number] = cosines[:, number].max() if number in expected else row[number]
    assert len(expected) < 8, "some are near to both"
    assert graph.nearest(texts, 4) == pytest.approx(expected, abs=1e-5)
    assert graph.nearest([], 4) == {}


def test_facts_about_entities_are_weighted_by_the_best_of_them(facts: Corpus, graph: EntityGraph) -> None:
    entities, question = {0: 0.5, 3: 0.9}, "Who taught Ada Quill?"
    ids, triples = graph.triples.ids, {unit.id: unit for unit in facts.snapshot.units(Kind.TRIPLE)}
    expected = {}
    for row, (one, other, _) in enumerate(nodes_of(facts)):
        scores = [score for number, score in entities.items() if graph.names[number] in (one, other)]
        if scores:
            expected[row] = (1 + cosine(facts, question, triples[ids[row]].searchable)) / 2 * max(scores)
    best = sorted(expected, key=lambda row: (-expected[row], row))[:5]
    assert len(expected) > 5
    found = facts_about(graph, entities, question, 5)
    assert list(found) == best
    assert found == pytest.approx({row: expected[row] for row in best}, abs=1e-5)
    assert facts_about(graph, {}, question, 5) == {}


def test_facts_like_a_text_have_at_least_the_least_cosine(graph: EntityGraph) -> None:
    whole = facts_like(graph, "Orla Finch taught Ada Quill", 12, 0.01)
    assert len(whole) == 12
    least = sorted(whole.values())[4]
    assert facts_like(graph, "Orla Finch taught Ada Quill", 12, least) == {
        row: score for row, score in whole.items() if score >= least
    }


def test_neighbours_and_passages_of_facts_have_the_best_and_the_sum_of_their_scores(
    facts: Corpus, graph: EntityGraph
) -> None:
    chosen = {row: 1 / (2 + row) for row in range(len(graph.triples))}
    known = {0: 1.0}
    best, sums = defaultdict[int, float](float), defaultdict[str, float](float)
    for row, (one, other, passage) in enumerate(nodes_of(facts)):
        for number in map(graph.names.index, (one, other)):
            if number not in known:
                best[number] = max(best[number], chosen[row])
        if passage:
            sums[passage] += chosen[row]
    assert neighbours(graph, chosen, known) == best
    found = passages_of(graph, chosen, 7)
    assert [hit.score for hit in found] == pytest.approx(sorted(sums.values(), reverse=True)[:7])
    assert {hit.unit.id: hit.score for hit in passages_of(graph, chosen, 99)} == pytest.approx(sums)
    assert STRAY not in {hit.unit.title for hit in passages_of(graph, chosen, 99)}
    assert [hit.unit.id for hit in hits_of(graph, chosen, 3)] == list(graph.triples.ids[:3])
    assert {hit.channel for hit in (*found, *hits_of(graph, chosen, 3))} == {"entities"}


def test_likeness_runs_from_none_to_one_in_even_steps_of_the_cosine(facts: Corpus, graph: EntityGraph) -> None:
    passages = {unit.id: unit for unit in facts.snapshot.units(Kind.PASSAGE)}
    question = "Who taught Ada Quill?"
    cosines = np.array([cosine(facts, question, passages[name].searchable) for name in graph.triples.passage_ids])
    expected = (cosines - cosines.min()) / (cosines.max() - cosines.min())
    assert graph.passage_likeness(question) == pytest.approx(expected, abs=1e-5)
