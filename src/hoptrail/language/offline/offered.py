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
from hoptrail.text.lexicon import AGES, EARLIER, FUNCTION_WORDS, LATER, LESS, MORE, PREPOSITIONS, word_set
from hoptrail.text.statements import Said
from hoptrail.text.values import date_order, quantities_in, read_date
from hoptrail.text.words import content_stems, words
from hoptrail.types import Unit

_EARLY = EARLIER - {"before"}
_LATE = LATER - {"recently", "recent", "after"}
_MORE = MORE | word_set("dearer costlier heaviest widest deepest")
_LESS = LESS | word_set("least cheaper cheapest nearest")
_SINCE = re.compile(r"\bbeen\b.*\blonger\b")
"""Who has been somewhere longer came earlier."""
_FIRST_YEAR = 1000
"""What is smaller is a number and no year."""
_CLOSE = 40
_BELIEF = 0.55
"""Raw belief that both values are of what is compared."""
_BEFORE = 40
"""Characters before a number that may say what it is of."""
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

    order: tuple[float, ...]
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
    orders = ((one, other, _order(one, other, dates=offered.dates)) for one in found[0] for other in found[1])
    ordered = [(one.fit + other.fit, order, one, other) for one, other, order in orders if order]
    if not ordered:
        return Reading(None)
    _, order, one, other = max(ordered, key=lambda pair: pair[0])
    answer = offered.sides[(order > 0) is not offered.greatest]
    spans = dict.fromkeys(span for value in (one, other) for span in value.said.support)
    return Reading(answer, (Step(question, answer, tuple(spans)),), _BELIEF)


def _names(sides: tuple[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words that tell each side: those in capitals where it has some, without what both share."""
    distinct = []
    for side in sides:
        capitals = frozenset(word.stem for word in words(side) if word.capitalised or any(map(str.isdigit, word.text)))
        distinct.append(capitals & content_stems(side) or content_stems(side))
    return distinct[0] - distinct[1] or distinct[0], distinct[1] - distinct[0] or distinct[1]


def _order(one: _Value, other: _Value, *, dates: bool) -> int:
    """1 where the first is the greater or later one, -1 where the other is; 0 where the values do not tell."""
    if dates:
        return date_order(one.order, other.order) or 0  # type: ignore[arg-type]
    comparable = one.unit == other.unit or not one.unit or not other.unit
    return comparable * ((one.order > other.order) - (one.order < other.order))


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
            date = read_date(text)
            found = [_Value(date, "", fit, statement)] if date and date[0] >= _FIRST_YEAR else []
        else:
            numbers = sorted((not _is_asked(offered, text, one.start), one) for one in quantities_in(text))
            found = [_Value((one.number,), one.unit, fit, statement) for _, one in numbers]
        yield from found[:1]


def _is_asked(offered: Offered, text: str, start: int) -> bool:
    """Whether a header or a word that the question says stands before a number."""
    return bool(offered.rest & content_stems(text[max(0, start - _BEFORE) : start]))


def _after(text: str, name: frozenset[str], rival: frozenset[str]) -> str:
    """What follows the name in a sentence, up to where the other side is named."""
    found = words(text)
    last = max((word.end for word in found if word.stem in name), default=0)
    stop = min((word.start for word in found if word.stem in rival and word.start >= last), default=len(text))
    return text[last : min(stop, last + _REACH)]
