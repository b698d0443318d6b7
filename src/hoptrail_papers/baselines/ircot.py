"""IRCoT (Trivedi et al., ACL 2023): retrieval interleaved with the steps of a chain of thought.

    section 3.1, reason     the next step, from question, chain and passages so far              tasks decompose, complete, answer
    section 3.1, retrieve   the last step's sentence is the next query; its passages are added   here
    section 3.2             a separate reader answers from all collected passages                task answer

Faithful to the order: each step is reasoned from the passages of earlier steps, and only then searched for. Deviations: a step is
a sub-question and its answer, which together are the query. If the collected passages do not settle a step, its question alone
is the query and the step is tried once more; if that finds nothing new, the chain ends (the model of the paper always states
something). The chain ends when no question is left, not at the words "the answer is". Leaves out worked examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import Concluded, Hopwise, failed_hop, next_step, read_packed
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.rankings import interleave
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast1
from hoptrail.types import Ranking, Verdict


@dataclass(frozen=True, slots=True)
class IrcotSettings(PassageSettings):
    """At most `steps` reasoning steps. Each search adds `per_step` passages (K) until there are `k`; those that fit
    `evidence_tokens` are read. The answer comes from a `separate` reader of all passages, or from the `chain`.
    """

    per_step: AtLeast1 = 6
    steps: AtLeast1 = 8
    reader: Literal["separate", "chain"] = "separate"

    @property
    def effort(self) -> Effort:
        return Effort.of_hops(self.steps)


@dataclass(frozen=True)
class Ircot(Hopwise):
    """Each reasoning step is the next query; all passages found are read at the end."""

    settings: IrcotSettings = field(default_factory=IrcotSettings)

    name: ClassVar[str] = "ircot"
    presets: ClassVar[Mapping[str, IrcotSettings]] = {
        "paper": IrcotSettings(k=15, abstain=Abstain.NEVER),
        "chain": IrcotSettings(reader="chain"),
    }

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """All collected hits in the order found."""
        return hops[-1].hop.hits if hops else ()

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop for each step, read from all passages so far, until no step is left or nothing new is found."""
        collected = self._search_more((), question)
        hops: list[CitedHop] = []
        while len(hops) < self.settings.steps:
            try:
                # Steps without an answer are tried again.
                chain = tuple(finding for finding in findings_of(hops) if finding.answer is not None)
                step = next_step(question, chain, meter)
            except TaskFailed:
                return [*hops, *report_hops([failed_hop(question, question, collected)], meter)]
            if step is None or step[1] in {finding.asked for finding in chain}:
                break
            if hops:
                last = hops[-1].hop
                wider = self._search_more(collected, f"{last.asked} {last.answer or ''}".strip())
                if wider == collected and last.answer is None:
                    break
                collected = wider
            meter.asked(*step)
            _, read = read_packed(*step, collected, self.settings.evidence_tokens, meter)
            hops += report_hops([read], meter)
        return hops

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """Read with the separate reader, which adds a hop, or conclude from the chain."""
        if not hops or hops[-1].hop.verdict is Verdict.FAILED or [cited.hop.asked for cited in hops] == [question]:
            return (hops[-1].hop.answer if hops else None), []
        if self.settings.reader == "chain":
            return Hopwise.conclude(self, question, hops, found, meter)
        _, last = read_packed(question, question, found, self.settings.evidence_tokens, meter, meter.abstain)
        return last.hop.answer, [last]

    def _search_more(self, collected: Ranking, query: str) -> Ranking:
        found = hybrid_search(self.corpus, query, self.settings.per_step)
        return interleave([(*collected, *found)], self.settings.k)
