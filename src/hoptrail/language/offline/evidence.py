"""Evidence as pages and lines: a page is a unit, a line is one of its statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Block, Cell, Unit


@dataclass(frozen=True)
class Page:
    """A unit, its title without parenthesis, and its statements."""

    unit: Unit
    title: str
    lines: tuple[UnitStatement, ...]

    @cached_property
    def stems(self) -> tuple[frozenset[str], ...]:
        """The stems of each line together with the title."""
        above = content_stems(self.title)
        return tuple(above | content_stems(line.alone) for line in self.lines)


@dataclass(frozen=True)
class EvidencePages:
    """The pages of one task, best first."""

    pages: tuple[Page, ...]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """The titles with and without their parenthesis, without repeats."""
        titles = (name for page in self.pages if page.title for name in (squeeze(page.unit.title), page.title))
        return tuple(dict.fromkeys(titles))

    @property
    def stems(self) -> list[frozenset[str]]:
        """The stems of each line of all pages."""
        return [stems for page in self.pages for stems in page.stems]


def open_evidence(units: Sequence[Unit], settings: OfflineSettings) -> EvidencePages:
    """Cut distinct units into statements, within the bounds of the settings."""
    unique = {unit.id: unit for unit in units[: settings.evidence_units]}
    return EvidencePages(tuple(_page(unit, settings) for unit in unique.values()))


def text_of(said: UnitStatement, part: Block | Cell) -> str:
    """The text of a statement's block, or of one of its cells."""
    first = said.unit.sources[0].start
    return said.unit.text[max(0, part.start - first) : max(0, part.end - first)]


@lru_cache(maxsize=256)
def _page(unit: Unit, settings: OfflineSettings) -> Page:
    lines = [said for said in statements_of(unit) if said.end <= settings.unit_characters]
    return Page(unit, base_title(unit.title), tuple(lines[: settings.unit_sentences]))
