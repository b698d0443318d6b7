"""The trained ranker of statements: does a statement, read under its title and headings, settle the question?

It has the architecture of the reader, and began with its weights. It then learned to tell the statement that settles a question
from others that are as close to the question (`training.ranker`). Nogueira and Cho 2019 (passage re-ranking with BERT), section
3, with a softmax over the statements of a question instead of a loss for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from hoptrail.models.reader import RANKER_WEIGHTS, Reader, TextReader, ToRead

_LONGEST = 400
"""Characters of a statement that are read: a little more than the 72 word pieces that the ranker learned from."""
_NEAREST = 1e-6  # to 0 and 1


class StatementRanker:
    """Judges statements by `reader`, a reader with the ranker's weights. Thread-safe."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def settling(self, question: str, statements: Sequence[str]) -> list[float]:
        """For each statement the log odds that it settles the question, between -14 and 14."""
        readings = self._reader.read([ToRead(question, statement[:_LONGEST]) for statement in statements])
        shares = (min(1 - _NEAREST, max(_NEAREST, reading.helps)) for reading in readings)
        return [math.log(share / (1 - share)) for share in shares]


@cache
def installed_ranker() -> StatementRanker:
    """The ranker of the installed package, one per process. Raises: ModelUnavailable: as for `Reader`."""
    return StatementRanker(Reader(weights=RANKER_WEIGHTS))
