"""Answers that stand in a cell of a table, or after the colon of a `key: value` line.

A cell answers a question that names its subject, asks for its attribute and wants a value of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import asked_words, asks_for_date
from hoptrail.language.offline.contradicting import Assertion, replaced, which_holds
from hoptrail.text.cells import Cell, cells_of
from hoptrail.text.lexicon import MONTHS
from hoptrail.text.questions import Question, Wanted
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import Span, Unit

_LONGEST = 120
"""Characters of a value that is a short answer."""
_LONGEST_NAME = 6
"""Words of a person's name or role: more are a sentence."""
_AFTER_NAME = re.compile(r"\s*[(,;–]")
_WORDS_FOR = {
    Wanted.PERSON: "who name person owner contact responsible lead manager author by",
    Wanted.PLACE: "place location office base city town site address room shelf where",
    Wanted.DATE: "date when day start begin since until deadline due time joined launch",
    Wanted.YEAR: "year date since",
    Wanted.NUMBER: "number amount quantity total cost price count size weight length",
}
_ATTRIBUTES = {wanted: content_stems(attributes) for wanted, attributes in _WORDS_FOR.items()}
_MEASURES = tuple(
    map(
        content_stems,
        ("cost price fee", "count quantity stock pieces total", "size length width height", "weight", "age"),
    )
)
"""What numbers are of: a price is no quantity."""
_DATED = re.compile(
    rf"\b(?:1[5-9]|20)\d\d\b|\b(?:{'|'.join(month[:3] for month in MONTHS)})|\b\d{{1,2}}:\d\d\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
_BARE = content_stems("date")
"""A date of which nothing is said belongs to the whole row: of a letter it is when that was written."""
_FAMILY = 6
"""Letters that tell a family of words."""
_LEAST = 0.62
_ELSEWHERE = 0.88
"""Where a row names what is asked about, but in another cell than its first: it may be about something else."""
_SAME = 1.0
"""What share of their words the attribute and first cell of two rows have in common that say something of one thing."""
_CLEAR, _NARROW = 0.1, 0.04
"""Leads over the next best value that says something else: clear, and too small to choose."""


@dataclass(frozen=True, slots=True)
class CellFound:
    """The value that answers, with its row and how well it fits (0 to 1). `contested`: another document gives another value."""

    value: str
    support: tuple[Span, ...]
    fit: float
    contested: bool = False


def best_cell(question: Question, units: Sequence[Unit], avoid: frozenset[str]) -> CellFound | None:
    """The cell that answers a plain question, or None where none fits, or two fit as well and say different things of
    different things; where two documents differ about one thing, the answer is contested.

    `avoid`: stems of names that are no answer.
    """
    asked = asked_words(question.text)
    fits: list[tuple[float, Cell]] = []
    cells = list(cells_of(units, dated=asks_for_date(asked)))
    known = frozenset[str]().union(*(cell.attribute | cell.subject | cell.above for cell in cells))
    for cell in cells:
        stems = content_stems(cell.value)
        if len(cell.value) > _LONGEST or not stems or stems <= asked or stems <= avoid:
            continue
        if (fit := _fit(question, asked, known, cell)) >= _LEAST:
            fits.append((fit, cell))
    fits.sort(key=lambda one: -one[0])
    if not fits:
        return None
    best, cell = fits[0]
    near = [one for fit, one in fits if best - fit <= _CLEAR]
    held = which_holds([_asserted(one) for one in near], _SAME)
    against = [one for one in near if _asserted(one).contradicts(_asserted(cell), _SAME)]
    if against:
        holds = near[held or 0]
        others = [span for one in (cell, *against) if one is not holds for span in one.support]
        spans = dict.fromkeys((*holds.support, *(others if held is None else replaced(others))))
        return CellFound(_worded(question, asked, holds.value), tuple(spans), best, contested=held is None)
    lead = min((best - fit for fit, one in fits if one.value.casefold() != cell.value.casefold()), default=1.0)
    if lead < _NARROW:
        return None
    return CellFound(_worded(question, asked, cell.value), cell.support, best if lead > _CLEAR else best - 0.15)


def _asserted(cell: Cell) -> Assertion:
    """What a cell says of the first one of its row."""
    return Assertion(cell.value.casefold(), cell.attribute | cell.key, cell.support[0].document, cell.date)


def _fit(question: Question, asked: frozenset[str], known: frozenset[str], cell: Cell) -> float:
    """How much of the question the cell's attribute, row and headings say; 0 where its value is of another kind.

    A word of the question that is said of other cells (`known`), but not of this one, counts more against it than one that is
    said nowhere: that may be another word for the same.
    """
    by_attribute = {stem for stem in asked if stem in cell.attribute or RELATED.get(stem, frozenset()) & cell.attribute}
    meant = bool(_ATTRIBUTES.get(question.wanted, frozenset()) & cell.attribute)
    bare = cell.attribute == _BARE and meant and not by_attribute
    if not _is_wanted(question.wanted, cell.value) or not (by_attribute or meant) or _of_another_measure(asked, cell):
        return 0.0
    if not (asked - by_attribute) & (cell.subject | cell.above):
        return 0.0
    named = cell.attribute | cell.subject | cell.above
    missing = [
        stem
        for stem in asked
        if stem not in named and not RELATED.get(stem, frozenset()) & named and not _is_form(stem, named)
    ]
    spared = 1.0 if meant and not by_attribute and not bare else 0.0
    against = sum(1.5 if stem in known or bare else 1.0 for stem in missing) - spared
    share = max(0.0, 1 - max(0.0, against) / max(1, len(asked)))
    elsewhere = bool(asked & cell.subject) and not asked & cell.key
    return share * (_ELSEWHERE if elsewhere else 1.0)


def _of_another_measure(asked: frozenset[str], cell: Cell) -> bool:
    """Whether the question names a measure, `price`, and the cell's attribute another, `count`."""
    named = [measure for measure in _MEASURES if measure & asked]
    return bool(named) and not any(measure & cell.attribute for measure in named) and not asked & cell.attribute


def _is_form(stem: str, named: frozenset[str]) -> bool:
    """Whether a longer or shorter form of a word is named: `calibrated`, `calibration`."""
    return len(stem) >= _FAMILY and any(one[:_FAMILY] == stem[:_FAMILY] and len(one) >= _FAMILY for one in named)


def _is_wanted(wanted: Wanted, value: str) -> bool:
    """Whether a value may be of the type that the question wants."""
    match wanted:
        case Wanted.DATE | Wanted.YEAR:
            return _DATED.search(value) is not None
        case Wanted.NUMBER:
            return any(character.isdigit() for character in value)
        case Wanted.PERSON:
            name = _AFTER_NAME.split(value)[0]
            return value[:1].isupper() and len(words(name)) <= _LONGEST_NAME and not any(map(str.isdigit, name))
        case Wanted.YES_NO:
            return False
    return True


def _worded(question: Question, asked: frozenset[str], value: str) -> str:
    """Of a person only the first name: `Priya Raman (firmware), overall lead Tomasz Wilk` names what else somebody does.

    Of several parts the one that alone says a word of the question: `two years on the pump, one year on the rest`.
    """
    if question.wanted is Wanted.PERSON:
        return _AFTER_NAME.split(value)[0] or value
    saying = [part for part in re.split(r"[,;]\s+", value) if asked & content_stems(part)]
    return saying[0] if len(saying) == 1 else value
