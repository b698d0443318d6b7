"""What the networks see of the evidence: the reader a statement, the question tagger a stretch of them.

A statement stands below its title and headings, behind the lead, question or sentence that it needs; a table row as `header:
value; header: value`. What stands around gives context and no answers, but for two things that statements rarely repeat: a date
in a heading, and the title, unless it is the name of a file. A stretch is a text of statements that stand together, below their
title and headings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from hoptrail.language.closeness import under_headings
from hoptrail.models.question_tagger import tag_text
from hoptrail.models.reader import TextReading
from hoptrail.text.dates import date_spans
from hoptrail.text.lexicon import PRONOUNS
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.types import BlockKind, Unit

_PLACED = re.compile(r"^(?:in|at|on|from|near|of) (?:the )?(?=[A-Z])")  # `in Varden` is Varden
_CUT = ' \t\n,;:.!?"“”'  # characters stripped from both ends of an answer
_PAIR = re.compile(r"\((?:[^()]|\([^()]*\))*\)")  # of brackets, with others within
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)]")
"""An address of mail or of the web, no part of which is an answer."""
_FILE_NAME = re.compile(r"\S+_\S+|[a-z][\w.]*-[A-Z]{3,}\S*|[a-z\d][a-z\d.-]*")  # `minutes_2024`, `wget-NEWS`, `lease`


@dataclass(frozen=True, slots=True)
class StatementText:
    """The text of a statement `said`, which begins at `start`; the title ends at `title_end`, the headings at `above`."""

    said: UnitStatement
    text: str
    title_end: int
    above: int
    start: int

    @classmethod
    def of(cls, said: UnitStatement) -> StatementText:
        text = under_headings(said)
        above = sum(len(part) + 1 for part in (said.unit.title, " > ".join(said.path)) if part)
        start = above + len(said.context) + bool(said.context)
        return cls(said, text, len(said.unit.title), min(above, len(text)), min(start, len(text)))

    def spans(self, reading: TextReading) -> list[tuple[str, float]]:
        """The answers of a reading of the text with their margins over no answer, best first, each once; none if the best stands
        in the context of the statement, which is another one.
        """
        if reading.answers and self.above <= reading.answers[0].start < self.start:
            return []
        found: dict[str, float] = {}
        for words in reading.answers:
            if answer := self.answer(words.start, words.end):
                found.setdefault(answer, words.margin)
        return list(found.items())

    def answer(self, start: int, end: int) -> str:
        """The answer at these offsets: empty in context and headers, in a heading but for a date, and where it only says `she`.
        An answer is cut at the end of its table cell and has no punctuation around it. An address is whole.
        """
        if self.above <= start < self.start:
            return ""
        if start < self.above:
            above = self.text[: self.above]
            date = next((above[first:last] for first, last in date_spans(above) if first <= start < last), "")
            if date or start >= self.title_end or _FILE_NAME.fullmatch(self.said.unit.title):
                return date
            return base_title(_balance_brackets(self.text[start : min(end, self.title_end)].strip(_CUT)))
        headers = self._headers()
        if any(first <= start < last for first, last in headers):
            return ""
        last = min([len(self.text), *(first for first, _ in headers if first > start)])
        start, end = self._with_address(*self._whole_name(start, min(end, last), last))
        return _cleaned(self.text[start:end])

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


def _cleaned(answer: str) -> str:
    """An answer without what stands around it; empty where it only says `she`, or no word."""
    answer = " ".join(answer.strip(_CUT).split())
    if answer.lower() in PRONOUNS or not any(map(str.isalnum, answer)):
        return ""
    return _PLACED.sub("", _balance_brackets(answer))


def _balance_brackets(answer: str) -> str:
    """The answer up to the first bracket without a partner, or what follows a bracket at its beginning."""
    paired = _PAIR.sub(lambda pair: "-" * len(pair[0]), answer)
    pieces = (answer[slice(*piece.span())].strip(_CUT) for piece in re.finditer(r"[^()]+", paired))
    return next(filter(None, pieces), "")


_STRETCH = 800  # characters of a stretch without its headings, about 200 word pieces
_READ = 2  # stretches in which the tagger marks answers

Place = tuple[str, int, int]  # the document of a statement, and where it starts and ends there


def groups_in(units: Sequence[Unit]) -> list[list[UnitStatement]]:
    """The statements of units in groups: the rows of a table, the items of a list, the sentences under a heading."""
    groups: dict[tuple[object, ...], dict[tuple[str, int, int], UnitStatement]] = {}
    for said in chain.from_iterable(map(statements_of, units)):
        block = said.block
        kind = block.kind if block and block.kind in {BlockKind.ROW, BlockKind.ITEM} else None
        headers = tuple(cell.header for cell in block.cells) if block and kind is BlockKind.ROW else ()
        key = (said.unit.document, said.path, kind, headers, block.lead if block and kind else "")
        groups.setdefault(key, {})[said.place] = said
    return [[group[place] for place in sorted(group)] for group in groups.values()]


def stretches(group: Sequence[UnitStatement]) -> list[list[UnitStatement]]:
    """A group in pieces that the tagger reads at once."""
    found: list[list[UnitStatement]] = [[]]
    size = 0
    for said in group:
        if found[-1] and size + len(said.alone) > _STRETCH:
            found.append([])
            size = 0
        found[-1].append(said)
        size += len(said.alone) + 3
    return found


def text_of(stretch: Sequence[UnitStatement]) -> tuple[str, list[int]]:
    """A stretch as the tagger reads it, and where each statement starts."""
    first = stretch[0]
    lead = first.block.lead if first.block and first.block.kind is BlockKind.ITEM else ""
    above = " > ".join(part for part in (first.unit.title, *first.path, lead) if part)
    return listed_text(above, [said.alone for said in stretch])


def listed_text(above: str, lines: Sequence[str]) -> tuple[str, list[int]]:
    """Lines below title and headings as the tagger reads them, and where each line starts."""
    text, starts = f"{above}:", []
    for line in lines:
        starts.append(len(text) + 3)
        text += f" • {line}"
    return text, starts


def marked(question: str, units: Sequence[Unit], settles: Mapping[Place, float]) -> list[tuple[str, float]]:
    """What the tagger marks as an answer, each with its probability, in the stretches that have the statements with the highest
    log odds (`settles`) of settling the question. Raises: ModelUnavailable: as for `QuestionTagger`.
    """
    parts = [part for group in groups_in(units) for part in stretches(group)]
    odds = [max(settles.get(said.place, -math.inf) for said in part) for part in parts]
    near = sorted((at for at, most in enumerate(odds) if most > -math.inf), key=lambda at: -odds[at])
    texts = [text_of(parts[at])[0] for at in near[:_READ]]
    return [(text[start:end], math.exp(likely)) for text in texts for (start, end), likely in tag_text(question, text)]
