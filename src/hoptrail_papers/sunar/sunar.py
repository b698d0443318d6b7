"""SUNAR (NAACL 2025): neighbourhood-aware retrieval for a chain of sub-questions, guided by answer uncertainty.

    neighbourhood graph      k nearest passages, by the encoder that complements the first      neighbours.py
                             stage
    NAR                      a budget of readings shared by first stage and frontier            adaptive.py
    LLM feedback (ASU)       answers sampled from a batch; scores divided by the number of      answer_uncertainty.py,
                             their meanings                                                     tasks sample, equate
    question answering       the next sub-question, NAR, an answer from the 10 best             hopwise.py, tasks decompose,
                                                                                                complete, answer
    MER                      path and evidence of all sub-questions give the final answer       task integrate

Deviations: the first stage is BM25 or dense search, and the other links neighbours (the released code: SPLADE v2 and ColBERTv2).
Sub-questions come from the task `decompose` and are completed before anything is retrieved, as in `selfask`. Without
MER the task `integrate` concludes from the findings and the last hop's evidence. No cross-encoder is included: cosine and BM25
(`scorer = "hybrid"`) score passages, but in `paper-models`. No entailment classifier is included: rules compare answers, unless
the paper's is in this machine's cache of models or `equivalence = "nli:MODEL"` names one, as in `paper-models`. A reranker's
score goes through the logistic function, because dividing a negative one would raise it. Feedback needs a language that samples;
the offline rules measure how far passages disagree, see `language/offline`, so the default is vanilla NAR. A sample is always an
answer, never an abstention, and under `paper` so is the answer to a sub-question, whose completion may then still say `she`.

The paper does not state its budget c, and the released code spends it anew on every sub-question. `paper` and `reference` bound
the whole question instead: no batch is sampled after 24 tasks or 36,000 tokens, and later ones get the average penalty of the
same sub-question's earlier ones, or none. A sub-question takes up to seven batches, so on MuSiQue feedback covers the first
and most of the second sub-question, but a third seldom. `paper-unbounded` and `paper-models` sample every batch of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from statistics import fmean
from typing import ClassVar, Literal

from hoptrail.corpus.structure_names import BM25_NEIGHBOURS, DENSE_NEIGHBOURS, PASSAGES
from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort
from hoptrail.recipes.answering import CitedHop, report_hops
from hoptrail.recipes.hopwise import (
    Concluded,
    Hopwise,
    QuestionBudget,
    failed_hop,
    integrate_packed,
    next_questions,
    reading_for,
)
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.rankings import interleave, pack, ranked
from hoptrail.retrieval.units.unit_search import dense_search, keyword_search
from hoptrail.setting_limits import AtLeast0, AtLeast1
from hoptrail.types import Hit, Ranking
from hoptrail_papers.sunar.adaptive import (
    HYBRID,
    AdaptiveSettings,
    Penalty,
    Scoring,
    no_neighbours,
    no_penalty,
    open_scoring,
    passages_by_id,
    rerank_adaptively,
    stored_neighbours,
)
from hoptrail_papers.sunar.answer_uncertainty import INSTALLED, EntailmentModel, Uncertainty, UncertaintySettings

COMPLEMENTS = {"bm25": DENSE_NEIGHBOURS, "dense": BM25_NEIGHBOURS}
"""First stage -> the graph that finds what it misses."""

MER_PER_HOP, MER_KEPT = 2, 10
"""MER takes so many hits of each hop, orders them, and reads so many of them (the released code's figures)."""


@dataclass(frozen=True, slots=True)
class SunarSettings(PassageSettings):
    """How passages are found for a sub-question, read, and concluded from.

    `scorer` (`hybrid`, `late-interaction`, `cross-encoder:MODEL`) reranks the `depth` best of the `first_stage`: alone (`nar` is
    `off`), with the `neighbours` nearest neighbours of good passages (`vanilla`), or with feedback too (`guided`). The first
    stage runs for every sub-question, or once for the question (`first_stage_per`; the released code). An answer is read from
    the `kept` best (l), up to `evidence_tokens`. At most `hops` sub-questions; at most `k` units are retrieved. Feedback ends
    when a question has spent `tasks` language tasks or `tokens` (0: no limit); later batches get the average penalty of the same
    sub-question's earlier batches, or none.
    """

    k: AtLeast1 = 50
    first_stage: Literal["bm25", "dense"] = "bm25"
    first_stage_per: Literal["sub-question", "question"] = "sub-question"
    depth: AtLeast1 = 100
    nar: Literal["off", "vanilla", "guided"] = "vanilla"
    neighbours: AtLeast1 = 10  # k of the graph
    scorer: str = HYBRID
    adaptive: AdaptiveSettings = field(default_factory=AdaptiveSettings)
    uncertainty: UncertaintySettings = field(default_factory=UncertaintySettings)
    decompose: bool = True
    hops: AtLeast1 = 6
    kept: AtLeast1 = 10  # l
    meta_reasoning: bool = True
    tasks: AtLeast0 = 0
    tokens: AtLeast0 = 0

    @property
    def structures(self) -> tuple[str, ...]:
        return (PASSAGES,) if self.nar == "off" else (COMPLEMENTS[self.first_stage],)

    @property
    def effort(self) -> Effort:
        """With feedback, a batch takes one reading if the endpoint gives several replies a call, else one a sample. The pairs of
        answers that a language compares depend on the samples and are not counted.
        """
        whole = Effort.of_hops(self.hops) if self.decompose else Effort((1, 2))
        if self.nar != "guided":
            return whole
        batches = math.ceil(self.adaptive.budget / self.adaptive.batch) * (self.hops if self.decompose else 1)
        fewest, most = whole.readings
        rounds = min(batches, self.tasks or batches)
        return replace(whole, readings=(fewest + 1, most + rounds * self.uncertainty.samples))


PAPER = SunarSettings(
    nar="guided",
    uncertainty=UncertaintySettings(equivalence="installed", abstentions=True),
    abstain=Abstain.NEVER,
    tasks=24,
    tokens=36_000,
)
"""Feedback ends early enough for the rest (another sub-question, MER) to stay within 30 tasks and 45,000 tokens a question."""
UNBOUNDED = replace(PAPER, tasks=0, tokens=0)
REFERENCE = replace(
    PAPER,
    first_stage_per="question",
    adaptive=AdaptiveSettings(frontier_score="raw"),
    uncertainty=UncertaintySettings(equivalence="installed", abstentions=True, penalty="reference"),
)


@dataclass(frozen=True)
class Sunar(Hopwise):
    """Sub-question by sub-question: reads what ranks first and the neighbours of what proves good, then weighs all once more."""

    settings: SunarSettings = field(default_factory=SunarSettings)

    name: ClassVar[str] = "sunar"
    presets: ClassVar[Mapping[str, SunarSettings]] = {
        "paper": PAPER,
        "reference": REFERENCE,
        "paper-unbounded": UNBOUNDED,
        "paper-models": replace(
            UNBOUNDED,
            scorer="cross-encoder:nreimers/mmarco-mMiniLMv2-L12-H384-v1",
            uncertainty=replace(PAPER.uncertainty, equivalence=f"nli:{INSTALLED[0]}"),
        ),
        "paper-vanilla": replace(PAPER, nar="vanilla"),
        "paper-rerank-only": replace(PAPER, nar="off"),
        "paper-no-mer": replace(PAPER, meta_reasoning=False),
        "guided": SunarSettings(nar="guided"),
        "rerank-only": SunarSettings(nar="off"),
        "no-mer": SunarSettings(meta_reasoning=False),
        "dense": SunarSettings(first_stage="dense"),
        "whole": SunarSettings(decompose=False),
        "late-interaction": SunarSettings(scorer="late-interaction"),
    }

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop for each sub-question; without `decompose`, one for the whole question."""
        search = keyword_search if self.settings.first_stage == "bm25" else dense_search
        first_stage = cache(lambda searched: search(self.corpus, searched, self.settings.depth))
        per_question = self.settings.first_stage_per == "question"

        def hop(following: str, asked: str) -> CitedHop:
            return self._hop(following, asked, first_stage(question if per_question else asked), meter)

        if not self.settings.decompose:
            meter.asked(question, question)
            return report_hops([hop(question, question)], meter)
        return next_questions(question, meter, self.settings.hops, hop, left_open_counts=meter.abstain is Abstain.NEVER)

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """Conclude by MER, or from the findings and the last hop's evidence (unless that hop asked the question itself)."""
        if not found:
            return None, []
        last = hops[-1].hop
        if self.settings.meta_reasoning:
            tops = interleave([cited.hop.hits[:MER_PER_HOP] for cited in hops], MER_PER_HOP * len(hops))
            scores = self._scoring(question)([hit.unit.id for hit in tops])
            scored = zip(tops, scores, strict=True)
            evidence = ranked(replace(hit, score=score) for hit, score in scored)[:MER_KEPT]
        elif last.asked == question:
            return last.answer, []
        else:
            evidence = last.hits[: self.settings.kept]
        return integrate_packed(question, hops, evidence, self.settings.evidence_tokens, meter)

    def search(self, asked: str, first: Ranking, meter: Meter) -> Ranking:
        """NAR: rerank the first stage's hits and their neighbours, at most `k`. Raises: TaskFailed: sampling failed."""
        chosen, snapshot, graph = self.settings, self.corpus.snapshot, COMPLEMENTS[self.settings.first_stage]
        stored = partial(stored_neighbours, snapshot, graph, most=chosen.neighbours)
        reranked = rerank_adaptively(
            {hit.unit.id: hit.score for hit in first},
            no_neighbours if chosen.nar == "off" else stored,
            self._scoring(asked),
            chosen.adaptive,
            self._penalty(asked, meter) if chosen.nar == "guided" else no_penalty,
        )
        best = dict(list(reranked.items())[: chosen.k])
        known = {hit.unit.id: hit for hit in first}
        neighbours = passages_by_id(snapshot, [name for name in best if name not in known])
        return tuple(
            replace(known[name], score=score) if name in known else Hit(neighbours[name], score, graph)
            for name, score in best.items()
        )

    def _hop(self, question: str, asked: str, first: Ranking, meter: Meter) -> CitedHop:
        try:
            hits = self.search(asked, first, meter)
        except TaskFailed:
            return failed_hop(question, asked, first[: self.settings.k])
        packed = pack(hits[: self.settings.kept], self.settings.evidence_tokens)
        return reading_for(question, asked, hits, packed, [hit.unit for hit in packed], meter, meter.abstain)[1]

    @cached_property
    def _scoring(self) -> Scoring:
        return open_scoring(self.settings.scorer, self.corpus)

    @cached_property
    def _open_classifier(self) -> Callable[[str], EntailmentModel]:
        """Opens a classifier once, because the recipe answers many questions."""
        return cache(EntailmentModel)

    def _penalty(self, asked: str, meter: Meter) -> Penalty:
        uncertainty = Uncertainty(asked, meter, self.settings.uncertainty, self._open_classifier)
        budget = QuestionBudget(meter, self.settings.tasks, self.settings.tokens)
        earlier: list[float] = []

        def penalties(batch: Sequence[str]) -> list[float]:
            if not budget.affords(1):
                return [fmean(earlier or [1.0])] * len(batch)
            units = passages_by_id(self.corpus.snapshot, batch)
            drawn = uncertainty.penalties([units[name] for name in batch])
            earlier.extend(drawn)
            return drawn

        return penalties
