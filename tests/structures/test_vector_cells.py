"""Cells: every row in one, none overfull, and what is near lies in the cells that are found near."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures import nearest as module
from hoptrail.structures.nearest import Cells
from structures.clouds import all_rows, around_centres


def found_near(vectors: FloatMatrix, cells: Cells, probes: int) -> float:
    """The share of the ten nearest of each row that lie in the cells near to it."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
    near = cells.near(vectors, all_rows(vectors), probes)
    return float((cells.homes[nearest][:, :, np.newaxis] == near[:, np.newaxis, :]).any(axis=2).mean())


def test_every_row_is_in_one_cell_and_no_cell_is_overfull_or_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELL", 10)
    same = np.repeat(around_centres(1, 1), 300, axis=0)
    for vectors in (same, np.concatenate((same, around_centres(200, 9))), around_centres(1, 1)):
        cells = Cells.of(vectors, seed=0)
        assert sorted(row for members in cells.members for row in members.tolist()) == list(range(len(vectors)))
        assert all(0 < len(members) <= 40 for members in cells.members)
        assert all((np.diff(members) > 0).all() for members in cells.members)
        assert len(cells.centres) == len(cells.members)


@pytest.mark.parametrize("block", [module.CENTRES_BLOCK, 4096])
def test_what_is_near_is_in_the_cells_that_are_near(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELL", 20)
    monkeypatch.setattr(module, "CENTRES_BLOCK", block)
    vectors = around_centres(1500, 1500, dimension=12)  # clouds of one: nothing says where to cut
    cells = Cells.of(vectors, seed=0)
    assert found_near(vectors, cells, 24) > 0.9
    again = Cells.of(vectors, seed=0)
    assert all(map(np.array_equal, cells.members, again.members))


def test_the_cells_near_to_a_row_are_those_with_the_nearest_centres(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELL", 10)
    vectors = around_centres(300, 9)
    cells = Cells.of(vectors, seed=0)
    near = cells.near(vectors, all_rows(vectors)[:50], 5)
    likeness = np.rint(vectors[:50] @ cells.centres.T * module.DECIMALS)
    assert near.shape == (50, 5)
    assert np.array_equal(np.sort(np.take_along_axis(likeness, near, axis=1)), np.sort(likeness)[:, -5:])


def test_where_there_are_fewer_cells_all_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELL", 10)
    few = around_centres(25, 2)
    near = Cells.of(few, seed=0).near(few, all_rows(few), 5)
    assert (np.sort(near, axis=1) == [0, 1]).all()
