"""The trained ranker of statements: does a statement, read under its title and headings, settle the question?

It has the architecture of the reader, and began with its weights. It then learned to tell the statement that settles a question
from others that are as close to the question (`training.ranker`). Nogueira and Cho 2019 (passage re-ranking with BERT), section
3, with a softmax over the statements of a question instead of a loss for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hoptrail.models.reader import RANKER_WEIGHTS, Reader, Remembered, TextReader, ToRead, log_odds

_LONGEST = 400
"""Characters of a statement that are read: a little more than the 72 word pieces that the ranker learned from."""


def settling(ranker: TextReader, question: str, statements: Sequence[str]) -> list[float]:
    """For each statement the log odds that it settles the question, between -14 and 14. `ranker` has the ranker's weights."""
    readings = ranker.read([ToRead(question, statement[:_LONGEST]) for statement in statements])
    return [log_odds(reading.helps) for reading in readings]


@cache
def installed_ranker() -> Remembered:
    """The ranker of the installed package, one per process. Raises: ModelUnavailable: as for `Reader`."""
    return Remembered(Reader(weights=RANKER_WEIGHTS))
