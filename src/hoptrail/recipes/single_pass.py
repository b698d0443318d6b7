"""Base of recipes that retrieve once and read once; each adds its own `retrieve`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Language, Read, Reading
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import pack
from hoptrail.types import Answer, Hop, Ranking, Trail, Verdict

if TYPE_CHECKING:
    from hoptrail.recipes.answering import CitedHop


@dataclass(frozen=True)
class SinglePass(ABC):
    """Retrieve, pack, read. A failed reading is a failed hop and an abstention, not an error."""

    corpus: Corpus
    language: Language
    settings: PassageSettings

    name: ClassVar[str]

    @abstractmethod
    def retrieve(self, question: str) -> Ranking:
        """The hits to read, best first, at most `k`."""

    def search(self, question: str, meter: Meter) -> Ranking:
        """Like `retrieve`. Recipes whose retrieval asks the language override it. Raises: TaskFailed: from the language."""
        del meter
        return self.retrieve(question)

    def packed(self, ranking: Ranking) -> Ranking:
        """The hits that are read."""
        return pack(ranking, self.settings.evidence_tokens)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """Answer from the packed hits. Raises: TaskFailed: from the language."""
        return meter.perform(Read(question, tuple(hit.unit for hit in packed), meter.abstain))

    def hops(self, question: str, reading: Reading, found: Ranking, packed: Ranking) -> list[CitedHop]:
        """The hops of a reading of `packed`, a part of `found`. Raises: TaskFailed: the reading cites a span outside `packed`."""
        from hoptrail.recipes.answering import hops_of

        return hops_of(question, reading, found, packed)

    def answer(self, question: str) -> Answer:
        """The answer of one reading, cited; if a task fails, an abstention whose one hop is marked as failed."""
        # Not needed to search.
        from hoptrail.recipes.answering import CitedHop, cite, guess_of, report_hops, withheld_hop
        from hoptrail.recipes.closest import closest

        meter = Meter(self.language, self.settings.abstain)
        meter.asked(question, question)
        ranking: Ranking = ()
        try:
            ranking = self.search(question, meter)
            packed = self.packed(ranking)
            reading = self.read(question, packed, meter)
            hops = self.hops(question, reading, ranking, packed)
        except TaskFailed:
            reading, hops = Reading(None), [CitedHop(Hop(question, question, ranking, None, Verdict.FAILED))]
        evidence = cite(report_hops(hops, meter), self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        name, language = self.name, self.language.name
        return Answer(
            *(question, reading.answer, name, language, evidence, trail, meter.total, ranking, reading.confidence),
            kind=reading.kind,
            items=reading.items,
            closest=closest(question, ranking, self.corpus, self.language, reading.promising),
            guess=guess_of(withheld_hop(question, reading, ranking), reading.confidence, self.corpus, len(hops) - 1),
            notes=reading.notes,
        )
