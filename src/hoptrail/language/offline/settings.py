"""The numbers that steer the offline rules: bounds on what is looked at, weights of the reader, thresholds of abstention.

The reader's weights (the plan's hops) were set by hand; what is learned lies in `weights/` (see `scorer`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.language.offline.finders import RULES, check_finder


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineSettings:
    """Bounds (characters, sentences, hops) and the reader's weights; scores run from 0 to about 1.

    Raises:
        UsageError: there is no such entity finder, or a bound is below 1.
    """

    entities: str = RULES
    """Who finds entities when facts are extracted from documents: `rules`, or `spacy:MODEL` with a package or folder that
    `spacy.load` takes. spaCy is never used merely because it is installed: the same inputs must give the same bytes. The
    setting is part of the language's name, so an index knows which finder its structures were made with."""

    question_characters: int = 2_000
    """Questions are analysed up to here."""
    unit_characters: int = 20_000
    unit_sentences: int = 200
    evidence_units: int = 200
    """Evidence beyond these is not read: it bounds the time of one task."""
    most_hops: int = 8

    anchor_weight: float = 0.36
    """How much of what the question names stands in the sentence or its title."""
    relation_weight: float = 0.28
    """How much of what the question says about it stands in the sentence."""
    closeness_weight: float = 0.16
    type_weight: float = 0.20
    similarity_weight: float = 0.15
    """Of the encoder's cosine, when there is one."""
    dense_sentences: int = 64
    """Sentences handed to the encoder at most, best by words first."""

    places: int = 14
    """Sentences whose candidates are scored, those that with others say most of the question."""
    least_confidence: float = 0.08
    """Below this calibrated confidence a question is left unanswered: about one answer in twelve is right there."""

    least_anchor: float = 0.5
    least_score: float = 0.5
    """Below one of these the reader abstains."""
    clear_margin: float = 0.1
    """The lead over the next different candidate from which an answer counts as clear."""

    def __post_init__(self) -> None:
        check_finder(self.entities)
        bounds = (
            "question_characters",
            "unit_characters",
            "unit_sentences",
            "evidence_units",
            "most_hops",
            "dense_sentences",
        )
        for name in (*bounds, "places"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
