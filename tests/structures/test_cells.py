"""Cells: every row in one, none overfull, and what is near lies in the cells that are found near, however deep the tree is."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.corpus.columns import Rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures import cells as module
from hoptrail.structures.cells import Cells, Level
from structures.clouds import all_rows, around_centres


def found_near(vectors: FloatMatrix, cells: Cells, probes: int) -> float:
    """The share of the ten nearest of each row that lie in the cells near to it."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
    near = cells.near(vectors, all_rows(vectors), probes)
    return float((cells.homes[nearest][:, :, np.newaxis] == near[:, np.newaxis, :]).any(axis=2).mean())


@pytest.mark.parametrize("branches", [1024, 4])
def test_every_row_is_in_one_cell_and_no_cell_is_overfull_or_empty(
    branches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELL", 10)
    monkeypatch.setattr(module, "BRANCHES", branches)
    same = np.repeat(around_centres(1, 1), 300, axis=0)
    for vectors in (same, np.concatenate((same, around_centres(200, 9))), around_centres(1, 1)):
        cells = Cells.of(vectors, seed=0)
        assert sorted(row for members in cells.members for row in members.tolist()) == list(range(len(vectors)))
        assert all(0 < len(members) <= 40 for members in cells.members)
        assert all((np.diff(members) > 0).all() for members in cells.members)
        assert len(cells.levels[-1].centres) == len(cells.members)
        for above, level in zip(cells.levels, cells.levels[1:], strict=False):
            assert len(level.starts) == len(above.centres) + 1
            assert level.starts[-1] == len(level.centres)


@pytest.mark.parametrize(("branches", "depth"), [(20, 2), (6, 3)])
def test_a_deeper_tree_misses_hardly_more(branches: int, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELL", 20)
    vectors = around_centres(4000, 4000, dimension=12)  # clouds of one: nothing says where to cut
    flat = Cells.of(vectors, seed=0)
    monkeypatch.setattr(module, "BRANCHES", branches)
    deep = Cells.of(vectors, seed=0)
    assert (len(flat.levels), len(deep.levels)) == (1, depth)
    assert found_near(vectors, deep, 24) > found_near(vectors, flat, 24) - 0.03
    again = Cells.of(vectors, seed=0)
    assert all(map(np.array_equal, deep.members, again.members))


def test_cells_that_are_not_there_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the nodes that a search goes on from have fewer cells than are asked for."""
    monkeypatch.setattr(module, "CELL", 10)
    few = around_centres(25, 2)
    near = Cells.of(few, seed=0).near(few, all_rows(few), 5)
    assert near.shape == (25, 5)
    assert (np.sort(near, axis=1) == [-1, -1, -1, 0, 1]).all()
    monkeypatch.setattr(module, "BRANCHES", 6)
    monkeypatch.setattr(module, "BEAM", 1)
    vectors = around_centres(300, 9)
    near = Cells.of(vectors, seed=0).near(vectors, all_rows(vectors), 20)
    assert (near == -1).any()
    assert (near >= 0).any(axis=1).all()
    for row in near:
        assert len(set(row[row >= 0])) == (row >= 0).sum()


def test_a_search_goes_down_a_part_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product with all centres would be n x n / CELL."""
    monkeypatch.setattr(module, "CELL", 4)
    monkeypatch.setattr(module, "BRANCHES", 64)
    monkeypatch.setattr(module, "BEAM", 2)
    vectors = around_centres(12_000, 500, dimension=8)
    cells = Cells.of(vectors, seed=0)
    assert len(cells.members) > 2500
    compared: list[int] = []
    nearest = Level.nearest

    def counting(level: Level, some: FloatMatrix, parents: Rows, count: int) -> Rows:
        compared.append(int(level.widths[parents].sum()))
        return nearest(level, some, parents, count)

    monkeypatch.setattr(Level, "nearest", counting)
    assert (cells.near(vectors, all_rows(vectors), 2) >= 0).all()
    assert sum(compared) < len(vectors) * len(cells.members) / 10


@pytest.mark.parametrize("count", [1, 5, 40])
def test_the_nearest_children_of_some_nodes_are_those_of_the_definition(count: int) -> None:
    chance = np.random.default_rng(3)
    starts = np.cumsum([0, 7, 1, 12, 30])
    level = Level(around_centres(50, 50, dimension=6), starts)
    vectors = around_centres(25, 25, dimension=6)
    parents = np.stack([chance.permutation(4)[:3] for _ in vectors]).astype(np.int32)
    parents[chance.random(parents.shape) < 0.2] = -1
    parents[0] = -1
    found = level.nearest(vectors, parents, count)
    assert found.shape[1] <= count
    for vector, own, nodes in zip(vectors, parents.tolist(), found, strict=True):
        children = [node for parent in own if parent >= 0 for node in range(starts[parent], starts[parent + 1])]
        likeness = np.rint(level.centres @ vector * module.DECIMALS)
        given = nodes[nodes >= 0]
        assert set(given.tolist()) <= set(children)
        assert len(set(given.tolist())) == len(given) == min(count, len(children))
        assert sorted(likeness[given]) == sorted(likeness[children])[len(children) - len(given) :]
