"""Adaptive reranking: by hand, at its limits, and beside the published algorithm written down naively."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hoptrail_papers.sunar.adaptive import (
    AdaptiveSettings,
    Neighbours,
    logistic,
    no_neighbours,
    no_penalty,
    rerank_adaptively,
)

Graph = Mapping[str, Sequence[str]]


class Reader:
    """A scorer with known scores that keeps the batches it was given."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.batches: list[list[str]] = []

    def __call__(self, batch: Sequence[str]) -> list[float]:
        self.batches.append(list(batch))
        return [self.scores[name] for name in batch]

    @property
    def read(self) -> list[str]:
        return [name for batch in self.batches for name in batch]


def around(graph: Graph) -> Neighbours:
    return lambda names: {name: graph[name] for name in names if name in graph}


CHAIN = {"r0": ["x1"], "x1": ["y1"]}
"""The answer y1 is two hops outside the first stage."""
FIRST = {f"r{number}": 20.0 - number for number in range(10)}
SCORES = dict.fromkeys(FIRST, 0.3) | {"r0": 0.7, "x1": 0.6, "y1": 0.9}


def test_what_lies_two_hops_outside_the_first_stage_is_found() -> None:
    settings = AdaptiveSettings(budget=8, batch=2)
    reader = Reader(SCORES)
    placed = rerank_adaptively(FIRST, around(CHAIN), reader, settings)
    assert reader.batches[:4] == [["r0", "r1"], ["x1"], ["r2", "r3"], ["y1"]]
    assert list(placed)[:3] == ["y1", "r0", "x1"]
    assert set(placed) == {*FIRST, "x1", "y1"}


def test_reranking_alone_misses_it() -> None:
    reader = Reader(SCORES)
    placed = rerank_adaptively(FIRST, no_neighbours, reader, AdaptiveSettings(budget=8, batch=2))
    assert "y1" not in placed
    assert reader.batches == [["r0", "r1"], ["r2", "r3"], ["r4", "r5"], ["r6", "r7"]]


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 7, 11, 12, 100])
@pytest.mark.parametrize("batch", [1, 2, 4, 16])
def test_the_budget_holds_also_in_the_last_batch(budget: int, batch: int) -> None:
    reader = Reader(SCORES)
    rerank_adaptively(FIRST, around(CHAIN), reader, AdaptiveSettings(budget=budget, batch=batch))
    assert len(reader.read) == min(budget, 12 if budget > 1 else 1)
    assert all(len(part) <= batch for part in reader.batches)


def test_what_waits_in_both_pools_is_read_once() -> None:
    graph = {"r0": ["r1", "r9", "x1"], "x1": ["r0", "r9"], "r9": ["x1"]}
    reader = Reader(SCORES | {"x1": 0.5})
    placed = rerank_adaptively(FIRST, around(graph), reader, AdaptiveSettings(batch=1))
    assert sorted(reader.read) == sorted({*FIRST, "x1"})
    assert list(placed) == sorted(placed, key=lambda name: (-reader.scores[name], name))


def test_empty_pools_end_the_search() -> None:
    never = Reader({})
    assert rerank_adaptively({}, around(CHAIN), never, AdaptiveSettings()) == {}
    assert never.batches == []
    reader = Reader({"a": 0.5})
    circle = {"a": ["a"]}
    assert list(rerank_adaptively({"a": 1.0}, around(circle), reader, AdaptiveSettings())) == ["a"]
    assert reader.batches == [["a"]]


def test_an_exhausted_first_stage_leaves_the_frontier_to_be_read() -> None:
    chain = {f"c{number}": [f"c{number + 1}"] for number in range(6)}
    reader = Reader({f"c{number}": 0.5 for number in range(7)})
    placed = rerank_adaptively({"c0": 1.0}, around(chain), reader, AdaptiveSettings(budget=5))
    assert reader.read == ["c0", "c1", "c2", "c3", "c4"]
    assert list(placed) == ["c0", "c1", "c2", "c3", "c4"]


def test_ties_go_to_the_lower_id_everywhere() -> None:
    first = dict.fromkeys(["b", "c", "a", "d"], 1.0)
    reader = Reader(dict.fromkeys("abcdxyz", 0.5))
    graph = {"a": ["z", "y"], "b": ["x"]}
    settings = AdaptiveSettings(budget=5, batch=2)
    placed = rerank_adaptively(first, around(graph), reader, settings)
    assert reader.batches == [["a", "b"], ["x", "y"], ["c"]]
    assert list(placed) == ["a", "b", "c", "x", "y", "d"]


def test_unread_hits_follow_in_their_order_or_are_left_out() -> None:
    low = Reader(dict.fromkeys(FIRST, 0.0))
    placed = rerank_adaptively(FIRST, no_neighbours, low, AdaptiveSettings(budget=2))
    assert list(placed) == list(FIRST)
    assert list(placed.values()) == [0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]
    short = rerank_adaptively(FIRST, no_neighbours, low, AdaptiveSettings(budget=2, backfill=False))
    assert list(short) == ["r0", "r1"]


def test_a_penalty_never_promotes_whatever_the_raw_score() -> None:
    raw = {"a": -2.0, "b": -3.0, "c": 40.0, "d": -800.0, "e": 800.0}
    reader = Reader({name: logistic(score) for name, score in raw.items()})
    first = {name: -score for name, score in raw.items()}
    penalties = {"a": 4.0, "b": 1.0, "c": 2.0, "d": 10.0, "e": 1.0}
    placed = rerank_adaptively(
        first, no_neighbours, reader, AdaptiveSettings(), lambda batch: [penalties[name] for name in batch]
    )
    for name, score in placed.items():
        assert score <= reader.scores[name]
    assert list(placed) == ["e", "c", "b", "a", "d"]


@pytest.mark.parametrize(("scores", "penalty"), [([1.5], 1.0), ([-0.1], 1.0), ([float("nan")], 1.0), ([0.5], 0.0)])
def test_scores_and_penalties_that_could_promote_are_refused(scores: list[float], penalty: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1|above 0"):
        rerank_adaptively({"a": 1.0}, no_neighbours, lambda _: scores, AdaptiveSettings(), lambda _: [penalty])


@pytest.mark.parametrize(("frontier_score", "third"), [("raw", "x"), ("penalised", "y")])
def test_the_frontier_waits_with_penalised_or_raw_scores(frontier_score: Any, third: str) -> None:
    """`a` is better than `b` until it is doubted; x is next to a, y to b."""
    reader = Reader({"a": 0.9, "b": 0.5, "x": 0.1, "y": 0.1})
    settings = AdaptiveSettings(batch=2, budget=3, frontier_score=frontier_score)
    doubts = {"a": 9.0, "b": 1.0}
    rerank_adaptively(
        {"a": 2.0, "b": 2.0},
        around({"a": ["x"], "b": ["y"]}),
        reader,
        settings,
        lambda batch: [doubts.get(name, 1.0) for name in batch],
    )
    assert reader.read == ["a", "b", third]


def test_penalties_are_asked_for_by_falling_score() -> None:
    seen: list[list[str]] = []

    def penalty(batch: Sequence[str]) -> Sequence[float]:
        seen.append(list(batch))
        return no_penalty(batch)

    rerank_adaptively({"a": 1.0, "b": 0.5}, no_neighbours, Reader({"a": 0.1, "b": 0.2}), AdaptiveSettings(), penalty)
    assert seen == [["b", "a"]]


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"batch": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        AdaptiveSettings(**wrong)


def published(
    first: list[tuple[str, float]], graph: Graph, scores: Mapping[str, float], budget: int, batch: int
) -> list[tuple[str, float]]:
    """GAR as its paper describes it (algorithm 1), over lists that are searched from end to end."""
    results: list[tuple[str, float]] = []
    pool = list(first)
    frontier: list[tuple[str, float]] = []
    threshold = None
    take_first = True
    while len(results) < budget and (pool or frontier):
        chosen = pool if take_first else frontier
        take_first = not take_first
        if not chosen:
            continue
        chosen = sorted(chosen, key=lambda pair: pair[0])
        chosen = sorted(chosen, key=lambda pair: pair[1], reverse=True)
        best = [name for name, _ in chosen][: min(batch, budget - len(results))]
        results += [(name, scores[name]) for name in best]
        pool = [pair for pair in pool if pair[0] not in best]
        frontier = [pair for pair in frontier if pair[0] not in best]
        room = budget - len(results)
        if room == 0:
            break
        for source in sorted(best, key=lambda name: (-scores[name], name)):
            if not (len(frontier) < room or (threshold is not None and scores[source] >= threshold)):
                continue
            for target in graph.get(source, ()):
                if target in [name for name, _ in results]:
                    continue
                waiting = [priority for name, priority in frontier if name == target]
                if not waiting or scores[source] > waiting[0]:
                    frontier = [pair for pair in frontier if pair[0] != target] + [(target, scores[source])]
                    threshold = scores[source] if threshold is None else min(threshold, scores[source])
    return sorted(results, key=lambda pair: (-pair[1], pair[0]))


def test_vanilla_is_the_published_algorithm() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        everyone = [f"d{number:02}" for number in range(chance.randint(1, 40))]
        graph = {name: chance.sample(everyone, min(len(everyone), chance.randint(0, 5))) for name in everyone}
        coarse = chance.choice([1, 5, 100])  # few different scores make many ties
        scores = {name: chance.randint(0, coarse) / coarse for name in everyone}
        first = [
            (name, float(chance.randint(0, 9))) for name in chance.sample(everyone, chance.randint(0, len(everyone)))
        ]
        budget, batch = chance.randint(1, 45), chance.randint(1, 8)
        settings = AdaptiveSettings(budget=budget, batch=batch, backfill=False)
        placed = rerank_adaptively(dict(first), around(graph), Reader(scores), settings)
        assert list(placed.items()) == published(first, graph, scores, budget, batch), seed
