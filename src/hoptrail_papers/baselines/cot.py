"""Chain of thought with self-consistency (Wei et al. 2022; Wang et al. 2023), over passages retrieved once.

    Wang et al., section 2   several chains of thought are sampled, the commonest answer wins   voting.py, task sample

Faithful to the unweighted vote, their best. Deviations: the first reply is a reading, so that the winner can be cited; `voting`
says whether answers are compared by words or by meaning; abstentions have a vote. Leaves out worked examples in the prompt and
sampling temperatures, which the endpoint sets. The offline rules do not sample: each piece of evidence has one vote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort, Reading
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.types import Ranking
from hoptrail_papers.baselines.voting import VotingSettings, vote


@dataclass(frozen=True, slots=True)
class CotSettings(PassageSettings):
    """`voting.replies` chains vote, one generation each."""

    voting: VotingSettings = field(default_factory=lambda: VotingSettings(replies=5))

    @property
    def effort(self) -> Effort:
        """Up to `voting.replies` readings or samples, and the judgements whether two of their answers mean the same."""
        return Effort((1, self.voting.replies), others=(0, self.voting.most_judged))


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
        """The `k` best passages by keyword and dense search fused."""
        return hybrid_search(self.corpus, question, self.settings.k)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """The commonest answer or abstention of a reading and sampled chains. Raises: TaskFailed: from the language."""
        units = tuple(hit.unit for hit in packed)
        reading = SinglePass.read(self, question, packed, meter)
        return vote(reading, question, units, self.corpus, self.settings.voting, meter, meter.abstain)
