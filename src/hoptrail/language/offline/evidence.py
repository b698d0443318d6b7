"""Evidence by page and line: a page is one unit as read, a line one of its sentences with its words and exact spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.lives import life_roles
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import Word, content_stems, words
from hoptrail.types import Span, Unit


@dataclass(frozen=True)
class Line:
    """A sentence of evidence; `start` is its offset in the unit's text, `place` its number there."""

    text: str
    start: int
    place: int
    title: str
    support: tuple[Span, ...]

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return words(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(word.stem for word in self.words)

    @cached_property
    def lives(self) -> dict[int, str]:
        """See `life_roles`."""
        return life_roles(self.text, find_mentions(self.text))


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
    is_row = said.block is not None and bool(said.block.cells)
    return Line(said.said if is_row else said.text, said.start, place, unit.title, said.support)
