"""The numbers that steer the offline language: bounds on what is looked at, and when it stays silent."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.language.entity_finders import RULES, check_finder


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineSettings:
    """Bounds: characters, sentences, hops.

    Raises:
        UsageError: there is no such entity finder, or a bound is below 1.
    """

    entities: str = RULES
    """Who finds entities when facts are extracted from documents: `rules`, or `spacy:MODEL` with a package or folder that
    `spacy.load` takes. spaCy is never used merely because it is installed: the same inputs must give the same bytes. The
    setting is part of the language's name, so an index knows which finder its structures were made with."""

    reader: bool = True
    """Whether the trained reader reads. Without it an answer takes a fifth of the time and comes only where a table cell, a list
    or a statement says it outright; what is closest is shown all the same."""

    question_characters: int = 2_000
    """Questions are analysed up to here."""
    unit_characters: int = 20_000
    unit_sentences: int = 200
    evidence_units: int = 200
    """Evidence beyond these is not read: it bounds the time of one task."""
    pages_read: int = 8
    """Units that are read for one plain question at most: those that say most of its words."""
    most_hops: int = 8

    least_confidence: float = 0.3
    """Below this probability of being right an answer is not given; a quarter of it where a recipe only allows silence, nothing
    where it never does."""

    def __post_init__(self) -> None:
        check_finder(self.entities)
        for name in (
            "question_characters",
            "unit_characters",
            "unit_sentences",
            "evidence_units",
            "pages_read",
            "most_hops",
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
