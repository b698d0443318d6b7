"""The nodes of one level as columns, without their texts: some 100 bytes each and 8 a source.

`Nodes` are all that have a text, with what tells whether a summary of them is up to date; `Level` are those of them that groups
are made of, with their vectors. Rows are places in the order of their ids. Knows neither groups nor the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ID, SPAN, Origins, Rows, digests_of, id_rows, in_order, ranges, rows_among
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.tree_memberships import Ids, texts
from hoptrail.types import Kind

_NODE = np.dtype(
    [
        ("id", ID),
        ("kind", np.uint8),
        ("words", np.uint32),
        ("document", ID),
        ("start", np.int64),
        ("end", np.int64),
        ("digests", np.int64),
        ("sources", np.uint32),
    ]
)
"""Of a unit: where its first source is, from where on the digests of its sources stand, and how many. The id comes first, so that
nodes in order of their bytes are in order of their ids."""

_KINDS = tuple(Kind)


class Nodes:
    """Sources are known by their digests."""

    def __init__(self, units: Iterable[tuple[Kind, Origins]]) -> None:
        """Of units in any order, some of one kind at a time."""
        digests = [np.zeros(0, np.int64)]

        def rows() -> Iterator[NDArray[np.void]]:
            written = 0
            for kind, some in units:
                digests.append(digests_of(some.spans))
                starts = np.cumsum(some.counts) - some.counts
                found = np.empty(len(some.ids), _NODE)
                found["id"], found["kind"], found["words"] = some.ids, _KINDS.index(kind), some.words
                for name in SPAN.names or ():
                    found[name] = some.spans[starts][name]
                found["digests"], found["sources"] = written + starts, some.counts
                written += len(some.spans)
                yield found

        self._rows = in_order(_NODE, rows())
        self._digests = np.concatenate(digests)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> Ids:
        return self._rows["id"]

    def rows_of(self, ids: NDArray[np.bytes_]) -> Rows:
        """-1 for those that have no text."""
        return rows_among(ids, self.ids)

    def words(self, rows: Rows) -> NDArray[np.uint32]:
        """How many the text of each of some has."""
        found: NDArray[np.uint32] = self._rows["words"][rows]
        return found

    def by_kind(self, rows: Rows) -> Iterator[tuple[Kind, list[str]]]:
        """The ids of some of them, kind by kind."""
        found = self._rows[rows]
        for code in np.unique(found["kind"]).tolist():
            yield _KINDS[code], texts(found["id"][found["kind"] == code])

    def in_order(self, rows: Rows, groups: NDArray[np.integer]) -> NDArray[np.intp]:
        """What puts rows, each of the group beside it, into the order of the groups, and each group's into the order of what they
        were made from: neighbours in a document stay together.
        """
        found = self._rows[rows]
        return np.lexsort((rows, found["end"], found["start"], found["document"], groups))

    def count_sources(self, rows: Rows) -> NDArray[np.uint32]:
        """How many sources each of some has."""
        counts: NDArray[np.uint32] = self._rows["sources"][rows]
        return counts

    def sources(self, rows: Rows) -> NDArray[np.int64]:
        """The digests of the sources of some, one's after the other's."""
        _, places = ranges(self._rows["digests"][rows], self.count_sources(rows).astype(np.int64))
        digests: NDArray[np.int64] = self._digests[places]
        return digests

    def of_at_most(self, words: int, vectors: Callable[[Ids], FloatMatrix]) -> Level:
        """Those of at most so many words."""
        ids, counts = self.ids, self._rows["words"]
        if len(self) and int(counts.max()) > words:
            short = counts <= words
            ids, counts = ids[short], counts[short]
        return Level(ids, counts, lambda: vectors(ids))


class Level:
    """The nodes that the groups of one level are made of.

    `vectors` gives their vectors, shape (len(ids), dimension), of unit length; it is asked once, and only when they are needed.
    """

    def __init__(self, ids: Ids, words: NDArray[np.integer], vectors: Callable[[], FloatMatrix]) -> None:
        """`words`: how many each has."""
        self.ids, self.words = ids, words
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def matrix(self) -> FloatMatrix:
        return self._vectors()

    def rows_of(self, ids: NDArray[np.bytes_]) -> Rows:
        """-1 for those that are not here."""
        return rows_among(ids, self.ids)

    def names(self, rows: Rows) -> tuple[str, ...]:
        """The ids of some rows."""
        return tuple(texts(self.ids[rows]))

    def absent(self, ids: Sequence[str]) -> list[str]:
        """Those of some ids that are not here."""
        return list(compress(ids, (self.rows_of(id_rows(ids)) < 0).tolist()))

    def gathered(self, rows: NDArray[np.integer]) -> FloatMatrix:
        """The vectors of a few rows, each read once and in their order."""
        read, places = np.unique(rows, return_inverse=True)
        found: FloatMatrix = self.matrix[read][places]
        return found

    def vectors(self, rows: Rows) -> FloatMatrix:
        """Those of some rows (rising)."""
        if len(rows) == len(self):
            return self.matrix
        return self.matrix[rows]


def middle(vectors: FloatMatrix) -> FloatMatrix:
    """Unit vector of shape (dimension,) in the middle of some: at least one."""
    return _unit_length(vectors.sum(axis=0))


def middles(vectors: FloatMatrix, starts: NDArray[np.integer] | Sequence[int]) -> FloatMatrix:
    """The same of each run of `vectors` that begins at one of `starts`."""
    return _unit_length(np.add.reduceat(vectors, starts, axis=0))


def _unit_length(vectors: FloatMatrix) -> FloatMatrix:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatMatrix = vectors / np.maximum(norms, np.finfo(np.float32).tiny)
    return scaled
