"""Base of recipes over a flat pool of derived units: how the pool is ranked and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hoptrail.language.effort import FROM_MEMORY, Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Finding, Integrate, Read, Reading, Recall, Step
from hoptrail.recipes.answering import CitedHop, memory_hop
from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.units.pool_search import Scorer, search_pool
from hoptrail.text.normal_forms import same_words
from hoptrail.types import Ranking, Unit

Reader = Literal["direct", "self-ask", "closed-book"]


@dataclass(frozen=True, slots=True)
class PooledSettings(PassageSettings):
    """`scorer` ranks the pool (SiReRAG Table 6). `reader` (SiReRAG Table 9): `direct` reads once; `self-ask` reads, then
    concludes from the sub-questions that the reading answered (two calls); `closed-book` asks the model's memory and retrieves
    nothing. `question_suffix` is appended to the search query, as in the released code of SiReRAG. With `repeats` a unit is
    read even if units before it cover all its sources, as in papers that read their k best units.
    """

    scorer: Scorer = "dense"
    reader: Reader = "direct"
    question_suffix: str = ""
    repeats: bool = False

    @property
    def effort(self) -> Effort:
        """One reading, two for `self-ask`; none for `closed-book`, which asks the model's memory once."""
        match self.reader:
            case "direct":
                return Effort()
            case "self-ask":
                return Effort((2, 2))
            case "closed-book":
                return FROM_MEMORY


@dataclass(frozen=True)
class Pooled(SinglePass):
    """Search a flat pool, read."""

    settings: PooledSettings

    def retrieve(self, question: str) -> Ranking:
        """The `k` best units of the pool by `scorer`; nothing if the reader is `closed-book`."""
        if self.settings.reader == "closed-book":
            return ()
        asked = f"{question} {self.settings.question_suffix}".strip()
        return search_pool(self.corpus, asked, self.settings.pool, self.settings.k, self.settings.scorer)

    def packed(self, ranking: Ranking) -> Ranking:
        """The hits that fit `evidence_tokens`; with `repeats` also those whose sources earlier ones cover."""
        return pack(ranking, self.settings.evidence_tokens, repeats=self.settings.repeats)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """The answer of the chosen reader; `closed-book` ignores the hits. Raises: TaskFailed: from the language."""
        units = tuple(hit.unit for hit in packed)
        match self.settings.reader:
            case "direct":
                return meter.perform(Read(question, units, meter.abstain))
            case "self-ask":
                return _read_twice(question, units, meter)
            case "closed-book":
                return meter.perform(Recall(question))

    def hops(self, question: str, reading: Reading, found: Ranking, packed: Ranking) -> list[CitedHop]:
        """As in `SinglePass.hops`; an answer from memory is one hop that cites nothing."""
        if self.settings.reader == "closed-book":
            return [memory_hop(question, question, reading)]
        return SinglePass.hops(self, question, reading, found, packed)


def _read_twice(question: str, units: tuple[Unit, ...], meter: Meter) -> Reading:
    """Read sub-questions with their answers, then conclude from them (SiReRAG appendix B: two iterations).

    If the conclusion cites nothing, it takes the citations of the last sub-question where that has the same answer.
    """
    first = meter.perform(Read(question, units))
    findings = tuple(Finding(step.question, step.question, step.answer) for step in first.steps)
    last = meter.perform(Integrate(question, findings, units, meter.abstain))
    if last.answer is None:
        return Reading(None, first.steps)
    if last.steps:
        return last
    if first.steps and same_words(first.steps[-1].answer, last.answer):
        return Reading(last.answer, first.steps, last.confidence)
    return Reading(last.answer, (*first.steps, Step(question, last.answer, ())), last.confidence)
