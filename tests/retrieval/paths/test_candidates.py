"""Candidates beside their plain definition, and in a chain of names where each limit decides how far they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths import candidates
from hoptrail.retrieval.paths.candidates import Walk, bridge_vectors, find_candidates, promising_bridges
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.types import Document
from retrieval.paths.plain import SETTINGS, Made, WordEncoder, nearest
from retrieval.paths.test_search import STRUCTURES
from structures.site import Site
from world import make_document


@pytest.fixture
def walk(made: Made) -> Walk:
    return Walk(made.scores, SETTINGS)


def test_the_world_has_rare_common_and_too_common_names_and_namesakes(made: Made) -> None:
    """Without them the comparisons below would prove less."""
    counts = [len(rows) for rows in made.plain.namers.values()]
    assert min(counts) <= SETTINGS.rare < sorted(counts)[len(counts) // 2] <= SETTINGS.common < max(counts)
    assert max(map(len, made.plain.owners.values())) > 1
    assert {made.scores.graph.name(number) for number in made.scores.asked} == {"amber mill", "copper quay"}


@pytest.mark.parametrize("what", ["keyword", "cosine", "sentence"])
def test_every_passage_is_scored_for_every_query_as_defined(made: Made, what: str) -> None:
    scores = made.scores
    found = {"keyword": scores.keywords, "cosine": scores.passages, "sentence": scores.sentences}[what]
    assert np.allclose(found, made.plain.table(what), atol=1e-5)


def shares(scores: FloatMatrix) -> FloatMatrix:
    shared: FloatMatrix = np.maximum(scores, 0) / scores.max(axis=0)
    return shared


def test_shares_mix_words_vectors_and_sentences_and_near_is_the_highest_cosine(made: Made) -> None:
    keyword, cosine, sentence = (made.plain.table(what) for what in ("keyword", "cosine", "sentence"))
    mixed = 0.4 * shares(keyword) + 0.3 * shares(cosine) + 0.3 * shares(sentence)
    assert np.allclose(made.scores.shares(), mixed, atol=1e-5)
    assert np.allclose(made.scores.near, np.maximum(cosine, sentence).max(axis=1), atol=1e-5)


def test_the_walk_starts_from_the_forty_best_by_question_steps_and_titles_named(made: Made, walk: Walk) -> None:
    mixed, plain = made.scores.shares(), made.plain
    first = 1 + len(plain.queries.steps)
    direct = (mixed[:, 0] + 0.6 * mixed[:, first:].max(axis=1)) / 1.6
    assert mixed.shape[1] > first > 1
    assert np.allclose(walk.direct, direct, atol=1e-6)
    seeds = np.maximum(direct, 0.9 * mixed[:, 1:].max(axis=1))
    for name in ("amber mill", "copper quay"):
        seeds[sorted(plain.owners[name])] += 0.5
    rows = nearest(range(len(seeds)), seeds, 40)
    expected = np.full(len(seeds), -1.0)
    expected[rows] = seeds[rows]
    assert np.allclose(walk.promise, expected, atol=1e-6)
    assert walk.best(5) == rows[:5]


@pytest.mark.parametrize("count", [1, 3, 12, 64])
def test_names_are_followed_as_defined_one_source_after_the_other(made: Made, walk: Walk, count: int) -> None:
    rows = walk.best(count)
    expected = made.plain.followed(walk, rows)
    before = walk.promise.copy()
    walk.follow(walk.sources(rows))
    assert np.allclose(walk.promise, expected, atol=1e-5)
    assert (walk.promise > before).any()


def test_following_goes_two_rounds_and_no_source_is_followed_twice(made: Made, walk: Walk) -> None:
    plainly = Walk(made.scores, SETTINGS)
    first = plainly.best(5)
    plainly.promise = made.plain.followed(plainly, first)
    second = [row for row in plainly.best(5 + 6) if row not in first]
    assert 6 <= len(second) <= 11
    plainly.promise = made.plain.followed(plainly, second)
    walk.expand_best()
    assert np.allclose(walk.promise, plainly.promise, atol=1e-5)


def test_a_source_of_another_part_keeps_its_promise_and_is_never_reached(made: Made, walk: Walk) -> None:
    (source,) = walk.sources(walk.best(1))
    elsewhere = replace(source, row=-1, promise=0.8)
    before = walk.promise.copy()
    walk.follow([elsewhere])
    there = np.flatnonzero(walk.promise > before)
    walk.promise = before.copy()
    walk.promise[source.row] = 0.8
    expected = np.maximum(made.plain.followed(walk, [source.row]), before)
    here = [row for row in there if row != source.row]
    walk.promise = before.copy()
    walk.follow([elsewhere])
    assert here
    assert np.allclose(walk.promise[here], expected[here], atol=1e-5)


def test_bridges_are_names_near_a_step_that_another_refers_to(made: Made, walk: Walk) -> None:
    walk.expand_best()
    plain, rows = made.plain, walk.best(candidates.BRIDGED_FROM)
    promises: dict[tuple[str, int], float] = {}
    for before, step in ((1, 2), (2, 3)):
        asked = plain.asked_vectors[before]
        for row in rows:
            likely = min(float(walk.promise[row]), 1.4) / float(walk.promise[rows[0]])
            for name, weight, sentence in plain.occurrences(row):
                cosine = float(plain.said[sentence.id] @ asked) if sentence else plain.best_sentence(row, asked)
                promise = likely * weight * max(cosine, 0.0)
                promises[name, step] = max(promise, promises.get((name, step), 0.0))
    in_question = {"amber mill", "copper quay", "amber quay", "copper mill"}  # of the last two, it has the words
    assert in_question < {name for name, _ in promises}
    free = {pair: promise for pair, promise in promises.items() if pair[0] not in in_question}
    found = promising_bridges(walk)
    assert [bridge.promise for bridge in found] == pytest.approx(sorted(free.values(), reverse=True)[:40], abs=1e-5)
    assert [free[bridge.text, bridge.step] for bridge in found] == pytest.approx(
        [bridge.promise for bridge in found], abs=1e-5
    )
    assert {bridge.step for bridge in found} == {2, 3}


@pytest.mark.parametrize("most", [400, 3])
def test_a_bridge_reaches_the_nearest_passages_with_its_name(
    made: Made, walk: Walk, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a name in too many passages, those nearest to the question are compared."""
    monkeypatch.setattr(candidates, "MOST_BRIDGED", most)
    walk.expand_best()
    plain, bridges = made.plain, promising_bridges(walk)[:12]
    assert max(len(plain.passages_with(bridge.text)) for bridge in bridges) > candidates.BRIDGED_TO
    walk.promise[::2] = -1
    walk.promise *= np.float32(0.3)  # as if names had reached half of them, and without much promise
    expected = walk.promise.copy()
    texts = [plain.queries.bridged(bridge.step, bridge.text) for bridge in bridges]
    vectors = bridge_vectors(bridges, plain.queries, made.corpus.encoder)
    assert np.allclose(vectors, made.corpus.encoder.encode(texts))
    for bridge, vector in zip(bridges, vectors, strict=True):
        rows = nearest(plain.passages_with(bridge.text), walk.near, most)
        for row in nearest(rows, plain.vectors @ vector, candidates.BRIDGED_TO):
            highest = max(float(plain.vectors[row] @ vector), plain.best_sentence(row, vector))
            expected[row] = max(expected[row], min(bridge.promise, 0.9) * (0.3 + 0.7 * highest))
    before = walk.promise.copy()
    walk.add_bridged(bridges, vectors)
    assert np.allclose(walk.promise, expected, atol=1e-5)
    assert 0 < np.count_nonzero(walk.promise > before) < np.count_nonzero(before > 0)
    assert bridge_vectors([], plain.queries, made.corpus.encoder).shape == (0, 64)


@pytest.mark.parametrize("limit", [1, 7, 120])
def test_candidates_are_the_best_by_promise_and_their_sentences_are_read(made: Made, limit: int) -> None:
    found = find_candidates(made.scores, made.corpus.encoder, replace(SETTINGS, candidates=limit))
    whole = find_candidates(made.scores, made.corpus.encoder, SETTINGS)
    assert found.rows.tolist() == whole.rows.tolist()[:limit]
    assert found.promise.tolist() == sorted(found.promise.tolist(), reverse=True)
    assert len(found.bridge_vectors) == len(found.bridges) <= SETTINGS.bridges
    assert (found.promise > 0).all()


def test_without_references_names_are_appended_to_the_question(made: Made) -> None:
    queries = PathQueries.of("Which harbour knows the designer of the Amber Mill?", [])
    alone = Made.asked(made.corpus, made.documents, queries)
    found = find_candidates(alone.scores, made.corpus.encoder, SETTINGS)
    assert found.bridges
    assert {bridge.step for bridge in found.bridges} == {0}
    first = found.bridges[0]
    assert np.allclose(found.bridge_vectors[0], made.corpus.encoder.encode([f"{queries.question} {first.text}"])[0])


CHAIN = {
    "Amber Mill": "The Amber Mill has Orla Finch as its keeper.",
    "Orla Finch": "As the keeper of a mill Orla Finch fled Wrenmouth.",
    "Wrenmouth": "Wrenmouth faces Lindeth over water.",
    "Lindeth": "Lindeth sells salt.",
}
"""Each names the next; the question names the first alone."""
STEPS = ("What did the keeper of the Amber Mill flee?", "What does #1 face?")
ASKED = "What does the place face which the keeper of the Amber Mill fled?"


def asked_in(folder: Path, documents: Sequence[Document]) -> Made:
    """The question to these documents among more than the forty with which a walk starts, all of which share words with it."""
    near = [make_document(f"N{number}", f"The place of a mill keeper, number w{number}.") for number in range(50)]
    site, every = Site(folder, WordEncoder()), [*documents, *near]
    site.build(*STRUCTURES, add=every, language=OfflineLanguage())
    return Made.asked(Corpus(site.snapshot, lambda: site.encoder), every, PathQueries.of(ASKED, STEPS))


@pytest.mark.parametrize(
    ("second", "bridges", "reached"),
    [(0, 0, 2), (1, 0, 3), (0, 12, 3)],
    ids=["one round", "two rounds", "a bridge"],
)
def test_each_round_leads_one_name_further_and_so_does_a_bridged_step(
    tmp_path: Path, second: int, bridges: int, reached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "LEAST_PROMISE", 0.2)
    chain = asked_in(tmp_path, [make_document(title, text) for title, text in CHAIN.items()])
    settings = replace(SETTINGS, first_sources=1, second_sources=second, bridges=bridges)
    found = find_candidates(chain.scores, chain.corpus.encoder, settings)
    titles = [chain.plain.units[row].title for row in found.rows]
    assert [title for title in CHAIN if title in titles] == list(CHAIN)[:reached]
    assert titles[0] == "Amber Mill"


@pytest.mark.parametrize(("namesakes", "bonus"), [(3, 0.5), (4, 0.25)])
def test_a_title_that_the_question_names_counts_half_where_many_have_it(
    tmp_path: Path, namesakes: int, bonus: float
) -> None:
    titles = ["Amber Mill", *(f"Amber Mill ({what})" for what in ("film", "song", "play"))][:namesakes]
    world = asked_in(tmp_path, [make_document(title, f"It is a {title} of old.") for title in titles])
    walk, mixed = Walk(world.scores, SETTINGS), world.scores.shares()
    rows = sorted(world.plain.owners["amber mill"])
    assert len(rows) == namesakes
    assert walk.promise[rows] == pytest.approx(
        [max(walk.direct[row], 0.9 * mixed[row, 1:].max()) + bonus for row in rows], abs=1e-5
    )
