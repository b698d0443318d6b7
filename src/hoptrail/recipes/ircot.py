"""IRCoT (Trivedi et al., ACL 2023): retrieval interleaved with the steps of a chain of thought.

    section 3.1, reason     the next step of the chain, from the question, the chain and what is collected   tasks decompose,
                                                                                                             complete, answer
    section 3.1, retrieve   the last step's sentence is the next query; its passages join those collected    here
    section 3.2             a separate reader answers from all that was collected                            task answer

Faithful to the order: a step is thought over what its forerunners collected, and only then searched for. Deviations: a step is
a sub-question and its answer, which together are the sentence that is searched for; a step that the collected passages do not
settle is searched for by its question and thought once more, and ends the chain when that brings nothing new (the model of the
paper states something in any case). The end is that nothing is left to ask, not the words "the answer is". Leaves out worked
examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Complete, Decompose, Finding
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import Hopwise, completed, concluded, failed, read_packed
from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Ranking, Verdict


@dataclass(frozen=True, slots=True)
class IrcotSettings(PassageSettings):
    """At most `steps` of thought; each search adds `per_step` passages (K) until `k` are collected, of which those that fit
    `evidence_tokens` are read. The answer is that of a `separate` reader of all passages, or of the `chain`.
    """

    per_step: int = 6
    steps: int = 8
    reader: Literal["separate", "chain"] = "separate"
    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)

    def __post_init__(self) -> None:
        PassageSettings.__post_init__(self)  # super() does not work in classes with slots
        if min(self.per_step, self.steps) < 1:
            raise ValueError("per_step and steps are at least 1")

    @property
    def effort(self) -> Effort:
        return Effort.of_hops(self.steps)


@dataclass(frozen=True)
class Ircot(Hopwise):
    """Each step of thought is the next query; what all queries found is read in the end."""

    settings: IrcotSettings = field(default_factory=IrcotSettings)

    name: ClassVar[str] = "ircot"
    presets: ClassVar[Mapping[str, IrcotSettings]] = {
        "paper": IrcotSettings(k=15, abstain=Abstain.NEVER),
        "chain": IrcotSettings(reader="chain"),
    }

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """All that was collected, in the order in which it came."""
        return hops[-1].hop.hits if hops else ()

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        collected = self._collect((), question)
        hops: list[CitedHop] = []
        while len(hops) < self.settings.steps:
            try:
                following, asked = self._thought(question, _chain(hops), meter)
            except TaskFailed:
                return [*hops, *report_hops([failed(question, question, collected)], meter)]
            if following is None or asked in {cited.hop.asked for cited in hops if cited.hop.answer is not None}:
                break
            if hops:
                wider = self._collect(collected, _sentence(hops[-1]))
                if wider == collected and hops[-1].hop.answer is None:
                    break
                collected = wider
            meter.asked(following, asked)
            hops += report_hops([self._read(following, asked, collected, meter)], meter)
        return hops

    def conclude(
        self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter
    ) -> tuple[str | None, list[CitedHop]]:
        """By the separate reader, whose reading is a hop of its own; or from the chain."""
        if not hops or hops[-1].hop.verdict is Verdict.FAILED or [cited.hop.asked for cited in hops] == [question]:
            return (hops[-1].hop.answer if hops else None), []
        if self.settings.reader == "chain":
            return concluded(question, hops, found, self.settings.evidence_tokens, meter)
        _, last = read_packed(question, question, found, self.settings.evidence_tokens, meter, meter.abstain)
        return last.hop.answer, [last]

    def _thought(self, question: str, chain: tuple[Finding, ...], meter: Meter) -> tuple[str | None, str]:
        """The next sub-question, as put and as asked; None when nothing is left. A question that stays whole is asked itself.

        Raises:
            TaskFailed: as the language raised it.
        """
        questions = meter.perform(Decompose(question, chain, one_at_a_time=True)).questions
        if not questions:
            return (None if chain else question), question
        following = questions[0]
        return following, completed(following, chain, lambda: meter.perform(Complete(following, chain)))

    def _collect(self, collected: Ranking, query: str) -> Ranking:
        found = hybrid_search(self.corpus, query, self.settings.per_step, self.settings.search)
        return interleave([(*collected, *found)], self.settings.k)

    def _read(self, question: str, asked: str, collected: Ranking, meter: Meter) -> CitedHop:
        return read_packed(question, asked, collected, self.settings.evidence_tokens, meter)[1]


def _chain(hops: Sequence[CitedHop]) -> tuple[Finding, ...]:
    """The steps that were settled: the others are thought again."""
    return tuple(finding for finding in findings_of(hops) if finding.answer is not None)


def _sentence(cited: CitedHop) -> str:
    """What a step says."""
    return f"{cited.hop.asked} {cited.hop.answer or ''}".strip()
