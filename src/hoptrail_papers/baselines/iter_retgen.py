"""Iter-RetGen (Shao et al., Findings of EMNLP 2023): each round searches for the last round's generation and the question.

    section 3.2   retrieval for round t by the generation of round t - 1 followed by the question   here
    section 3.3   generation from the question and what this round retrieved                        task answer

Faithful to the query and to reading only the hits of the last round. Deviations: a generation is a reading's steps and answer,
not a chain of thought. Rounds end early when a generation adds nothing to the query. If the last round abstains, the latest
answer before it counts (the model of the paper always answers). Leaves out worked examples and the retriever adapted to the
reader (section 3.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort, Reading
from hoptrail.recipes.answering import CitedHop, report_hops
from hoptrail.recipes.hopwise import Concluded, Hopwise, read_packed
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast1
from hoptrail.types import Ranking, Verdict


@dataclass(frozen=True, slots=True)
class IterRetgenSettings(PassageSettings):
    """`rounds` (T) of searching for `k` passages and reading those that fit `evidence_tokens`."""

    rounds: AtLeast1 = 2

    @property
    def effort(self) -> Effort:
        """One reading for each round; fewer if a query repeats."""
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
        """The hits of the last round."""
        return hops[-1].hop.hits

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop a round, until the rounds are used up, one fails, or a query repeats."""
        hops: list[CitedHop] = []
        asked = question
        while len(hops) < self.settings.rounds and asked not in {cited.hop.asked for cited in hops}:
            meter.asked(question, asked)
            hits = hybrid_search(self.corpus, asked, self.settings.k)
            # Read the bare question: the earlier generation only serves the search.
            reading, cited = read_packed(question, question, hits, self.settings.evidence_tokens, meter, meter.abstain)
            hops += report_hops([replace(cited, hop=replace(cited.hop, asked=asked))], meter)
            if cited.hop.verdict is Verdict.FAILED:
                break
            asked = f"{_generation(reading)} {question}".strip()
        return hops

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """The latest answer of any round."""
        del question, found, meter
        return next((cited.hop.answer for cited in reversed(hops) if cited.hop.answer is not None), None), []


def _generation(reading: Reading) -> str:
    """The steps and the answer of a reading as a query; empty for an abstention without steps."""
    parts = [*(f"{step.question} {step.answer}" for step in reading.steps), reading.answer or ""]
    return " ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
