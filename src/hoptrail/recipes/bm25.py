"""Keyword search (BM25), read once. A baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.unit_search import keyword_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class Bm25Settings(PassageSettings):
    """A class of its own, so that runs of this recipe have a fingerprint of their own."""


@dataclass(frozen=True)
class Bm25(SinglePass):
    """Keyword search (BM25), read once."""

    settings: Bm25Settings = field(default_factory=Bm25Settings)

    name: ClassVar[str] = "bm25"

    def retrieve(self, question: str) -> Ranking:
        """The `k` passages with the highest BM25 scores."""
        return keyword_search(self.corpus, question, self.settings.k)
