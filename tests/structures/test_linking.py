"""Links by place, likeness and entities: equal to plain definitions on made-up rows; bounded; the odd sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from hoptrail.corpus.columns import Directed, Rows
from hoptrail_papers import nearest
from hoptrail_papers.chainrag import linking
from hoptrail_papers.chainrag.linking import Mentions, SharedEntities, adjacent_pairs, key_entities, mutual_pairs
from hoptrail_papers.nearest import Nearest


def pairs_of(found: Directed) -> dict[tuple[int, int], float]:
    named = dict(
        zip(zip(found.sources.tolist(), found.targets.tolist(), strict=True), found.weights.tolist(), strict=True)
    )
    assert len(named) == len(found)
    assert all(first < second for first, second in named)
    return named


def rows(*numbers: int) -> Rows:
    return np.array(numbers, dtype=np.int32)


def mentions(named: list[set[str]]) -> Mentions:
    keys = sorted(set().union(*named)) if named else []
    found = sorted((row, keys.index(key)) for row, entities in enumerate(named) for key in entities)
    numbers = np.arange(len(keys), dtype=np.uint64)
    return Mentions(numbers, rows(*(row for row, _ in found)), rows(*(entity for _, entity in found)))


def sharing(named: list[set[str]], most: int = 100, count: int = 100, of: Rows | None = None) -> Directed:
    shared = SharedEntities(mentions(named), len(named), most, count)
    chosen = np.arange(len(named), dtype=np.int32) if of is None else of
    return mutual_pairs(shared.portions, chosen, len(named))


def test_adjacent_sentences_are_at_most_three_apart_and_of_one_passage() -> None:
    passages = rows(0, 0, 1, 0, 0, 0, -1, -1, 1)
    starts = np.array([40, 10, 5, 20, 0, 30, 0, 9, 0])
    found = pairs_of(adjacent_pairs(passages, starts, 3))
    order = [4, 1, 3, 5, 0]
    expected = {(2, 8): 1.0}
    for first, second in combinations(range(5), 2):
        if second - first <= 3:
            low, high = sorted((order[first], order[second]))
            expected[low, high] = 1 / (second - first)
    assert found == pytest.approx(expected)


def test_key_entities_are_those_of_the_highest_mean_score_over_all_sentences() -> None:
    """By the plain definition: every entity is searched for in all sentences, also in those that do not mention it."""
    named = [{"a", "b", "c"}, {"a", "d"}, {"a", "b"}, {"e"}, set(), {"a", "c", "d", "f"}]
    mean = sum(map(len, named)) / len(named)

    def importance(entity: str) -> float:
        owners = sum(entity in one for one in named)
        idf = math.log(1 + (len(named) - owners + 0.5) / (owners + 0.5))
        scores = [idf * 2.5 / (1 + 1.5 * (0.25 + 0.75 * len(one) / mean)) if entity in one else 0 for one in named]
        return sum(scores) / len(scores)

    entities = sorted({entity for one in named for entity in one})
    for share, count in ((0.5, 3), (0.2, 2), (1.0, 6)):
        kept = key_entities(mentions(named), len(named), share)
        best = sorted(entities, key=lambda entity: -importance(entity))[:count]
        assert {entities[number] for number in kept.entities} == set(best)
    assert len(key_entities(mentions([]), 0, 0.5).rows) == 0


def test_single_mentions_fall_out_before_what_sentences_share() -> None:
    named = [{"Isk", "once"}, {"Isk", "never again"}, {"Arrow", "alone"}, {"Arrow", "singly"}, {"rarely", "seldom"}]
    kept = key_entities(mentions(named), len(named), 0.25)
    names = sorted(set().union(*named))
    assert {names[number] for number in kept.entities} == {"Isk", "Arrow"}
    equal = key_entities(mentions([{"Isk"}, {"Isk"}, {"Arrow"}, {"Arrow"}]), 4, 0.5)
    assert set(equal.entities.tolist()) == {0, 1}, "of equals all are kept"


@pytest.mark.parametrize("size", [0, 1, 2])
def test_few_rows_have_few_links(size: int) -> None:
    vectors = np.eye(4, dtype=np.float32)[:size]
    everybody = np.arange(size, dtype=np.int32)
    similar = mutual_pairs(Nearest(vectors, 10, 100, 1).portions, everybody, size)
    adjacent = adjacent_pairs(np.zeros(size, dtype=np.int32), np.arange(size), 3)
    together = sharing([{"Isk"} for _ in range(size)])
    assert len(similar) == len(adjacent) == len(together) == (1 if size == 2 else 0)


def test_similar_pairs_are_those_among_the_best_of_both() -> None:
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(80, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    best = [set(np.argsort(-row)[:4].tolist()) for row in cosines]
    expected = {(a, b) for a, b in combinations(range(80), 2) if a in best[b] and b in best[a]}
    search = Nearest(vectors, 4, 100, 1)
    everybody = np.arange(80, dtype=np.int32)
    assert set(pairs_of(mutual_pairs(search.portions, everybody, 80))) == expected
    some = rows(7, 30, 31)
    wanted = {pair for pair in expected if set(pair) & {7, 30, 31}}
    assert set(pairs_of(mutual_pairs(search.portions, some, 80))) == wanted


@pytest.mark.parametrize("asked", [80, 60, 3])
def test_pairs_found_and_read_in_parts_are_the_same(asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).normal(size=(80, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    some = np.sort(np.random.default_rng(2).choice(80, asked, replace=False)).astype(np.int32)
    whole = pairs_of(mutual_pairs(Nearest(vectors, 6, 100, 1).portions, some, 80))
    for module, name in ((linking, "TOGETHER"), (nearest, "PART"), (nearest, "CENTRES_BLOCK")):
        monkeypatch.setattr(module, name, 7)
    search = Nearest(vectors, 6, 100, 1)
    parts = pairs_of(mutual_pairs(search.portions, some, 80))
    assert parts == pytest.approx(whole, abs=2e-5)  # products of other shapes differ in their last bits
    assert parts
    asked_once: list[int] = []

    def counting(rows: Rows) -> Iterator[Directed]:
        asked_once.extend(rows.tolist())
        return search.portions(rows)

    assert pairs_of(mutual_pairs(counting, some, 80)) == parts
    assert len(set(asked_once)) == len(asked_once)
    assert set(some.tolist()) <= set(asked_once)


def test_entities_of_one_sentence_or_of_too_many_make_no_links() -> None:
    named = [{"everywhere", "Isk"}, {"everywhere", "Isk"}, {"everywhere"}, {"everywhere", "once"}]
    assert set(pairs_of(sharing(named, most=3))) == {(0, 1)}
    assert len(sharing(named, most=4)) == 6


def test_the_weight_grows_with_rarity_and_with_number_and_stays_below_one() -> None:
    named: list[set[str]] = [
        {"rare", "common"},
        {"rare"},
        {"common", "rare too"},
        {"common", "rare too"},
        *[set()] * 20,
    ]
    found = pairs_of(sharing(named))
    rare, common = (math.log(25 / count) / math.log(25) for count in (2, 3))
    assert found == pytest.approx({(0, 1): rare, (0, 2): common, (0, 3): common, (2, 3): 1 - (1 - rare) * (1 - common)})
    assert all(weight < 1 for weight in found.values())


def test_a_hub_keeps_its_strongest_links_and_no_sentence_has_more_than_the_cap() -> None:
    chance = np.random.default_rng(2)
    entities = [f"e{number}" for number in range(12)]
    named = [set(chance.choice(entities, size=chance.integers(0, 6), replace=False).tolist()) for _ in range(120)]
    named[0] = set(entities)
    every, capped = pairs_of(sharing(named)), pairs_of(sharing(named, count=7))
    degrees = Counter(row for pair in capped for row in pair)
    assert max(degrees.values()) <= 7
    assert capped.items() <= every.items()
    of_hub = [weight for pair, weight in every.items() if 0 in pair]
    kept = [weight for pair, weight in capped.items() if 0 in pair]
    assert kept
    assert min(kept) >= sorted(of_hub)[-7]


def test_among_equals_all_get_about_as_many_links() -> None:
    degrees = Counter(row for pair in pairs_of(sharing([{"Isk"}] * 60, count=8)) for row in pair)
    assert set(degrees.values()) == {8}


def test_blocks_change_nothing_and_some_rows_get_what_all_would(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    named = [{f"e{number}" for number in chance.integers(15, size=3)} for _ in range(90)]
    whole = pairs_of(sharing(named, count=6))
    monkeypatch.setattr(linking, "EXPANSION", 50)
    assert pairs_of(sharing(named, count=6)) == whole
    part = pairs_of(sharing(named, count=6, of=rows(4, 5, 60)))
    assert part == {pair: weight for pair, weight in whole.items() if set(pair) & {4, 5, 60}}


def test_no_entities_make_no_links() -> None:
    assert len(sharing([])) == len(sharing([set()] * 5)) == 0
    assert len(sharing([{"Isk"}, {"Arrow"}])) == 0


def test_sharing_is_told_pair_by_pair() -> None:
    found = mentions([{"a", "b"}, {"b"}, set(), {"a"}])
    assert found.share(rows(0, 0, 0, 1, 2), rows(1, 2, 3, 3, 3)).tolist() == [True, False, True, False, False]
    assert mentions([]).share(rows(), rows()).tolist() == []
    assert mentions([set(), set()]).share(rows(0), rows(1)).tolist() == [False]
