"""Evidence of one task: distinct units and their statements, within the bounds of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.types import Block, Cell, Unit


@dataclass(frozen=True)
class OpenedEvidence:
    """The units, best first, and their statements."""

    units: tuple[Unit, ...]
    settings: OfflineSettings

    @cached_property
    def lines(self) -> tuple[UnitStatement, ...]:
        """The statements, in order."""
        most, longest = self.settings.unit_sentences, self.settings.unit_characters
        within = ((said for said in statements_of(unit) if said.end <= longest) for unit in self.units)
        return tuple(said for one in within for said in islice(one, most))


def open_evidence(units: Sequence[Unit], settings: OfflineSettings) -> OpenedEvidence:
    """The distinct units."""
    return OpenedEvidence(tuple({unit.id: unit for unit in units[: settings.evidence_units]}.values()), settings)


def text_of(said: UnitStatement, part: Block | Cell) -> str:
    """The text of a statement's block, or of one of its cells."""
    first = said.unit.sources[0].start
    return said.unit.text[max(0, part.start - first) : max(0, part.end - first)]
