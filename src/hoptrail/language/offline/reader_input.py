"""Units as the trained reader sees them: title and headings, then one line for each statement.

A table row reads `header: value; header: value`. Headings and headers give context but are no answers. Two things may be answers
because the text below rarely repeats them: a date in a heading, and the title, unless it is the name of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.closeness import is_covered
from hoptrail.text.dates import date_spans
from hoptrail.text.lexicon import DEMONYMS, FUNCTION_WORDS
from hoptrail.text.lives import life_roles
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.values import with_unit
from hoptrail.text.words import content_stems
from hoptrail.types import Block, Unit

_PLACED = re.compile(r"^(?:in|at|on|from|near|of) (?:the )?(?=[A-Z])")
"""`in Varden` is Varden."""
_CUT = ' \t\n,;:.!?"“”'  # characters stripped from both ends of an answer
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)]")
"""An address of mail or of the web, no part of which is an answer."""

_INITIAL = re.compile(r"(?<!\w)[A-Z][\w'’-]+ (?:[A-Z]\. ?)*[A-Z]\.?\Z")
_FAMILY_NAME = re.compile(r"(?:(?<=\.)|\.) ?(?:[A-Z]\. ?)*([A-Z][\w'’-]+)")
"""What may follow a name that ends with an initial."""
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_PEOPLE = re.compile(r"\b(?:nationality|country|nation)\b", re.IGNORECASE)
_JOINED_PEOPLES = re.compile(r"\b[A-Z][a-z]+(?:\s?[-–/]\s?[A-Z][a-z]+)+\b")
_FILE_NAME = re.compile(r"\S+_\S+|[a-z][\w.]*-[A-Z]{3,}\S*")
"""A title such as `minutes_2024-03` or `wget-NEWS`."""


@dataclass(frozen=True, slots=True)
class Part:
    """A statement and its offsets in a sheet."""

    start: int
    end: int
    said: UnitStatement


@dataclass(frozen=True, slots=True)
class Found:
    """An answer on a sheet and the statement that supports it: the one it is in, unless it is in the title or a date above."""

    text: str
    part: Part
    in_title: bool = False
    is_date: bool = False


@dataclass(frozen=True)
class Sheet:
    """A unit's text for reading. `title_end` is the end of the title line, `dates` are the offsets of dates in title and
    headings, `barred` those of headings without their dates, and of headers.
    """

    unit: Unit
    text: str
    title_end: int
    parts: tuple[Part, ...]
    barred: tuple[tuple[int, int], ...]
    dates: tuple[tuple[int, int], ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its content words."""
        return content_stems(self.text)

    def answer(self, start: int, end: int, question: str, noun: str = "") -> Found | None:
        """The answer at these offsets; None outside statements, the title and dates in headings.

        An answer is cut at the end of its statement or table cell, and is the whole of a date in a heading. A `noun` that the
        question asks for (`river`) is included if it is a part of the name.
        """
        start, end = self._with_noun(start, end, noun) if noun else (start, end)
        part, date = self._supporting(start, question), self.date_at(start)
        if part is None:
            return None
        in_title = date is None and start < self.title_end
        if date is not None:
            answer = self.text[slice(*date)]
        elif in_title:
            is_name = _FILE_NAME.fullmatch(self.unit.title) is None
            answer = base_title(self.text[start : min(end, self.title_end)].strip(_CUT)) if is_name else ""
        else:
            last = min([part.end, *(first for first, _ in self.barred if first > start)])
            start, end = self._with_address(start, min(end, last))
            end = self._end_of_person(start, end, last) if _WHO.search(question) else end
            start, end = self._all_peoples(start, end) if _PEOPLE.search(question) else (start, end)
            answer = self._clean_answer(start, end)
        return Found(answer, part, in_title, is_date=date is not None) if answer else None

    def date_at(self, place: int) -> tuple[int, int] | None:
        """The offsets of the date in the title or a heading that is at an offset of the text."""
        return next(((start, end) for start, end in self.dates if start <= place < end), None)

    def _supporting(self, place: int, question: str) -> Part | None:
        """The statement that supports an answer at an offset of the text: the one there, or for the title, and for a date in a
        heading among those below it, the one that says most of the question.
        """
        if place < self.title_end:
            return self.closest(question)
        if self.date_at(place) is None:
            return self.at(place)
        below = [part for part in self.parts if part.start > place]
        return self.closest(question, [part for part in below if part.said.path == below[0].said.path])

    def at(self, place: int) -> Part | None:
        """The statement at an offset of the text."""
        return next((part for part in self.parts if part.start <= place < part.end), None)

    def life_role(self, start: int, end: int) -> str:
        """`birth` or `death` if a parenthesis after a name gives this role to the text at these offsets; else empty."""
        part = self.at(start)
        if part is None or "(" not in self.text[part.start : start]:
            return ""
        line, start, end = self.text[part.start : part.end], start - part.start, end - part.start
        mentions = find_mentions(line)
        roles = life_roles(line, mentions)
        overlapping = (one.start for one in mentions if one.start < end and one.end > start)
        return next((roles[place] for place in overlapping if place in roles), "")

    def says_life(self, start: int, end: int, asked: frozenset[str]) -> bool:
        """Whether the text at these offsets can be the `asked` date of `birth` or `death`, by a word of its statement or by the
        parenthesis after a name.
        """
        role, part = self.life_role(start, end), self.at(start)
        if role or part is None:
            return role in asked
        said = content_stems(f"{self.unit.title} {part.said.seen}")
        return any(is_covered(word, said) for word in asked)

    def closest(self, question: str, among: Sequence[Part] | None = None) -> Part | None:
        """The statement with most of the question's words, if any."""
        asked, parts = content_stems(question), self.parts if among is None else among
        return max(parts, key=lambda part: len(asked & content_stems(part.said.said)), default=None)

    def _with_noun(self, start: int, end: int, noun: str) -> tuple[int, int]:
        before = re.search(rf"\b{re.escape(noun.capitalize())} $", self.text[:start])
        after = re.match(rf" {re.escape(noun.capitalize())}\b", self.text[end:])
        return before.start() if before else start, end + after.end() if after else end

    def _with_address(self, start: int, end: int) -> tuple[int, int]:
        """The span, extended to the whole address if it has a part of one."""
        line_start, line_end = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
        for found in _ADDRESS.finditer(self.text, line_start, line_end if line_end >= 0 else len(self.text)):
            if found.start() < end and start < found.end():
                return min(start, found.start()), max(end, found.end())
        return start, end

    def _end_of_person(self, start: int, end: int, last: int) -> int:
        """The end of the span, or of the family name after it if it ends with an initial: `Ada B` of `Ada B. Lunt`."""
        rest = _FAMILY_NAME.match(self.text, end, last) if _INITIAL.search(self.text, start, end) else None
        return rest.end() if rest and rest[1].lower() not in FUNCTION_WORDS else end

    def _all_peoples(self, start: int, end: int) -> tuple[int, int]:
        """The span, or all of a joined word for peoples that it is a part of: `Austrian-German` for `German`."""
        for joined in _JOINED_PEOPLES.finditer(self.text):
            are_peoples = all(part in DEMONYMS for part in re.split(r"\W+", joined.group().lower()))
            if joined.start() <= start and end <= joined.end() and are_peoples:
                return joined.span()
        return start, end

    def _clean_answer(self, start: int, end: int) -> str:
        """The answer without punctuation around it; a bare number gets its unit."""
        answer = self.text[start:end]
        start, end = start + len(answer) - len(answer.lstrip(_CUT)), start + len(answer.rstrip(_CUT))
        answer = " ".join(self.text[start:end].split())
        bare = answer.replace(",", "").replace(".", "", 1).isdigit()
        return with_unit(self.text, start, end) if bare else _PLACED.sub("", _balance_brackets(answer))


def _balance_brackets(answer: str) -> str:
    """The answer cut at an unbalanced bracket."""
    surplus = answer.count("(") - answer.count(")")
    if not surplus:
        return answer
    first, _, rest = answer.partition("(" if surplus > 0 else ")")
    return first.strip(_CUT) or rest.strip(_CUT)


@lru_cache(maxsize=512)
def sheet_of(unit: Unit, longest: int) -> Sheet:
    """The sheet of a unit, at most `longest` characters."""
    return _sheet(unit, statements_of(unit), longest)


def sheet_of_statement(said: UnitStatement, longest: int) -> Sheet:
    """The sheet of one statement under its title and headings, at most `longest` characters."""
    return _sheet(said.unit, (said,), longest)


def _sheet(unit: Unit, statements: Sequence[UnitStatement], longest: int) -> Sheet:
    lines = [unit.title] if unit.title else []
    at = len(unit.title) + 1 if unit.title else 0
    parts: list[Part] = []
    barred: list[tuple[int, int]] = []
    dates = date_spans(unit.title)
    above: tuple[str, ...] = ()
    for said in statements:
        heading = " > ".join(part for part in said.path if part != unit.title)
        if said.path != above and heading:
            lines.append(heading)
            dated = [(at + start, at + end) for start, end in date_spans(heading)]
            barred += zip(
                [at, *(end for _, end in dated)], [*(start for start, _ in dated), at + len(heading)], strict=True
            )
            dates += dated
            at += len(heading) + 1
        above, line = said.path, said.alone
        if at + len(line) > longest:
            break
        parts.append(Part(at, at + len(line), said))
        barred += ((at + start, at + end) for start, end in _headers(said.block, line))
        lines.append(line)
        at += len(line) + 1
    return Sheet(unit, "\n".join(lines), len(unit.title), tuple(parts), tuple(barred), tuple(dates))


def _headers(block: Block | None, line: str) -> Iterator[tuple[int, int]]:
    """The offsets of a table row's headers in its line."""
    at = 0
    for cell in block.cells if block is not None else ():
        if cell.header and (found := line.find(f"{cell.header}: ", at)) >= 0:
            at = found + len(cell.header) + 1
            yield found, at
