"""Where passages stand: which of them holds a sentence, and their order in the documents. Some sixty bytes a passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import batched
from hoptrail.types import Span, Unit

_READ = 65_536
"""Passages whose places are held as records while they are read."""


class PassagePlaces:
    """Rows are passages by rising document id, then by place in the document.

    The document's id stands in for the order of the corpus, which an index that grows and shrinks does not have.
    """

    def __init__(self, passages: Iterable[Unit]) -> None:
        places = ((unit.sources[0], unit.id) for unit in passages)
        parts = [_columns(part) for part in batched(places, _READ)] or [_columns([])]
        documents, starts, ends, ids = (np.concatenate([part[column] for part in parts]) for column in range(4))
        order = np.lexsort((starts, documents))
        self._documents, self._starts, self._ends, self._ids = documents[order], starts[order], ends[order], ids[order]

    def __len__(self) -> int:
        return len(self._starts)

    def ids(self, start: int, end: int) -> list[str]:
        """The ids of the passages in these rows."""
        return [id_.decode() for id_ in self._ids[start:end].tolist()]

    def batches(self, most: int) -> Iterator[list[str]]:
        """The ids of all passages in order, at most so many at a time."""
        return (self.ids(start, start + most) for start in range(0, len(self), most))

    def holding(self, unit: Unit) -> str:
        """The id of the passage that the unit's first source lies in; empty where it runs over a border."""
        span = unit.sources[0]
        document = span.document.encode()
        first = int(np.searchsorted(self._documents, document))
        last = int(np.searchsorted(self._documents, document, "right"))
        row = first + int(np.searchsorted(self._starts[first:last], span.start, "right")) - 1
        inside = row >= first and span.end <= self._ends[row]
        return str(self._ids[row].decode()) if inside else ""


def _columns(places: Sequence[tuple[Span, str]]) -> tuple[NDArray[Any], ...]:
    """Documents, starts, ends, ids."""
    return (
        np.array([span.document.encode() for span, _ in places], dtype=np.bytes_),
        np.array([span.start for span, _ in places], dtype=np.int64),
        np.array([span.end for span, _ in places], dtype=np.int64),
        np.array([id_.encode() for _, id_ in places], dtype=np.bytes_),
    )
