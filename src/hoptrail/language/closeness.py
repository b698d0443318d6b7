"""The statements that come closest to a question, among those of units that were found for it.

A statement's closeness adds up how much of the question it says, rare words counting more (a word in the headings above it counts
less), how similar its meaning is by the encoder, and how early its unit stands. It says nothing of whether the
statement settles the question.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hoptrail.text.dates import dates_asked, dates_said
from hoptrail.text.statements import LONGEST, Said, statements_of
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import Kind, Unit

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Cosines of a question with sentences, between -1 and 1."""

_DATE = re.compile(r"(?:\d{4}|-)-\d\d(?:-\d\d)?")
_UNITS = 8
"""Units whose statements are weighed, best first."""
_ENCODED = 20
"""Statements handed to the encoder, best by words first."""
_ABOVE = 0.6
"""What a word in title or headings counts, against one in the statement itself."""
_MEANING, _RANK = 0.9, 0.15
"""Weights of the encoder's cosine and of the unit's place in the ranking, beside the share of words (0 to 1)."""


@dataclass(frozen=True, slots=True)
class Close:
    """A statement with its closeness to the question (about 0 to 2) and the share of the question's words that it says."""

    said: Said
    closeness: float
    share: float


def close_statements(question: str, units: Sequence[Unit], similarity: Similarity | None) -> tuple[Close, ...]:
    """The statements of the first passages and sentences among `units`, closest first; each once, wherever it was found."""
    units = [unit for unit in units if unit.kind in {Kind.PASSAGE, Kind.SENTENCE}][:_UNITS]
    rank: dict[tuple[str, int, int], int] = {}
    found: list[Said] = []
    for place, unit in enumerate(units):
        first = unit.sources[0].start
        for said in statements_of(unit):
            key = (unit.document, first + said.start, first + said.end)
            if key not in rank:
                rank[key] = place
                found.append(said)
    asked = asked_words(question)
    stems_said = [_stems_said(one, asked) for one in found]
    weights = _weights(asked, stems_said)
    scored = [
        (said, _share(weights, *by), _RANK / (1 + place))
        for said, by, place in zip(found, stems_said, rank.values(), strict=True)
    ]
    scored.sort(key=lambda one: -(one[1] + one[2]))
    cosines = _cosines(question, [said for said, _, _ in scored[:_ENCODED]], similarity)
    close = [
        Close(said, share + bonus + _MEANING * cosine, share)
        for (said, share, bonus), cosine in zip(scored, cosines, strict=False)
    ]
    return tuple(sorted(close, key=lambda one: -one.closeness))


def asked_words(question: str) -> frozenset[str]:
    """The meaningful words of a question, a date in it as one, however it is written."""
    dates = dates_asked(question)
    rest = question
    for written, _ in dates:
        rest = rest.replace(written, " ")
    asked = content_stems(rest) | {date for _, date in dates}
    return asked or frozenset(word.stem for word in words(question))


def asks_for_date(asked: frozenset[str]) -> bool:
    """Whether a date is among the words that are asked."""
    return any(_DATE.fullmatch(one) for one in asked)


def _stems_said(said: Said, asked: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a statement, and those with its title and headings; its dates too, where the question asks for one."""
    own, seen = content_stems(said.said), content_stems(said.seen)
    if asks_for_date(asked):
        own |= dates_said(said.said)
        seen |= own | dates_said(" ".join((said.unit.title, *said.path, said.block.date if said.block else "")))
    return own, seen


def _weights(asked: frozenset[str], stems_said: Sequence[tuple[frozenset[str], frozenset[str]]]) -> dict[str, float]:
    """A word of the question that few statements say counts more."""
    count = Counter(stem for _, seen in stems_said for stem in asked & seen)
    return {stem: math.log(1 + (len(stems_said) + 1) / (1 + count[stem])) for stem in sorted(asked)}


def _share(weights: Mapping[str, float], own: frozenset[str], seen: frozenset[str]) -> float:
    total = sum(weights.values()) or 1.0
    reached = 0.0
    for stem, weight in weights.items():
        if stem in own:
            reached += weight
        elif stem in seen:
            reached += _ABOVE * weight
        elif RELATED.get(stem, frozenset()) & own:
            reached += 0.7 * weight
    return reached / total


def _cosines(question: str, statements: Sequence[Said], similarity: Similarity | None) -> Sequence[float]:
    if similarity is None or not statements:
        return [0.0] * len(statements)
    return similarity(question, [said.seen[: 2 * LONGEST] for said in statements])
