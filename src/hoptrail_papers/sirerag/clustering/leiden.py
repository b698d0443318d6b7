"""Communities of a graph of nearest neighbours (Leiden; Traag, Waltman and van Eck 2019), with second memberships.

Rows are linked with their nearest neighbours; the graph is cut where its modularity at a resolution is highest, and the
resolution follows from how large groups should be. A row is also in a second group when enough of its links lead there.
Similarities of links are computed anew in double precision without BLAS and rounded, so that the number of threads does not
change the graph (up to `_EXACT_UP_TO` rows: cells are found by BLAS).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Places, Rows, paired, unpaired
from hoptrail.models.encoder import FloatMatrix
from hoptrail_papers.nearest import PROBES, Nearest, best_of

_SPARE = 3
"""Neighbours looked at beyond those that are kept, for ties that rounding could decide."""

_BLOCK = 1 << 13
"""Links whose ends' vectors are held at a time."""

_EXACT_UP_TO = 30_000
"""Above so many rows neighbours are sought in nearby cells (`nearest.py`), where a few are missed."""

_LEAST = 1e-3
_POWER = 3
"""Links weigh similarity (at least `_LEAST`) to this power; at 1, groups came out a little smaller and covered a little less."""

_RESOLUTION = 0.1
"""Times rows over target size: groups of text passages come out near their target at 5 neighbours."""

_ITERATIONS = 2

SECOND_SHARE = 0.3
"""A row is also in a second group when this share of its links leads there."""


def leiden_groups(target: int, smallest: int, neighbours: int, vectors: FloatMatrix) -> list[Places]:
    """See `Method` and `ClusteringSettings`. As many rows as the target size, or fewer, are one group."""
    from graspologic_native import leiden_csr

    size = len(vectors)
    if size <= target:
        return [np.arange(size)]
    graph = neighbour_graph(vectors, min(neighbours, size - 1))
    _, parts = leiden_csr(
        *(np.searchsorted(graph.sources, np.arange(size + 1)).astype(np.int64), graph.targets, graph.weights, size),
        resolution=max(1.0, _RESOLUTION * size / target),
        iterations=_ITERATIONS,
        seed=0,
    )
    community = join_small(graph, np.array([parts[row] for row in range(size)], np.intp), smallest)
    rows, groups = second_memberships(graph, community, SECOND_SHARE, 1)
    order = np.argsort(community, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(community[order])) + 1)
    return [np.union1d(members[at], rows[groups == at]) for at in range(len(members))]


def neighbour_graph(vectors: FloatMatrix, neighbours: int) -> Directed:
    """Links of every row with its nearest `neighbours` (fewer than rows), weighted by similarity: both ways, by rising row.

    A link that both ends ask for weighs the same as one that only one end asks for.
    """
    near = nearest(vectors, neighbours)
    links, first = np.unique(np.concatenate([near.keys, paired(near.targets, near.sources)]), return_index=True)
    weights = np.tile(np.maximum(near.weights, _LEAST) ** _POWER, 2)[first]
    return Directed(*unpaired(links), weights)


def nearest(vectors: FloatMatrix, neighbours: int) -> Directed:
    """Edges from each row to the nearest other rows, weighted by similarity."""
    looked_at = min(neighbours + _SPARE, len(vectors) - 1)
    rows = np.arange(len(vectors), dtype=np.int32)
    found = Nearest(vectors, looked_at, _EXACT_UP_TO, PROBES).of(rows)
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(found.sources), _BLOCK))
    ends = ((vectors[found.sources[block]], vectors[found.targets[block]]) for block in blocks)
    exact = [np.einsum("ij,ij->i", *both, dtype=np.float64) for both in ends]
    edges = Directed(found.sources, found.targets, np.concatenate(exact).round(9))
    return best_of(edges, neighbours)


def join_small(graph: Directed, community: Places, smallest: int) -> Places:
    """Communities with fewer than `smallest` rows joined, smallest first, to the one they are linked with most; renumbered."""
    sizes = dict(enumerate(np.bincount(community).tolist()))
    links: dict[int, dict[int, float]] = {at: {} for at in sizes}
    sums = _sums(community[graph.sources], community[graph.targets], graph.weights)
    for own, other, weight in zip(*(values.tolist() for values in sums), strict=True):
        if own != other:
            links[own][other] = weight
    labels = np.arange(len(sizes))
    for small in sorted(sizes, key=lambda at: (sizes[at], at)):
        if sizes[small] >= smallest or not links[small]:
            continue
        other = max(links[small], key=lambda at: (links[small][at], -at))
        _join(links, small, other)
        labels[labels == small] = other
        sizes[other] += sizes.pop(small)
    renumbered: Places = np.unique(labels[community], return_inverse=True)[1]
    return renumbered


def _join(links: dict[int, dict[int, float]], small: int, other: int) -> None:
    for third, weight in links.pop(small).items():
        del links[third][small]
        if third != other:
            links[other][third] = links[third][other] = links[other].get(third, 0.0) + weight


def second_memberships(graph: Directed, community: Places, share: float, most: int) -> tuple[Rows, Rows]:
    """Rows and the other communities that at least `share` of their links' weight leads to: at most `most` a row.

    Such a share stands in for the responsibility of a mixture. Of as many pairs of rows, groups widened along links covered
    more gold pairs than groups widened by the distance to a centroid.
    """
    rows, others, weight = _sums(graph.sources, community[graph.targets], graph.weights)
    shares = weight / np.bincount(graph.sources, graph.weights)[rows]
    wanted = (shares >= share) & (community[rows] != others)
    best = best_of(Directed(rows, others, shares).where(wanted), most)
    return best.sources, best.targets


def _sums(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.float64]
) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """The sum of weights for each pair of `left` and `right`, pairs rising."""
    pairs, which = np.unique(paired(left, right), return_inverse=True)
    return *unpaired(pairs), np.bincount(which, weights).astype(np.float64)
