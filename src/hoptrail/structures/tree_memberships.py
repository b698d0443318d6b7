"""Which nodes are in which group of a tree, by their ids.

Links are the groups: one leads from a group to each of its children. Levels are counted as the paper counts them: leaves stand
on level 1, summaries of leaves on level 2; a group's id says its level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import content_id

LEAVES = 1
"""The level of the leaves: summaries start on the one above."""

HIGHEST_LEVEL = 9
"""A level is one digit of an id."""

Members = Mapping[str, Collection[str]]
"""The children of groups, rising, by the ids of the groups, which rise too."""

Weights = dict[str, dict[str, float]]
"""The same with the weights of the links."""


def group_id(tree: str, level: int, children: Iterable[str], taken: Collection[str] = ()) -> str:
    """The id of a new group of `level` with these children (ids, rising): not one of those `taken`.

    It stands for the group, whose children may change later; another group may then be formed of the first ones.
    """
    parts = [tree, *children]
    while (found := content_id(f"s{level}", *parts)) in taken:
        parts.append("again")
    return found


def level_of(group: str) -> int:
    return int(group[1])


def groups_of(snapshot: Snapshot, tree: str) -> Weights:
    """The groups of a tree."""
    groups: Weights = {}
    for source, target, weight in sorted((link.source, link.target, link.weight) for link in snapshot.links(tree)):
        groups.setdefault(source, {})[target] = weight
    return groups


def members_of(groups: Members) -> set[str]:
    """The children of all of some groups."""
    return {child for children in groups.values() for child in children}
