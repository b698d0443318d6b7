"""Evidence by page and line: a page is one unit as read, a line one of its statements with its exact spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.statements import statements_of
from hoptrail.text.words import words
from hoptrail.types import Span, Unit


@dataclass(frozen=True)
class Line:
    """A statement of a page with that title; a table's row reads `header: value`."""

    text: str
    title: str
    support: tuple[Span, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Of all its words."""
        return frozenset(word.stem for word in words(self.text))

    @cached_property
    def stems_with_title(self) -> frozenset[str]:
        """Of all its words and those of its page's title."""
        return self.stems.union(word.stem for word in words(self.title))


@dataclass(frozen=True, slots=True)
class Page:
    """A unit as read; the title is without its parenthesis."""

    unit: Unit
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class EvidencePages:
    """All pages of one task, best first."""

    pages: tuple[Page, ...]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Full titles and titles without their parenthesis, without repeats."""
        found = (name for page in self.pages if page.title for name in (squeeze(page.unit.title), page.title))
        return tuple(dict.fromkeys(found))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Those of all pages."""
        return tuple(line for page in self.pages for line in page.lines)


def open_evidence(units: Sequence[Unit], settings: OfflineSettings) -> EvidencePages:
    """Cut units into statements, within the settings' bounds; a unit that occurs twice is read once."""
    unique = {unit.id: unit for unit in units[: settings.evidence_units]}
    return EvidencePages(tuple(_page(unit, settings) for unit in unique.values()))


@lru_cache(maxsize=256)
def _page(unit: Unit, settings: OfflineSettings) -> Page:
    found = [said for said in statements_of(unit) if said.end <= settings.unit_characters][: settings.unit_sentences]
    title = base_title(unit.title)
    is_row = [said.block is not None and bool(said.block.cells) for said in found]
    lines = (Line(one.said if row else one.text, title, one.support) for one, row in zip(found, is_row, strict=True))
    return Page(unit, title, tuple(lines))
