"""Settings of the offline language: bounds on what is analysed, and when it abstains."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.language.entity_finders import RULES, check_finder
from hoptrail.setting_limits import AtLeast1, Share, check_limits

QUESTION_CHARACTERS = 2_000  # far more than one question has: longer ones are texts


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineSettings:
    """Settings of the offline language. Raises: UsageError: there is no such entity finder, or a value is outside its limit."""

    entities: str = RULES
    """The entity finder for extracting facts from documents: `rules`, or `spacy:MODEL` with a package or folder for `spacy.load`.
    spaCy is never used merely because it is installed: the same inputs must give the same bytes. The setting is part of the
    language's name, so an index knows which finder its structures were made with."""

    reader: bool = True
    """Whether to use the trained reader. Without it only lists are answered; the closest statements are shown all the same."""

    question_characters: AtLeast1 = QUESTION_CHARACTERS
    """The rest of a longer question is ignored, and it is not taken apart; path search keeps to the default."""
    unit_characters: AtLeast1 = 20_000
    unit_sentences: AtLeast1 = 200
    evidence_units: AtLeast1 = 200
    """Evidence beyond these bounds is ignored, which limits the time of a task."""
    most_hops: AtLeast1 = 8

    least_confidence: Share = 0.3
    """Below this probability of being right an answer is withheld. A quarter of it applies if a recipe only allows abstaining, 0
    if it never does."""

    def __post_init__(self) -> None:
        check_finder(self.entities)
        check_limits(self)
