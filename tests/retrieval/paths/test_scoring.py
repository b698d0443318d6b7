"""Trees as arrays: every leaf is reached as walking would reach it, and other features are refused."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.retrieval.paths.scoring import MOST_LEAVES, BoostedTrees


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
