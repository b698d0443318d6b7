"""Answer a question from two statements that a name or code links, reading the second after the first.

The question is not decomposed: the reader was trained to read a text for a question after another one (`ToRead.before`). The
answer of such a reading is right in about half of the cases. So it is not given: it confirms the answer of another reading, and
its statement is shown (docs/decisions/reading.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.language import tasks
from hoptrail.language.closeness import close_statements
from hoptrail.language.statement_links import find_links
from hoptrail.models.reader import Reading, ToRead
from hoptrail.models.remembered_readings import TextReader
from hoptrail.text.statements import UnitStatement
from hoptrail.types import Unit

_LINKS, _BY_THEMSELVES = 8, 3
"""The most links that are considered; and, of the best of these, those whose second statement is also read without the first."""
_AFTER, _ALONE = 0.7, 0.3
"""Weights of the log odds of the two readings."""
_STATED = 7.0  # log odds for the share of the question's words that the two statements say
_LEAST, _LEAST_GAIN = 4.0, 0.05
"""Log odds from which a link is shown, and the least share of the question's words that it has beyond each of its statements."""
_WHOLE = 0.9  # share of the question's words from which one statement needs no second one
_LONGEST = 1_200  # characters of a statement with its title and headings


def read_links(question: str, passages: Sequence[Unit], reader: TextReader) -> tasks.Reading | None:
    """The answer of the link whose second statement answers the question best after its first. See `LinkReader`."""
    close = close_statements(question, passages, None)
    if not close or max(one.share for one in close) >= _WHOLE:
        return None
    links = find_links(question, passages, close, _LINKS)
    links = [link for link in links if link.gain >= _LEAST_GAIN]
    after = reader.read([ToRead(question, _text(link.second), _text(link.first)) for link in links])
    odds = [_margin(reading) + _STATED * link.share for link, reading in zip(links, after, strict=True)]
    order = sorted(range(len(links)), key=lambda at: -odds[at])[:_BY_THEMSELVES]
    alone = reader.read([ToRead(question, _text(links[at].second)) for at in order])
    judged = [
        (_AFTER * _margin(after[at]) + _ALONE * _margin(reading) + _STATED * links[at].share, at)
        for at, reading in zip(order, alone, strict=True)
    ]
    if not judged:
        return tasks.Reading(None)
    likeliest, best = max(judged)
    second = links[best].second
    return tasks.Reading(_answer(after[best], second), leads=second.support[:1] if likeliest >= _LEAST else ())


def _answer(reading: Reading, second: UnitStatement) -> str | None:
    return _text(second)[reading.answers[0].start : reading.answers[0].end] if reading.answers else None


def _margin(reading: Reading) -> float:
    """The log odds of an answer, against none."""
    return reading.answers[0].margin if reading.answers else -20.0


def _text(said: UnitStatement) -> str:
    """A statement with title and headings, one below the other."""
    return "\n".join(part for part in (said.unit.title, " > ".join(said.path), said.alone) if part)[:_LONGEST]
