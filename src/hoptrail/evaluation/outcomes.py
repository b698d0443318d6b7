"""Judges answers to questions about own documents: right, shown, missed or wrong.

    right    short and yes-no: the answer has the words of an accepted answer next to each other, and at most three words more
             (yes-no: its first word matches). List, steps, passage: the answer has every item in one of its spellings; a list has
             at most half as many items again and one. Unanswerable: there is no answer
    shown    there is no answer, and one of the three closest statements settles the question
    missed   there is no answer, and no closest statement settles the question
    wrong    any other answer

A text settles a question if it has four fifths of the distinct words of one of the question's `shows` strings; only the first 300
characters of a statement count. A question with items is judged by these, others by their accepted answers. Case, punctuation and
the encoding of accents are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice

from hoptrail.evaluation.answer_scores import contains
from hoptrail.evaluation.datasets import Question
from hoptrail.text.normal_forms import folded
from hoptrail.text.words import LETTERS
from hoptrail.types import Answer, AnswerKind, Ranking

YES_NO = "yes-no"  # the type of questions of which only the first word of the answer is compared
LONGER = 3  # words that a right answer may have beyond the accepted answer
STATEMENTS, STATEMENT_CHARACTERS = 3, 300  # the number of closest statements that count, and the characters of each
HITS = 5  # the number of hits that may settle a question
SETTLING_SHARE = 0.8  # the share of the distinct words of a `shows` string that settles a question
_LETTERS = rf"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|{LETTERS}"
"""A word, or a character of a script that has no spaces between words."""

_WORD = re.compile(rf"\d+(?:[.,:]\d+)+|{_LETTERS}")  # a number is one word: 12 is neither in 12.5 nor in 12,000
_PART = re.compile(_LETTERS)
"""Parsers separate the cells of a row by other marks than the file, so here a comma always separates words: `UT-4,310,B7`."""


class Outcome(StrEnum):
    """The judgement of an answer or abstention."""

    RIGHT = "right"
    SHOWN = "shown"
    MISSED = "missed"
    WRONG = "wrong"


def outcome_of(question: Question, answer: Answer) -> Outcome:
    """The outcome of an answer or abstention. Failed questions are not judged here; they count as `MISSED`."""
    if is_right(question, answer.text, answer.kind, answer.items):
        return Outcome.RIGHT
    if answer.text is not None:
        return Outcome.WRONG
    statements = (statement.said[:STATEMENT_CHARACTERS] for statement in answer.closest[:STATEMENTS])
    return Outcome.SHOWN if settles(question, statements) else Outcome.MISSED


def is_right(
    question: Question, given: str | None, kind: AnswerKind = AnswerKind.SHORT, items: Sequence[str] = ()
) -> bool:
    """Whether the answer `given` (None: abstention) is right. `items` are those of a list, whose length is limited."""
    if given is None or question.unanswerable:
        return given is None and question.unanswerable
    if question.items:
        longest = 1.5 * len(question.items) + 1
        fits = kind is not AnswerKind.LIST or len(items) <= longest
        return fits and all(any(_contains(given, spelling) for spelling in spellings) for spellings in question.items)
    return any(_agrees(given, accepted, question) for accepted in question.answers)


def settles(question: Question, texts: Iterable[str]) -> bool:
    """Whether one of the texts has four fifths of the distinct words of a string that settles the question."""
    settling = [parts for string in question.shows if (parts := _parts(string))]
    return any(
        len(parts & present) >= SETTLING_SHARE * len(parts) for present in map(_parts, texts) for parts in settling
    )


def settled_by_hits(question: Question, ranking: Ranking) -> bool | None:
    """Whether the text of one of the first five hits settles the question; None if it has no `shows` strings.

    The text is that of the unit as `search` displays it, without the title and headings that are searched as well.
    """
    return settles(question, (hit.unit.text for hit in islice(ranking, HITS))) if question.shows else None


def _agrees(given: str, accepted: str, question: Question) -> bool:
    words, expected = _words(given), _words(accepted)
    if question.type == YES_NO or expected in (["yes"], ["no"]):
        return words[:1] == expected[:1]
    return _contains(given, accepted) and len(words) <= len(expected) + LONGER


def _contains(text: str, spelling: str) -> bool:
    """Whether a text has the words of a spelling next to each other; a spelling without words is searched for literally."""
    words, expected = _words(text), _words(spelling)
    if not expected:
        return folded(spelling) in folded(text)
    return contains(words, expected)


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


def _parts(text: str) -> set[str]:
    return set(_PART.findall(folded(text)))
