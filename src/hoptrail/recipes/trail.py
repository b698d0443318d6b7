"""`trail`, hoptrail's own recipe: retrieve whole paths of passages, then read in stages until the answer is confident enough.

    retrieval     passages on paths of up to four hops, chosen together, without a model      retrieval/paths/search.py
    reading       the few best at once; the hops are read off the text                        here, stage 1
    chain         sub-questions completed from earlier answers, tried twice if the first      trail_chain.py, stage 2
                  reading gives nothing, and concluded together
    wide reading  everything that was found, at once                                          here, stage 3
    confidence    combined over the stages; below `least_confidence` the recipe abstains      trail_chain.py
    order         the answer's passages: what was found to be evidence comes first            trail_order.py

Stages run from the cheapest to the dearest, and end with the first answer that the language's own confidence makes sure enough.
Adopted: completion before search (ChainRAG), one question at a time (HiRAG, SUNAR), verifying and rethinking (HiRAG),
concluding from the path and its evidence (SUNAR's meta reasoner). Not adopted, because they gained nothing here
(docs/decisions/diary.md): summaries, a frontier under a budget (SUNAR), feedback from sampled answers, the triple channel.
Retrieval asks no language, so `search` gives the same hits with any language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort, Language, Read
from hoptrail.models.question_tagger import tag_question
from hoptrail.recipes.answering import cite, guess_of, hops_of, report_hops, withheld_hop
from hoptrail.recipes.closest import closest
from hoptrail.recipes.hopwise import QuestionBudget, failed_hop
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.trail_chain import (
    Chain,
    ChainSettings,
    Opinion,
    best_opinion,
    combined_confidence,
    concluding_hop,
    left_open,
)
from hoptrail.recipes.trail_order import order_by_reading
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.search import STRUCTURES, search_paths
from hoptrail.retrieval.rankings import pack, without_repeats
from hoptrail.setting_limits import AtLeast0, AtLeast1, Share
from hoptrail.types import Answer, AnswerKind, Ranking, Span, Trail


@dataclass(frozen=True, slots=True)
class TrailSettings(PassageSettings):
    """Stages read the `k` passages found until an answer has the combined confidence `sure`.

    The first stage reads the best `first_read` passages, the second is the `chain`, the third (`wide`) reads all `k`. Below
    `least_confidence` the recipe abstains. A question spends at most `tasks` language tasks, and starts none after spending
    `tokens` (0: no limit); steps that do not fit are skipped.
    """

    first_read: AtLeast1 = 8
    chain: ChainSettings = field(default_factory=ChainSettings)
    wide: bool = True
    sure: Share = 0.65
    least_confidence: Share = 0.65
    tasks: AtLeast0 = 0
    tokens: AtLeast0 = 0
    structures = STRUCTURES

    @property
    def effort(self) -> Effort:
        """At least one reading; at most every stage, within `tasks`."""
        readings, others = self.chain.most_tasks
        readings += 2 if self.wide and self.k > self.first_read else 1
        if self.tasks:
            readings = min(readings, self.tasks)
            others = min(others, self.tasks - readings)
        return Effort((1, readings), (0, others))


NO_CHAIN = ChainSettings(most_hops=0)

_READ_OFF = {AnswerKind.PASSAGE, AnswerKind.STEPS, AnswerKind.LIST}
"""Kinds of answers that are read off one place in the text, without hops."""


@dataclass(frozen=True)
class TrailRecipe:
    """Passages on whole paths, read at once, then step by step, until an answer is sure enough."""

    corpus: Corpus
    language: Language
    settings: TrailSettings = field(default_factory=TrailSettings)

    name: ClassVar[str] = "trail"
    presets: ClassVar[Mapping[str, TrailSettings]] = {
        "one-reading": TrailSettings(first_read=20, chain=NO_CHAIN, wide=False),
        "no-chain": TrailSettings(chain=NO_CHAIN),
        "every-stage": TrailSettings(sure=1.0),
        "no-rethink": TrailSettings(chain=ChainSettings(rethink=0)),
        "verified": TrailSettings(chain=ChainSettings(verify=True)),
        "cross-checked": TrailSettings(chain=ChainSettings(conclude="both")),
        "answers-only": TrailSettings(chain=ChainSettings(conclude="answers")),
        "guessing": TrailSettings(least_confidence=0.0, abstain=Abstain.NEVER),
    }

    def retrieve(self, question: str) -> Ranking:
        return search_paths(self.corpus, question, self.settings.k)

    def answer(self, question: str) -> Answer:
        meter = Meter(self.language, self.settings.abstain)
        found = self.retrieve(question)
        opinions = self._opinions(question, found, meter)
        best, combined = best_opinion(opinions)
        text = best.answer if combined >= self.settings.least_confidence else None
        # An abstention shows the failed hops of all stages, because they may be its cause.
        hops = best.hops if text is not None else left_open(best, opinions)
        evidence = cite(hops, self.corpus)
        unsure = max([(combined, concluding_hop(best)), *(one.withheld for one in opinions)], key=lambda one: one[0])
        read = (hit for opinion in opinions for cited in opinion.hops for hit in cited.hop.hits)
        shown = without_repeats((*found, *read))
        trail = Trail(tuple(cited.hop for cited in hops))
        ordered = order_by_reading(found, shown, opinions)
        confidence = combined if text is not None else unsure[0]
        return Answer(
            *(question, text, self.name, self.language.name, evidence, trail, meter.total, ordered, confidence),
            kind=best.kind,
            items=best.items if text is not None else (),
            closest=closest(question, shown, self.corpus, self.language, _promising_of(opinions)),
            guess=guess_of(unsure[1], unsure[0], self.corpus, len(hops) - 1) if text is None else None,
            notes=best.notes or opinions[0].notes,
        )

    def _opinions(self, question: str, found: Ranking, meter: Meter) -> list[Opinion]:
        """The opinions of the stages in turn, up to the first that is sure enough; at least one."""
        opinions: list[Opinion] = []
        for opinion in self._stages(question, found, QuestionBudget(meter, self.settings.tasks, self.settings.tokens)):
            opinions.append(opinion)
            if opinion.answer is not None and combined_confidence(opinion, opinions) >= self.settings.sure:
                break
        return opinions

    def _stages(self, question: str, found: Ranking, budget: QuestionBudget) -> Iterator[Opinion]:
        chosen = self.settings
        few = pack(found[: chosen.first_read], chosen.evidence_tokens)
        yield self._reading(question, few, budget.meter)
        if tag_question(question).kind not in _READ_OFF:
            yield from self._chain(found, budget).opinions(question)
        everything = pack(found, chosen.evidence_tokens)
        if chosen.wide and everything != few and budget.affords(1):  # the same text read twice is one opinion
            yield self._reading(question, everything, budget.meter)

    def _chain(self, found: Ranking, budget: QuestionBudget) -> Chain:
        chosen = self.settings
        return Chain(self.corpus, found, chosen.chain, chosen.evidence_tokens, budget)

    def _reading(self, question: str, packed: Ranking, meter: Meter) -> Opinion:
        meter.asked(question, question)
        try:
            reading = meter.perform(Read(question, tuple(hit.unit for hit in packed), meter.abstain))
            hops = report_hops(hops_of(question, reading, packed, packed), meter)
        except TaskFailed:
            return Opinion(None, 0.0, report_hops([failed_hop(question, question, packed)], meter))
        confidence = reading.confidence if reading.answer is not None else 0.0
        withheld = (reading.confidence, withheld_hop(question, reading, packed))
        return Opinion(
            reading.answer, confidence, hops, reading.kind, reading.items, reading.promising, withheld, reading.notes
        )


def _promising_of(opinions: Sequence[Opinion]) -> tuple[Span, ...]:
    """The promising spans of all opinions: first of those with several hops, whose last hop asks what is left of the question."""
    by_hops = sorted(opinions, key=lambda opinion: len(opinion.hops) < 2)
    return tuple(dict.fromkeys(span for opinion in by_hops for span in opinion.promising))
