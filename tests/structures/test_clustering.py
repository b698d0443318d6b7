"""Clustering: what every method promises at every size, the caps, and the parts of the default by hand."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail_papers.sirerag import clustering
from hoptrail_papers.sirerag.clustering import (
    ClusteringSettings,
    halves,
    join_small,
    nearest,
    neighbour_graph,
    open_clusterer,
    second_memberships,
)

LEIDEN = ClusteringSettings()
SIZES = [1, 2, 4, 5, 11, 12, 20, 60]


def unit(rows: NDArray[np.float64]) -> FloatMatrix:
    scaled: FloatMatrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def scattered(count: int, dimension: int = 24, seed: int = 0) -> FloatMatrix:
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


def planted(clusters: int, each: int, spread: float = 0.1, seed: int = 0) -> FloatMatrix:
    """Row i belongs to cluster i // each."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(clusters, 24))
    return unit(np.repeat(centres, each, axis=0) + spread * generator.normal(size=(clusters * each, 24)))


Rows = tuple[tuple[int, ...], ...]
"""The rows of each group."""


def grouped(vectors: FloatMatrix, chosen: ClusteringSettings = LEIDEN, words: int = 10) -> Rows:
    return tuple(open_clusterer(chosen)(vectors, [words] * len(vectors)))


def check(groups: Rows, count: int) -> None:
    """The contract of `Groups`."""
    assert {row for group in groups for row in group} == set(range(count))
    assert all(group and list(group) == sorted(set(group)) for group in groups)
    assert list(groups) == sorted(set(groups))
    assert all(type(row) is int for group in groups for row in group)


# --- every method


@pytest.fixture(params=["leiden", "raptor"])
def method(request: pytest.FixtureRequest) -> ClusteringSettings:
    if request.param == "raptor":
        pytest.importorskip("umap", reason="the extra raptor is not installed")
    return ClusteringSettings(method=request.param)


@pytest.mark.parametrize("count", SIZES)
def test_every_row_reaches_a_group_at_every_size(method: ClusteringSettings, count: int) -> None:
    check(grouped(scattered(count), method), count)
    check(grouped(planted(clusters=count, each=1), method), count)
    check(grouped(planted(clusters=1, each=count, spread=1e-4), method), count)


def test_nothing_to_group(method: ClusteringSettings) -> None:
    assert grouped(np.empty((0, 24), np.float32), method) == ()


def test_few_rows_are_one_group(method: ClusteringSettings) -> None:
    assert grouped(scattered(5), method) == ((0, 1, 2, 3, 4),)


def test_what_was_planted_is_found(method: ClusteringSettings) -> None:
    groups = grouped(planted(clusters=6, each=20, spread=0.05), method)
    check(groups, 120)
    assert all(len({row // 20 for row in group}) == 1 for group in groups)


def test_equal_vectors_are_in_the_same_groups_and_once_in_each(method: ClusteringSettings) -> None:
    twice = np.concatenate([scattered(40), scattered(40)])
    groups = grouped(twice, method)
    check(groups, 80)
    assert all((row in group) == (row + 40 in group) for group in groups for row in range(40))


def test_more_copies_than_any_group_may_hold(method: ClusteringSettings) -> None:
    copies = np.repeat(scattered(1), 100, axis=0)
    groups = grouped(copies, replace(method, most_words=200), words=10)
    check(groups, 100)
    assert max(map(len, groups)) <= 20


def test_long_groups_are_split_until_they_fit(method: ClusteringSettings) -> None:
    words = [70 if row % 7 else 500 for row in range(60)]
    groups = tuple(open_clusterer(replace(method, most_words=300))(scattered(60), words))
    check(groups, 60)
    for group in groups:
        assert sum(words[row] for row in group) <= 300 or len(group) == 1
    assert all((row,) in groups for row in range(0, 60, 7))  # too long beside any other


def test_few_rows_obey_the_cap_too(method: ClusteringSettings) -> None:
    check(groups := grouped(scattered(4), replace(method, most_words=20), words=10), 4)
    assert [len(group) for group in groups] == [2, 2]


def test_again_is_the_same_and_another_order_is_the_same_groups(method: ClusteringSettings) -> None:
    vectors = planted(clusters=7, each=9, spread=0.6)
    groups = grouped(vectors, method)
    assert grouped(vectors.copy(), method) == groups

    order = np.random.default_rng(1).permutation(len(vectors))
    moved = grouped(vectors[order], method)
    assert {frozenset(order[list(group)].tolist()) for group in moved} == {frozenset(group) for group in groups}


GROUP_IN_A_PROCESS = """
import sys
import numpy as np
from hoptrail_papers.sirerag.clustering import ClusteringSettings, open_clusterer
vectors = np.random.default_rng(0).normal(size=(700, 64)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
print(list(open_clusterer(ClusteringSettings(method=sys.argv[1]))(vectors, [10] * 700)))
"""


@pytest.mark.timeout(600)  # UMAP compiles itself twice
def test_every_process_gives_the_same_groups_however_many_threads_it_has(method: ClusteringSettings) -> None:
    printed = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-W", "error", "-c", GROUP_IN_A_PROCESS, method.method]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1


# --- the default


@settings(max_examples=25, deadline=None)
@given(data=st.data(), count=st.integers(0, 70), seed=st.integers(0, 1000))
def test_any_rows_any_words_any_settings(data: st.DataObject, count: int, seed: int) -> None:
    """With repeats and far too long rows among them."""
    rows = data.draw(st.lists(st.integers(0, max(0, count - 1)), min_size=count, max_size=count))
    words = data.draw(st.lists(st.integers(0, 400), min_size=count, max_size=count))
    smallest = data.draw(st.integers(1, 4))
    target = data.draw(st.integers(smallest, 12))
    chosen = ClusteringSettings(
        most_words=data.draw(st.integers(1, 2000)),
        smallest=smallest,
        target=target,
        largest=data.draw(st.integers(max(2 * smallest, target), 30)),
        neighbours=data.draw(st.integers(smallest, 8)),
    )
    vectors = scattered(count, dimension=3, seed=seed)[rows]

    groups = tuple(open_clusterer(chosen)(vectors, words))

    check(groups, count)
    for group in groups:
        assert len(group) <= chosen.largest
        assert len(group) == 1 or sum(words[row] for row in group) <= chosen.most_words
    assert tuple(open_clusterer(chosen)(vectors, words)) == groups


def test_groups_are_about_as_large_as_wanted() -> None:
    vectors = planted(clusters=150, each=8, spread=1.2)
    for target in (6, 10, 16):
        groups = grouped(vectors, replace(LEIDEN, target=target))
        assert 0.5 * target <= len(vectors) / len(groups) <= 1.6 * target


def test_no_group_is_smaller_than_the_smallest_where_there_are_enough_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = scattered(200, dimension=3)
    assert min(map(len, grouped(vectors, replace(LEIDEN, smallest=5)))) >= 5
    monkeypatch.setattr(clustering, "SECOND_SHARE", 1.1)
    assert min(map(len, grouped(vectors, replace(LEIDEN, smallest=1, target=3)))) < 5


def test_a_row_between_two_groups_is_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = planted(clusters=2, each=12, spread=0.3)
    between = unit((clusters[:12].mean(axis=0) + clusters[12:].mean(axis=0))[None].astype(np.float64))
    vectors = np.concatenate([clusters, between])

    assert sum(24 in group for group in grouped(vectors)) == 2
    monkeypatch.setattr(clustering, "SECOND_SHARE", 1.1)
    assert sum(24 in group for group in grouped(vectors)) == 1


def test_unlike_rows_are_grouped_too() -> None:
    """Nothing is similar to anything, or only to its opposite."""
    check(grouped(np.eye(30, dtype=np.float32)), 30)
    check(grouped(np.concatenate([np.eye(15), -np.eye(15)]).astype(np.float32)), 30)


def test_nearest_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = scattered(50)
    similarity = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    np.fill_diagonal(similarity, -2)
    expected = np.argsort(-similarity, axis=1)[:, :6]

    monkeypatch.setattr(clustering, "_BLOCK", 170)  # links whose similarity is computed anew at a time
    edges = nearest(vectors, 6)

    assert edges.sources.tolist() == np.repeat(np.arange(50), 6).tolist()
    np.testing.assert_array_equal(edges.targets.reshape(50, 6), expected)
    np.testing.assert_allclose(edges.weights.reshape(50, 6), np.take_along_axis(similarity, expected, 1), atol=1e-6)


def test_neighbours_of_many_rows_are_not_held_with_all_similarities() -> None:
    vectors = scattered(5000)
    tracemalloc.start()
    neighbour_graph(vectors, 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5000 * 5000 * 4


def test_above_a_number_of_rows_neighbours_are_sought_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = scattered(2000)
    exact = nearest(vectors, 5)
    monkeypatch.setattr(clustering, "_EXACT_UP_TO", 1000)
    monkeypatch.setattr(clustering, "PROBES", 3)
    found = nearest(vectors, 5)
    same = set(zip(exact.sources.tolist(), exact.targets.tolist(), strict=True)) & set(
        zip(found.sources.tolist(), found.targets.tolist(), strict=True)
    )
    assert 0.5 * len(exact.sources) < len(same) < len(exact.sources)
    check(grouped(vectors), 2000)


def test_a_graph_has_every_link_in_both_directions_and_once() -> None:
    graph = neighbour_graph(scattered(40), 4)
    links = dict(zip(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True), graph.weights, strict=True))
    assert len(links) == len(graph.weights)
    assert all(links[there, here] == weight and here != there and weight > 0 for (here, there), weight in links.items())
    assert all(np.bincount(graph.sources) >= 4)


# Rows 0 1 2 and 3 4 5 are triangles; 6 hangs on 5 (twice as heavy) and on 0; 7 hangs on 6 alone.
LINKS = {
    (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0, (3, 4): 1.0, (3, 5): 1.0, (4, 5): 1.0, (5, 6): 2.0, (0, 6): 1.0, (6, 7): 1.0,
}  # fmt: skip


def by_hand() -> Directed:
    both = sorted([(*link, weight) for link, weight in LINKS.items()] + [(b, a, w) for (a, b), w in LINKS.items()])
    sources, targets = (np.array([link[end] for link in both], np.int32) for end in (0, 1))
    return Directed(sources, targets, np.array([weight for _, _, weight in both]))


def test_small_communities_join_along_their_heaviest_links() -> None:
    alone = np.array([0, 0, 0, 1, 1, 1, 2, 3])
    assert join_small(by_hand(), alone, 1).tolist() == alone.tolist()
    # 2 is as small as 3 and comes first: it goes to 1, and 3 follows it there
    assert join_small(by_hand(), alone, 2).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    # 2 with its own 7 is large enough by then
    assert join_small(by_hand(), np.array([0, 0, 0, 1, 1, 1, 2, 2]), 2).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_second_memberships_by_share_of_links() -> None:
    community = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    # of 6's weight of 4, a half leads to community 1 and a quarter to community 0; of 5's 4, a half to 2; of 0's 3, a third
    rows, groups = second_memberships(by_hand(), community, 0.25, 2)
    assert list(zip(rows.tolist(), groups.tolist(), strict=True)) == [(0, 2), (5, 2), (6, 1), (6, 0)]
    rows, groups = second_memberships(by_hand(), community, 0.25, 1)
    assert list(zip(rows.tolist(), groups.tolist(), strict=True)) == [(0, 2), (5, 2), (6, 1)]
    rows, groups = second_memberships(by_hand(), community, 0.5, 2)
    assert list(zip(rows.tolist(), groups.tolist(), strict=True)) == [(5, 2), (6, 1)]
    assert not len(second_memberships(by_hand(), community, 0.25, 0)[0])


def test_halves_keep_near_rows_together() -> None:
    vectors = planted(clusters=2, each=6)[[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]]
    first, second = sorted(half.tolist() for half in halves(vectors, np.arange(12)))
    assert (first, second) == ([0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11])


# --- RAPTOR


def test_raptor_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(UsageError, match=r"umap.*pip install hoptrail\[raptor\]"):
        open_clusterer(ClusteringSettings(method="raptor"))


def test_a_mixture_that_cannot_be_fitted_is_tried_with_more_variance() -> None:
    pytest.importorskip("sklearn")
    from sklearn.mixture import GaussianMixture

    from hoptrail_papers.sirerag.clustering import responsibilities

    generator = np.random.default_rng(0)
    line = generator.normal(size=(40, 1)) * generator.normal(size=(1, 10)) * 3e5
    with pytest.raises(ValueError, match="covariance"):
        GaussianMixture(2, random_state=0).fit(line)

    shares = responsibilities(line)

    assert len(shares) == 40
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_no_mixture_at_all_is_an_error() -> None:
    pytest.importorskip("sklearn")
    from hoptrail_papers.sirerag.clustering import responsibilities

    with pytest.raises(UsageError, match=r"no mixture fits these 12 rows.*NaN"):
        responsibilities(np.full((12, 10), np.nan))


# --- wrong calls


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": 0}, "target must be at least 1"),
        ({"most_words": 0}, "most_words must be at least 1"),
        ({"smallest": 11}, "smallest <= target <= largest"),
        ({"largest": 9}, "smallest <= target <= largest"),
        ({"smallest": 5, "target": 5, "largest": 9}, "largest at least twice smallest"),
        ({"neighbours": 2}, "neighbours must be at least smallest"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        replace(LEIDEN, **wrong)  # type: ignore[arg-type]
