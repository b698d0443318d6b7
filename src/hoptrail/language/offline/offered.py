"""Questions that offer two things and ask which of them is more or less so: `Which takes longer, the quiz or the workshop?`

The value of each side is read where a statement names it: in the cell of its row, or right after its name in a sentence. Both
values must be dates, or numbers of the same unit; otherwise nothing is said. Sides need no capital letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.dates import dates_said
from hoptrail.text.lexicon import AGES, EARLIER, FUNCTION_WORDS, LATER, LESS, MORE, PREPOSITIONS, word_set
from hoptrail.text.statements import Said
from hoptrail.text.values import read_number, with_unit
from hoptrail.text.words import content_stems, words
from hoptrail.types import Span, Unit

_EARLY = EARLIER - {"before"}
_LATE = LATER - {"recently", "recent", "after"}
_MORE = MORE | word_set("dearer costlier heaviest widest deepest")
_LESS = LESS | word_set("least cheaper cheapest nearest")
_SINCE = re.compile(r"\bbeen\b.*\blonger\b")
"""Who has been somewhere longer came earlier."""
_CLOSE = 40
_BELIEF = 0.55
"""Raw belief that both values are of what is compared."""
_YEAR = re.compile(r"(?<![\d.,/-])(?:1[0-9]|20)\d\d(?![\d.,/-]?\d)")
_NUMBER = re.compile(r"(?<![\w.,/-])(?:[€£$]\s?)?\d[\d,]*(?:\.\d+)?(?![\w/]|[-.,]\d)")
_UNIT = re.compile(r"[^\d.,\s]+")
_REACH = 60
"""Characters after a name within which its value stands."""


@dataclass(frozen=True, slots=True)
class Offered:
    """Two sides as written, and the question's other words; `dates`: dates are compared; `greatest`: the greater is asked for."""

    sides: tuple[str, str]
    rest: frozenset[str]
    dates: bool
    greatest: bool


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a side: what orders it, its unit (empty: not said), how well its statement fits, and where that stands."""

    order: tuple[float, ...] | str
    unit: str
    fit: float
    said: Said


def find_offered(question: str) -> Offered | None:
    """The sides and the order that a question asks for; None where it offers no choice or orders nothing."""
    text = " ".join(question.split()).rstrip(" ?.!")
    left, joined, other = text.rpartition(" or ")
    ordering = next((word.lower for word in words(text) if word.lower in _EARLY | _LATE | _MORE | _LESS), "")
    if not joined or not ordering or not left.strip():
        return None
    start = _first_side(left, other, ordering)
    one, other = _trimmed(left[start:], ordering), _trimmed(other, ordering)
    if not one or not other:
        return None
    since = _SINCE.search(text.lower()) is not None
    dates = since or ordering in _EARLY | _LATE
    rest = content_stems(left[:start]) - content_stems(ordering)
    if ordering in AGES and words(text)[0].lower == "who":
        rest |= content_stems("born")
    return Offered((one, other), rest, dates, not since and ordering in _LATE | _MORE)


def _first_side(left: str, other: str, ordering: str) -> int:
    """Where the first side begins: after a comma, at the word with which the other side begins too, or after the ordering."""
    mark = max(left.rfind(","), left.rfind(":"))
    if mark >= 0:
        return mark + 1
    opening = words(other)[0].lower if words(other) else ""
    found = words(left)
    if opening in FUNCTION_WORDS | PREPOSITIONS:
        same = [word.start for word in found if word.lower == opening]
        if same:
            return same[-1]
    ordered = [word.end for word in found if word.lower == ordering]
    return ordered[-1] if ordered else len(left.rstrip()) - len(left.rsplit(maxsplit=1)[-1])


def _trimmed(side: str, ordering: str) -> str:
    """A side without the preposition before it, and without the ordering word that ends the question."""
    found = [word for word in words(side) if word.lower != ordering]
    while found and found[0].lower in PREPOSITIONS:
        found.pop(0)
    return side[found[0].start : found[-1].end] if found else ""


def weigh_sides(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The side whose value the question asks for, citing both values; an abstention where the values do not tell."""
    offered = find_offered(question)
    if offered is None:
        return Reading(None)
    statements = [close.said for close in close_statements(question, units, similarity)[:_CLOSE]]
    names = _names(offered.sides)
    found = [list(_values(names[at], names[1 - at], offered, statements)) for at in range(2)]
    pairs = [(one.fit + other.fit, one, other) for one in found[0] for other in found[1] if _comparable(one, other)]
    if not pairs:
        return Reading(None)
    _, one, other = max(pairs, key=lambda pair: pair[0])
    first = (one.order > other.order) is offered.greatest  # type: ignore[operator]
    answer = offered.sides[0] if first else offered.sides[1]
    spans = dict.fromkeys(span for value in (one, other) for span in _support(value.said))
    return Reading(answer, (Step(question, answer, tuple(spans)),), _BELIEF)


def _names(sides: tuple[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words that tell each side: those in capitals where it has some, without what both share."""
    told = []
    for side in sides:
        capitals = frozenset(word.stem for word in words(side) if word.capitalised or any(map(str.isdigit, word.text)))
        told.append(capitals & content_stems(side) or content_stems(side))
    return told[0] - told[1] or told[0], told[1] - told[0] or told[1]


def _comparable(one: _Value, other: _Value) -> bool:
    """Whether the values tell: 2018 and September 2018 are neither earlier nor later than each other."""
    if isinstance(one.order, str) and isinstance(other.order, str):
        return not one.order.startswith(other.order) and not other.order.startswith(one.order)
    return one.order != other.order and (one.unit == other.unit or not one.unit or not other.unit)


def _values(name: frozenset[str], rival: frozenset[str], offered: Offered, said: Sequence[Said]) -> Iterator[_Value]:
    for place, statement in enumerate(said):
        is_row = statement.block is not None and bool(statement.block.cells)
        text = statement.said if is_row else statement.text
        if not name or not name <= content_stems(text):
            continue
        met = offered.rest & content_stems(" ".join((statement.unit.title, *statement.path, text)))
        if not is_row and (met != offered.rest if offered.dates else bool(offered.rest) and not met):
            continue  # whose birth, or whose death, a date in a sentence is: that has to be said
        fit = len(met) - place / len(said)
        text = text if is_row else _after(text, name, rival)
        if offered.dates:
            yield from (_Value(date, "", fit, statement) for date in _dates(text)[:1])
        else:
            yield from (_Value((number,), unit, fit, statement) for number, unit in _numbers(text, offered)[:1])


def _after(text: str, name: frozenset[str], rival: frozenset[str]) -> str:
    """What follows the name in a sentence, up to where the other side is named."""
    found = words(text)
    last = max((word.end for word in found if word.stem in name), default=0)
    stop = min((word.start for word in found if word.stem in rival and word.start >= last), default=len(text))
    return text[last : min(stop, last + _REACH)]


def _dates(text: str) -> list[str]:
    whole = sorted((date for date in dates_said(text) if date[0].isdigit()), key=lambda date: (-len(date), date))
    return whole or [match.group() for match in _YEAR.finditer(text)]


def _numbers(text: str, offered: Offered) -> list[tuple[float, str]]:
    """Numbers with their units, those under a header or after a word that the question says first."""
    found: list[tuple[bool, int, float, str]] = []
    dated = [match.span() for match in _YEAR.finditer(text)]
    for match in _NUMBER.finditer(text):
        number = read_number(match.group())
        if number is None or match.span() in dated:
            continue
        start, end = match.span()
        written = with_unit(text, start, end)
        unit = "".join(_UNIT.findall(written)).casefold()
        asked = bool(offered.rest & content_stems(text[max(0, start - 40) : start]))
        found.append((not asked, start, number, unit))
    return [(number, unit) for _, _, number, unit in sorted(found)]


def _support(said: Said) -> tuple[Span, ...]:
    return said.support
