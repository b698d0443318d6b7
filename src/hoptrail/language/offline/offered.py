"""Questions that offer two sides, and which of them is more or less: `Which takes longer, the quiz or the workshop?`.

Each side's value is read from a statement that names it: from its table row, or directly after its name in a sentence. Both
values must be dates or numbers of the same unit. Sides need no capital letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.offline.evidence import text_of
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import AGES, EARLIER, FUNCTION_WORDS, LATER, LESS, MORE, PREPOSITIONS, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.statements import UnitStatement
from hoptrail.text.values import date_order, quantities_in, read_date
from hoptrail.text.words import content_stems, words
from hoptrail.types import Unit

_EARLY = EARLIER - {"before"}
_LATE = LATER - {"recently", "recent", "after"}
_MORE = MORE | word_set(
    "dearer costlier heaviest widest deepest thicker warmer hotter wetter brighter louder stronger busier"
)
_LESS = LESS | word_set("least cheaper cheapest nearest thinner narrower colder cooler drier darker quieter weaker")
_MARK = re.compile(r"[,:]| between ")
_CLAUSE = re.compile(r"[,:] (?=[a-z])")
_FIRST_YEAR = 1000  # smaller numbers are not years
_CLOSE = 40
_CONFIDENCE = 0.55  # confidence that both values are of the compared kind
_BEFORE = 40  # characters before a number; a number with a word of the question there comes first
_REACH = 60  # characters after a name in which its value may be


@dataclass(frozen=True, slots=True)
class Choice:
    """What a question asks of two sides, the sides as written, and its ordering word (empty: it has none)."""

    ask: str
    sides: tuple[str, str]
    ordering: str


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a side: its sort key, its unit (empty: unknown), the fit of its statement, and the statement."""

    order: tuple[float, ...]
    unit: str
    fit: float
    said: UnitStatement


def find_choice(question: str) -> Choice | None:
    """The two sides that a question offers: `..., A or B`, `... between A and B`, or two names with `or` between them."""
    text = " ".join(question.split()).rstrip(" ?.!")
    ordering = next((word.lower for word in words(text) if word.lower in _EARLY | _LATE | _MORE | _LESS), "")
    if not ordering:
        return _names_offered(text)
    lead, between, _ = text.partition(" between ")
    is_between = " or " not in text and between and ordering in lead.lower().split()
    left, joined, other = text.rpartition(" and " if is_between else " or ")
    if not joined or not left.strip() or re.search(rf"\b{ordering} than (?!the other\b)", text.lower()):
        return None
    start, ask = _first_side(left, other, ordering), ""
    if all(word.lower != ordering for word in words(left)):  # `A or B, which is older?`
        if mark := _MARK.search(other):
            start, other, ask = left.rfind(",") + 1, other[: mark.start()], other[mark.end() :].strip()
        elif named := _names_offered(text):
            return replace(named, ordering=ordering)
        elif left.rstrip().endswith(","):
            return None  # a clause about the first side: `Is the Tern, built in 1901, or the Gull older?`
    sides = _trim(left[start:], ordering), _trim(_CLAUSE.split(other)[0], ordering)
    ask = ask or left[:start].rstrip(" ,:").removesuffix(" between")
    return Choice(ask, sides, ordering) if all(sides) else None


def _names_offered(text: str) -> Choice | None:
    """The first two names with only `or` between them."""
    for one, other in pairwise(find_names(text)):
        if text[one.end : other.start].lower().replace("the ", "").strip(' ,".') == "or":
            return Choice(text[: one.start] + text[other.end :].lstrip(), (one.text, other.text), "")
    return None


def _first_side(left: str, other: str, ordering: str) -> int:
    """Where the first side begins: after a mark, at the word that also opens the other side, or after the ordering word."""
    said = words(left)
    ordered = next((word.end for word in reversed(said) if word.lower == ordering), 0)
    if mark := _MARK.search(left, ordered) or _MARK.search(left):
        return mark.end()
    opening = words(other)[0].lower if words(other) else ""
    same = [word.start for word in said if word.lower == opening]
    if same and opening in FUNCTION_WORDS | PREPOSITIONS:
        return same[-1]
    if ordered:
        return ordered
    return len(left.rstrip()) - len(left.rsplit(maxsplit=1)[-1])


def _trim(side: str, ordering: str) -> str:
    """A side without prepositions before it and without the ordering word before or after it."""
    rest = words(side)
    while rest and (rest[0].text in PREPOSITIONS or rest[0].text == ordering):
        rest = rest[1:]
    if not rest:
        return ""
    return side[rest[0].start : rest[-2].end if rest[-1].text == ordering and rest[1:] else None].strip(" ,")


def weigh_sides(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The side with the value that the question asks for, citing both values; an abstention if the values do not decide."""
    choice = find_choice(question)
    if choice is None or not choice.ordering:
        return Reading(None)
    asked, ordering = choice.ask.lower(), choice.ordering
    dates, greatest = ordering in _EARLY | _LATE, ordering in _LATE | _MORE
    born = content_stems("born") if ordering in AGES and asked.startswith("who ") else frozenset[str]()
    rest = content_stems(choice.ask) - content_stems(ordering) | born
    statements = [close.said for close in close_statements(question, units, similarity)[:_CLOSE]]
    names = _names(choice.sides)
    first, second = (list(_values(names[at], names[1 - at], rest, statements, dates=dates)) for at in range(2))
    pairs = [(one, other, _order(one, other, dates=dates)) for one in first for other in second]
    ordered = [(one.fit + other.fit, order, one, other) for one, other, order in pairs if order]
    if not ordered:
        return Reading(None)
    _, order, one, other = max(ordered, key=lambda pair: pair[0])
    answer = choice.sides[(order > 0) is not greatest]
    spans = dict.fromkeys(span for value in (one, other) for span in value.said.support)
    return Reading(answer, (Step(question, answer, tuple(spans)),), _CONFIDENCE)


def _names(sides: tuple[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """The stems that identify each side: those in capitals, if any, without those of both."""
    distinct = []
    for side in sides:
        capitals = frozenset(word.stem for word in words(side) if word.capitalised or any(map(str.isdigit, word.text)))
        distinct.append(capitals & content_stems(side) or content_stems(side))
    return distinct[0] - distinct[1] or distinct[0], distinct[1] - distinct[0] or distinct[1]


def _order(one: _Value, other: _Value, *, dates: bool) -> int:
    """1 if the first value is greater or later, -1 if the other is, 0 if they do not compare."""
    if dates:
        return date_order(one.order, other.order) or 0  # type: ignore[arg-type]
    comparable = one.unit == other.unit or not one.unit or not other.unit
    return comparable * ((one.order > other.order) - (one.order < other.order))


def _values(
    name: frozenset[str],
    rival: frozenset[str],
    rest: frozenset[str],
    statements: Sequence[UnitStatement],
    *,
    dates: bool,
) -> Iterator[_Value]:
    """The values of a side, at most one from each statement that names it. `rest`: the stems of what is asked."""
    for place, statement in enumerate(statements):
        is_row = statement.block is not None and bool(statement.block.cells)
        text = statement.said if is_row else statement.text
        column = _columns_of(name, statement) if not name & rest else ""
        if not name or not name <= content_stems(text):
            continue
        met = rest & content_stems(" ".join((statement.unit.title, *statement.path, text)))
        if not is_row and (met != rest if dates else rest and not met):
            continue  # a sentence must say whether its date is of a birth or a death
        fit = len(met) - place / len(statements)
        text = column or (text if is_row else _after(text, name, rival))
        if not dates:
            numbers = [(not rest & content_stems(text[: one.start][-_BEFORE:]), one) for one in quantities_in(text)]
            yield from (_Value((number.number,), number.unit, fit, statement) for _, number in sorted(numbers)[:1])
        elif (date := read_date(text)) and date[0] >= _FIRST_YEAR:
            yield _Value(date, "", fit, statement)


def _columns_of(name: frozenset[str], statement: UnitStatement) -> str:
    """The cells of a row whose headers name a side: `2023` and `2024` as columns; empty if there are none."""
    cells = statement.block.cells if statement.block is not None else ()
    return " ".join(text_of(statement, cell) for cell in cells if name <= content_stems(cell.header))


def _after(text: str, name: frozenset[str], rival: frozenset[str]) -> str:
    """The text after the name in a sentence, up to the name of the other side."""
    last = max((word.end for word in words(text) if word.stem in name), default=0)
    stop = min((word.start for word in words(text) if word.stem in rival and word.start >= last), default=len(text))
    return text[last : min(stop, last + _REACH)]
