"""What became of a question about somebody's own documents: answered right, shown, missed, or answered wrong.

    right    short and yes-no: the words of an accepted answer stand next to each other in what is given, which is at most three
             words longer (yes-no: its first word). List, steps, passage: every item, in any of its spellings, is in what is
             given; a list has at most half as many again and one. Unanswerable: nothing is given
    shown    nothing is given, and one of the three closest statements settles the question
    missed   nothing is given and nothing is shown
    wrong    something else is given

A text settles a question when it has four fifths of the distinct words of one of the question's `shows` strings; of a statement
the first 300 characters count. The question says by what it is judged: by its items where it has some, else by its accepted
answers. Case, punctuation and how accents are stored do not count. Pure functions over records; reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice

from hoptrail.evaluation.datasets import Question
from hoptrail.text.normal_forms import folded
from hoptrail.text.words import LETTERS
from hoptrail.types import Answer, AnswerKind, Ranking

YES_NO = "yes-no"
"""The type of a question whose answer's first word is compared alone."""

LONGER = 3
"""So many words more than an accepted answer may be given."""

STATEMENTS, STATEMENT_CHARACTERS = 3, 300
"""How many of the closest statements count, and how much of each."""

HITS = 5
"""How many hits are looked at for what settles a question."""

SETTLING_SHARE = 0.8
"""Of the distinct words of a `shows` string."""

_LETTERS = rf"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|{LETTERS}"
"""A word, or a character of a script that has no spaces between words."""

_WORD = re.compile(rf"\d+(?:[.,:]\d+)+|{_LETTERS}")
"""A number is one word: 12 is neither in 12.5 nor in 12,000."""

_PART = re.compile(_LETTERS)
"""Readers put other marks between the cells of a row than its file does, so here a comma always parts: `UT-4,310,B7`."""


class Outcome(StrEnum):
    """What became of a question."""

    RIGHT = "right"
    SHOWN = "shown"
    MISSED = "missed"
    WRONG = "wrong"


def outcome_of(question: Question, answer: Answer) -> Outcome:
    """The outcome of an answer or abstention. A question that failed is no abstention: its outcome is `MISSED`."""
    if is_right(question, answer.text, answer.kind, answer.items):
        return Outcome.RIGHT
    if answer.text is not None:
        return Outcome.WRONG
    statements = (statement.said[:STATEMENT_CHARACTERS] for statement in answer.closest[:STATEMENTS])
    return Outcome.SHOWN if settles(question, statements) else Outcome.MISSED


def is_right(
    question: Question, given: str | None, kind: AnswerKind = AnswerKind.SHORT, items: Sequence[str] = ()
) -> bool:
    """Whether what is given (None: nothing) is right. `items` are those of a list, which may not be much too long."""
    if given is None or question.unanswerable:
        return given is None and question.unanswerable
    if question.items:
        longest = 1.5 * len(question.items) + 1
        fits = kind is not AnswerKind.LIST or len(items) <= longest
        return fits and all(any(_stands_in(one, given) for one in spellings) for spellings in question.items)
    return any(_says(given, accepted, question) for accepted in question.answers)


def settles(question: Question, texts: Iterable[str]) -> bool:
    """Whether one of the texts has four fifths of the distinct words of a string that settles the question."""
    wanted = [parts for string in question.shows if (parts := _parts(string))]
    return any(len(parts & found) >= SETTLING_SHARE * len(parts) for found in map(_parts, texts) for parts in wanted)


def settled_by_hits(question: Question, ranking: Ranking) -> bool | None:
    """Whether the text of one of the first five hits settles the question; None where nothing is said to settle it.

    The text is the unit's own, as a search shows it: without the title and the headings that are searched as well.
    """
    return settles(question, (hit.unit.text for hit in islice(ranking, HITS))) if question.shows else None


def _says(given: str, accepted: str, question: Question) -> bool:
    said, wanted = _words(given), _words(accepted)
    if question.type == YES_NO or wanted in (["yes"], ["no"]):
        return said[:1] == wanted[:1]
    return _stands_in(accepted, given) and len(said) <= len(wanted) + LONGER


def _stands_in(spelling: str, text: str) -> bool:
    """Whether the words of a spelling stand next to each other in a text; one without words, as it is."""
    wanted, found = _words(spelling), _words(text)
    if not wanted:
        return folded(spelling) in folded(text)
    starts = range(len(found) - len(wanted) + 1)
    return any(found[start : start + len(wanted)] == wanted for start in starts)


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


def _parts(text: str) -> set[str]:
    return set(_PART.findall(folded(text)))
