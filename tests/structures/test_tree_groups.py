"""Nodes fall into groups once; later changes touch as few groups as they can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from hoptrail.corpus.columns import id_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures import tree_groups, tree_memberships
from hoptrail.structures.clustering import Groups
from hoptrail.structures.clustering.capping import Words
from hoptrail.structures.tree_groups import Grouper, pruned, ungrouped
from hoptrail.structures.tree_memberships import Group, Grouped, group_id, level_of
from hoptrail.structures.tree_nodes import Level
from structures.tree_world import Children


@dataclass(frozen=True)
class BySize:
    """Cuts rows, in order of their angle, into groups of `size`; the last may be smaller."""

    size: int

    def cluster(self, vectors: FloatMatrix, words: Words) -> Groups:
        assert len(words) == len(vectors)
        order = [int(row) for row in np.argsort(np.arctan2(vectors[:, 1], vectors[:, 0]), kind="stable")]
        groups = (order[start : start + self.size] for start in range(0, len(order), self.size))
        return Groups.of(sorted(sorted(group) for group in groups))


def grouped(groups: Children) -> Grouped:
    ids = id_rows(sorted(groups))
    children = id_rows(child for _, some in sorted(groups.items()) for child in sorted(some))
    starts = np.cumsum([0, *(len(some) for _, some in sorted(groups.items()))])
    return Grouped(ids, starts, children, np.ones(len(children)))


def level(degrees: dict[str, float], words: int = 10) -> Level:
    """Nodes on the unit circle."""
    ids = sorted(degrees)
    angles = np.radians([degrees[id_] for id_ in ids])
    matrix = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return Level(id_rows(ids), np.full(len(ids), words), lambda: matrix)


def test_groups_are_told_by_their_levels() -> None:
    levels: dict[int, Children] = {
        2: {"s2a": ("a", "b"), "s2b": ("b", "c")},
        4: {"s4a": ("x", "y", "z")},
        9: {"s9f": ("v", "w")},
    }
    every = grouped({group: children for some in levels.values() for group, children in some.items()})
    for at in range(1, 10):
        found = every.level(at)
        assert {group.id: group.children for group in found} == levels.get(at, {})
        assert found.members.tolist() == [child.encode() for some in found for child in some.children]
        assert found.numbers.tolist() == [number for number, some in enumerate(found) for _ in some.children]
        for part in found.parts(1):
            assert [group.children for group in part] == [tuple(part.weights_of(part.ids[0].decode()))]
        last = found.some(np.arange(len(found))[-1:])
        assert {group.id: group.children for group in last} == dict(list(levels.get(at, {}).items())[-1:])


@dataclass(frozen=True)
class Regrouping:
    """Gives all groups, those that change laid over the others."""

    grouper: Grouper

    def regroup(self, groups: Children, nodes: Level) -> Children:
        changed = {group.id: group.children for group in self.grouper.regroup(grouped(groups), nodes)}
        assert all(groups.get(group) != children for group, children in changed.items())
        return groups | changed


def grouper(size: int = 2, most_nodes: int = 4, most_words: int = 1000, newcomers: float = 0.5) -> Regrouping:
    return Regrouping(Grouper("tree", 2, BySize(size), most_nodes, most_words, newcomers))


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
    for name, value in (("_CENTRES", 7), ("_BLOCK", 3), ("TOGETHER", 2)):
        monkeypatch.setattr(tree_groups, name, value)
    monkeypatch.setattr(tree_memberships, "MANY", 2)
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
    left = list(pruned(grouped(found), id_rows(["a", "c", "d", "f"])))
    assert left == [Group("s2x", ("a", "c")), Group("s2y", ("d",)), Group("s2z", ("f",))]
    assert list(pruned(grouped(found), id_rows("abcdef"))) == []
    assert list(pruned(grouped({"s2x": ("a",)}), id_rows("ab"))) == [Group("s2x", ("a",))]


def test_nodes_without_a_group_are_found() -> None:
    assert ungrouped(grouped({"s2x": ("absent", "c")}), level(FOUR)).tolist() == [0, 1, 3]
    assert ungrouped(grouped({}), level(FOUR)).tolist() == [0, 1, 2, 3]


def test_nodes_with_no_direction_harm_nobody() -> None:
    vectors = np.zeros((3, 2), dtype=np.float32)
    nodes = Level(id_rows("abc"), np.ones(3, np.int32), lambda: vectors)
    assert grouper().regroup({"s2x": ("a", "b")}, nodes) == {"s2x": ("a", "b", "c")}
