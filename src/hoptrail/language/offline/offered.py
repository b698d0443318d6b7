"""Which of two offered sides is more or less, by their values: `Which takes longer, the quiz or the workshop?`.

Each side's value is read from a statement that names it: from its table row, or directly after its name in a sentence. Both
values must be dates or numbers of the same unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.offline.evidence import text_of
from hoptrail.language.questions.choices import FIRST, LAST, MOST, find_choice
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import AGES
from hoptrail.text.statements import UnitStatement
from hoptrail.text.values import date_order, quantities_in, read_date
from hoptrail.text.words import content_stems, words
from hoptrail.types import Unit

_FIRST_YEAR = 1000  # smaller numbers are not years
_CLOSE = 40
_CONFIDENCE = 0.55  # confidence that both values are of the compared kind
_BEFORE = 40  # characters before a number; a number with a word of the question there comes first
_REACH = 60  # characters after a name in which its value may be


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a side: its sort key, its unit (empty: unknown), the fit of its statement, and the statement."""

    order: tuple[float, ...]
    unit: str
    fit: float
    said: UnitStatement


def weigh_sides(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The side with the value that the question asks for, citing both values; an abstention if the values do not decide."""
    choice = find_choice(question)
    if choice is None or not choice.ordering:
        return Reading(None)
    asked, ordering = choice.ask.lower(), choice.ordering
    dates, greatest = ordering in FIRST | LAST, ordering in LAST | MOST
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
