"""PageRank against the linear system that it iterates to."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail_papers.baselines.pagerank import RandomWalk

FIRSTS = np.array([0, 1, 1, 3])
SECONDS = np.array([1, 2, 3, 4])
WEIGHTS = np.array([1.0, 3.0, 1.0, 0.5])


def solved(home: list[float], damping: float) -> np.ndarray:
    """r = (1 - d) h + d P r, without iterating; node 5 has no edge and goes home."""
    size = len(home)
    edges = np.zeros((size, size))
    for first, second, weight in zip(FIRSTS, SECONDS, WEIGHTS, strict=True):
        edges[first, second] += weight
        edges[second, first] += weight
    reset = np.array(home) / sum(home)
    leaving = edges.sum(axis=0)
    steps = np.where(leaving > 0, edges / np.maximum(leaving, 1e-12), reset[:, np.newaxis])
    return np.asarray(np.linalg.solve(np.eye(size) - damping * steps, (1 - damping) * reset))


@pytest.mark.parametrize("home", [[1, 0, 0, 0, 0, 0], [0, 0, 2, 0, 1, 0], [1, 0, 0, 0, 0, 3]])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.6])
def test_ranks_solve_the_equation(home: list[float], damping: float) -> None:
    ranks = RandomWalk.along(FIRSTS, SECONDS, WEIGHTS, 6).ranks(np.array(home, dtype=np.float64), damping)
    assert ranks == pytest.approx(solved(home, damping), abs=1e-8)
    assert ranks.sum() == pytest.approx(1)


def test_parallel_edges_add_up() -> None:
    home = np.array([1.0, 0.0, 0.0])
    parted = RandomWalk.along(np.array([0, 0, 0]), np.array([1, 1, 2]), np.ones(3), 3)
    whole = RandomWalk.along(np.array([0, 0]), np.array([1, 2]), np.array([2.0, 1.0]), 3)
    assert parted.ranks(home, 0.85) == pytest.approx(whole.ranks(home, 0.85))


def test_without_edges_the_walk_stays_at_home() -> None:
    none = np.zeros(0, dtype=np.int32)
    assert RandomWalk.along(none, none, np.zeros(0), 2).ranks(np.array([0.0, 1.0]), 0.5).tolist() == [0.0, 1.0]
