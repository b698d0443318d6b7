"""`trail`, hoptrail's own recipe: whole paths of passages first, then as few readings as an answer needs to be believed.

    retrieval     passages on paths of up to four hops, chosen together, without a model      retrieval/paths/search.py
    reading       the few best at once; the hops are read off the text                        here, stage 1
    chain         sub-questions completed from earlier answers, tried twice where the first   trail_chain.py, stage 2
                  reading gives nothing, and concluded together
    wide reading  everything that was found, at once                                          here, stage 3
    belief        what the stages say together; below `least_confidence` nothing is said      opinions.py

The stages come in the order of what they cost, and an answer ends them as soon as it is believed: by the language's own
confidence. Taken over and joined: completion before search (ChainRAG), one question at a time
(HiRAG, SUNAR), verifying and rethinking (HiRAG), a frontier under a budget (SUNAR), concluding from the path and its evidence
(SUNAR's meta reasoner). Not taken over: summaries, feedback from sampled answers, the triple channel: none of them gained
anything here (docs/decisions/diary.md). Retrieval asks no language, so `search` is the same whatever answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.question_kinds import kind_asked
from hoptrail.language.tasks import Abstain, Language, Read
from hoptrail.recipes.answering import cite, hops_of, report_hops
from hoptrail.recipes.closest import closest
from hoptrail.recipes.hopwise import failed
from hoptrail.recipes.opinions import Opinion, combined_confidence, most_believed, with_failures
from hoptrail.recipes.passage_settings import PassageSettings
from hoptrail.recipes.question_budget import QuestionBudget
from hoptrail.recipes.trail_chain import Chain, ChainSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.paths.search import STRUCTURES, PathSettings, search_paths
from hoptrail.types import Answer, AnswerKind, Ranking, Trail


@dataclass(frozen=True, slots=True)
class TrailSettings(PassageSettings):
    """`k` passages are found by `search`, and read in stages until an answer is believed with a probability of `sure`.

    The first stage reads the best `first_read` passages, `chain` is the second, the last reads all `k`: of its confidence
    `wide_trust` counts, because in so much something is always found. An answer believed less than `least_confidence` is not
    given. At most `tasks` language tasks are spent on a question, and nothing begins once
    `tokens` are (0: no limit): what does not fit is left out, and what is known by then is the answer.
    """

    search: PathSettings = field(default_factory=PathSettings)
    first_read: int = 5
    chain: ChainSettings = field(default_factory=ChainSettings)
    wide: bool = True
    wide_trust: float = 0.7
    sure: float = 0.5
    least_confidence: float = 0.45
    tasks: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        PassageSettings.__post_init__(self)  # super() does not work in classes with slots
        if self.first_read < 1:
            raise ValueError("first_read is at least 1")
        if min(self.tasks, self.tokens) < 0:
            raise ValueError("tasks and tokens are at least 0")
        if not all(0 <= share <= 1 for share in (self.wide_trust, self.sure, self.least_confidence)):
            raise ValueError("wide_trust, sure and least_confidence lie between 0 and 1")

    @property
    def structures(self) -> tuple[str, ...]:
        """What must have been built; what that stands on is understood."""
        return STRUCTURES

    @property
    def effort(self) -> Effort:
        """One reading at the least; at the most every stage, as far as `tasks` go."""
        readings, others = self.chain.most_tasks
        readings += 2 if self.wide and self.k > self.first_read else 1
        if self.tasks:
            readings = min(readings, self.tasks)
            others = min(others, self.tasks - readings)
        return Effort((1, readings), (0, others))


NO_CHAIN = ChainSettings(most_hops=0)

_READ_OFF = {AnswerKind.PASSAGE, AnswerKind.STEPS, AnswerKind.LIST}
"""Kinds of answers that stand in one place: no hop leads to them."""


@dataclass(frozen=True)
class TrailRecipe:
    """Passages on whole paths, read at once, then hop by hop, until the answer is believed."""

    corpus: Corpus
    language: Language
    settings: TrailSettings = field(default_factory=TrailSettings)

    name: ClassVar[str] = "trail"
    presets: ClassVar[Mapping[str, TrailSettings]] = {
        "one-reading": TrailSettings(first_read=20, chain=NO_CHAIN, wide=False),
        "no-chain": TrailSettings(chain=NO_CHAIN),
        "every-stage": TrailSettings(sure=1.0),
        "no-rethink": TrailSettings(chain=ChainSettings(rethink=0)),
        "frontier": TrailSettings(chain=ChainSettings(rethink_by="frontier")),
        "verified": TrailSettings(chain=ChainSettings(verify=True)),
        "cross-checked": TrailSettings(chain=ChainSettings(conclude="both")),
        "answers-only": TrailSettings(chain=ChainSettings(conclude="answers")),
        "guessing": TrailSettings(least_confidence=0.0, abstain=Abstain.NEVER),
    }

    def retrieve(self, question: str) -> Ranking:
        return search_paths(self.corpus, question, self.settings.k, self.settings.search)

    def answer(self, question: str) -> Answer:
        started = time.perf_counter()
        meter = Meter(self.language, self.settings.abstain)
        found = self.retrieve(question)
        opinions = self._opinions(question, found, meter)
        best, belief = most_believed(opinions)
        given = best.answer if belief >= self.settings.least_confidence else None
        # An abstention shows what failed in any stage, because it may be due to that.
        hops = best.hops if given is not None else with_failures(best, opinions)
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        usage = replace(meter.usage, seconds=time.perf_counter() - started)
        return Answer(
            *(question, given, self.name, self.language.name, evidence, trail, usage, found, belief),
            kind=best.kind,
            items=best.items if given is not None else (),
            closest=closest(question, found, self.corpus),
        )

    def _opinions(self, question: str, found: Ranking, meter: Meter) -> list[Opinion]:
        """Those of the stages in turn, up to the first that is believed; there is at least one."""
        opinions: list[Opinion] = []
        for opinion in self._stages(question, found, QuestionBudget(meter, self.settings.tasks, self.settings.tokens)):
            opinions.append(opinion)
            if opinion.answer is not None and combined_confidence(opinion, opinions) >= self.settings.sure:
                break
        return opinions

    def _stages(self, question: str, found: Ranking, budget: QuestionBudget) -> Iterator[Opinion]:
        """Each opinion is formed when it is asked for."""
        chosen = self.settings
        few = pack(found[: chosen.first_read], chosen.evidence_tokens)
        yield self._reading(question, few, budget.meter)
        if kind_asked(question) not in _READ_OFF:
            yield from Chain(self.corpus, found, chosen.chain, chosen.evidence_tokens, budget).opinions(question)
        everything = pack(found, chosen.evidence_tokens)
        if chosen.wide and everything != few and budget.affords(1):  # the same text read twice is one opinion
            wide = self._reading(question, everything, budget.meter)
            yield replace(wide, confidence=chosen.wide_trust * wide.confidence)

    def _reading(self, question: str, packed: Ranking, meter: Meter) -> Opinion:
        meter.asked(question, question)
        try:
            reading = meter.perform(Read(question, tuple(hit.unit for hit in packed), meter.abstain))
            hops = report_hops(hops_of(question, reading, packed, packed), meter)
        except TaskFailed:
            return Opinion(None, 0.0, report_hops([failed(question, question, packed)], meter))
        confidence = reading.confidence if reading.answer is not None else 0.0
        return Opinion(reading.answer, confidence, hops, reading.kind, reading.items)
