"""A statement as the reader sees it: below its title and headings, a table row as `header: value; header: value`.

Headings and headers give context but are no answers. Two things above a statement may be answers because it rarely repeats
them: a date in a heading, and the title, unless it is the name of a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoptrail.language.closeness import under_headings
from hoptrail.models.reader import TextReading
from hoptrail.text.dates import date_spans
from hoptrail.text.lexicon import PRONOUNS
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement
from hoptrail.text.values import with_unit

_PLACED = re.compile(r"^(?:in|at|on|from|near|of) (?:the )?(?=[A-Z])")
"""`in Varden` is Varden."""
_CUT = ' \t\n,;:.!?"“”'  # characters stripped from both ends of an answer
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)]")
"""An address of mail or of the web, no part of which is an answer."""
_FILE_NAME = re.compile(r"\S+_\S+|[a-z][\w.]*-[A-Z]{3,}\S*")
"""A title such as `minutes_2024-03` or `wget-NEWS`."""


@dataclass(frozen=True, slots=True)
class StatementText:
    """The text of a statement `said`, which begins at `start`; the title ends at `title_end`."""

    said: UnitStatement
    text: str
    title_end: int
    start: int

    @classmethod
    def of(cls, said: UnitStatement) -> StatementText:
        """The text of a statement."""
        text = under_headings(said)
        above = sum(len(part) + 1 for part in (said.unit.title, " > ".join(said.path)) if part)
        return cls(said, text, len(said.unit.title), min(above, len(text)))

    def spans(self, reading: TextReading) -> list[tuple[str, float]]:
        """The answers of a reading of the text with their margins over no answer, best first, each once."""
        found: dict[str, float] = {}
        for words in reading.answers:
            if answer := self.answer(words.start, words.end):
                found.setdefault(answer, words.margin)
        return list(found.items())

    def answer(self, start: int, end: int) -> str:
        """The answer at these offsets: empty in a header, in a heading but for a date there, and where it only says `she`.
        An answer is cut at the end of its table cell and has no punctuation around it. An address is whole, a bare number has
        its unit.
        """
        if start >= self.start:
            return self._in_statement(start, end)
        if start < self.title_end and _FILE_NAME.fullmatch(self.said.unit.title):
            return self._date_at(start)
        if start < self.title_end:
            return self._date_at(start) or base_title(self.text[start : min(end, self.title_end)].strip(_CUT))
        return self._date_at(start)

    def _date_at(self, place: int) -> str:
        above = self.text[: self.start]
        return next((above[start:end] for start, end in date_spans(above) if start <= place < end), "")

    def _in_statement(self, start: int, end: int) -> str:
        headers = self._headers()
        if any(first <= start < last for first, last in headers):
            return ""
        last = min([len(self.text), *(first for first, _ in headers if first > start)])
        start, end = self._with_address(*self._whole_name(start, min(end, last), last))
        return self._clean(start, end)

    def _whole_name(self, start: int, end: int, last: int) -> tuple[int, int]:
        """The span, extended to the names of which it has a part: `River Lathe` for `Lathe`."""
        first = self.text.rfind("; ", self.start, start) + 1 or self.start
        for name in find_names(self.text[first:last]):
            begin = first + name.start
            stop = begin + len(base_title(name.text))  # without the parenthesis after it
            if begin < end and start < stop:
                start, end = min(start, begin), max(end, stop)
        return start, end

    def _headers(self) -> list[tuple[int, int]]:
        """The offsets of a table row's headers."""
        at, found = self.start, []
        for cell in self.said.block.cells if self.said.block is not None else ():
            if cell.header and (first := self.text.find(f"{cell.header}: ", at)) >= 0:
                at = first + len(cell.header) + 1
                found.append((first, at))
        return found

    def _with_address(self, start: int, end: int) -> tuple[int, int]:
        """The span, extended to the whole address if it has a part of one."""
        for found in _ADDRESS.finditer(self.text, self.start):
            if found.start() < end and start < found.end():
                return min(start, found.start()), max(end, found.end())
        return start, end

    def _clean(self, start: int, end: int) -> str:
        answer = self.text[start:end]
        start, end = start + len(answer) - len(answer.lstrip(_CUT)), start + len(answer.rstrip(_CUT))
        answer = " ".join(self.text[start:end].split())
        bare = answer.replace(",", "").replace(".", "", 1).isdigit()
        if answer.lower() in PRONOUNS or not any(map(str.isalnum, answer)):
            return ""
        return with_unit(self.text, start, end) if bare else _PLACED.sub("", _balance_brackets(answer))


def _balance_brackets(answer: str) -> str:
    """The answer cut at an unbalanced bracket."""
    surplus = answer.count("(") - answer.count(")")
    if not surplus:
        return answer
    first, _, rest = answer.partition("(" if surplus > 0 else ")")
    return first.strip(_CUT) or rest.strip(_CUT)
