"""Trees as arrays: every leaf is reached as walking would reach it, and other features are refused. What pairs add to candidates,
and the order of these, beside their plain definition.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hoptrail.retrieval.paths.candidates import find_candidates
from hoptrail.retrieval.paths.features import PASSAGE_FEATURES, CandidateFeatures, Numbers, Pairs
from hoptrail.retrieval.paths.scoring import (
    LINKED_FEATURES,
    MOST_LEAVES,
    PAIRED,
    BoostedTrees,
    Judged,
    best_places,
    in_order,
    linked_features,
    stored_scorer,
)
from retrieval.paths.plain import SETTINGS, Made


def two_trees() -> BoostedTrees:
    """x <= 1 ? (y <= 2 ? 1 : 2) : 4, and 10 everywhere."""
    features = np.zeros((2, MOST_LEAVES - 1), dtype=np.int16)
    features[0, 1] = 1
    thresholds = np.full((2, MOST_LEAVES - 1), np.inf, dtype=np.float32)
    thresholds[0, :2] = (1, 2)
    masks = np.full((2, MOST_LEAVES - 1), 255, dtype=np.uint8)
    masks[0, :2] = (255 ^ 0b011, 255 ^ 0b001)
    leaves = np.zeros((2, MOST_LEAVES), dtype=np.float32)
    leaves[0, :3], leaves[1, 0] = (1, 2, 4), 10
    return BoostedTrees(("x", "y"), features, thresholds, masks, leaves)


def test_leaves_are_those_that_walking_reaches() -> None:
    values = np.array([[0, 0], [1, 2], [1, 2.5], [1.5, 0], [9, 9]], dtype=np.float32)
    assert two_trees().log_odds(values).tolist() == [11, 11, 12, 14, 14]


def test_many_rows_are_as_each_alone() -> None:
    values = np.random.default_rng(0).normal(1, 2, (1500, 2)).astype(np.float32)
    trees = two_trees()
    assert trees.log_odds(values).tolist() == [trees.log_odds(row[None])[0] for row in values]
    assert trees.log_odds(values[:0]).tolist() == []


def test_probabilities_are_of_the_log_odds() -> None:
    values = np.array([[0, 0]], dtype=np.float32)
    assert two_trees().probabilities(values)[0] == pytest.approx(1 / (1 + np.exp(-11)), abs=1e-6)


def test_what_is_stored_is_what_is_read_and_other_features_are_refused() -> None:
    trees = two_trees()
    parts = {part: getattr(trees, part) for part in ("features", "thresholds", "masks", "leaves")}
    stored = {f"one.{part}": values for part, values in {"names": np.array(trees.names), **parts}.items()}
    again = BoostedTrees.from_arrays("one", stored, ("x", "y"))
    values = np.array([[1, 2.5], [3, 0]], dtype=np.float32)
    assert again.log_odds(values).tolist() == trees.log_odds(values).tolist()
    with pytest.raises(ValueError, match="other features"):
        BoostedTrees.from_arrays("one", stored, ("y", "x"))
    with pytest.raises(ValueError, match="read 2 features, not 3"):
        trees.log_odds(np.zeros((1, 3), dtype=np.float32))


@pytest.fixture(scope="module")
def described(made: Made) -> CandidateFeatures:
    return CandidateFeatures(made.scores, find_candidates(made.scores, made.corpus.encoder, SETTINGS))


def around(own: Numbers, other: Numbers, paired: list[float], place: int) -> list[tuple[float, int]]:
    """The partners of a candidate on one side, with the probability of the pair."""
    return [
        (probability, int(partner))
        for mine, partner, probability in zip(own, other, paired, strict=True)
        if mine == place
    ]


def plainly_linked(pairs: Pairs, first: list[float], paired: list[float], place: int) -> dict[str, float]:
    sides = {"in": (pairs.second, pairs.first), "out": (pairs.first, pairs.second)}
    values: dict[str, float] = {}
    for way, (own, other) in sides.items():

        def best(at: int, own: Numbers = own, other: Numbers = other) -> float:
            return max((value for value, _ in around(own, other, paired, at)), default=0.0)

        links = around(own, other, paired, place)
        values[f"{way} best"] = best(place)
        values[f"{way} sum"] = sum(value for value, _ in links)
        values[f"{way} weighed"] = max((value * first[partner] for value, partner in links), default=0.0)
        values[f"{way} partner"] = max((first[partner] for _, partner in links), default=0.0)
        values[f"{way} over two"] = max((value * best(partner) for value, partner in links), default=0.0)
    rank = sorted(range(len(first)), key=lambda at: (-first[at], at)).index(place)
    return values | {
        "first score": first[place],
        "first rank": math.log1p(rank),
        "first share": first[place] / max(first),
    }


def test_what_pairs_add_to_a_candidate_is_as_defined(described: CandidateFeatures) -> None:
    draw = np.random.default_rng(4)
    first = draw.random(len(described.candidates.rows)).astype(np.float32)
    pairs = described.pairs(best_places(first), first)
    paired = draw.random(len(pairs.first)).astype(np.float32)
    linked = linked_features(described, first, pairs, paired)
    assert np.array_equal(linked[:, : len(PASSAGE_FEATURES)], described.passages)
    for place, row in enumerate(linked.tolist()):
        expected = plainly_linked(pairs, first.tolist(), paired.tolist(), place)
        found = dict(zip(LINKED_FEATURES[len(PASSAGE_FEATURES) :], row[len(PASSAGE_FEATURES) :], strict=True))
        assert found == pytest.approx(expected, abs=1e-5)
    assert (
        linked_features(described, first, described.pairs(best_places(first)[:0], first), paired[:0]).shape
        == linked.shape
    )


def test_pairs_are_made_among_the_best_of_the_first_stage_in_rising_order() -> None:
    first = np.random.default_rng(1).permutation(3 * PAIRED).astype(np.float32)
    assert best_places(first).tolist() == [place for place, value in enumerate(first) if value >= 2 * PAIRED]
    assert best_places(first[:0]).tolist() == []


def test_the_score_is_the_log_odds_and_the_direct_score_as_a_share_of_the_best(described: CandidateFeatures) -> None:
    scorer, judged = stored_scorer(), stored_scorer().judge(described)
    first = scorer.passage.probabilities(described.passages)
    assert np.array_equal(judged.paired, scorer.pair.probabilities(judged.pairs.values))
    learned = scorer.linked.log_odds(linked_features(described, first, judged.pairs, judged.paired))
    direct = described.candidates.direct[described.candidates.rows]
    assert np.allclose(judged.scores, learned + direct / direct.max(), atol=1e-6)


def ordered(
    described: CandidateFeatures, made: Made, scores: list[float], direct: list[float], leading: int
) -> list[int]:
    """The order of as many candidates, with these scores and direct scores."""
    rows = described.candidates.rows[: len(scores)]
    whole = np.zeros_like(described.candidates.direct)
    whole[rows] = direct
    few = CandidateFeatures(
        made.scores,
        replace(described.candidates, rows=rows, promise=described.candidates.promise[: len(rows)], direct=whole),
    )
    return in_order(few, Judged(np.array(scores, dtype=np.float32), few.pairs(rows[:0], whole), whole[:0]), leading)


def test_the_leading_come_first_then_the_direct_order_and_the_scores_take_turns(
    described: CandidateFeatures, made: Made
) -> None:
    scores, direct = [9.0, 8, 7, 6, 5, 4], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert ordered(described, made, scores, direct, 2) == [0, 1, 5, 2, 4, 3]
    assert ordered(described, made, scores, direct, 0) == [5, 0, 4, 1, 3, 2]
    assert ordered(described, made, scores, direct, 9) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("leading", [0, 3, 9])
def test_equal_candidates_come_in_the_order_of_their_passages(
    described: CandidateFeatures, made: Made, leading: int
) -> None:
    rows = described.candidates.rows[:8].tolist()
    assert rows != sorted(rows)
    order = ordered(described, made, [1.0] * 8, [0.5] * 8, leading)
    assert [rows[place] for place in order] == sorted(rows)
