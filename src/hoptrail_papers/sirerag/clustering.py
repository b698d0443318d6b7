"""Soft clustering of vectors: which units are summarised together.

`leiden` (the default) cuts a graph of nearest neighbours into communities; `raptor` is the published recipe, UMAP and Gaussian
mixtures, and needs the extra of that name. For both, equal vectors go together, groups stay within their caps, and the order
depends on nothing but rows. Knows nothing of texts, trees or where vectors are stored.

Leiden (Traag, Waltman and van Eck 2019), with second memberships: rows are linked with their nearest neighbours; the graph is cut
where its modularity at a resolution is highest, and the resolution follows from how large groups should be. A row is also in a
second group when enough of its links lead there. Similarities of links are computed anew in double precision without BLAS and
rounded, so that the number of threads does not change the graph (up to `_EXACT_UP_TO` rows: cells are found by BLAS).

RAPTOR (Sarthi et al. 2024, section 3): vectors are reduced for all rows and grouped; then each group's vectors are reduced and
grouped on their own. Different from the published code: seeded; double precision (single made covariances ill-defined); the
number of groups of one mixture is at most half its rows; a mixture that cannot be fitted is tried again with more added to its
variances; a row that no group takes goes to the likeliest; rows are followed by number, not by comparing vectors. UMAP compiles
itself in every new process, for half a minute of CPU time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import isqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Places, Rows, paired, unpaired
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.setting_limits import AtLeast1, check_limits
from hoptrail_papers.nearest import PROBES, Nearest, best_of

Groups = list[tuple[int, ...]]  # row numbers, rising, of groups that are not empty and not there twice, by their rows

Words = Sequence[int] | NDArray[np.integer]  # how many words the text of each row has

Cluster = Callable[[FloatMatrix, Words], Groups]
"""Groups rows of vectors, shape (n, d), of unit length. The same rows give the same groups. A row may be in several."""

Method = Callable[[FloatMatrix], list[Places]]
"""A way of grouping: groups of rows of vectors, shape (n, d): n of at least 1, unit length, no two equal. Every row is in one."""

_COMPARED = 4096  # vectors compared at a time

_PROGRESS = 0.75
"""A part that keeps more of its group than this is halved instead: splitting then takes few rounds, whatever the method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSettings:
    """Leiden's groups have about `target` rows; ones of fewer than `smallest` join a neighbour, because a summary of one or two
    texts says nothing new, and ones of more than `largest` are split. Each row is linked with its nearest `neighbours`. Of both
    methods no group has texts of more than `most_words` words together (about the 10,000 tokens of the paper's code), unless it
    is a single row. Raises: UsageError: the sizes contradict one another.
    """

    method: Literal["leiden", "raptor"] = "leiden"
    most_words: AtLeast1 = 7_500
    target: AtLeast1 = 10
    smallest: AtLeast1 = 3
    largest: AtLeast1 = 40
    neighbours: AtLeast1 = 5
    former: ClassVar[Mapping[str, object]] = {
        "seed": 0,
        "share": 0.3,
        "memberships": 2,
        "dimensions": 10,
        "components": 49,
        "responsibility": 0.1,
    }

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.smallest <= self.target <= self.largest or self.largest < 2 * self.smallest:
            raise UsageError("clustering needs smallest <= target <= largest, and largest at least twice smallest")
        if self.neighbours < self.smallest:
            raise UsageError("clustering neighbours must be at least smallest: small groups join along their links")


def open_clusterer(settings: ClusteringSettings) -> Cluster:
    """The clustering that the settings describe. Raises: UsageError: its packages are not installed."""
    if settings.method == "raptor":
        require_packages()
        return partial(_within_caps, raptor_groups, settings.most_words, None)
    method = partial(leiden_groups, settings.target, settings.smallest, settings.neighbours)
    return partial(_within_caps, method, settings.most_words, settings.largest)


def _within_caps(method: Method, most_words: int, largest: int | None, vectors: FloatMatrix, words: Words) -> Groups:
    """See `Cluster`. Groups with more than `most_words` words or `largest` rows (None: any number) are clustered again on their
    own, and halved where that makes no progress; a row that is longer than `most_words` by itself ends up alone.
    """
    lengths = np.asarray(words)
    within: set[tuple[int, ...]] = set()
    waiting = _grouped(method, vectors, np.arange(len(vectors)))
    while waiting:
        group = waiting.pop()
        too_many = largest is not None and len(group) > largest
        if len(group) == 1 or not (too_many or lengths[group].sum() > most_words):
            within.add(tuple(group.tolist()))
            continue
        parts = _grouped(method, vectors, group)
        is_stuck = max(map(len, parts)) > _PROGRESS * len(group)
        waiting += halves(vectors, group) if is_stuck else parts
    return sorted(within)


def _grouped(method: Method, vectors: FloatMatrix, rows: Places) -> list[Places]:
    """What the method makes of these rows. It sees equal vectors once: they are then always in the same groups."""
    if not len(rows):
        return []
    own = vectors if len(rows) == len(vectors) else vectors[rows]
    copies = equal_rows(own)
    groups = method(own[[found[0] for found in copies]])
    return [np.sort(rows[np.concatenate([copies[row] for row in group])]) for group in groups]


def equal_rows(vectors: FloatMatrix) -> list[Places]:
    """Rows that are the same, rising and together, by rising values: what `np.unique` finds without its copies of everything."""
    values = np.ascontiguousarray(vectors)
    whole = values.view([("", values.dtype)] * values.shape[1]).reshape(-1)
    order = np.argsort(whole, kind="stable")
    first = np.ones(len(order), dtype=bool)
    for start in range(1, len(order), _COMPARED):
        here = order[start : start + _COMPARED]
        before = order[start - 1 : start - 1 + len(here)]
        first[start : start + _COMPARED] = (values[here] != values[before]).any(axis=1)
    return np.split(order, np.flatnonzero(first)[1:])


def halves(vectors: FloatMatrix, group: Places) -> list[Places]:
    """Two groups of equal size: the rows nearest the one that is farthest from the middle, and the others."""
    own = vectors[group].astype(np.float64)
    farthest = own[np.argmin(own @ own.mean(axis=0))]
    order = np.argsort(-(own @ farthest).round(9), kind="stable")
    middle = len(group) // 2
    return [np.sort(group[order[:middle]]), np.sort(group[order[middle:]])]


# --- Leiden

_SPARE = 3  # neighbours looked at beyond those that are kept, for ties that rounding could decide
_BLOCK = 1 << 13  # links whose ends' vectors are held at a time
_EXACT_UP_TO = 30_000  # above so many rows neighbours are sought in nearby cells (`nearest.py`), where a few are missed

_LEAST = 1e-3
_POWER = 3
"""Links weigh similarity (at least `_LEAST`) to this power; at 1, groups came out a little smaller and covered a little less."""

_RESOLUTION = 0.1  # times rows over target size: groups of text passages come out near their target at 5 neighbours

_ITERATIONS = 2
SECOND_SHARE = 0.3  # a row is also in a second group when this share of its links leads there


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


# --- RAPTOR

DIMENSIONS = 10  # of the reduced vectors; this many rows and one more are one group, unseen
COMPONENTS = 49  # the most groups of one mixture
RESPONSIBILITY = 0.1  # a row is in every group that takes more than this share of the responsibility for it

_LOCAL_NEIGHBOURS = 10
_ADDED_VARIANCES = (1e-6, 1e-4, 1e-2, 1.0)
"""Tried in turn until every mixture can be fitted; the first is scikit-learn's own."""


def require_packages() -> None:
    """Check that the packages of the extra are there, without importing them. Raises: UsageError: one is not."""
    missing = [name for name in ("umap", "sklearn") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"clustering by raptor needs packages that are not installed ({', '.join(missing)}); install them with "
            "`pip install hoptrail[raptor]`, or use the method leiden"
        )


def raptor_groups(vectors: FloatMatrix) -> list[Places]:
    """See `Method`. One group of hardly more rows than reduced dimensions. Raises: UsageError: no mixture can be fitted."""
    groups = _mixed(vectors, isqrt(max(0, len(vectors) - 1)))
    return [group[part] for group in groups for part in _mixed(vectors[group], _LOCAL_NEIGHBOURS)]


def _mixed(vectors: FloatMatrix, neighbours: int) -> list[Places]:
    if len(vectors) <= DIMENSIONS + 1:
        return [np.arange(len(vectors))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that its neural variant is not there
        from umap import UMAP

    near = max(2, min(neighbours, len(vectors) - 1))
    reducer = UMAP(near, n_components=DIMENSIONS, metric="cosine", random_state=0, n_jobs=1)
    shares = responsibilities(reducer.fit_transform(vectors).astype(np.float64))
    taken = shares > RESPONSIBILITY
    taken[np.arange(len(shares)), shares.argmax(axis=1)] = True
    return [np.flatnonzero(column) for column in taken.T if column.any()]


def responsibilities(reduced: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (rows, groups): of the mixture with the least BIC. Raises: UsageError: no mixture can be fitted."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    most = min(COMPONENTS, len(reduced) // 2)
    reason = ""
    for added in _ADDED_VARIANCES:
        mixtures = [GaussianMixture(count, random_state=0, reg_covar=added) for count in range(1, most + 1)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # an unfinished fit has a worse BIC, and loses
                fitted = [mixture.fit(reduced) for mixture in mixtures]
        except ValueError as error:  # scikit-learn's word for a covariance that is not one
            reason = str(error)
            continue
        shares: NDArray[np.float64] = min(fitted, key=lambda mixture: mixture.bic(reduced)).predict_proba(reduced)
        return shares
    raise UsageError(
        f"clustering by raptor: no mixture fits these {len(reduced)} rows ({reason}); use the method leiden"
    )
