"""Self-ask (Press et al. 2023): the next sub-question, retrieve for it, answer it, until nothing is left to ask.

Follows the paper's control flow with a retriever in place of a search engine. Deviations: sub-questions come from the
`decompose` task instead of a few-shot continuation, a sub-question is completed from earlier answers before anything is
retrieved, and what was found is concluded by `integrate` over the findings and all evidence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Complete, Decompose, Integrate, Language, Read
from hoptrail.recipes.answering import CitedHop, check_support, cite, findings_of
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.pool import Pool
from hoptrail.structures.names import PASSAGES
from hoptrail.types import Answer, Hop, Kind, Ranking, Trail, Verdict


@dataclass(frozen=True, slots=True)
class SelfAskSettings:
    """At most `hops` sub-questions; `k` units are retrieved for each, read up to `evidence_tokens` tokens."""

    k: int = 20
    hops: int = 6
    evidence_tokens: int = 6000
    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)

    def __post_init__(self) -> None:
        if min(self.k, self.hops, self.evidence_tokens) < 1:
            raise ValueError("k, hops and evidence_tokens are at least 1")

    @property
    def structures(self) -> tuple[str, ...]:
        """What must have been built."""
        return (PASSAGES,)

    @property
    def pool(self) -> Pool:
        """The units that are searched."""
        return Pool((Kind.PASSAGE,))


@dataclass(frozen=True)
class SelfAsk:
    """Sub-question by sub-question: ask the next one, retrieve, answer, until done."""

    corpus: Corpus
    language: Language
    settings: SelfAskSettings = field(default_factory=SelfAskSettings)

    name: ClassVar[str] = "selfask"

    def retrieve(self, question: str) -> Ranking:
        """What all hops found: every hop's first, then every hop's second, and so on."""
        hops = self._hops(question, Meter(self.language))
        return self._everything(hops)

    def answer(self, question: str) -> Answer:
        started = time.perf_counter()
        meter = Meter(self.language)
        hops = self._hops(question, meter)
        text = self._conclude(question, hops, meter)
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        usage = replace(meter.usage, seconds=time.perf_counter() - started)
        return Answer(question, text, self.name, self.language.name, evidence, trail, usage, self._everything(hops))

    def _everything(self, hops: list[CitedHop]) -> Ranking:
        return interleave([cited.hop.hits for cited in hops], self.settings.k)

    def _hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """Hops until nothing is left to ask, a sub-question repeats, a task fails, or the limit is met."""
        hops: list[CitedHop] = []
        asked: set[str] = set()
        while len(hops) < self.settings.hops:
            findings = findings_of(hops)
            try:
                following = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
                if not following:
                    break
                completed = meter.perform(Complete(following[0], findings)) if findings else following[0]
            except TaskFailed:
                hops.append(CitedHop(Hop(question, question, (), None, Verdict.FAILED)))
                break
            if completed in asked:
                break
            asked.add(completed)
            hops.append(self._hop(following[0], completed, meter))
        return hops

    def _hop(self, question: str, asked: str, meter: Meter) -> CitedHop:
        hits = hybrid_search(self.corpus, asked, self.settings.k, self.settings.search)
        packed = pack(hits, self.settings.evidence_tokens)
        try:
            reading = meter.perform(Read(asked, tuple(hit.unit for hit in packed)))
            support = tuple(span for step in reading.steps for span in step.support)
            check_support(support, packed)
        except TaskFailed:
            return CitedHop(Hop(question, asked, hits, None, Verdict.FAILED))
        verdict = Verdict.UNANSWERED if reading.answer is None else Verdict.ANSWERED
        return CitedHop(Hop(question, asked, hits, reading.answer, verdict), support)

    def _conclude(self, question: str, hops: list[CitedHop], meter: Meter) -> str | None:
        """The answer to the question itself, or None where no hop found anything or the language abstains."""
        if all(cited.hop.answer is None for cited in hops):
            return None
        packed = pack(self._everything(hops), self.settings.evidence_tokens)
        try:
            units = tuple(hit.unit for hit in packed)
            return meter.perform(Integrate(question, findings_of(hops), units)).answer
        except TaskFailed:
            return None
