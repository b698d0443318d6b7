"""Does a statement, read under its title and headings, settle the question?

A head of the reader learned to tell the statement that settles a question from others that are as close to the question. Nogueira
and Cho 2019 (passage re-ranking with BERT), section 3, with a softmax over the statements of a question instead of a loss for
each.
"""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.models.reader import TextReader, ToRead

_LONGEST = 400
"""Characters of a statement that are read: a little more than the 72 word pieces that the reader learned from."""
_SUREST = 14.0


def settling(reader: TextReader, question: str, statements: Sequence[str]) -> list[float]:
    """For each statement the log odds that it settles the question, between -14 and 14."""
    readings = reader.read([ToRead(question, statement[:_LONGEST]) for statement in statements])
    return [max(-_SUREST, min(_SUREST, reading.settles)) for reading in readings]
