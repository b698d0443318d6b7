"""Evidence by page and line: a page is one unit as read, a line one of its statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Unit


@dataclass(frozen=True)
class Page:
    """A unit as read, and its statements; the title is without its parenthesis."""

    unit: Unit
    title: str
    lines: tuple[Said, ...]

    @cached_property
    def stems(self) -> tuple[frozenset[str], ...]:
        """Of each line, its title included."""
        above = content_stems(self.title)
        return tuple(above | content_stems(line.alone) for line in self.lines)


@dataclass(frozen=True)
class EvidencePages:
    """All pages of one task, best first."""

    pages: tuple[Page, ...]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Full titles and titles without their parenthesis, without repeats."""
        found = (name for page in self.pages if page.title for name in (squeeze(page.unit.title), page.title))
        return tuple(dict.fromkeys(found))

    @property
    def stems(self) -> list[frozenset[str]]:
        """Those of all lines."""
        return [stems for page in self.pages for stems in page.stems]


def open_evidence(units: Sequence[Unit], settings: OfflineSettings) -> EvidencePages:
    """Cut units into statements, within the settings' bounds; a unit that occurs twice is read once."""
    unique = {unit.id: unit for unit in units[: settings.evidence_units]}
    return EvidencePages(tuple(_page(unit, settings) for unit in unique.values()))


@lru_cache(maxsize=256)
def _page(unit: Unit, settings: OfflineSettings) -> Page:
    found = [said for said in statements_of(unit) if said.end <= settings.unit_characters]
    return Page(unit, base_title(unit.title), tuple(found[: settings.unit_sentences]))
