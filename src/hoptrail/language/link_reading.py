"""Answer a question from two statements that a rare name or code links, reading the second after the first.

`14 January: needle bar of M10 bent` and `M10: section sewer, built 1982` together say in what year the machine with the bent
needle bar was built. The reader was trained to read a text for a question after another one (`ToRead.before`). Such a reading is
right in about half of the cases, so it only confirms another answer, and its statement is shown (docs/decisions/reading.md).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hoptrail.language import tasks
from hoptrail.language.closeness import Close, Wording, close_statements, distinct_statements, place_of, under_headings
from hoptrail.models.reader import TextReader, TextReading, ToRead
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.statements import UnitStatement
from hoptrail.text.words import words
from hoptrail.types import Unit

_FIRST = 8
"""Number of closest statements from which links start."""
_HOLDERS = 25
"""A name in more statements links nothing."""
_RARE, _KEY, _FAR = 0.2, 0.2, 0.06
"""Parts of the score, beside the share of the question's words (0 to 1). The first is divided by the number of statements with
the name. The second is added if the second statement begins with the name, as the row of a register does. The third is taken off
for each doubling of the rank of the second statement's unit.
"""
_TOKEN = re.compile(r"(?<![\w-])[^\W_][\w-]*")
_CODE = re.compile(r"(?=.*\d)(?!\d+(?:[a-z]{1,3}|-[a-z]+)$)(?=.*[^\W\d_]).{2,20}|[A-ZÀ-Þ]{2,4}")
"""A number with letters, or the initials of a name: `M10`, `SNO-05`, `YO`; no measure (`10kg`), no ordinal, no `24-hour`."""
_CONNECTOR = re.compile(r"\s+[a-zà-þ]\S*\s+")

_LINKS, _BY_THEMSELVES = 8, 3
"""The most links that are considered; and, of the best of these, those whose second statement is also read without the first."""
_AFTER, _ALONE = 0.7, 0.3
"""Weights of the log odds of the two readings."""
_STATED = 7.0  # log odds for the share of the question's words that the two statements say
_LEAST, _LEAST_GAIN = 4.0, 0.05
"""Log odds from which a link is shown, and the least share of the question's words that it has beyond each of its statements."""
_WHOLE = 0.9  # share of the question's words from which one statement needs no second one


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements and the name or code that both have. They say a `share` of the question's words together, `gain` more than
    either alone; `score` ranks the links of one question.
    """

    first: UnitStatement
    second: UnitStatement
    name: str
    share: float
    gain: float
    score: float


def find_links(question: str, units: Sequence[Unit], close: Sequence[Close], most: int) -> list[Pair]:
    """The `most` best links from the closest statements, one to each other statement, by names not in the question."""
    statements = distinct_statements(units)
    names = [sorted(names_of(said)) for _, said in statements]
    wording = Wording(question, [said for _, said in statements])
    asked = frozenset(word.lower for word in words(question))
    holders: dict[str, list[int]] = defaultdict(list)
    for at, names_said in enumerate(names):
        for name in names_said:
            if not {word.lower for word in words(name)} <= asked:
                holders[name].append(at)
    places = {place_of(said): at for at, (_, said) in enumerate(statements)}
    firsts = [places[place_of(one.said)] for one in close[:_FIRST] if place_of(one.said) in places]
    best: dict[int, Pair] = {}
    for first in firsts:
        for name in names[first]:
            if not 1 < len(holders.get(name, ())) <= _HOLDERS:
                continue
            for second in holders[name]:
                link = _link(statements[first][1], statements[second], name, len(holders[name]), wording)
                if second != first and (second not in best or link.score > best[second].score):
                    best[second] = link
    return sorted(best.values(), key=lambda link: -link.score)[:most]


def _link(first: UnitStatement, ranked: tuple[int, UnitStatement], name: str, holders: int, wording: Wording) -> Pair:
    rank, second = ranked
    share = wording.share(first, second)
    gain = share - max(wording.share(first), wording.share(second))
    is_key = re.match(rf"[\W_]*{re.escape(name)}(?![\w-])", second.text, re.IGNORECASE) is not None
    score = share + _RARE / holders + _KEY * is_key - _FAR * (1 + rank).bit_length()
    return Pair(first, second, name, share, gain, score)


@lru_cache(4096)
def names_of(said: UnitStatement) -> frozenset[str]:
    """The names and codes in a statement, in small letters: `Ida Berg of Skarn` has two. The headers of a table are none."""
    text = said.text
    mentions = [mention.text for mention in find_mentions(text) if mention.shape in {Shape.NAME, Shape.QUOTED}]
    names = {part for mention in mentions for part in _CONNECTOR.split(mention)}
    names |= {token for token in _TOKEN.findall(text) if _CODE.fullmatch(token)}
    return frozenset(name.lower() for name in names if len(name) > 1)


def read_links(question: str, passages: Sequence[Unit], reader: TextReader) -> tasks.Reading | None:
    """The answer of the link whose second statement answers the question best after its first. See `LinkReader`."""
    close = close_statements(question, passages, None)
    if not close or max(one.share for one in close) >= _WHOLE:
        return None
    links = find_links(question, passages, close, _LINKS)
    links = [link for link in links if link.gain >= _LEAST_GAIN]
    after = reader.read([ToRead(question, under_headings(link.second), under_headings(link.first)) for link in links])
    odds = [_margin(reading) + _STATED * link.share for link, reading in zip(links, after, strict=True)]
    order = sorted(range(len(links)), key=lambda at: -odds[at])[:_BY_THEMSELVES]
    alone = reader.read([ToRead(question, under_headings(links[at].second)) for at in order])
    judged = [
        (_AFTER * _margin(after[at]) + _ALONE * _margin(reading) + _STATED * links[at].share, at)
        for at, reading in zip(order, alone, strict=True)
    ]
    if not judged:
        return tasks.Reading(None)
    likeliest, best = max(judged)
    second = links[best].second
    answer = next((under_headings(second)[words.start : words.end] for words in after[best].answers[:1]), None)
    return tasks.Reading(answer, leads=second.support[:1] if likeliest >= _LEAST else ())


def _margin(reading: TextReading) -> float:
    """The log odds of an answer, against none."""
    return reading.answers[0].margin if reading.answers else -20.0
