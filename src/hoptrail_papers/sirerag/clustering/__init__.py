"""Soft clustering of vectors: which units are summarised together. One file a method.

`leiden` (the default) cuts a graph of nearest neighbours into communities; `raptor` is the published recipe, UMAP and Gaussian
mixtures, and needs the extra of that name. For both, equal vectors go together, groups stay within their caps, and the order
depends on nothing but rows. Knows nothing of texts, trees or where vectors are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.setting_limits import AtLeast1, check_limits
from hoptrail_papers.sirerag.clustering.leiden import leiden_groups
from hoptrail_papers.sirerag.clustering.raptor import raptor_groups, require_packages

Groups = list[tuple[int, ...]]
"""Row numbers, rising, of groups that are not empty and not there twice, by their rows."""

Words = Sequence[int] | NDArray[np.integer]
"""How many words the text of each row has."""

Cluster = Callable[[FloatMatrix, Words], Groups]
"""Groups rows of vectors, shape (n, d), of unit length. The same rows give the same groups. A row may be in several."""

Method = Callable[[FloatMatrix], list[Places]]
"""A way of grouping: groups of rows of vectors, shape (n, d): n of at least 1, unit length, no two equal. Every row is in one."""

_BLOCK = 4096
"""Vectors compared at a time."""

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
    for start in range(1, len(order), _BLOCK):
        here = order[start : start + _BLOCK]
        before = order[start - 1 : start - 1 + len(here)]
        first[start : start + _BLOCK] = (values[here] != values[before]).any(axis=1)
    return np.split(order, np.flatnonzero(first)[1:])


def halves(vectors: FloatMatrix, group: Places) -> list[Places]:
    """Two groups of equal size: the rows nearest the one that is farthest from the middle, and the others."""
    own = vectors[group].astype(np.float64)
    farthest = own[np.argmin(own @ own.mean(axis=0))]
    order = np.argsort(-(own @ farthest).round(9), kind="stable")
    middle = len(group) // 2
    return [np.sort(group[order[:middle]]), np.sort(group[order[middle:]])]
