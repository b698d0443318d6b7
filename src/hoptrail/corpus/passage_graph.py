"""The graph of path search as arrays: passages linked by the names that their sentences share.

The structure `mentions` writes them into the commit, so that readers map them. They are dropped with any change of the passages,
sentences or names that they were made from, and a view of some of the documents makes its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.arrays import Array
from hoptrail.corpus.columns import Numbers, Rows, bounds_of, paired, ranges, rows_of, unpaired
from hoptrail.corpus.names import NameList
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.units import Origins
from hoptrail.text.title_scanning import MOST_NAMESAKES
from hoptrail.types import Kind

NAMES = "names"  # the kind of names that link passages
MADE_BY = "2"  # changed by hand when the structure `mentions` makes other names


@dataclass(frozen=True, slots=True)
class Lists:
    """A list of numbers for each row: `values[starts[row]:starts[row + 1]]`, rising. `at` returns one, `counts` their lengths."""

    starts: Rows
    values: Rows

    @classmethod
    def of(cls, rows: Rows, values: Rows, size: int) -> Lists:
        """The lists of `size` rows from pairs in any order; repeats count once."""
        pairs = np.sort(paired(rows, values))
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs  # faster than np.unique
        return cls(bounds_of(pairs, size).astype(np.int32), unpaired(pairs)[1])

    def at(self, row: int) -> Rows:
        numbers: Rows = self.values[self.starts[row] : self.starts[row + 1]]
        return numbers

    def of_all(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.intp], Rows]:
        """For each number in the lists of several rows, its row's place in `rows`, and the number."""
        places, positions = ranges(self.starts[rows], self.counts(rows))
        return places, self.values[positions]

    def counts(self, rows: int | NDArray[np.integer]) -> Rows:
        lengths: Rows = self.starts[np.add(rows, 1)] - self.starts[rows]
        return lengths


@dataclass(frozen=True, slots=True)
class GraphArrays:
    """Passages and sentences by number in the order they were added, names by their row in `NameList`.

    `titles[p]` is the name that is passage p's title, or -1; `owners` is the inverse. Titles of too many passages are left out.
    Sentences that cross the border of a passage belong to none.
    """

    numbers: Numbers  # passage -> the number of its unit
    titles: Rows
    passage_of: Rows  # sentence -> passage, -1 for none
    spans: Rows  # sentence -> its offsets within the passage: shape (sentences, 2)
    positions: Rows  # sentence -> its position among the sentences of its passage, from 0
    sentences: Lists  # passage -> sentences
    names_in: Lists  # sentence -> names
    namers: Lists  # name -> passages whose sentences mention it
    owners: Lists  # name -> passages with that title
    named_by: Lists  # passage -> the names in its sentences, and its title

    def stored(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Lists):
                arrays[f"{field.name}_starts"], value = value.starts, value.values
            arrays[field.name] = value
        return arrays


def stored_graph(snapshot: Snapshot) -> GraphArrays | None:
    """The graph that the commit has for all documents; None in a view, and where the structure was not brought up to date."""
    arrays = snapshot.names.derived(NAMES)
    if arrays is None:
        return None
    parts: dict[str, Any] = {
        field.name: Lists(arrays[f"{field.name}_starts"], arrays[field.name])
        if f"{field.name}_starts" in arrays
        else arrays[field.name]
        for field in fields(GraphArrays)
    }
    return GraphArrays(**parts)


def make_graph(snapshot: Snapshot) -> GraphArrays:
    passages, sentences = (snapshot.numbered.origins(kind) for kind in (Kind.PASSAGE, Kind.SENTENCE))
    keys, size = snapshot.names.of(NAMES), len(passages.numbers)
    passage_of = _containing_passages(passages, sentences)
    starts = passages.starts[passage_of] if size else np.zeros(len(passage_of), np.int32)
    spans = np.stack([sentences.starts - starts, sentences.ends - starts], axis=1)
    inside = np.flatnonzero(passage_of >= 0).astype(np.int32)
    names = np.repeat(np.arange(len(keys), dtype=np.int32), np.diff(keys.starts))
    titles, owners = _titles(keys, names, passages)
    rows = rows_of(keys.units, sentences.numbers)
    mentioned = rows >= 0
    mentioned[mentioned] = passage_of[rows[mentioned]] >= 0
    names, within = names[mentioned], rows[mentioned].astype(np.int32)
    namers = Lists.of(names, passage_of[within], len(keys))
    titled = np.flatnonzero(titles >= 0).astype(np.int32)
    own = np.repeat(np.arange(len(keys), dtype=np.int32), np.diff(namers.starts))
    return GraphArrays(
        numbers=passages.numbers,
        titles=titles,
        passage_of=passage_of,
        spans=spans,
        positions=_positions(passage_of, spans),
        sentences=Lists.of(passage_of[inside], inside, size),
        names_in=Lists.of(within, names, len(passage_of)),
        namers=namers,
        owners=owners,
        named_by=Lists.of(np.concatenate([namers.values, titled]), np.concatenate([own, titles[titled]]), size),
    )


def _titles(keys: NameList, names: Rows, passages: Origins) -> tuple[Rows, Lists]:
    """`titles` and `owners` from the name of each entry of the keys."""
    rows = rows_of(keys.units, passages.numbers)
    titled = rows >= 0
    namesakes = np.bincount(names[titled], minlength=len(keys))
    titled &= namesakes[names] <= MOST_NAMESAKES
    titles = np.full(len(passages.numbers), -1, np.int32)
    titles[rows[titled]] = names[titled]
    return titles, Lists.of(names[titled], rows[titled].astype(np.int32), len(keys))


def _containing_passages(passages: Origins, sentences: Origins) -> Rows:
    """For each sentence the row of the passage that contains all of it, or -1."""
    if not len(passages.numbers):
        return np.full(len(sentences.numbers), -1, np.int32)
    keys = paired(passages.documents, passages.starts)
    order = np.argsort(keys, kind="stable")
    before = np.searchsorted(keys[order], paired(sentences.documents, sentences.starts), side="right") - 1
    rows = order[np.maximum(before, 0)]
    inside = (before >= 0) & (passages.documents[rows] == sentences.documents)
    return np.where(inside & (sentences.ends <= passages.ends[rows]), rows, -1).astype(np.int32)


def _positions(passage_of: Rows, spans: Rows) -> Rows:
    order = np.lexsort((spans[:, 0], passage_of))
    ordered = passage_of[order]
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return places
