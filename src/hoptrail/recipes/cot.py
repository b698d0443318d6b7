"""Chain of thought with self-consistency (Wei et al. 2022; Wang et al. 2023), over passages retrieved once.

    Wang et al., section 2   several chains of thought are sampled, the commonest answer wins   voting.py, task sample

Faithful to the vote without weights, their best. Deviations: the first of the replies is a reading, so that what wins can be
cited; answers count as the same as `voting` says, by their words or by their meaning; abstentions have a vote. Leaves out worked
examples in the prompt and sampling temperatures, which are the endpoint's affair. By rules nothing is drawn at random: the pieces
of evidence vote, one each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Reading
from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.recipes.voting import VotingSettings, voted
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class CotSettings(PassageSettings):
    """How passages are searched for, and how many chains vote: `voting.replies` is the number of generations."""

    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    voting: VotingSettings = field(default_factory=lambda: VotingSettings(replies=5))

    @property
    def effort(self) -> Effort:
        return Effort((1, self.voting.replies), (0, self.voting.most_judged))


@dataclass(frozen=True)
class Cot(SinglePass):
    """Several chains of thought over what one search found; the commonest answer wins."""

    settings: CotSettings = field(default_factory=CotSettings)

    name: ClassVar[str] = "cot"
    presets: ClassVar[Mapping[str, CotSettings]] = {
        "paper": CotSettings(voting=VotingSettings(replies=40), abstain=Abstain.NEVER),
        "by-meaning": CotSettings(voting=VotingSettings(replies=5, equivalence="meaning")),
    }

    def retrieve(self, question: str) -> Ranking:
        return hybrid_search(self.corpus, question, self.settings.k, self.settings.search)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """The reading, unless other chains outvote it."""
        units = tuple(hit.unit for hit in packed)
        reading = SinglePass.read(self, question, packed, meter)
        return voted(reading, question, units, self.corpus, self.settings.voting, meter)
