"""Evidence made ready for reading: its sentences with their words, mentions and exact spans, and what its titles stand for.

A page is one unit as read; a line is one of its sentences. The first sentence of a page is taken to say what its title is
(`Pellow is a harbour town`), which serves as the only gazetteer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.offline.questions import is_person_noun
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.mentions import Mention, Shape, find_mentions
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import Word, content_stems, words
from hoptrail.types import Kind, Span, Unit

_DEFINITION_WORDS = 14
_COPULA = frozenset({"is", "was", "are", "were"})


@dataclass(frozen=True)
class Line:
    """A sentence of evidence; `start` is its offset in the unit's text, `place` its number there."""

    text: str
    start: int
    place: int
    title: str
    support: tuple[Span, ...]
    headers: frozenset[str] = frozenset()
    """Of a table row, folded: no answers by themselves."""

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return words(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(word.stem for word in self.words)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        found = find_mentions(self.text)
        return (
            tuple(mention for mention in found if folded(mention.text) not in self.headers) if self.headers else found
        )

    @cached_property
    def lives(self) -> dict[int, str]:
        """Mentions (by start) of the parenthesis after a name that mean birth or death: `(Oslo, 1 May 1900 – 2 June 1980)`."""
        return _life_roles(self.text, self.mentions)


@dataclass(frozen=True)
class Page:
    """A unit as read."""

    unit: Unit
    title: str
    lines: tuple[Line, ...]

    @cached_property
    def title_stems(self) -> frozenset[str]:
        return content_stems(self.title) or frozenset(word.stem for word in words(self.title))

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*(line.stems for line in self.lines))

    @cached_property
    def definition(self) -> tuple[Word, ...]:
        """The words that say what the title is, or none: those after the first `is` or `was` of the first sentences."""
        for line in self.lines[:2]:
            for at, word in enumerate(line.words):
                if word.lower in _COPULA:
                    return line.words[at + 1 : at + 1 + _DEFINITION_WORDS]
        return ()

    @cached_property
    def is_person(self) -> bool | None:
        """Whether the title names a person; None when its page does not say."""
        if any(line.lives for line in self.lines[:1]):
            return True
        if not self.definition:
            return None
        nouns = [word for word in self.definition if word.lower not in FUNCTION_WORDS]
        heads = [word for word in nouns[:6] if word.text[0].islower()]
        return any(is_person_noun(word.text) for word in heads) or any(word.stem == "birth" for word in self.definition)


@dataclass(frozen=True)
class EvidencePages:
    """All pages of one task, best first."""

    pages: tuple[Page, ...]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Full titles and titles without their parenthesis, without repeats."""
        found = [name for page in self.pages if page.title for name in (squeeze(page.title), base_title(page.title))]
        return tuple(dict.fromkeys(found))

    @cached_property
    def by_name(self) -> dict[str, Page]:
        """Pages by folded title; the first page of a title stands for it."""
        found: dict[str, Page] = {}
        for page in self.pages:
            for name in (folded(page.title), folded(base_title(page.title))):
                if name:
                    found.setdefault(name, page)
        return found

    @cached_property
    def lines(self) -> tuple[tuple[Page, Line], ...]:
        return tuple((page, line) for page in self.pages for line in page.lines)


def open_evidence(units: Sequence[Unit], settings: OfflineSettings) -> EvidencePages:
    """Cut units into sentences, within the settings' bounds; a unit that occurs twice is read once."""
    unique = {unit.id: unit for unit in reversed(units[: settings.evidence_units])}
    ordered = [unit for unit in units[: settings.evidence_units] if unique.pop(unit.id, None)]
    return EvidencePages(tuple(_page(unit, settings) for unit in ordered))


@lru_cache(maxsize=256)
def _page(unit: Unit, settings: OfflineSettings) -> Page:
    found = [said for said in statements_of(unit) if said.end <= settings.unit_characters][: settings.unit_sentences]
    lines = tuple(_line(unit, place, said) for place, said in enumerate(found))
    return Page(unit, base_title(unit.title), lines)


def _line(unit: Unit, place: int, said: Said) -> Line:
    support = support_of(unit, said.start, said.end)
    if said.block is None or not said.block.cells:
        return Line(said.text, said.start, place, unit.title, support)
    headers = frozenset(folded(cell.header) for cell in said.block.cells)
    return Line(said.said, said.start, place, unit.title, support, headers)


def forget_pages() -> None:
    """Read every unit anew: what tasks before remember would make a measured time too short."""
    _page.cache_clear()


def support_of(unit: Unit, start: int, end: int) -> tuple[Span, ...]:
    """The document spans behind characters `start` to `end` of a unit's text.

    Exact for passages and sentences, whose text is their source. A derived unit with one line of text a source gives that
    line's source; otherwise all its sources.
    """
    first = unit.sources[0]
    if unit.kind in {Kind.PASSAGE, Kind.SENTENCE} and first.end - first.start == len(unit.text):
        return (Span(first.document, first.start + start, first.start + end),)
    if unit.text.count("\n") + 1 == len(unit.sources):
        return (unit.sources[unit.text.count("\n", 0, start)],)
    return unit.sources


_DASH = re.compile(r"\s?[–—-]\s|\s[–—-]|[–—]")
_DIED = re.compile(r"\b(?:died|dead|d\.)", re.IGNORECASE)
_BORN = re.compile(r"\b(?:born|b\.)", re.IGNORECASE)


def _life_roles(text: str, mentions: Sequence[Mention]) -> dict[int, str]:
    left = text.find("(", 0, 120)
    right = text.find(")", left)
    inside = [mention for mention in mentions if left < mention.start and mention.end <= right]
    dates = [mention for mention in inside if mention.shape is Shape.DATE]
    if left < 0 or not dates:
        return {}
    body = text[left:right]
    if died := _DIED.search(body):
        turn = left + died.start()
    elif dash := _DASH.search(text, dates[0].end if len(dates) > 1 else left, dates[-1].start + 1):
        turn = dash.start()
    elif _BORN.search(body):
        turn = right
    else:
        return {}
    return {mention.start: "birth" if mention.start < turn else "death" for mention in inside}
