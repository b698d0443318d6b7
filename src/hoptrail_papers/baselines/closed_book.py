"""Closed book: the model answers from its own memory (Roberts, Raffel and Shazeer 2020). The baseline that retrieves nothing.

Faithful to how papers on retrieval use it: one call, no text. Leaves out examples in the prompt. Rules always abstain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import FROM_MEMORY, Reading, Recall
from hoptrail.recipes.answering import CitedHop, memory_hop
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class ClosedBookSettings(PassageSettings):
    """Only `abstain` is a setting: nothing is retrieved, and no evidence is read."""

    k: int = field(default=20, repr=False)
    evidence_tokens: int = field(default=6000, repr=False)
    effort = FROM_MEMORY


@dataclass(frozen=True)
class ClosedBook(SinglePass):
    """The model's own memory: nothing is retrieved and nothing is cited."""

    settings: ClosedBookSettings = field(default_factory=ClosedBookSettings)

    name: ClassVar[str] = "closed-book"

    def retrieve(self, question: str) -> Ranking:
        del question
        return ()

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """The answer from the model's memory. Raises: TaskFailed: from the language."""
        del packed
        return meter.perform(Recall(question, meter.abstain))

    def hops(self, question: str, reading: Reading, found: Ranking, packed: Ranking) -> list[CitedHop]:
        """One hop without evidence; where it has an answer, its only hit notes that this came from memory."""
        del found, packed
        return [memory_hop(question, question, reading)]
