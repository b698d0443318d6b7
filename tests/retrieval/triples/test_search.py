"""Search by triples beside its plain definition: their space, the graph around a question, and what is unbound."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind
from hoptrail_papers.comprag.composition import CompositionSettings, Method, compose, open_slot
from hoptrail_papers.comprag.graph import (
    LEAST_RELATION,
    SHARPNESS,
    TripleGraphSettings,
    UnbindingSettings,
    best_passages,
    fillers,
    local_graph,
    search_by_unbinding,
    search_triples,
)
from hoptrail_papers.comprag.question_triples import Pattern, QuestionTriples
from hoptrail_papers.comprag.space import RELATION, TripleSpace, stored_triples
from retrieval.triple_world import STRAY, publish

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


def test_a_vocabulary_has_every_text_of_a_place_once(facts: Corpus) -> None:
    space = space_of(facts)
    slots, _ = slots_of(space)
    for place in range(3):
        texts, vectors = space.vocabulary(place)
        assert sorted(texts) == sorted({said[place] for said in space.triples.slots})
        for text, vector in zip(texts, vectors, strict=True):
            row = next(row for row, said in enumerate(space.triples.slots) if said[place] == text)
            assert np.allclose(vector, slots[row, place], atol=1e-5)


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


def test_what_fills_an_open_slot_is_outvoted_by_similarity_and_never_in_the_pattern(facts: Corpus) -> None:
    space, settings = space_of(facts, centred=False), UnbindingSettings(triples=6, fillers=4)
    pattern = Pattern("Orla Finch", "praised")
    near = nearest(space, space.vectors_of([pattern])[0], 6, set())
    memory = unit_length(sum(np.float32(max(score, 0) ** SHARPNESS) * space.matrix[row] for row, score in near))[
        np.newaxis
    ]
    slots, known = space.known([pattern])
    unbound = unit_length(open_slot(memory, slots[0], known[0], 2, space.settings))[0]
    texts, vectors = space.vocabulary(2)
    scores = {text: float(vector @ unbound) for text, vector in zip(texts, vectors, strict=True)}
    expected = [text for text in sorted(scores, key=lambda text: -scores[text]) if text != "Orla Finch"][:4]
    (found,) = fillers(space, [pattern], settings)
    assert list(found) == expected
    assert found == pytest.approx({text: scores[text] for text in expected}, abs=1e-5)
    assert fillers(space, [Pattern("Orla Finch", None, "Ada Fen"), Pattern("Orla Finch")], settings) == [{}, {}]


def test_all_fillers_are_all_texts_of_the_place_but_those_in_the_pattern(facts: Corpus) -> None:
    space = space_of(facts)
    texts, _ = space.vocabulary(2)
    others = sorted(text for text in texts if text.lower() != "orla finch")
    assert len(others) == len(texts) - 1
    for count in (len(texts), len(others)):
        (found,) = fillers(space, [Pattern("Orla Finch", "praised")], UnbindingSettings(fillers=count))
        assert sorted(found) == others


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_hops_by_unbinding_are_as_defined(facts: Corpus, hops: int) -> None:
    space, settings = space_of(facts), UnbindingSettings(triples=3, fillers=2, hops=hops, seed_k=2)
    scores, tried = defaultdict[int, float](float), set[Pattern]()
    patterns = dict.fromkeys(ASKED.whole, 1.0)
    for _ in range(hops):
        tried |= set(patterns)
        following: defaultdict[Pattern, float] = defaultdict(float)
        for pattern, weight in patterns.items():
            for row, score in nearest(space, space.vectors_of([pattern])[0], 2, set()):
                scores[row] = max(weight * score, scores[row])
            (entities,) = fillers(space, [pattern], settings)
            for entity, score in entities.items():
                opened = [Pattern(subject=entity)]
                for relation in set(ASKED.relations) - {pattern.relation}:
                    opened += [Pattern(entity, relation), Pattern(None, relation, entity)]
                for one in opened:
                    following[one] = max(weight * max(score, 0.0), following[one])
        patterns = {pattern: weight for pattern, weight in following.items() if pattern not in tried}
    expected = best_passages(space, scores, 99, "unbinding")
    found = search_by_unbinding(space, ASKED, 99, settings)
    assert [hit.unit for hit in found] == [hit.unit for hit in expected]
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-5)


def test_unbinding_goes_hop_by_hop_and_each_weighs_less(tmp_path: Path) -> None:
    """The bridge to its designer, the designer to her town, the town to its river: each filler opens the next patterns."""
    chain = {
        "Roll": [("Orla Finch", "designed", "Tallow Bridge")],
        "Book": [("Orla Finch", "left", "Wrenmouth")],
        "Guide": [("Wrenmouth", "faces", "Isk")],
        "Fair": [("Ida Voss", "sells", "Green Apples")],
    }
    space = space_of(publish(tmp_path, chain), centred=False)
    first = Pattern(None, "designed", "Tallow Bridge")
    asked = QuestionTriples((first,), (), ("designed", "left"))
    settings = UnbindingSettings(triples=1, fillers=1, seed_k=1, hops=1)
    reached = [search_by_unbinding(space, asked, 9, replace(settings, hops=hops)) for hops in (1, 2, 3)]
    titles = [[hit.unit.title for hit in ranking] for ranking in reached]
    assert titles[0] == ["Roll"]
    assert [("Book" in found, "Guide" in found) for found in titles] == [(False, False), (True, False), (True, True)]
    assert titles[2][:3] == ["Roll", "Book", "Guide"]
    assert {hit.channel for ranking in reached for hit in ranking} == {"unbinding"}
    [designer] = fillers(space, [first], settings)
    following = [Pattern("Orla Finch", "left"), Pattern(None, "left", "Orla Finch"), Pattern("Orla Finch")]
    vectors = space.vectors_of(following)
    book = next(row for row, said in enumerate(space.triples.slots) if said[1] == "left")
    likeness = max(score for vector in vectors for row, score in nearest(space, vector, 1, set()) if row == book)
    scores = {hit.unit.title: hit.score for hit in reached[1]}
    assert scores["Book"] == pytest.approx(designer["Orla Finch"] * likeness, abs=1e-5)
    assert search_by_unbinding(space, QuestionTriples((), (Pattern("Isk"),), ()), 9, settings) == ()
