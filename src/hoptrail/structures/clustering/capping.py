"""Groups of row numbers, and what holds for every method that makes them: equal vectors go together, groups stay within their
caps, and the order depends on nothing but rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix

Rows = NDArray[np.intp]
"""Row numbers, rising, none twice."""

Groups = list[tuple[int, ...]]
"""Row numbers, rising, of groups that are not empty and not there twice, by their rows."""

Method = Callable[[FloatMatrix], list[Rows]]
"""A way of grouping: groups of rows of vectors, shape (n, d): n of at least 1, unit length, no two equal. Every row is in one."""


_BLOCK = 4096
"""Vectors compared at a time."""

_PROGRESS = 0.75
"""A part that keeps more of its group than this is halved instead: splitting then takes few rounds, whatever the method."""

Words = Sequence[int] | NDArray[np.integer]
"""How many words the text of each row has."""

Cluster = Callable[[FloatMatrix, Words], Groups]
"""Groups rows, see `Capped.cluster`."""


@dataclass(frozen=True, slots=True)
class Capped:
    """A method within caps.

    Groups with more than `most_words` words or `largest` rows (None: any number) are clustered again on their own, and halved
    where that makes no progress; a row that is longer than `most_words` by itself ends up alone.
    """

    method: Method
    most_words: int
    largest: int | None = None

    def cluster(self, vectors: FloatMatrix, words: Words) -> Groups:
        """Group rows of `vectors`, shape (n, d), unit length; `words` is the length of each row's text.

        The same rows and settings give the same groups. A row may be in more than one of them.
        """
        lengths = np.asarray(words)
        within: set[tuple[int, ...]] = set()
        waiting = self._groups(vectors, np.arange(len(vectors)))
        while waiting:
            group = waiting.pop()
            if self._fits(group, lengths):
                within.add(tuple(group.tolist()))
                continue
            parts = self._groups(vectors, group)
            is_stuck = max(map(len, parts)) > _PROGRESS * len(group)
            waiting += halves(vectors, group) if is_stuck else parts
        return sorted(within)

    def _groups(self, vectors: FloatMatrix, rows: Rows) -> list[Rows]:
        """What the method makes of these rows. It sees equal vectors once: they are then always in the same groups."""
        if not len(rows):
            return []
        own = vectors if len(rows) == len(vectors) else vectors[rows]
        copies = equal_rows(own)
        groups = self.method(own[[found[0] for found in copies]])
        return [np.sort(rows[np.concatenate([copies[row] for row in group])]) for group in groups]

    def _fits(self, group: Rows, lengths: NDArray[np.integer]) -> bool:
        too_many = self.largest is not None and len(group) > self.largest
        return len(group) == 1 or not (too_many or lengths[group].sum() > self.most_words)


def equal_rows(vectors: FloatMatrix) -> list[Rows]:
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


def halves(vectors: FloatMatrix, group: Rows) -> list[Rows]:
    """Two groups of equal size: the rows nearest the one that is farthest from the middle, and the others."""
    own = vectors[group].astype(np.float64)
    farthest = own[np.argmin(own @ own.mean(axis=0))]
    order = np.argsort(-(own @ farthest).round(9), kind="stable")
    middle = len(group) // 2
    return [np.sort(group[order[:middle]]), np.sort(group[order[middle:]])]
