"""The extractive reader: one plain question, read against evidence, answered with a candidate span or not at all.

Rung 0 of the reader ladder in systems.md 7.2: candidates are the names, dates and numbers of the sentences (and their
titles); a candidate's score adds up how much of what the question names and says stands in the sentence, how close to the
candidate it stands, how well the candidate fits the type asked for and, with an encoder, how similar the sentence is. Words
of the question are never an answer. It does not reason: nested questions are taken apart before they come here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.offline.cells import best_cell
from hoptrail.language.offline.claims import takes_back
from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.language.offline.fitting import SHAPES, fit, in_place
from hoptrail.language.offline.kinds import kind_asked, of_kind, owned_by_subject
from hoptrail.language.offline.questions import Question, Wanted, analyse
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.lexicon import DEMONYMS, NAMED_AFTER, word_set
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.values import country_of, read_date, with_unit
from hoptrail.text.words import KIN, RELATED, content_stems, stem, words
from hoptrail.types import Span

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Cosines of a question with sentences, between -1 and 1."""


@dataclass(frozen=True, slots=True)
class Found:
    """An answer with the spans that say so. `confidence` is between 0 and 1. `is_cell`: a table's whole cell."""

    answer: str
    support: tuple[Span, ...]
    confidence: float
    is_cell: bool = False


@dataclass(frozen=True, slots=True)
class _Scored:
    """A candidate; `by_words` is its score without the encoder's part, which orders candidates but makes none credible."""

    answer: str
    line: Line
    by_words: float
    score: float


_DATED_CLASS = re.compile(r"\b(?:is|was|are|were)\s+(?:a|an|the)?\s*\d{4}\b", re.IGNORECASE)


class Reader:
    """Reads plain questions against one set of evidence."""

    def __init__(
        self, evidence: EvidencePages, settings: OfflineSettings, similarity: Similarity | None = None
    ) -> None:
        self._evidence = evidence
        self._settings = settings
        self._similarity = similarity

    def read(self, text: str, avoid: Sequence[str] = ()) -> Found | None:
        """The best candidate that is not one of the names to `avoid`, or None where support is weak."""
        question = analyse(text, self._evidence.titles)
        if question is None or not _readable(question):
            return None
        if question.wanted is Wanted.YES_NO:
            return self._yes_no(question)
        avoided = frozenset[str]().union(*(_anchor_stems(name) for name in avoid))
        cell = best_cell(question, [page.unit for page in self._evidence.pages], avoided)
        if cell is not None:
            return Found(cell.value, cell.support, round(cell.fit, 4), is_cell=True)
        scored = self._scored(question, avoid)
        if not scored or scored[0].by_words < self._settings.least_score:
            return None
        best = scored[0]
        rival = next((other.score for other in scored if not _same_answer(other.answer, best.answer)), 0.0)
        clear = min(1.0, max(0.0, best.score - rival) / self._settings.clear_margin)
        return Found(best.answer, best.line.support, round(min(1.0, best.by_words) * (0.6 + 0.4 * clear), 4))

    def ranked(self, text: str, avoid: Sequence[str] = ()) -> list[Found]:
        """All answers with enough support, each once, best first; confidence is the support, whatever their rivals have."""
        question = analyse(text, self._evidence.titles)
        if question is None or not _readable(question) or question.wanted is Wanted.YES_NO:
            return []
        best: dict[str, Found] = {}
        for one in self._scored(question, avoid):
            if one.by_words >= self._settings.least_score:
                found = Found(one.answer, one.line.support, round(min(1.0, one.by_words), 4))
                best.setdefault(one.answer.lower(), found)
        return list(best.values())

    def _scored(self, question: Question, avoid: Sequence[str]) -> list[_Scored]:
        avoided = {_anchor_stems(name) for name in avoid}
        found = [one for one in self._candidates(question) if _anchor_stems(one.answer) not in avoided]
        return sorted(found, key=lambda candidate: -candidate.score)

    def _candidates(self, question: Question) -> Iterator[_Scored]:
        weights = self._weights(question)
        anchors = [_anchor_stems(anchor.text) for anchor in question.anchors]
        supported = []
        for page, line in self._evidence.lines:
            anchored = _anchored(anchors, page, line) if anchors else 0.5
            said, places = _said(question, weights, line)
            said = max(said, _implied(question, page, line, anchors))
            if anchored >= self._settings.least_anchor and (said > 0 or not question.relations):
                supported.append((page, line, anchored, said, places))
        similar = self._similar(question, [line for _, line, *_ in supported])
        for (page, line, anchored, said, places), likeness in zip(supported, similar, strict=True):
            base = self._settings.anchor_weight * anchored + self._settings.relation_weight * said
            for candidate in _mentions_for(question, page, line, anchors):
                close = _closeness(question, candidate, line, places)
                if close is None:
                    continue
                score = base + self._settings.closeness_weight * close
                score += self._settings.type_weight * fit(candidate, question, line, self._evidence)
                meant = score + self._settings.similarity_weight * likeness
                yield _Scored(_worded(candidate, question, line), line, score, meant)

    def _weights(self, question: Question) -> dict[str, float]:
        """A rare relation word says more than one in every sentence."""
        lines = self._evidence.lines
        count = {
            asked: sum(bool(_expressions(asked) & line.stems) for _, line in lines)
            for asked in sorted(question.relations)
        }
        return {asked: math.log(1 + (len(lines) + 1) / (1 + found)) for asked, found in count.items()}

    def _similar(self, question: Question, lines: Sequence[Line]) -> list[float]:
        if self._similarity is None or not lines:
            return [0.0] * len(lines)
        first = lines[: self._settings.dense_sentences]
        cosines = self._similarity(question.text, [f"{line.title}. {line.text}" for line in first])
        return [max(0.0, float(cosine)) for cosine in cosines] + [0.0] * (len(lines) - len(first))

    def _yes_no(self, question: Question) -> Found | None:
        """Yes when one sentence about what is named says all that is asked; no when that is a kind and it is of another.

        That no sentence says it makes no other `no`: what is asked may be true all the same.
        """
        anchors = [_anchor_stems(anchor.text) for anchor in question.anchors]
        if not anchors or _turned(question):
            return None
        if kind := kind_asked(question):
            found = of_kind(kind, anchors[0], self._evidence)
            return found and Found("yes" if found[0] else "no", found[1].support, 0.7 if found[0] else 0.4)
        asked = question.relations.union(*anchors[1:])
        for page, line in self._evidence.lines:
            said = bool(asked) and all(_expressions(part) & line.stems for part in asked)
            plainly = said and not owned_by_subject(line) & KIN - asked and not takes_back(line.text, question.text)
            if plainly and _anchored(anchors[:1], page, line) >= 0.9:
                return Found("yes", line.support, 0.7)
        return None


_TURNING = word_set("before after than or not never")


def _turned(question: Question) -> bool:
    """Whether a question orders, lets choose or denies: a sentence that says all its words may then say the contrary."""
    named = [(mention.start, mention.end) for mention in question.anchors]
    free = [word for word in words(question.text) if not any(start <= word.start < end for start, end in named)]
    turning = [at for at, word in enumerate(free) if word.lower in _TURNING]
    return any(free[at].lower != "after" or free[at - 1].lower not in NAMED_AFTER for at in turning)


def _readable(question: Question) -> bool:
    """Whether a question says enough to look for: a name, or two words about what it wants."""
    return bool(question.anchors) or len(question.relations) > 1


def _anchor_stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))


def _anchored(anchors: Sequence[frozenset[str]], page: Page, line: Line) -> float:
    """How much of the names stands in the line or its title, the mean over names."""
    return sum(_one_anchored(anchor, page, line) for anchor in anchors) / len(anchors)


def _one_anchored(anchor: frozenset[str], page: Page, line: Line) -> float:
    if not anchor:
        return 0.0
    shared = len(anchor & page.title_stems)
    titled = shared / len(anchor) * (0.5 + 0.5 * shared / max(1, len(page.title_stems)))
    said = len(anchor & line.stems) / len(anchor)
    elsewhere = len(anchor & page.stems) / len(anchor)
    return max(titled, 0.9 * said, 0.4 * elsewhere)


def _expressions(asked: str) -> frozenset[str]:
    return RELATED.get(asked, frozenset()) | {asked}


def _said(question: Question, weights: dict[str, float], line: Line) -> tuple[float, list[int]]:
    """How much of the question's other words the line says, and where (character offsets)."""
    if not question.relations:
        return 0.5, []
    total = sum(weights.values())
    said = 0.0
    for asked, weight in weights.items():
        if asked in line.stems or (asked in {"birth", "death"} and asked in line.lives.values()):
            said += weight
        elif _expressions(asked) & line.stems:
            said += 0.8 * weight
    wanted = frozenset().union(*(_expressions(asked) for asked in question.relations))
    return said / total, [word.start for word in line.words if word.stem in wanted]


_PARENTS = frozenset(stem(word) for word in ("father", "mother", "parent"))
_BEGINNINGS = frozenset({"release", "publish", "found", "begin", "com", "make", "build"})


def _implied(question: Question, page: Page, line: Line, anchors: Sequence[frozenset[str]]) -> float:
    """What the sentence that defines a page says without a word for it: nationality, and the year of `a 1971 film`."""
    if line.place or not any(anchor <= page.title_stems for anchor in anchors):
        return 0.0
    if question.wanted in {Wanted.NATIONALITY, Wanted.COUNTRY}:
        return 0.8
    dated = question.wanted in {Wanted.DATE, Wanted.YEAR} and bool(question.relations & _BEGINNINGS)
    return 0.7 if dated and _DATED_CLASS.search(line.text) else 0.0


def _mentions_for(question: Question, page: Page, line: Line, anchors: Sequence[frozenset[str]]) -> Iterator[Mention]:
    """The mentions of a line that could answer, and its title, the question's own names left out."""
    shapes = SHAPES[question.wanted]
    asked = frozenset().union(*anchors)
    offered = [mention for mention in line.mentions if mention.shape in shapes]
    if question.wanted is Wanted.NATIONALITY:
        offered = [mention for mention in offered if country_of(mention.text)]
    if question.wanted in {Wanted.NATIONALITY, Wanted.COUNTRY}:
        offered += [
            Mention(word.text, word.start, word.end, Shape.NAME) for word in line.words if word.lower in DEMONYMS
        ]
    if (
        shapes & {Shape.NAME}
        and question.wanted is not Wanted.NATIONALITY
        and page.title
        and not any(page.title_stems <= anchor for anchor in anchors)
    ):
        offered.append(Mention(page.title, 0, 0, Shape.NAME))
    if question.wanted in {Wanted.PERSON, Wanted.PLACE} or (
        question.wanted is Wanted.THING and question.noun != "language"
    ):
        offered = [mention for mention in offered if mention.text.lower() not in DEMONYMS]
    for mention in offered:
        if mention.shape in {Shape.DATE, Shape.NUMBER} or not _anchor_stems(mention.text) <= asked:
            yield mention
        elif question.wanted is Wanted.PLACE and _anchor_stems(mention.text) not in anchors and in_place(mention, line):
            yield mention  # `Oslo Library stands in Oslo`


def _closeness(question: Question, candidate: Mention, line: Line, places: Sequence[int]) -> float | None:
    """From 1 beside a relation word to 0 far away; None when the candidate's role rules it out."""
    role = line.lives.get(candidate.start) if candidate.end else None
    asked = question.relations & {"birth", "death"}
    if role and asked:
        return 1.0 if role in asked else None
    if not places:
        return 0.3
    # of `a son of Ada`, Ada is the parent: what stands before `son` is not
    backwards = 6.0 if question.relations & _PARENTS else 1.5
    gaps = [
        candidate.start - place if place < candidate.start else backwards * (place - candidate.end) for place in places
    ]
    inside = [gap for place, gap in zip(places, gaps, strict=True) if not candidate.start <= place < candidate.end]
    return 1 / (1 + min(inside) / 24) if inside else 0.3


def _worded(candidate: Mention, question: Question, line: Line) -> str:
    """As it is given: a year alone where one is asked for, a number with its unit."""
    text = squeeze(candidate.text)
    if candidate.shape is Shape.NUMBER and line.text[candidate.start : candidate.end] == candidate.text:
        return with_unit(line.text, candidate.start, candidate.end)
    if question.wanted is Wanted.YEAR:
        date = read_date(text)
        return str(abs(date[0])) if date else text
    return text


def _same_answer(one: str, other: str) -> bool:
    first, second = content_stems(one), content_stems(other)
    return one == other or (bool(first and second) and (first <= second or second <= first))
