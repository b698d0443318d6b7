"""`trail`, hoptrail's own recipe: whole paths of passages first, then as few readings as an answer needs to be believed.

    retrieval     passages on paths of up to four hops, chosen together, without a model      retrieval/paths.py
    reading       the few best at once; the hops are read off the text                        here, stage 1
    chain         sub-questions completed from earlier answers, each read in the path's       here, stage 2; hopwise.py
                  passages and the best that are found for it alone; then all is concluded
                  from answers and passages together
    wide reading  everything that was found, at once                                          here, stage 3

The stages come in the order of what they cost, and an answer ends them as soon as it is believed: by the language's own
confidence, raised where two stages agree. Taken over and joined: completion before search (ChainRAG), one question at a time
(HiRAG, SUNAR), concluding from the path and its evidence (SUNAR's meta reasoner), a confidence that stages share. Not taken
over: summaries, checks of single candidates, feedback from sampled answers, the triple channel. Retrieval asks no language, so
`search` is the same whatever answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.meter import Meter
from hoptrail.language.offline.sampling import same_words
from hoptrail.language.tasks import Integrate, Language, Read
from hoptrail.recipes.answering import CitedHop, cite, findings_of, hops_of
from hoptrail.recipes.hopwise import conclusion, failed, next_questions, read_for
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.paths import STRUCTURES, PathSettings, search_paths
from hoptrail.retrieval.pool import Pool
from hoptrail.types import Answer, Hop, Kind, Ranking, Trail, Verdict

TASKS_A_HOP = 3
"""The next question, its completion, its reading."""


@dataclass(frozen=True, slots=True)
class TrailSettings:
    """`k` passages are found by `search`, and read in stages until an answer is believed with a probability of `sure`.

    The first stage reads the best `first_read` passages. The chain asks at most `sub_questions`, reads for each the best
    `hop_read` of the path and `hop_search` that are searched for it alone, and concludes. The last stage reads all `k`. Below a
    confidence of `least_confidence` nothing is answered. At most `tasks` language tasks are spent on a question, and no stage
    begins once `tokens` are (0: no limit): stages that do not fit are left out, and what is known by then is the answer.
    """

    k: int = 20
    search: PathSettings = field(default_factory=PathSettings)
    first_read: int = 5
    chain: bool = True
    sub_questions: int = 6
    hop_read: int = 8
    hop_search: int = 3
    wide: bool = True
    hybrid: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    sure: float = 0.5
    least_confidence: float = 0.0
    evidence_tokens: int = 6000
    tasks: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        if min(self.k, self.first_read, self.sub_questions, self.hop_read, self.evidence_tokens) < 1:
            raise ValueError("k, first_read, sub_questions, hop_read and evidence_tokens are at least 1")
        if min(self.hop_search, self.tasks, self.tokens) < 0:
            raise ValueError("hop_search, tasks and tokens are at least 0")
        if not (0 <= self.sure <= 1 and 0 <= self.least_confidence <= 1):
            raise ValueError("sure and least_confidence lie between 0 and 1")

    @property
    def structures(self) -> tuple[str, ...]:
        """What must have been built; what that stands on is understood."""
        return STRUCTURES

    @property
    def pool(self) -> Pool:
        """The units that are searched."""
        return Pool((Kind.PASSAGE,))


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one stage makes of a question: an answer or None, how sure it is (0 without one), and its hops."""

    answer: str | None
    confidence: float
    hops: list[CitedHop]


@dataclass(frozen=True)
class TrailRecipe:
    """Passages on whole paths, read at once, then hop by hop, until the answer is believed."""

    corpus: Corpus
    language: Language
    settings: TrailSettings = field(default_factory=TrailSettings)

    name: ClassVar[str] = "trail"
    presets: ClassVar[Mapping[str, TrailSettings]] = {
        "one-reading": TrailSettings(first_read=20, chain=False, wide=False),
        "chain": TrailSettings(sure=1.0),
        "no-chain": TrailSettings(chain=False),
    }

    def retrieve(self, question: str) -> Ranking:
        return search_paths(self.corpus, question, self.settings.k, self.settings.search)

    def answer(self, question: str) -> Answer:
        started = time.perf_counter()
        meter = Meter(self.language)
        found = self.retrieve(question)
        answer, hops = self._settled(question, found, meter)
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        usage = replace(meter.usage, seconds=time.perf_counter() - started)
        return Answer(question, answer, self.name, self.language.name, evidence, trail, usage, found)

    def _settled(self, question: str, found: Ranking, meter: Meter) -> tuple[str | None, list[CitedHop]]:
        """The first answer that is believed, else the one believed most, with the hops of the stage that was surest of it."""
        opinions: list[Opinion] = []
        for opinion in self._stages(question, found, meter):
            opinions.append(opinion)
            if opinion.answer is not None and believed(opinion, opinions) >= self.settings.sure:
                break
        best = max(opinions, key=lambda opinion: (believed(opinion, opinions), opinion.confidence))
        if best.answer is None or believed(best, opinions) < self.settings.least_confidence:
            return None, best.hops
        return best.answer, best.hops

    def _stages(self, question: str, found: Ranking, meter: Meter) -> Iterator[Opinion]:
        """The stages' opinions in turn; each is formed when it is asked for."""
        chosen = self.settings
        yield self._reading(question, found, chosen.first_read, meter)
        if chosen.chain and self._hops_left(meter) > 0:
            yield self._chain(question, found, meter)
        if chosen.wide and chosen.k > chosen.first_read and self._affords(1, meter):
            yield self._reading(question, found, chosen.k, meter)

    def _reading(self, question: str, found: Ranking, count: int, meter: Meter) -> Opinion:
        packed = pack(found[:count], self.settings.evidence_tokens)
        try:
            reading = meter.perform(Read(question, tuple(hit.unit for hit in packed)))
            hops = hops_of(question, reading, packed, packed)
        except TaskFailed:
            return Opinion(None, 0.0, [failed(question, question, packed)])
        return Opinion(reading.answer, reading.confidence if reading.answer is not None else 0.0, hops)

    def _chain(self, question: str, found: Ranking, meter: Meter) -> Opinion:
        most = min(self.settings.sub_questions, self._hops_left(meter))
        hops = next_questions(
            question, meter, most, lambda following, asked, _: self._hop(following, asked, found, meter)
        )
        if all(cited.hop.answer is None for cited in hops):
            return Opinion(None, 0.0, hops or [CitedHop(Hop(question, question, (), None, Verdict.UNANSWERED))])
        packed = pack(found[: self.settings.hop_read], self.settings.evidence_tokens)
        task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
        try:
            reading, concluding = conclusion(task, hops, packed, meter)
        except TaskFailed:
            return Opinion(None, 0.0, [*hops, failed(question, question, packed)])
        confidence = reading.confidence if reading.answer is not None else 0.0
        return Opinion(reading.answer, confidence, [*hops, *concluding])

    def _hop(self, question: str, asked: str, found: Ranking, meter: Meter) -> CitedHop:
        """Read for a sub-question: what is found for it alone, then the path's passages."""
        own = (
            hybrid_search(self.corpus, asked, self.settings.hop_search, self.settings.hybrid)
            if self.settings.hop_search
            else ()
        )
        names = {hit.unit.id for hit in own}
        hits = (*own, *(hit for hit in found[: self.settings.hop_read] if hit.unit.id not in names))
        packed = pack(hits, self.settings.evidence_tokens)
        return read_for(question, asked, hits, packed, [hit.unit for hit in packed], meter)

    def _affords(self, tasks: int, meter: Meter) -> bool:
        """Whether so many more tasks fit the limits."""
        spent = meter.usage.prompt_tokens + meter.usage.completion_tokens
        fits = not self.settings.tasks or meter.tasks + tasks <= self.settings.tasks
        return fits and (not self.settings.tokens or spent < self.settings.tokens)

    def _hops_left(self, meter: Meter) -> int:
        """How many hops of a chain fit the limits, with the question that finds nothing left to ask, and the conclusion."""
        if not self._affords(TASKS_A_HOP + 2, meter):
            return 0
        if not self.settings.tasks:
            return self.settings.sub_questions
        return (self.settings.tasks - meter.tasks - 2) // TASKS_A_HOP


def believed(opinion: Opinion, opinions: Sequence[Opinion]) -> float:
    """How likely an answer is: that not all who gave it are wrong, their confidences taken as independent. 0 without one."""
    if opinion.answer is None:
        return 0.0
    doubts = [
        1 - other.confidence
        for other in opinions
        if other.answer is not None and same_words(other.answer, opinion.answer)
    ]
    return 1 - math.prod(doubts)
