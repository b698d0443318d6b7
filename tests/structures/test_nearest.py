"""Nearest rows: equal to the plain definition, whatever the blocks; near to it by cells; ties in the order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.corpus.columns import Directed
from hoptrail.models.encoder import FloatMatrix
from hoptrail_papers import nearest
from hoptrail_papers.nearest import Cells, Nearest
from structures.clouds import all_rows, around_centres


def edges(found: Directed) -> set[tuple[int, int]]:
    return set(zip(found.sources.tolist(), found.targets.tolist(), strict=True))


def exact(vectors: FloatMatrix, count: int = 10) -> Nearest:
    return Nearest(vectors, count, exact_up_to=10**9, probes=1)


def by_definition(vectors: FloatMatrix, count: int) -> set[tuple[int, int]]:
    found = set()
    for row, vector in enumerate(vectors):
        cosines = np.rint((vectors @ vector).astype(np.float64) * 100_000)
        others = sorted((other for other in range(len(vectors)) if other != row), key=lambda o: (-cosines[o], o))
        found |= {(row, other) for other in others[:count]}
    return found


@pytest.mark.parametrize("size", [0, 1, 2, 5, 10, 11, 12, 60])
def test_exact_search_is_the_definition_for_every_size(size: int) -> None:
    vectors = around_centres(size, 4)
    assert edges(exact(vectors).of(all_rows(vectors))) == by_definition(vectors, 10)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = around_centres(100, 5)
    whole = exact(vectors).of(all_rows(vectors))
    monkeypatch.setattr(nearest, "BLOCK", 700)
    assert edges(exact(vectors).of(all_rows(vectors))) == edges(whole)


def test_only_the_rows_asked_about_are_answered() -> None:
    vectors = around_centres(100, 5)
    rows = np.array([3, 50, 99], dtype=np.int32)
    for search in (exact(vectors), Nearest(vectors, 10, exact_up_to=0, probes=2)):
        whole = edges(search.of(all_rows(vectors)))
        assert edges(search.of(rows)) == {edge for edge in whole if edge[0] in {3, 50, 99}}


def test_weights_are_cosines() -> None:
    vectors = around_centres(30, 3)
    found = exact(vectors).of(all_rows(vectors))
    assert found.weights == pytest.approx(np.sum(vectors[found.sources] * vectors[found.targets], axis=1), abs=1e-5)


def test_repeated_rows_are_rows_of_their_own_and_ties_go_to_the_lower() -> None:
    vectors = np.repeat(around_centres(2, 2), 6, axis=0)
    found = edges(exact(vectors, 3).of(all_rows(vectors)))
    assert {target for source, target in found if source == 5} == {0, 1, 2}
    assert {target for source, target in found if source == 0} == {1, 2, 3}
    assert {target for source, target in found if source == 11} == {6, 7, 8}


def test_cells_miss_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 50)
    vectors = around_centres(2000, 40)
    truth = edges(exact(vectors).of(all_rows(vectors)))
    found = edges(Nearest(vectors, 10, exact_up_to=0, probes=8).of(all_rows(vectors)))
    assert len(found) == len(truth)
    assert len(found & truth) > 0.95 * len(truth)
    assert found == edges(Nearest(vectors, 10, exact_up_to=0, probes=8).of(all_rows(vectors)))


def test_a_thousand_repeats_are_found_among_each_other_by_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 20)
    vectors = np.repeat(around_centres(3, 3), 400, axis=0)
    found = Nearest(vectors, 10, exact_up_to=0, probes=2).of(all_rows(vectors))
    assert (np.bincount(found.sources) == 10).all()
    assert found.weights == pytest.approx(1.0, abs=1e-5)


def test_pause_comes_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "BLOCK", 1000)
    paused: list[int] = []
    vectors = around_centres(100, 5)
    Nearest(vectors, 5, 1000, 1, lambda: paused.append(1)).of(all_rows(vectors))
    assert len(paused) == 10


@pytest.mark.parametrize("exact_up_to", [10**9, 0])
def test_what_is_found_in_parts_is_the_same(exact_up_to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With edges back, and of some rows only."""
    monkeypatch.setattr(nearest, "CELL", 20)
    vectors = around_centres(600, 5)
    new = np.arange(0, 600, 3, dtype=np.int32)
    least = np.where(np.arange(600) % 3, 0.9, np.inf)
    whole = Nearest(vectors, 5, exact_up_to, 3).of(new, least)
    monkeypatch.setattr(nearest, "PART", 100)
    monkeypatch.setattr(nearest, "CENTRES_BLOCK", 1024)
    found = Nearest(vectors, 5, exact_up_to, 3).of(new, least)
    assert set(np.bincount(found.sources[found.sources % 3 == 0])) <= {0, 5}
    assert edges(found) == edges(whole)
    assert len(found.sources) == len(whole.sources)
    assert found.weights[np.lexsort((found.targets, found.sources))] == pytest.approx(
        whole.weights[np.lexsort((whole.targets, whole.sources))], abs=2e-5
    )


@pytest.mark.parametrize("exact_up_to", [10**9, 0])
def test_edges_back_are_those_that_others_would_have_found(exact_up_to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 20)
    vectors = around_centres(600, 5)
    search = Nearest(vectors, 5, exact_up_to, 3)
    whole = search.of(all_rows(vectors))
    new = np.arange(0, 600, 3, dtype=np.int32)
    least = np.full(600, np.inf)
    np.minimum.at(least, whole.sources, whole.weights)
    least[new] = np.inf
    found = search.of(new, least)
    assert {edge for edge in edges(found) if edge[0] % 3 == 0} == {edge for edge in edges(whole) if edge[0] % 3 == 0}
    wanted = {(source, target) for source, target in edges(whole) if source % 3 and target % 3 == 0}
    back = {(source, target) for source, target in edges(found) if source % 3}
    probed = search._cells.near(vectors, all_rows(vectors), 3)
    homes = search._cells.homes
    assert back
    assert back <= wanted | {edge for edge in back if found_with_a_tie(vectors, least, edge)}
    if exact_up_to:
        assert back >= wanted
    else:  # the two must have been compared
        assert back >= {(source, target) for source, target in wanted if homes[source] in probed[target]}


def found_with_a_tie(vectors: FloatMatrix, least: np.typing.NDArray[np.float64], edge: tuple[int, int]) -> bool:
    source, target = edge
    return bool(abs(float(vectors[source] @ vectors[target]) - least[source]) < 2e-5)


def found_near(vectors: FloatMatrix, cells: Cells, probes: int) -> float:
    """The share of the ten nearest of each row that lie in the cells near to it."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    best = np.argpartition(-cosines, 10, axis=1)[:, :10]
    near = cells.near(vectors, all_rows(vectors), probes)
    return float((cells.homes[best][:, :, np.newaxis] == near[:, np.newaxis, :]).any(axis=2).mean())


def test_every_row_is_in_one_cell_and_no_cell_is_overfull_or_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 10)
    same = np.repeat(around_centres(1, 1), 300, axis=0)
    for vectors in (same, np.concatenate((same, around_centres(200, 9))), around_centres(1, 1)):
        cells = Cells.of(vectors)
        assert sorted(row for members in cells.members for row in members.tolist()) == list(range(len(vectors)))
        assert all(0 < len(members) <= 40 for members in cells.members)
        assert all((np.diff(members) > 0).all() for members in cells.members)
        assert len(cells.centres) == len(cells.members)


@pytest.mark.parametrize("block", [nearest.CENTRES_BLOCK, 4096])
def test_what_is_near_is_in_the_cells_that_are_near(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 20)
    monkeypatch.setattr(nearest, "CENTRES_BLOCK", block)
    vectors = around_centres(1500, 1500, dimension=12)  # clouds of one: nothing says where to cut
    cells = Cells.of(vectors)
    assert found_near(vectors, cells, 24) > 0.9
    again = Cells.of(vectors)
    assert all(map(np.array_equal, cells.members, again.members))


def test_the_cells_near_to_a_row_are_those_with_the_nearest_centres(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 10)
    vectors = around_centres(300, 9)
    cells = Cells.of(vectors)
    near = cells.near(vectors, all_rows(vectors)[:50], 5)
    likeness = np.rint(vectors[:50] @ cells.centres.T * nearest.DECIMALS)
    assert near.shape == (50, 5)
    assert np.array_equal(np.sort(np.take_along_axis(likeness, near, axis=1)), np.sort(likeness)[:, -5:])


def test_where_there_are_fewer_cells_all_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 10)
    few = around_centres(25, 2)
    near = Cells.of(few).near(few, all_rows(few), 5)
    assert (np.sort(near, axis=1) == [0, 1]).all()
