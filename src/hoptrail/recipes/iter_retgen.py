"""Iter-RetGen (Shao et al., Findings of EMNLP 2023): what was generated is joined to the question and searched for again.

    section 3.2   retrieval for round t by the generation of round t - 1 followed by the question   here
    section 3.3   generation from the question and what this round retrieved                        task answer

Faithful to the query and to reading only what the last round found. Deviations: a generation is a reading's steps and answer in
place of a chain of thought; rounds end early when a generation adds nothing to the query; where the last round abstains, the last
answer before it stands (the model of the paper always answers). Leaves out worked examples and the retriever adapted to the
reader (section 3.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Reading
from hoptrail.recipes.answering import CitedHop, report_hops
from hoptrail.recipes.hopwise import Hopwise, read_packed
from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Ranking, Verdict


@dataclass(frozen=True, slots=True)
class IterRetgenSettings(PassageSettings):
    """`rounds` (T) of searching for `k` passages and reading those that fit `evidence_tokens`."""

    rounds: int = 2
    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)

    def __post_init__(self) -> None:
        PassageSettings.__post_init__(self)  # super() does not work in classes with slots
        if self.rounds < 1:
            raise ValueError("rounds is at least 1")

    @property
    def effort(self) -> Effort:
        return Effort((1, self.rounds))


@dataclass(frozen=True)
class IterRetgen(Hopwise):
    """Search, read, and search again for the question together with what the reading said."""

    settings: IterRetgenSettings = field(default_factory=IterRetgenSettings)

    name: ClassVar[str] = "iter-retgen"
    presets: ClassVar[Mapping[str, IterRetgenSettings]] = {
        "paper": IterRetgenSettings(k=5, abstain=Abstain.NEVER),
        "seven-rounds": IterRetgenSettings(k=5, rounds=7, abstain=Abstain.NEVER),
    }

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """What the last round found."""
        return hops[-1].hop.hits

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One a round, until there are enough, one fails, or a query was asked before."""
        hops: list[CitedHop] = []
        asked = question
        while len(hops) < self.settings.rounds and asked not in {cited.hop.asked for cited in hops}:
            meter.asked(question, asked)
            hits = hybrid_search(self.corpus, asked, self.settings.k, self.settings.search)
            # The question alone is read: the earlier generation is there to search with.
            reading, cited = read_packed(question, question, hits, self.settings.evidence_tokens, meter, meter.abstain)
            hops += report_hops([replace(cited, hop=replace(cited.hop, asked=asked))], meter)
            if cited.hop.verdict is Verdict.FAILED:
                break
            asked = f"{_generation(reading)} {question}".strip()
        return hops

    def conclude(
        self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter
    ) -> tuple[str | None, list[CitedHop]]:
        """The answer of the last round that gave one."""
        del question, found, meter
        return next((cited.hop.answer for cited in reversed(hops) if cited.hop.answer is not None), None), []


def _generation(reading: Reading) -> str:
    """What a reading says, as a text to search with; nothing where it says nothing."""
    steps = [f"{step.question} {step.answer}" for step in reading.steps]
    said = [*steps, reading.answer or ""]
    return " ".join(dict.fromkeys(part.strip() for part in said if part.strip()))
