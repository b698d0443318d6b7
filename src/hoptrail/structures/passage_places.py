"""Where passages stand: which of them holds a sentence, and their order in the documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ID, id_bytes, in_order
from hoptrail.executing.executor import batched
from hoptrail.types import Span, Unit

_READ = 65_536
"""Passages whose places are held as records while they are read."""

_PLACE = np.dtype([("document", ID), ("start", ">u8"), ("end", ">u8"), ("id", ID)])
"""Numbers with their high bytes first, so that places in order of their bytes are in order of their documents and starts."""
_BYTES = np.dtype(f"S{_PLACE.itemsize}")
_LAST = (1 << 64) - 1


class PassagePlaces:
    """Rows are passages by rising document id, then by place in the document.

    The document's id stands in for the order of the corpus, which an index that grows and shrinks does not have.
    """

    def __init__(self, passages: Iterable[tuple[str, Span]]) -> None:
        """Of ids with their places, in any order."""
        self._places = in_order(_PLACE, map(_places, batched(passages, _READ)))

    def __len__(self) -> int:
        return len(self._places)

    def ids(self, start: int, end: int) -> list[str]:
        """The ids of the passages in these rows."""
        return [id_.decode() for id_ in self._places["id"][start:end].tolist()]

    def firsts(self) -> Iterator[str]:
        """The id of the first passage of each document."""
        before = b""
        for start in range(0, len(self), _READ):
            some = self._places[start : start + _READ]
            for document, id_ in zip(some["document"].tolist(), some["id"].tolist(), strict=True):
                if document != before:
                    yield id_.decode()
                before = document

    def batches(self, most: int) -> Iterator[list[str]]:
        """The ids of all passages in order, at most so many at a time."""
        return (self.ids(start, start + most) for start in range(0, len(self), most))

    def holding(self, unit: Unit) -> str:
        """The id of the passage that the unit's first source lies in; empty where it runs over a border."""
        span = unit.sources[0]
        after = np.array((span.document.encode(), span.start, _LAST, b""), dtype=_PLACE).view(_BYTES)
        row = int(np.searchsorted(self._places.view(_BYTES), after)) - 1
        if row < 0:
            return ""
        document, _, end, id_ = self._places[row].item()
        return str(id_.decode()) if document.decode() == span.document and span.end <= end else ""


def _places(passages: Sequence[tuple[str, Span]]) -> NDArray[np.void]:
    rows = [(id_bytes(span.document), span.start, span.end, id_bytes(id_)) for id_, span in passages]
    return np.array(rows, dtype=_PLACE)
