"""Self-ask (Press et al. 2023): the next sub-question, retrieve for it, answer it, until nothing is left to ask.

Follows the paper's control flow with a retriever in place of a search engine. Deviations: sub-questions come from the
`decompose` task instead of a few-shot continuation; a sub-question is completed from earlier answers before anything is
retrieved; `integrate` concludes from the findings and all evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Effort
from hoptrail.recipes.answering import CitedHop
from hoptrail.recipes.hopwise import Hopwise, next_questions, read_packed
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast1


@dataclass(frozen=True, slots=True)
class SelfAskSettings(PassageSettings):
    """At most `hops` sub-questions; `k` units are retrieved for each, read up to `evidence_tokens` tokens."""

    hops: AtLeast1 = 6

    @property
    def effort(self) -> Effort:
        return Effort.of_hops(self.hops)


@dataclass(frozen=True)
class SelfAsk(Hopwise):
    """Sub-question by sub-question: ask the next one, retrieve, answer, until done."""

    settings: SelfAskSettings = field(default_factory=SelfAskSettings)

    name: ClassVar[str] = "selfask"

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop for each sub-question, read from the `k` best passages of a search for it."""

        def hop(following: str, asked: str) -> CitedHop:
            hits = hybrid_search(self.corpus, asked, self.settings.k)
            return read_packed(following, asked, hits, self.settings.evidence_tokens, meter)[1]

        return next_questions(question, meter, self.settings.hops, hop)
