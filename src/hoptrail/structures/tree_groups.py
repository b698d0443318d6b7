"""How the nodes of one level fall into groups: all at once the first time, and with as little change as possible later.

Later, a node without a group is placed into the nearest one, so that one new leaf costs the summaries on its way up and no
other. Many new nodes are clustered among themselves, because that makes fewer, better groups than scattering them. A group
that has grown too large is split, and the largest part keeps its place in the tree.

Pure: vectors and ids go in, groups come out. Knows neither store nor texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.structures.clustering import Clusterer
from hoptrail.structures.tree_nodes import Children, Level, centroids, group_id

SMALLEST_GROUP = 2
"""A summary of one node would say the same again."""
_BLOCK = 1024


def pruned(groups: Mapping[str, tuple[str, ...]], standing: Collection[str]) -> Children:
    """Groups without the children that no longer stand, and without groups that are left with fewer than two."""
    left = {group: tuple(child for child in children if child in standing) for group, children in groups.items()}
    return {group: children for group, children in left.items() if len(children) >= SMALLEST_GROUP}


def ungrouped(groups: Mapping[str, tuple[str, ...]], ids: Collection[str]) -> list[str]:
    """Those of `ids` that are in no group, rising."""
    members = {child for children in groups.values() for child in children}
    return sorted(id_ for id_ in ids if id_ not in members)


@dataclass(frozen=True, slots=True)
class Grouper:
    """Finds the groups of one level of a tree.

    A group that takes in newcomers is split, where the clusterer can, once it has more than `most_nodes` nodes or
    `most_words` words. When more than the share `newcomers` of all nodes is in no group, these are clustered by themselves.
    """

    tree: str
    level: int
    clusterer: Clusterer
    most_nodes: int
    most_words: int
    newcomers: float

    def regroup(self, groups: Mapping[str, tuple[str, ...]], nodes: Level) -> Children:
        """`groups` with every node in at least one, if there is a group at all. A group that was there keeps its id."""
        found = dict(groups)
        loose = ungrouped(found, nodes.ids)
        if not found or len(loose) > self.newcomers * len(nodes.ids):
            for children in self._clusters(loose, nodes):
                found[group_id(self.tree, self.level, children, found)] = children
            loose = ungrouped(found, loose)
        grown = _placed(found, loose, nodes)
        found |= grown
        self._split(found, sorted(grown), nodes)
        return found

    def _clusters(self, ids: Sequence[str], nodes: Level) -> list[tuple[str, ...]]:
        """Groups of at least two of `ids` (rising), without repeats; an id may be in several groups or in none."""
        if len(ids) < SMALLEST_GROUP:
            return []
        rows = [nodes.rows[id_] for id_ in ids]
        vectors = nodes.matrix if len(ids) == len(nodes.ids) else nodes.matrix[rows]
        groups = self.clusterer.cluster(vectors, [nodes.words[row] for row in rows])
        proper = (tuple(ids[row] for row in group) for group in groups if len(group) >= SMALLEST_GROUP)
        return list(dict.fromkeys(proper))

    def _split(self, groups: Children, grown: Sequence[str], nodes: Level) -> None:
        """Split those of the `grown` groups that are too large. The largest part keeps the id, and with it the parents."""
        waiting = list(grown)
        while waiting:
            group = waiting.pop()
            parts = self._parts(groups[group], nodes) if self._too_large(groups[group], nodes) else []
            for part in parts[1:]:
                name = group_id(self.tree, self.level, part, groups)
                groups[name] = part
                waiting.append(name)
            if parts:
                absent = [child for child in groups[group] if child not in nodes.rows]
                groups[group] = tuple(sorted([*parts[0], *absent]))
                waiting.append(group)

    def _too_large(self, children: Sequence[str], nodes: Level) -> bool:
        words = sum(nodes.words[nodes.rows[child]] for child in children if child in nodes.rows)
        return len(children) > self.most_nodes or words > self.most_words

    def _parts(self, children: Sequence[str], nodes: Level) -> list[tuple[str, ...]]:
        """A group's children in parts that are each smaller than the whole, the largest first; none if it is not divided."""
        there = [child for child in children if child in nodes.rows]
        clusters = {str(number): part for number, part in enumerate(self._clusters(there, nodes))}
        parts = clusters | _placed(clusters, ungrouped(clusters, there), nodes)
        if any(len(part) == len(there) for part in parts.values()):
            return []
        return sorted(parts.values(), key=lambda part: (-len(part), part))


def _placed(groups: Children, loose: Sequence[str], nodes: Level) -> Children:
    """The groups that take in the `loose` nodes, each the one whose centroid is nearest."""
    if not loose or not groups:
        return {}
    names, centres = centroids(groups, nodes)
    if not names:
        return {}
    taken: dict[str, list[str]] = {}
    for start in range(0, len(loose), _BLOCK):
        block = loose[start : start + _BLOCK]
        nearest = np.argmax(nodes.matrix[[nodes.rows[id_] for id_ in block]] @ centres.T, axis=1)
        for id_, at in zip(block, nearest, strict=True):
            taken.setdefault(names[int(at)], []).append(id_)
    return {group: tuple(sorted([*groups[group], *more])) for group, more in taken.items()}
