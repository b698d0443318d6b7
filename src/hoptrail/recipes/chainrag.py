"""ChainRAG (Zhu et al., ACL 2025): a sentence graph, and sub-questions completed with the names they lost.

    sentence graph           sentences, linked by key entities (EC), likeness (SS) and     structures/sentences.py,
                             nearness in the text (SA)                                     structures/sentence_graph.py
    question decomposition   sequential, parallel or comparing sub-questions               task decompose
    sub-question rewriting   one that points back is completed from all earlier answers    language/anaphora.py, task complete
    seed retrieval           dense candidates, reranked; the first are seeds               sentence_search.py
    expansion                add neighbours until the evidence settles the                 sentence_search.py, task assess
                             sub-question or a cap is met
    answering                each sub-question; without an answer, its context is          tasks answer, summarise
                             summarised for the next
    integration              from the answers (AnsInt), the contexts (CxtInt), or both     task integrate

Deviations: the graph covers the corpus (the paper's covers the passages that come with a question: evaluate with
`--own-context`). A question counts as multi-hop if it is decomposed; otherwise its one hop is the answer, without integrating.
Whole words mark a sub-question that points back (the released code: substrings), and a completion that loses a name, or adds
nothing from an earlier answer, is rejected. The completed sub-questions are integrated (the code: those before completion). A
step of expansion keeps its best five neighbours (like the code; the presets keep a hundred, the paper all), because the
corpus's graph is far larger than a question's. Sentences of one document are read as one text. No cross-encoder is included:
name one in `search.reranker`. The entity finder is set under [offline], or is the language that builds the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.anaphora import word_references
from hoptrail.language.completing import complete
from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Assess, Complete, Decompose, Finding, Integrate, Summarise
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import Concluded, Hopwise, complete_question, failed_hop, integrate, read_for
from hoptrail.recipes.sentence_search import SentenceSearch, SentenceSearchSettings, in_reading_order
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.units.pool import Pool
from hoptrail.structures.structure_names import EXTRACTIONS, PASSAGES, SENTENCE_GRAPH, SENTENCES
from hoptrail.types import Hit, Hop, Kind, Ranking, Unit, Verdict, content_id

CARRIED = "carried"
"""Channel of the summary of what an earlier sub-question without an answer found."""


@dataclass(frozen=True, slots=True)
class ChainragSettings:
    """How a question is decomposed, and its sub-questions completed, read and integrated.

    `completion` of sub-questions that point back: `off`, by `rules` whatever the language, or by the `language`. `integration`:
    `answers` (AnsInt), `contexts` (CxtInt) or `both`. At most `sub_questions` are asked. The evidence for each has at most
    `evidence_tokens`, and is widened while the language finds it sufficient with a probability below `sufficiency`. The contexts
    are read together up to `context_tokens`. A summary of `carried_words` words stands in for a missing answer (0: none). At
    most `k` units are retrieved in all. `abstain`: see `PassageSettings`.
    """

    k: int = 50
    search: SentenceSearchSettings = field(default_factory=SentenceSearchSettings)
    decompose: bool = True
    completion: Literal["off", "rules", "language"] = "language"
    integration: Literal["answers", "contexts", "both"] = "both"
    sub_questions: int = 6
    sufficiency: float = 0.5
    evidence_tokens: int = 6000
    context_tokens: int = 6000
    carried_words: int = 80
    abstain: Abstain = Abstain.ALWAYS

    def __post_init__(self) -> None:
        if min(self.k, self.sub_questions, self.evidence_tokens, self.context_tokens) < 1 or self.carried_words < 0:
            raise ValueError(
                "k, sub_questions, evidence_tokens and context_tokens are at least 1, carried_words at least 0"
            )
        if not 0 <= self.sufficiency <= 1:
            raise ValueError(f"sufficiency lies between 0 and 1, not {self.sufficiency}")

    @property
    def structures(self) -> tuple[str, ...]:
        """The structures that must have been built (their own inputs are implied)."""
        if self.search.unit == "passage":
            return (PASSAGES,)
        if self.search.per_question:
            return (SENTENCES, EXTRACTIONS)
        return (SENTENCE_GRAPH,) if self.search.walks else (SENTENCES,)

    @property
    def pool(self) -> Pool:
        """The units that are searched."""
        return Pool((self.search.kind,))

    @property
    def effort(self) -> Effort:
        """Per sub-question: one reading, one judgement before every step of expansion, one summary for the next."""
        most = self.sub_questions if self.decompose else 1
        readings = most * (2 + (self.search.expansions if self.search.walks else 0)) + 1
        return Effort((1, readings), (int(self.decompose), most + int(self.decompose)))


def _with(settings: ChainragSettings, **search: object) -> ChainragSettings:
    """The settings with fields of `search` replaced."""
    return replace(settings, search=replace(settings.search, **search))  # type: ignore[arg-type]


PAPER = ChainragSettings(
    abstain=Abstain.NEVER,
    search=SentenceSearchSettings(context_k=3, expansions=3, expansion_k=100),
    integration="answers",
    k=1000,
    evidence_tokens=2000,
    context_tokens=100_000,
)
"""The contexts of all sub-questions are merged whole. The limit for one context is ours: the paper gives none."""

REFERENCE = ChainragSettings(search=SentenceSearchSettings(expansions=1), integration="answers", abstain=Abstain.NEVER)


@dataclass(frozen=True)
class Chainrag(Hopwise):
    """Sub-questions completed from earlier answers, each searched for in a graph of sentences that widens until it is enough."""

    settings: ChainragSettings = field(default_factory=ChainragSettings)

    name: ClassVar[str] = "chainrag"
    presets: ClassVar[Mapping[str, ChainragSettings]] = {
        "paper": PAPER,
        "reference": REFERENCE,
        "contexts": replace(PAPER, integration="contexts"),
        "both": replace(PAPER, integration="both"),
        "no-completion": replace(PAPER, completion="off"),
        "rules": replace(PAPER, completion="rules"),
        "no-ec": _with(PAPER, links=("SS", "SA")),
        "no-ss": _with(PAPER, links=("EC", "SA")),
        "no-sa": _with(PAPER, links=("EC", "SS")),
        "passages": _with(PAPER, unit="passage"),
        "no-expansion": _with(PAPER, expansions=0),
        "per-question": _with(PAPER, per_question=True),
        "naive": replace(_with(PAPER, unit="passage"), decompose=False),
        "naive-decomposed": replace(_with(PAPER, unit="passage"), completion="off"),
        "bge": _with(PAPER, reranker="cross-encoder:BAAI/bge-reranker-large"),
    }

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """The hits of all hops, interleaved, without carried summaries."""
        found = [tuple(hit for hit in cited.hop.hits if hit.channel != CARRIED) for cited in hops]
        return interleave(found, self.settings.k)

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop for each sub-question; it also reads a summary of the hop before if that found no answer. If decomposing
        fails, there is one failed hop.
        """
        try:
            sub_questions = self._sub_questions(question, meter)
        except TaskFailed:
            return report_hops([failed_hop(question, question)], meter)
        search = SentenceSearch.open(self.corpus, question, self.settings.search, self._reranker)
        hops: list[CitedHop] = []
        for sub_question in sub_questions[: self.settings.sub_questions]:
            carried = self._summarise_hop(hops[-1].hop, meter) if hops else None
            hops += report_hops([self._hop(sub_question, findings_of(hops), carried, search, meter)], meter)
        return hops

    def _sub_questions(self, question: str, meter: Meter) -> tuple[str, ...]:
        """The question alone if it is not multi-hop. Without completion, placeholders are worded naturally: `this author`."""
        if not self.settings.decompose:
            return (question,)
        parts = meter.perform(Decompose(question)).questions
        if len(parts) < 2:
            return (question,)
        return parts if self.settings.completion != "off" else tuple(word_references(part, parts) for part in parts)

    def _hop(
        self, question: str, findings: tuple[Finding, ...], carried: Unit | None, search: SentenceSearch, meter: Meter
    ) -> CitedHop:
        asked = question
        try:
            asked = self._complete(question, findings, meter)
            meter.asked(question, asked)
            found = self._retrieve_evidence(asked, search, meter)
        except TaskFailed:
            return failed_hop(question, asked)
        hits, packed = _with_summary(found, carried), self._packed(found, carried)
        return read_for(question, asked, hits, packed, in_reading_order(packed), meter)

    def _packed(self, found: Ranking, carried: Unit | None) -> Ranking:
        """The hits to read for a sub-question. The summary was paid for, so room is kept for it."""
        room = estimated_tokens(carried.searchable) if carried else 0
        return _with_summary(pack(found, max(1, self.settings.evidence_tokens - room)), carried)

    def _complete(self, question: str, findings: tuple[Finding, ...], meter: Meter) -> str:
        """The sub-question with earlier answers filled in; unchanged if it needs none or the completion is rejected."""
        mode = self.settings.completion
        if mode == "off":
            return question
        rules = mode == "rules"
        return complete_question(
            question,
            findings,
            lambda: complete(question, findings) if rules else meter.perform(Complete(question, findings)),
        )

    def _retrieve_evidence(self, asked: str, search: SentenceSearch, meter: Meter) -> Ranking:
        """Evidence that settles the sub-question, or as much of it as the caps allow."""
        found = search.begin(asked)
        for _ in range(self.settings.search.expansions if search.graph else 0):
            is_full = sum(estimated_tokens(hit.unit.searchable) for hit in found.hits) >= self.settings.evidence_tokens
            if is_full or not found.frontier or self._settles(asked, found.hits, meter):
                break
            found = search.widen(asked, found)
        return found.hits

    def _settles(self, asked: str, hits: Ranking, meter: Meter) -> bool:
        """Whether the evidence suffices. True if the language fails to judge it: then read what was found so far."""
        packed = pack(hits, self.settings.evidence_tokens)
        try:
            return meter.perform(Assess(asked, in_reading_order(packed))) >= self.settings.sufficiency
        except TaskFailed:
            return True

    def _summarise_hop(self, before: Hop, meter: Meter) -> Unit | None:
        """A summary of what a sub-question without an answer found. It is only an aid, so None if the task fails."""
        units = tuple(hit.unit for hit in pack(before.hits, self.settings.evidence_tokens))
        if before.verdict is not Verdict.UNANSWERED or not units or not self.settings.carried_words:
            return None
        try:
            text = meter.perform(Summarise(units, self.settings.carried_words))
        except TaskFailed:
            return None
        sources = tuple(dict.fromkeys(span for unit in units for span in unit.sources))
        return Unit(content_id("s", CARRIED, text), Kind.SUMMARY, "", text, sources) if text.strip() else None

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """The answer to the whole question, and a hop for it if the contexts gave an answer that no hop had."""
        answered = any(cited.hop.answer is not None for cited in hops)
        guesses = not answered and meter.abstain is Abstain.NEVER
        if [cited.hop.question for cited in hops] == [question] and not guesses:
            return hops[0].hop.answer, []
        mode = self.settings.integration
        packed = () if mode == "answers" and not guesses else self._contexts(question, found)
        if not answered and not packed:
            return None, []
        findings = () if mode == "contexts" else findings_of(hops)
        return integrate(Integrate(question, findings, in_reading_order(packed)), hops, packed, meter)

    def _contexts(self, question: str, ranking: Ranking) -> Ranking:
        """The hits of all hops that fit `context_tokens`, reranked for the whole question if there is a reranker."""
        ordered = self._reranker.rerank(question, ranking, len(ranking)) if self._reranker else ranking
        return pack(ordered, self.settings.context_tokens)

    @cached_property
    def _reranker(self) -> Reranker | None:
        name = self.settings.search.reranker
        return open_reranker(name, self.corpus.encoder) if name else None


def _with_summary(hits: Ranking, summary: Unit | None) -> Ranking:
    """Append the summary: it comes last because it is about another sub-question."""
    if summary is None:
        return hits
    return (*hits, Hit(summary, hits[-1].score if hits else 0.0, CARRIED))
