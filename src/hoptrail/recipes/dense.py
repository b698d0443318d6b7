"""Dense search by the encoder's vectors, read once. A baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class DenseSettings(PassageSettings):
    """A class of its own, so that runs of this recipe have a fingerprint of their own."""


@dataclass(frozen=True)
class Dense(SinglePass):
    """Dense search by the encoder's vectors, read once."""

    settings: DenseSettings = field(default_factory=DenseSettings)

    name: ClassVar[str] = "dense"

    def retrieve(self, question: str) -> Ranking:
        """The `k` passages nearest to the question; scores are cosines."""
        return dense_search(self.corpus, question, self.settings.k)
