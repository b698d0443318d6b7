"""Answer plain questions from evidence: from the table cell that answers exactly, else by the trained reader, page by page.

A plain question asks one thing; nested ones are decomposed before. Names in the question are no answers. Here answers are only
ranked; `concluding` computes how likely one is right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hoptrail.language.closeness import close_statements
from hoptrail.language.offline.cell_answers import best_cell
from hoptrail.language.offline.contradicting import replaced
from hoptrail.language.offline.evidence import OpenedEvidence
from hoptrail.language.offline.full_names import asks_for_part, in_full
from hoptrail.language.offline.parents import parent_found
from hoptrail.language.offline.reader_input import Found, Sheet, sheet_of, sheet_of_statement
from hoptrail.language.offline.ruling_out import may_answer, names_in_small_letters
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.yes_no import claim
from hoptrail.models.reader import Answer as Words
from hoptrail.models.reader import Reading, TextReader, ToRead, log_odds
from hoptrail.text.normal_forms import base_title
from hoptrail.text.questions import Question, Wanted, analyse
from hoptrail.text.values import read_date, same_answer
from hoptrail.text.words import content_stems, words
from hoptrail.types import Span

_STATED, _USUAL = 7.0, 0.45
"""Log odds for the share of the question's words that the statement of an answer says, beyond the usual share."""
_LATER = 0.3  # log odds that a page loses for each doubling of its rank
_ALONE = 0.6
"""Weight of the log odds of an answer in its statement read by itself; the rest is that of those on its page."""
_STATEMENTS = 4
"""The number of statements, of the best answers of all pages, that are read by themselves."""
_UNSAID = -8.0  # log odds of an answer that its statement does not give by itself
_ALIKE, _RIVAL = 0.6, 4.0
"""Least share of common words of two statements about one thing, and how far behind in log odds a later one may be."""
_PRESENT_RIVAL = 8.0  # the same, if the question asks for what holds now
_PRESENT = re.compile(
    r"\b(?:now|nowadays|currently|current|today|at present|at the moment|these days|as things stand|by now|still)\b",
    re.IGNORECASE,
)
_IDENTICAL = 0.8  # least share of common words for two statements of different documents to contradict each other
_FEWEST = 2  # least number of the question's words that statements about one thing share
_LEADS = 3
_CELL = 4.0  # log odds of a cell that fits in every word


class NoReader:
    """A reader without answers, so that only cells answer."""

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """A reading without an answer for each pair."""
        return [Reading((), yes=0.0, no=0.0, neither=1.0, helps=0.0) for _ in pairs]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer with its supporting spans.

    `odds` are log odds for ranking; `lead` is the difference to the next other answer. `helps` is the probability that the page
    helps, `said` the share of the question's words on it.
    `is_cell`: a whole table cell. `is_verdict`: a yes or no by the reader alone. `date` (ISO, empty: none) and `stems` are those
    of the statement; `covered` are the question's words in it, its title and its headings.
    """

    answer: str
    support: tuple[Span, ...]
    odds: float
    helps: float = 1.0
    lead: float = 0.0
    said: float = 1.0
    is_cell: bool = False
    is_verdict: bool = False
    date: str = ""
    stems: frozenset[str] = frozenset()
    covered: frozenset[str] = frozenset()

    @property
    def confidence(self) -> float:
        """The probability of `odds`."""
        return logistic(self.odds)


@dataclass(frozen=True, slots=True)
class _OnPage:
    """An answer on a page, its words there, and where they were found."""

    answer: ReadAnswer
    words: Words
    found: Found

    @property
    def stated(self) -> tuple[Span, ...]:
        """The first span of its statement."""
        return self.found.part.said.support[:1]

    def weighed(self, alone: tuple[Sheet, Reading] | None) -> ReadAnswer:
        """The answer with the odds on its page and in its statement alone (None: that was not read)."""
        margin = _UNSAID
        if alone:
            sheet, reading = alone
            margin = max((words.margin for words in reading.answers if self._is_same(words, sheet)), default=_UNSAID)
        weight = 1.0 if self.found.is_date else _ALONE  # by itself, a statement has its own headings only
        return replace(self.answer, odds=self.answer.odds + weight * (margin - self.words.margin))

    def _is_same(self, words: Words, alone: Sheet) -> bool:
        """Whether words on the sheet of the statement alone are those on the page."""
        if self.found.is_date:
            date = alone.date_at(words.start)
            return date is not None and alone.text[slice(*date)] == self.found.text
        moved = alone.parts[0].start - self.found.part.start if alone.parts and not self.found.in_title else 0
        return words.start < self.words.end + moved and self.words.start + moved < words.end


class Reader:
    """Reads plain questions against one set of evidence. `model` reads the texts."""

    def __init__(self, evidence: OpenedEvidence, model: TextReader, settings: OfflineSettings) -> None:
        self.evidence = evidence
        self._model = model
        self.settings = settings
        self._sheets = [sheet_of(unit, settings.unit_characters) for unit in evidence.units]
        self._kept: dict[str, tuple[list[tuple[int, Sheet, Reading]], dict[Span, float]]] = {}

    def ranked(self, text: str, avoid: Sequence[str] = ()) -> list[ReadAnswer]:
        """All distinct answers except the names to `avoid`, best first.

        None if the question has no name and fewer than two relation words, or if two documents give different answers in the
        same words and no dates decide.
        """
        question = analyse(text, self.evidence.titles)
        if question is None or not (question.anchors or len(question.relations) > 1):
            return []
        if question.wanted is Wanted.YES_NO:
            return self._verdicts(question)
        avoided = [_stems(name) for name in avoid]
        units = [self._sheets[rank].unit for rank in self._ranks_with_names(text)]
        cell = best_cell(question, units, frozenset[str]().union(*avoided))
        spans = sorted(self._spans(text, question, avoided), key=lambda one: -one.odds)
        present = _PRESENT.search(text) is not None
        found = _latest_first(spans, present=present)
        named = frozenset[str]().union(*(_stems(anchor.text) for anchor in question.anchors))
        if (cell and cell.contested) or any(_contradicts(one, found[0], named) for one in found[1:]):
            return []
        is_past = present and cell and cell.date and any(one.date > cell.date and one.odds > 0 for one in found[:1])
        if cell and not is_past:  # tables come before text, unless what holds now is asked and the text is later
            odds = max([_CELL * cell.fit, *(one.odds + 1 for one in found[:1])])
            found = [ReadAnswer(cell.value, cell.support, odds, is_cell=True), *found]
        return _with_leads(_distinct(found))

    def leads(self, text: str) -> tuple[Span, ...]:
        """Where the best answers of `ranked` are stated, without repeats: at most `_LEADS` spans."""
        return tuple(dict.fromkeys(span for one in self.ranked(text) for span in one.support[:1]))[:_LEADS]

    def _spans(self, text: str, question: Question, avoided: Sequence[frozenset[str]]) -> list[ReadAnswer]:
        """The reader's answers of all pages. What stands around a statement misleads the reader, so the statements of the best
        answers are read again by themselves.
        """
        found = sorted(self._on_pages(text, question, avoided), key=lambda one: -one.answer.odds)
        stated: dict[tuple[Span, ...], Sheet] = {}
        for one in found:
            if len(stated) < _STATEMENTS and one.stated not in stated:
                stated[one.stated] = sheet_of_statement(one.found.part.said, self.settings.unit_characters)
        alone = dict(zip(stated, zip(stated.values(), self._read(text, stated.values()), strict=True), strict=True))
        return [one.weighed(alone.get(one.stated)) for one in found]

    def _read(self, question: str, sheets: Iterable[Sheet]) -> list[Reading]:
        return self._model.read([ToRead(question, sheet.text, barred=sheet.barred) for sheet in sheets])

    def _on_pages(self, text: str, question: Question, avoided: Sequence[frozenset[str]]) -> Iterator[_OnPage]:
        """The reader's answers of all pages."""
        asks_date = question.wanted in {Wanted.DATE, Wanted.YEAR}
        readings, shares = self._readings(text)
        asked, lived = content_stems(text), question.relations & ({"birth", "death"} if asks_date else set())
        for rank, sheet, reading in readings:
            said, later = _share(asked, sheet), _LATER * math.log2(1 + rank)
            for one in reading.answers:
                if lived and not sheet.says_life(one.start, one.end, lived):
                    continue  # not the date of birth or death that is asked
                found = sheet.answer(one.start, one.end, text, question.noun)
                found = parent_found(found, one.start, one.end, question) if found else None
                if found is None or _stems(found.text) in avoided or not may_answer(found.text, question, None):
                    continue
                date = read_date(found.text) if question.wanted is Wanted.YEAR else None
                statement = found.part.said
                share = shares.get(statement.support[0], 0.0) if statement.support else 0.0
                answer = ReadAnswer(
                    str(abs(date[0])) if date else self._named(found, question, sheet.unit.document),
                    *(statement.support, one.margin + _STATED * (share - _USUAL) - later, reading.helps),
                    said=said,
                    date="" if found.in_title else statement.date,
                    stems=frozenset() if found.in_title else content_stems(statement.said),
                    covered=frozenset() if found.in_title else asked & content_stems(statement.seen),
                )
                yield _OnPage(answer, one, found)

    def _named(self, found: Found, question: Question, document: str) -> str:
        """The words found; a person's name in full, as the evidence gives it."""
        if question.wanted is not Wanted.PERSON or asks_for_part(question.text):
            return found.text
        own = [unit.text for unit in self.evidence.units if unit.document == document]
        return in_full(found.text, own, [unit.text for unit in self.evidence.units if unit.document != document])

    def _verdicts(self, question: Question) -> list[ReadAnswer]:
        """Yes or no by rule if a sentence says so outright, else by the reader, the surest page first."""
        ruled = claim(question.text, self.evidence.units, None)
        if ruled.answer:
            return [ReadAnswer(ruled.answer, ruled.steps[0].support, log_odds(ruled.confidence), lead=_CELL)]
        found: list[ReadAnswer] = []
        for _, sheet, reading in self._readings(question.text)[0]:
            part = sheet.closest(question.text)
            if part is None:
                continue
            for answer, share in (("yes", reading.yes), ("no", reading.no)):
                if share:
                    found.append(ReadAnswer(answer, part.said.support, log_odds(share), reading.helps, is_verdict=True))
        return _with_leads(_distinct(sorted(found, key=lambda one: -one.odds)))

    def _readings(self, question: str) -> tuple[list[tuple[int, Sheet, Reading]], dict[Span, float]]:
        """Rank, sheet and reading of the pages that say most of the question, by rank; and the share of the question's words that
        each of their statements says, rare words counting more.
        """
        if question not in self._kept:
            asked = content_stems(question)
            ranks = sorted(self._ranks_with_names(question), key=lambda rank: -_share(asked, self._sheets[rank]))
            chosen = sorted(ranks[: self.settings.pages_read])
            sheets = [self._sheets[rank] for rank in chosen]
            close = close_statements(question, [sheet.unit for sheet in sheets], None)
            shares = {one.said.support[0]: one.share for one in reversed(close) if one.said.support}
            self._kept[question] = list(zip(chosen, sheets, self._read(question, sheets), strict=True)), shares
        return self._kept[question]

    def _ranks_with_names(self, question: str) -> list[int]:
        """The ranks of the pages whose documents have all names in small letters of the question."""
        stems: dict[str, frozenset[str]] = {}
        for sheet in self._sheets:
            stems[sheet.unit.document] = stems.get(sheet.unit.document, frozenset()) | sheet.stems
        names = names_in_small_letters(question, self.evidence.titles, stems.values())
        return [rank for rank, sheet in enumerate(self._sheets) if names <= stems[sheet.unit.document]]


def _latest_first(found: Sequence[ReadAnswer], *, present: bool) -> list[ReadAnswer]:
    """Replace the best answer by the latest about the same thing, which cites the earlier ones as replaced. If the question asks
    for the `present` state, statements with the same words of the question are about the same thing.
    """
    best = next(iter(found), None)
    if best is None or not best.date:
        return list(found)
    same = [best, *(one for one in found[1:] if one.date and _is_rival(one, best, present=present))]
    last = max(same, key=lambda one: one.date)
    earlier = sorted((one for one in same if one.date < last.date), key=lambda one: one.date, reverse=True)
    if not earlier:
        return list(found)
    spans = tuple(dict.fromkeys((*last.support, *replaced([span for one in earlier for span in one.support]))))
    rest = [one for one in found if not any(one is other for other in (last, *earlier))]
    return [replace(last, odds=best.odds, support=spans), *rest]


def _is_rival(one: ReadAnswer, best: ReadAnswer, *, present: bool = False, least: float = _ALIKE) -> bool:
    """Whether a statement about the same thing gives another answer that is not much less likely."""
    behind = best.odds - one.odds
    same = behind < _RIVAL and _alike(one, best, least)
    same = same or (present and behind < _PRESENT_RIVAL and _covers(one, best))
    return same and not same_answer(one.answer, best.answer)


def _alike(one: ReadAnswer, best: ReadAnswer, least: float) -> bool:
    """Whether two statements differ mainly in their answers: they share at least `least` of their other words."""
    either = (one.stems | best.stems) - content_stems(one.answer) - content_stems(best.answer)
    return len(one.stems & best.stems) >= least * len(either)


def _covers(one: ReadAnswer, best: ReadAnswer) -> bool:
    """Whether a statement has all of the question's words that the best one has, at least two."""
    return one.covered >= best.covered and len(best.covered) >= _FEWEST


def _contradicts(one: ReadAnswer, best: ReadAnswer, named: frozenset[str]) -> bool:
    """Whether another document says the same, with the names and two words of the question, but gives another answer, and dates
    do not decide which holds.
    """
    dated = bool(one.date and best.date) and one.date != best.date
    elsewhere = bool(one.support and best.support) and one.support[0].document != best.support[0].document
    about = best.covered >= named and _covers(one, best)
    return elsewhere and not dated and about and _is_rival(one, best, least=_IDENTICAL)


def _share(asked: frozenset[str], sheet: Sheet) -> float:
    return len(asked & sheet.stems) / len(asked) if asked else 0.0


def _distinct(found: Sequence[ReadAnswer]) -> list[ReadAnswer]:
    """The first of each answer."""
    distinct: list[ReadAnswer] = []
    for one in found:
        if not any(same_answer(one.answer, other.answer) for other in distinct):
            distinct.append(one)
    return distinct


def _with_leads(found: Sequence[ReadAnswer]) -> list[ReadAnswer]:
    """The answers with their lead over the best other one."""
    return [
        replace(one, lead=one.odds - max((other.odds for other in found if other is not one), default=one.odds - _CELL))
        for one in found
    ]


def _stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))


def logistic(odds: float) -> float:
    """The probability of log odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
