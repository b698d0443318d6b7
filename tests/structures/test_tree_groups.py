"""Nodes fall into groups once; later changes touch as few groups as they can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix
from hoptrail_papers.sirerag import tree_store
from hoptrail_papers.sirerag.clustering import Groups, Words
from hoptrail_papers.sirerag.tree_store import Grouper, Level, group_id, level_of, pruned, ungrouped
from structures.tree_world import Children


@dataclass(frozen=True)
class BySize:
    """Cuts rows, in order of their angle, into groups of `size`; the last may be smaller."""

    size: int

    def cluster(self, vectors: FloatMatrix, words: Words) -> Groups:
        assert len(words) == len(vectors)
        order = [int(row) for row in np.argsort(np.arctan2(vectors[:, 1], vectors[:, 0]), kind="stable")]
        groups = (order[start : start + self.size] for start in range(0, len(order), self.size))
        return sorted(tuple(sorted(group)) for group in groups)


def level(degrees: dict[str, float], words: int = 10) -> Level:
    """Nodes on the unit circle."""

    def vectors(ids: Sequence[str]) -> FloatMatrix:
        angles = np.radians([degrees[id_] for id_ in ids])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    return Level(dict.fromkeys(degrees, words), vectors)


@dataclass(frozen=True)
class Regrouping:
    """Gives all groups, those that change laid over the others."""

    grouper: Grouper

    def regroup(self, groups: Children, nodes: Level) -> Children:
        changed = self.grouper.regroup(groups, nodes)
        assert all(groups.get(group) != children for group, children in changed.items())
        return groups | changed


def grouper(size: int = 2, most_nodes: int = 4, most_words: int = 1000, newcomers: float = 0.5) -> Regrouping:
    return Regrouping(Grouper("tree", 2, BySize(size).cluster, most_nodes, most_words, newcomers))


FOUR = {"a": 0.0, "b": 10.0, "c": 80.0, "d": 90.0}
STANDING: Children = {"s2left": ("a", "b"), "s2right": ("c", "d")}


def test_the_first_time_all_nodes_are_clustered_and_an_id_stands_for_the_first_children() -> None:
    found = grouper().regroup({}, level(FOUR))
    assert found == {group_id("tree", 2, ("a", "b")): ("a", "b"), group_id("tree", 2, ("c", "d")): ("c", "d")}
    assert all(level_of(group) == 2 for group in found)


def test_a_node_that_clustering_leaves_alone_goes_to_the_nearest_group() -> None:
    found = grouper().regroup({}, level(FOUR | {"e": 100.0}))
    assert sorted(found.values()) == [("a", "b"), ("c", "d", "e")]


@pytest.mark.parametrize("nodes", [{}, {"a": 0.0}, {"a": 0.0, "b": 90.0}])
def test_where_clustering_puts_every_node_alone_there_is_no_group(nodes: dict[str, float]) -> None:
    assert grouper(size=1).regroup({}, level(nodes)) == {}


def test_a_newcomer_joins_the_nearest_group_and_no_other_changes() -> None:
    assert grouper().regroup(STANDING, level(FOUR | {"e": 20.0})) == STANDING | {"s2left": ("a", "b", "e")}


def test_what_is_in_groups_already_stays_as_it_is() -> None:
    assert grouper().regroup(STANDING, level(FOUR)) == STANDING


def test_many_newcomers_are_clustered_among_themselves() -> None:
    nodes = level(FOUR | {"e": 20.0, "f": 21.0, "g": 22.0})
    found = grouper(newcomers=0.4).regroup(STANDING, nodes)
    assert found == STANDING | {group_id("tree", 2, ("e", "f")): ("e", "f", "g")}
    assert grouper(newcomers=0.5, most_nodes=9).regroup(STANDING, nodes)["s2left"] == ("a", "b", "e", "f", "g")


def test_a_group_that_has_grown_too_large_is_split_and_its_largest_part_keeps_the_id() -> None:
    nodes = level(FOUR | {"e": 20.0, "f": 21.0, "g": 22.0})
    found = grouper(size=3, most_nodes=4).regroup(STANDING, nodes)
    assert found == STANDING | {"s2left": ("a", "b", "e"), group_id("tree", 2, ("f", "g")): ("f", "g")}


def test_a_group_is_split_for_its_words_too() -> None:
    nodes = level(FOUR | {"e": 20.0, "f": 21.0}, words=300)
    assert grouper(most_words=1200, most_nodes=9).regroup(STANDING, nodes)["s2left"] == ("a", "b", "e", "f")
    assert grouper(most_words=1199, most_nodes=9).regroup(STANDING, nodes)["s2left"] == ("a", "b")


def test_a_group_that_the_clusterer_does_not_divide_stays_whole() -> None:
    nodes = level(FOUR | {"e": 20.0, "f": 21.0, "g": 22.0})
    assert grouper(size=9, most_nodes=4).regroup(STANDING, nodes)["s2left"] == ("a", "b", "e", "f", "g")


def test_only_a_group_that_took_in_newcomers_is_split() -> None:
    """Clustering's own groups are its business, whatever their size."""
    assert sorted(
        map(len, grouper(size=6, most_nodes=4).regroup({}, level(dict.fromkeys("abcdef", 0.0))).values())
    ) == [6]


def test_children_without_a_text_stay_with_the_part_that_keeps_the_id() -> None:
    standing: Children = {"s2left": ("a", "absent", "b"), "s2right": ("c", "d")}
    nodes = level(FOUR | {"e": 20.0, "f": 21.0, "g": 22.0})
    assert grouper(size=3).regroup(standing, nodes)["s2left"] == ("a", "absent", "b", "e")


def test_newcomers_wait_while_no_group_has_a_child_with_a_text() -> None:
    assert grouper(newcomers=1.0).regroup({"s2x": ("absent", "gone")}, level({"a": 0.0})) == {"s2x": ("absent", "gone")}


def test_newcomers_find_the_nearest_group_however_many_are_compared_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    standing: Children = {f"s2{group:02}": (f"n{group:02}a", f"n{group:02}b") for group in range(30)}
    degrees = {child: 12.0 * group for group, some in enumerate(standing.values()) for child in some}
    nodes = level(degrees | {f"new{number:02}": 7.1 * number for number in range(20)})
    found = grouper(newcomers=1.0, most_nodes=90).regroup(standing, nodes)
    assert found["s205"] == ("n05a", "n05b", "new08", "new09")  # 60 degrees
    monkeypatch.setattr(tree_store, "_BLOCK", 70)
    assert grouper(newcomers=1.0, most_nodes=90).regroup(standing, nodes) == found


def test_an_id_that_is_taken_is_not_given_again() -> None:
    """A group formed of (e, f) has grown since; e and f have left it, and are a group again."""
    first = group_id("tree", 2, ("e", "f"))
    nodes = level(FOUR | {"e": 200.0, "f": 210.0})
    found = grouper(newcomers=0.1).regroup({first: ("a", "b"), "s2right": ("c", "d")}, nodes)
    assert found[first] == ("a", "b")
    assert found[group_id("tree", 2, ("e", "f"), {first})] == ("e", "f")
    assert len(found) == 3


def test_pruning_takes_lost_children_and_groups_left_with_one() -> None:
    found = {"s2x": ("a", "b", "c"), "s2y": ("b", "d"), "s2z": ("e", "f")}
    assert pruned(found, {"a", "c", "d", "f"}) == {"s2x": ("a", "c"), "s2y": ("d",), "s2z": ("f",)}
    assert pruned(found, set("abcdef")) == {}
    assert pruned({"s2x": ("a",)}, set("ab")) == {"s2x": ("a",)}


def test_nodes_without_a_group_are_found() -> None:
    assert ungrouped({"s2x": ("absent", "c")}, level(FOUR)).tolist() == [0, 1, 3]
    assert ungrouped({}, level(FOUR)).tolist() == [0, 1, 2, 3]


def test_nodes_with_no_direction_harm_nobody() -> None:
    vectors = np.zeros((3, 2), dtype=np.float32)
    nodes = Level(dict.fromkeys("abc", 1), lambda _: vectors)
    assert grouper().regroup({"s2x": ("a", "b")}, nodes) == {"s2x": ("a", "b", "c")}
