"""Answers from a table cell or the value of a `key: value` line.

A cell answers a question that names its subject and attribute and wants a value of its type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import asked_words, asks_for_date, is_covered
from hoptrail.language.offline.contradicting import Assertion, settle
from hoptrail.text.cells import Cell, cells_of
from hoptrail.text.lexicon import MONTHS
from hoptrail.text.questions import Question, Wanted
from hoptrail.text.words import content_stems, words
from hoptrail.types import Span, Unit

_LONGEST = 120  # characters of the longest value that is a short answer
_LONGEST_NAME = 6  # words of a person's name or role; a longer text is a sentence
_AFTER_NAME = re.compile(r"\s*[(,;–]")
_WORDS_FOR = {
    Wanted.PERSON: "who name person owner contact responsible lead manager author by",
    Wanted.PLACE: "place location office base city town site address room shelf where",
    Wanted.DATE: "date when day start begin since until deadline due time joined launch",
    Wanted.YEAR: "year date since",
    Wanted.NUMBER: "number amount quantity total cost price count size weight length",
}
_ATTRIBUTES = {wanted: content_stems(attributes) for wanted, attributes in _WORDS_FOR.items()}
_MEASURE_WORDS = "cost price fee, count quantity stock pieces total, size length width height, weight, age old"
_MEASURES = tuple(map(content_stems, _MEASURE_WORDS.split(",")))  # kinds that must match: a price is no quantity
_DATED = re.compile(
    rf"\b(?:1[5-9]|20)\d\d\b|\b(?:{'|'.join(month[:3] for month in MONTHS)})|\b\d{{1,2}}:\d\d\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
_BARE = content_stems("date")
"""A column that is only called `date` is about the whole row: for a letter, when it was written."""
_ATTRIBUTE_OF = re.compile(r"\b(?:is|was|are|were) the ([a-z]+) of\b", re.IGNORECASE)
"""What is asked of something: the `birthday` of somebody is not the date since when."""
_FAMILY = 6  # number of first letters that words of one family share
_LEAST = 0.62
_ELSEWHERE = 0.88
"""Factor if the row names the subject only in another cell than its first: it may be about something else."""
_SAME = 1.0  # least share of common words, in attribute and first cell, of rows about the same thing
_CLEAR, _NARROW = 0.1, 0.04  # leads over the next best different value: clear, and too small to choose


@dataclass(frozen=True, slots=True)
class CellAnswer:
    """The answering value, its row's spans, its fit (0 to 1) and its ISO date or empty. `contested`: another document gives
    another value.
    """

    value: str
    support: tuple[Span, ...]
    fit: float
    date: str = ""
    contested: bool = False


def best_cell(question: Question, units: Sequence[Unit], avoid: frozenset[str]) -> CellAnswer | None:
    """The cell that answers a plain question. None if no cell fits, or if two fit equally and differ about different things; if
    two documents differ about the same thing, the answer is contested.

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
    fits.sort(key=lambda pair: -pair[0])
    if not fits:
        return None
    best, cell = fits[0]
    near = [other for fit, other in fits if best - fit <= _CLEAR]
    asserted = [Assertion(one.value.casefold(), one.attribute | one.key, one.support, one.date) for one in near]
    settled = settle(asserted, _SAME)
    if settled.others:
        holding = near[settled.place]
        spans = tuple(dict.fromkeys((*holding.support, *settled.others)))
        return CellAnswer(_shorten(question, asked, holding.value), spans, best, holding.date, settled.contested)
    lead = min((best - fit for fit, other in fits if other.value.casefold() != cell.value.casefold()), default=1.0)
    if lead < _NARROW:
        return None
    return CellAnswer(
        _shorten(question, asked, cell.value), cell.support, best if lead > _CLEAR else best - 0.15, cell.date
    )


def _fit(question: Question, asked: frozenset[str], known: frozenset[str], cell: Cell) -> float:
    """The share of the question in the cell's attribute, row and headings; 0 if its value is of the wrong type.

    A missing word that belongs to other cells (`known`) counts more than one that occurs nowhere, which may be a synonym.
    """
    by_attribute = {stem for stem in asked if is_covered(stem, cell.attribute)}
    meant = bool(_ATTRIBUTES.get(question.wanted, frozenset()) & cell.attribute)
    bare = cell.attribute == _BARE and meant and not by_attribute
    if not _is_wanted(question.wanted, cell.value) or not (by_attribute or meant) or _has_other_measure(asked, cell):
        return 0.0
    if not (asked - by_attribute) & (cell.subject | cell.above):
        return 0.0
    named = cell.attribute | cell.subject | cell.above
    families = {other[:_FAMILY] for other in named}  # of other forms of a word: `calibrated`, `calibration`
    known_form = [stem for stem in asked if len(stem) >= _FAMILY and stem[:_FAMILY] in families]
    missing = [stem for stem in asked if not is_covered(stem, named) and stem not in known_form]
    attribute_asked = _ATTRIBUTE_OF.search(question.text)
    is_other = attribute_asked is not None and not content_stems(attribute_asked[1]).isdisjoint(missing)
    spared = 1.0 if meant and not by_attribute and not bare and not is_other else 0.0
    against = sum(1.5 if stem in known or bare else 1.0 for stem in missing) - spared
    share = max(0.0, 1 - max(0.0, against) / max(1, len(asked)))
    elsewhere = bool(asked & cell.subject) and not asked & cell.key
    return share * (_ELSEWHERE if elsewhere else 1.0)


def _has_other_measure(asked: frozenset[str], cell: Cell) -> bool:
    """Whether the question names a measure (`price`) but the cell's attribute another (`count`)."""
    named = [measure for measure in _MEASURES if measure & asked]
    return bool(named) and not any(measure & cell.attribute for measure in named) and not asked & cell.attribute


def _is_wanted(wanted: Wanted, value: str) -> bool:
    if wanted in {Wanted.DATE, Wanted.YEAR}:
        return _DATED.search(value) is not None
    if wanted is Wanted.NUMBER:
        return any(map(str.isdigit, value))
    if wanted is Wanted.PERSON:
        name = _AFTER_NAME.split(value)[0]
        return value[:1].isupper() and len(words(name)) <= _LONGEST_NAME and not any(map(str.isdigit, name))
    return wanted is not Wanted.YES_NO


def _shorten(question: Question, asked: frozenset[str], value: str) -> str:
    """Shorten a value to the first of several persons, or to the only part with a word of the question."""
    if question.wanted is Wanted.PERSON:
        return _AFTER_NAME.split(value)[0] or value
    matching = [part for part in re.split(r"[,;]\s+", value) if asked & content_stems(part)]
    return matching[0] if len(matching) == 1 else value
