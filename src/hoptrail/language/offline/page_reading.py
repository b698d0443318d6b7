"""Plain questions read against evidence: off the cell that answers exactly, else by the trained reader, page by page.

A plain question asks one thing; nested ones are taken apart before they come here. What the question names is no answer to it.
How likely an answer is right is judged where the whole question is known (`judging`); here answers are only ordered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hoptrail.language.offline.cell_answers import best_cell
from hoptrail.language.offline.contradicting import replaced
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.offline.naming import names_in_small_letters
from hoptrail.language.offline.reader_input import Sheet, sheet_of
from hoptrail.language.offline.ruling_out import may_answer
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.yes_no import settled
from hoptrail.models.reader import Reading, ToRead
from hoptrail.models.remembered_readings import TextReader
from hoptrail.text.normal_forms import base_title
from hoptrail.text.questions import Question, Wanted, analyse
from hoptrail.text.values import read_date, same_value
from hoptrail.text.words import content_stems, words
from hoptrail.types import Span

_HELPS = 0.5
"""What the log odds that a page helps add to those of an answer on it."""
_LATER = 0.3
"""What a page loses for each doubling of its rank: retrieval knew something too."""
_ALIKE, _RIVAL = 0.6, 4.0
"""What share of their words two statements of one thing have in common, and how far behind in log odds a later one may be."""
_IDENTICAL = 0.8
"""The share of words from which two statements are about one thing whatever else their documents say."""
_FEWEST = 2
"""Words of a question that statements have to say before they can contradict each other."""
_CELL = 4.0
"""Log odds of a cell that fits in every word."""


class NoReader:
    """Reads nothing, so that only cells answer."""

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """Readings without an answer."""
        return [Reading((), yes=0.0, no=0.0, neither=1.0, helps=0.0) for _ in pairs]


@dataclass(frozen=True, slots=True)
class Found:
    """An answer with the spans that say so.

    `odds` are log odds that order answers, `lead` is how far they exceed those of the next other answer; `helps` is the
    probability that the page brings the answer nearer, `said` the share of the question's words on it. `is_cell`: a table's
    whole cell. `is_verdict`: a yes or a no of the reader, which no rule gives. `date` (ISO, empty: none) and `stems` are those
    of the statement, `told` the question's words in it, its title and its headings.
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
        """Between 0 and 1, as the reader sees it."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.odds))))


class Reader:
    """Reads plain questions against one set of evidence. `model` reads the texts."""

    def __init__(self, evidence: EvidencePages, model: TextReader, settings: OfflineSettings) -> None:
        self._evidence = evidence
        self._model = model
        self._settings = settings
        self._sheets = [sheet_of(page.unit, settings.unit_characters) for page in evidence.pages]
        self._read: dict[str, list[tuple[int, Sheet, Reading]]] = {}

    def read(self, text: str, avoid: Sequence[str] = ()) -> Found | None:
        """The best answer that is not one of the names to `avoid`, or None where there is none."""
        return next(iter(self.ranked(text, avoid)), None)

    def ranked(self, text: str, avoid: Sequence[str] = ()) -> list[Found]:
        """All answers, each once, best first; none to a question that says too little to look for, or to which two documents give
        different answers in the same words, with no dates to tell which of them holds.
        """
        question = analyse(text, self._evidence.titles)
        if question is None or not _readable(question):
            return []
        if question.wanted is Wanted.YES_NO:
            return self._verdicts(question)
        avoided = [_stems(name) for name in avoid]
        units = [self._sheets[rank].unit for rank in self._knowing(text)]
        cell = best_cell(question, units, frozenset[str]().union(*avoided))
        found = _latest_first(sorted(self._spans(text, question, avoided), key=lambda one: -one.odds))
        named = frozenset[str]().union(*(_stems(anchor.text) for anchor in question.anchors))
        if (cell and cell.contested) or any(_contradicts(one, found[0], named) for one in found[1:]):
            return []
        if cell:  # what a table says comes before what a text may mean
            odds = max([_CELL * cell.fit, *(one.odds + 1 for one in found[:1])])
            found = [Found(cell.value, cell.support, odds, is_cell=True), *found]
        return _with_leads(_once(found))

    def _spans(self, text: str, question: Question, avoided: Sequence[frozenset[str]]) -> Iterator[Found]:
        asked, lived = content_stems(text), question.relations & {"birth", "death"}
        if question.wanted not in {Wanted.DATE, Wanted.YEAR}:
            lived = frozenset()
        for rank, sheet, reading in self._readings(text):
            said = _share(asked, sheet)
            bonus = _HELPS * _log_odds(reading.helps) - _LATER * math.log2(1 + rank)
            for one in reading.answers:
                if lived and not sheet.says_life(one.start, one.end, lived):
                    continue  # the other date of a life, or one of neither
                worded = sheet.answer(one.start, one.end, text, question.noun)
                if worded is None or _stems(worded[0]) in avoided or not may_answer(worded[0], question, None):
                    continue
                dated = sheet.at(one.start)
                answer = _year(worded[0]) if question.wanted is Wanted.YEAR else worded[0]
                yield Found(
                    *(answer, worded[1], one.margin + bonus, reading.helps),
                    said=said,
                    date=dated.said.date if dated else "",
                    stems=content_stems(dated.said.said) if dated else frozenset(),
                    covered=asked & content_stems(dated.said.seen) if dated else frozenset(),
                )

    def _verdicts(self, question: Question) -> list[Found]:
        """Yes or no by rule where a sentence says so outright, else by the page that says so most plainly to the reader."""
        if ruled := settled(question, self._evidence):
            answer, support, belief = ruled
            return [Found(answer, support, _log_odds(belief), lead=_CELL)]
        found: list[Found] = []
        for _, sheet, reading in self._readings(question.text):
            part = sheet.closest(question.text)
            if part is None:
                continue
            for answer, share in (("yes", reading.yes), ("no", reading.no)):
                if share:
                    found.append(Found(answer, sheet.support(part), _log_odds(share), reading.helps, is_verdict=True))
        return _with_leads(_once(sorted(found, key=lambda one: -one.odds)))

    def _readings(self, question: str) -> list[tuple[int, Sheet, Reading]]:
        """Rank, sheet and reading of the pages that say most of the question, best ranked first."""
        if question not in self._read:
            asked = content_stems(question)
            ranks = sorted(self._knowing(question), key=lambda rank: (-_share(asked, self._sheets[rank]), rank))
            chosen = sorted(ranks[: self._settings.pages_read])
            sheets = [self._sheets[rank] for rank in chosen]
            readings = self._model.read([ToRead(question, sheet.text, barred=sheet.barred) for sheet in sheets])
            self._read[question] = list(zip(chosen, sheets, readings, strict=True))
        return self._read[question]

    def _knowing(self, question: str) -> list[int]:
        """The ranks of the pages that may answer: those of documents that know what the question names in small letters."""
        said: dict[str, frozenset[str]] = {}
        for sheet in self._sheets:
            said[sheet.unit.document] = said.get(sheet.unit.document, frozenset()) | sheet.stems
        named = names_in_small_letters(question, self._evidence.titles, said.values())
        return [rank for rank, sheet in enumerate(self._sheets) if named <= said[sheet.unit.document]]


def _year(answer: str) -> str:
    date = read_date(answer)
    return str(abs(date[0])) if date else answer


def _latest_first(found: Sequence[Found]) -> list[Found]:
    """With what was said last of the same thing in place of the best answer, and without what was said of it before, which it
    cites as replaced.
    """
    best = next(iter(found), None)
    if best is None or best.is_cell or not best.date:
        return list(found)
    same = [best, *(one for one in found[1:] if one.date and _of_the_same(one, best))]
    last = max(same, key=lambda one: one.date)
    earlier = [one for one in same if one.date < last.date]
    if not earlier:
        return list(found)
    before = [span for one in sorted(earlier, key=lambda one: one.date, reverse=True) for span in one.support]
    spans = tuple(dict.fromkeys((*last.support, *replaced(before))))
    rest = [one for one in found if one is not last and not any(one is other for other in earlier)]
    return [replace(last, odds=best.odds, support=spans), *rest]


def _contradicts(one: Found, best: Found, named: frozenset[str]) -> bool:
    """Whether another document says the same as the best answer's, with another answer, and dates do not tell which holds.

    Both have to be about what is asked: about what it names, in at least two of its words.
    """
    dated = bool(one.date and best.date) and one.date != best.date
    elsewhere = bool(one.support and best.support) and one.support[0].document != best.support[0].document
    about = one.covered >= best.covered >= named and len(best.covered) >= _FEWEST
    return elsewhere and not dated and about and _of_the_same(one, best, _IDENTICAL)


def _of_the_same(one: Found, best: Found, least: float = _ALIKE) -> bool:
    """Whether two statements differ in little beside their answers: they share `least` of their other words."""
    shared, either = one.stems & best.stems, one.stems | best.stems
    alike = len(shared) >= least * len(either - content_stems(one.answer) - content_stems(best.answer))
    return alike and one.odds > best.odds - _RIVAL and not same_answer(one.answer, best.answer)


def _share(asked: frozenset[str], sheet: Sheet) -> float:
    return len(asked & sheet.stems) / len(asked) if asked else 0.0


def _once(found: Sequence[Found]) -> list[Found]:
    kept: list[Found] = []
    for one in found:
        if not any(same_answer(one.answer, other.answer) for other in kept):
            kept.append(one)
    return kept


def _with_leads(found: Sequence[Found]) -> list[Found]:
    """Each with its lead over the best of the others."""
    return [
        replace(one, lead=one.odds - max((other.odds for other in found if other is not one), default=one.odds - _CELL))
        for one in found
    ]


def same_answer(one: str, other: str) -> bool:
    """Whether two answers are one, or one is the other with fewer words."""
    first, second = content_stems(one), content_stems(other)
    return same_value(one, other) or (bool(first and second) and (first <= second or second <= first))


def _readable(question: Question) -> bool:
    """Whether a question says enough to look for: a name, or two words about what it wants."""
    return bool(question.anchors) or len(question.relations) > 1


def _stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))


def _log_odds(share: float) -> float:
    share = min(1 - 1e-6, max(1e-6, share))
    return math.log(share / (1 - share))
