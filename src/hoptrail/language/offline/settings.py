"""Settings of the offline language: bounds on what is analysed, and when it abstains."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hoptrail.errors import UsageError
from hoptrail.language.entity_finders import RULES, check_finder

QUESTION_CHARACTERS = 2_000  # far more than one question has: longer ones are texts


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineSettings:
    """Settings of the offline language. Raises: UsageError: there is no such entity finder, or a bound is below 1."""

    entities: str = RULES
    """The entity finder for extracting facts from documents: `rules`, or `spacy:MODEL` with a package or folder for `spacy.load`.
    spaCy is never used merely because it is installed: the same inputs must give the same bytes. The setting is part of the
    language's name, so an index knows which finder its structures were made with."""

    reader: bool = True
    """Whether to use the trained reader. Without it only lists are answered; the closest statements are shown all the same."""

    question_characters: int = QUESTION_CHARACTERS
    """The rest of a longer question is ignored."""
    unit_characters: int = 20_000
    unit_sentences: int = 200
    evidence_units: int = 200
    """Evidence beyond these bounds is ignored, which limits the time of a task."""
    most_hops: int = 8

    least_confidence: float = 0.3
    """Below this probability of being right an answer is withheld. A quarter of it applies if a recipe only allows abstaining, 0
    if it never does."""

    def __post_init__(self) -> None:
        check_finder(self.entities)
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is int and value < 1:
                raise UsageError(f"{field.name} must be at least 1, not {value}")
