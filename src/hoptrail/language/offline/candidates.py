"""Spans of a sentence that could answer a question: its mentions, parts and extensions of them, and groups of plain nouns.

Wider than `entities`, which a reader of names needs: `2nd Earl of Linn, Baron Foss` offers the whole and both halves, `3 May
1850` also `1850`, `22 boats` also `22`, and `she trained as a pilot` offers `pilot`. Clauses are never offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from hoptrail.language.offline.evidence import Line
from hoptrail.text.lexicon import FUNCTION_WORDS, word_set
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.values import with_unit
from hoptrail.text.words import Word


class Form(StrEnum):
    """How a candidate was found."""

    NAME = "name"
    QUOTED = "quoted"
    DATE = "date"
    YEAR = "year"
    NUMBER = "number"
    MEASURE = "measure"
    JOINED = "joined"
    PHRASE = "phrase"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer; `start` and `end` are offsets in its line, both 0 for the title of the line's page."""

    text: str
    start: int
    end: int
    form: Form


_FORMS = {Shape.NAME: Form.NAME, Shape.QUOTED: Form.QUOTED, Shape.DATE: Form.DATE, Shape.NUMBER: Form.NUMBER}
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_LONGEST_PHRASE = 4
_NO_PHRASE = FUNCTION_WORDS | word_set(
    "who which that while when where other such more most many several very well then later also often only since until"
)


def candidates(line: Line) -> tuple[Candidate, ...]:
    """The candidates of a line and its page's title, without repeats of the same text."""
    found = dict[str, Candidate]()
    for candidate in _all(line):
        if 0 < len(candidate.text) <= 80:
            found.setdefault(candidate.text.lower(), candidate)
    return tuple(found.values())


def _all(line: Line) -> Iterator[Candidate]:
    mentions = line.mentions
    if line.title:
        yield Candidate(squeeze(line.title), 0, 0, Form.TITLE)
    for mention in mentions:
        number = mention.shape is Shape.NUMBER
        text = with_unit(line.text, mention.start, mention.end) if number else mention.text
        yield Candidate(text, mention.start, mention.end, _FORMS[mention.shape])
        if mention.shape is Shape.DATE and (year := _YEAR.search(mention.text)) and year.group() != mention.text:
            yield Candidate(year.group(), mention.start, mention.end, Form.YEAR)
    yield from _joined(line.text, mentions)
    yield from _measures(line, mentions)
    yield from _phrases(line)


_JOINTS = {", ", " and ", " & ", " of the ", " of ", " for the ", " – ", "–", "-", ". "}


def _joined(text: str, mentions: tuple[Mention, ...]) -> Iterator[Candidate]:
    """Neighbours that may be one answer: `Arden, Norway`, `Ada and Karl Lunt`, `Museum of the Sea`, `1840–1850`."""
    for first, second in pairwise(mentions):
        if text[first.end : second.start] in _JOINTS and (
            first.shape is second.shape or Shape.QUOTED in {first.shape, second.shape}
        ):
            yield _between(text, first.start, second.end, Form.JOINED)


def _between(text: str, start: int, end: int, form: Form) -> Candidate:
    return Candidate(squeeze(text[start:end]), start, end, form)


def _measures(line: Line, mentions: tuple[Mention, ...]) -> Iterator[Candidate]:
    """A number with the one or two words that say of what: `340 people`, `2.5 million metric tons`."""
    for mention in mentions:
        if mention.shape is not Shape.NUMBER:
            continue
        after = [word for word in line.words if mention.end <= word.start <= mention.end + 24][:2]
        end = mention.end
        for word in after:
            if line.text[end : word.start] not in {" ", "-", " - "} or word.lower in _NO_PHRASE:
                break
            end = word.end
            yield _between(line.text, mention.start, end, Form.MEASURE)


def _phrases(line: Line) -> Iterator[Candidate]:
    """Runs of words without function words, whole and without their first words: `old fishing port`, `port`.

    A run may hold names: `Italian opera singer`.
    """
    run: list[Word] = []
    for word in (*line.words, None):
        gap = line.text[run[-1].end : word.start] if run and word else ""
        if word is not None and word.lower not in _NO_PHRASE and (not run or gap in {" ", "-", " - "}):
            run.append(word)
            continue
        yield from _of_run(line, run)
        run = [word] if word is not None and word.lower not in _NO_PHRASE else []


def _of_run(line: Line, run: list[Word]) -> Iterator[Candidate]:
    for first in range(max(0, len(run) - _LONGEST_PHRASE), len(run)):
        if any(word.text[0].islower() for word in run[first:]):
            yield _between(line.text, run[first].start, run[-1].end, Form.PHRASE)
