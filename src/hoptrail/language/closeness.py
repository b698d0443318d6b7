"""The statements closest to a question, among those of retrieved units.

Closeness is the sum of three parts: the share of the question's words that a statement says (rare words weigh more, words only in
its headings less), the encoder's similarity, and the rank of its unit. It does not tell whether the statement is an answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hoptrail.models.encoder import Encoder, Latest
from hoptrail.text.dates import dates_asked, dates_said
from hoptrail.text.statements import LONGEST, UnitStatement, statements_of
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import Span, Unit

Judge = Callable[[str, Sequence[str]], Sequence[float]]
"""The log odds that each of some statements, with title and headings, settles a question; none: not judged."""
Similarity = Callable[[str, Sequence[str]], Sequence[float]]  # cosines of a question with sentences, between -1 and 1

UNITS = 8  # number of best units whose statements are scored
_ENCODED, _VECTORS = 20, 4096  # number of statements, best by words, that are encoded; of vectors that are kept
_ABOVE = 0.6  # weight of a word in title or headings, relative to one in the statement
_LONGEST = 1_200  # characters of a statement with its title and headings
_MEANING, _RANK, _SETTLES, _MOST_ODDS = 0.9, 0.15, 0.12, 8.0
"""Weights of the encoder's cosine, of 1 / rank of the unit, and of the log odds that a statement settles the question, relative
to the share of words (0 to 1); and where these log odds are cut.
"""


@dataclass(frozen=True, slots=True)
class Close:
    """A statement with its closeness to the question (about 0 to 2) and the share of the question's words that it says."""

    said: UnitStatement
    closeness: float
    share: float


def encoder_similarity(encoder: Encoder) -> Similarity:
    """Similarity by an encoder's vectors, the latest of which are kept."""
    encode = Latest(encoder.encode, _VECTORS).of

    def cosines(question: str, sentences: Sequence[str]) -> list[float]:
        vectors = np.array(encode([question, *sentences]))
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    return cosines


def close_statements(question: str, units: Sequence[Unit], similarity: Similarity | None) -> tuple[Close, ...]:
    """The distinct statements of the first `UNITS` units, closest first."""
    statements = distinct_statements(units[:UNITS])
    wording = Wording(question, [said for _, said in statements])
    scored = [(said, wording.share(said), _RANK / (1 + place)) for place, said in statements]
    scored.sort(key=lambda item: -(item[1] + item[2]))
    texts = [said.seen[: 2 * LONGEST] for said, _, _ in scored[:_ENCODED]]
    cosines = similarity(question, texts) if similarity and texts else [0.0] * len(texts)
    close = [
        Close(said, share + bonus + _MEANING * cosine, share)
        for (said, share, bonus), cosine in zip(scored, cosines, strict=False)
    ]
    return tuple(sorted(close, key=lambda statement: -statement.closeness))


def judged(close: Sequence[Close], odds: Sequence[float]) -> tuple[Close, ...]:
    """The statements with the first ones in the order of their closeness and the log odds that each settles the question."""
    weighed = [
        replace(one, closeness=one.closeness + _SETTLES * min(_MOST_ODDS, max(-_MOST_ODDS, settles)))
        for one, settles in zip(close, odds, strict=False)
    ]
    return (*sorted(weighed, key=lambda one: -one.closeness), *close[len(odds) :])


def under_headings(said: UnitStatement) -> str:
    """A statement in its context below its title and headings, as the reader reads it by itself."""
    return below_headings(said.unit.title, said.path, f"{said.context} {said.alone}".lstrip())


def below_headings(title: str, path: Sequence[str], text: str) -> str:
    return "\n".join(part for part in (title, " > ".join(path), text) if part)[:_LONGEST]


def distinct_statements(units: Sequence[Unit]) -> list[tuple[int, UnitStatement]]:
    """The statements of units in order, each once, with the place of its unit among `units`."""
    found: dict[tuple[tuple[Span, ...], str], tuple[int, UnitStatement]] = {}
    for place, unit in enumerate(units):
        for said in statements_of(unit):
            found.setdefault((said.support, said.text), (place, said))
    return list(found.values())


class Wording:
    """The words of a question, weighted by their rarity among some statements."""

    def __init__(self, question: str, statements: Sequence[UnitStatement]) -> None:
        self._statements = statements  # keeps them alive: their identities are keys
        asked = asked_words(question)
        dated = bool(dates_asked(question))
        self._said = {id(said): _stems_said(said, dated=dated) for said in statements}
        said_by = Counter(stem for _, seen in self._said.values() for stem in asked & seen)
        among = len(self._said) + 1
        self._weights = {stem: math.log(1 + among / (1 + said_by[stem])) for stem in sorted(asked)}
        self._whole = sum(self._weights.values()) or 1.0

    def share(self, *together: UnitStatement) -> float:
        """The share of the words that these statements say together, between 0 and 1; words only in headings count less."""
        own, seen = set[str](), set[str]()
        for said in together:
            of_said, above = self._said[id(said)]
            own |= of_said
            seen |= above
        reached = 0.0
        for stem, weight in self._weights.items():
            if stem in own:
                reached += weight
            elif stem in seen:
                reached += _ABOVE * weight
            elif not own.isdisjoint(RELATED.get(stem, ())):
                reached += 0.7 * weight
        return reached / self._whole


def asked_words(question: str) -> frozenset[str]:
    """The stems of a question's content words; each date counts as one word in a normal form."""
    dates = dates_asked(question)
    rest = question
    for written, _ in dates:
        rest = rest.replace(written, " ")
    asked = content_stems(rest) | {date for _, date in dates}
    return asked or frozenset(word.stem for word in words(question))


def _stems_said(said: UnitStatement, *, dated: bool) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of a statement without and with its title and headings, and its dates if the question has one."""
    own, seen = content_stems(said.said), content_stems(said.seen)
    if dated:
        own |= dates_said(said.said)
        seen |= own | dates_said(" ".join((said.unit.title, *said.path, said.block.date if said.block else "")))
    return own, seen
