"""ChainRAG (Zhu et al., ACL 2025): a sentence graph, and sub-questions completed with the names they lost.

    sentence graph           sentences, linked by key entities (EC), likeness (SS) and     structures/sentences.py,
                             nearness in the text (SA)                                     sentence_graph.py
    question decomposition   sequential, parallel or comparing sub-questions               task decompose
    sub-question rewriting   one that points back is rewritten by the language with all    language/questions/,
                             earlier answers, a call each                                  task complete
    seed retrieval           dense candidates, reranked; the first are seeds               here, `SentenceSearch`
    expansion                add neighbours until the evidence settles the                 here, task assess
                             sub-question or a cap is met
    answering                each sub-question; without an answer, its context is          tasks answer, summarise
                             summarised for the next
    integration              from the answers (AnsInt), the contexts (CxtInt), or both     task integrate

Decomposing marks a reference by a number (`Where was #1 born?`), which is exact. It reaches neither a search nor a model: the
model rewrites the sub-question with the first one in place of `#1`, rules stand in for a rejected rewriting, and where #1 has no
answer, or nothing is completed, the name is lost as in the paper: `Where was this person born?`

Deviations: the graph covers the corpus (the paper's covers the passages that come with a question: evaluate with
`--own-context`). A question counts as multi-hop if it is decomposed; otherwise its one hop is the answer, without integrating.
Whole words mark a sub-question that points back (the released code: substrings), and a completion that loses a name, or adds
nothing from an earlier answer, is rejected. The completed sub-questions are integrated (the code: those before completion). A
step of expansion keeps its best five neighbours (like the code; the presets keep a hundred, the paper all), because the
corpus's graph is far larger than a question's, and there are at most two steps (the presets: three). Sentences of one document
are read as one text. No cross-encoder is included: name one in `search.reranker`; without one, CxtInt's contexts keep the order
of the hops. Where no sub-question has an answer, AnsInt reads the contexts under `never`, as its questions always have one. The
entity finder is set under [offline], or is the language that builds the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

from hoptrail.corpus.structure_names import EXTRACTIONS, PASSAGES, SENTENCE_GRAPH, SENTENCES
from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.questions.references import complete, word_references
from hoptrail.language.tasks import Abstain, Assess, Complete, Decompose, Effort, Finding, Integrate, Summarise
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.recipes.answering import CARRIED, CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import Concluded, Hopwise, complete_question, failed_hop, integrate, reading_for
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import Pool, pack, ranked
from hoptrail.retrieval.units.unit_search import dense_search, nearest
from hoptrail.setting_limits import AtLeast0, AtLeast1, Share, check_limits
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Hit, Hop, Kind, Ranking, Unit, Verdict, content_id
from hoptrail_papers.chainrag.sentence_graph import SentenceGraph


@dataclass(frozen=True, slots=True)
class SentenceSearchSettings:
    """What is searched, and how far the search widens.

    The `prefilter` nearest units are ordered by `reranker` (`late-interaction` or `cross-encoder:MODEL`; empty: by cosine). The
    first `context_k` are evidence, and the first `seed_k` are the entry points into the graph of `links`. Each of at most
    `expansions` steps adds the `expansion_k` best neighbours of the units that the step before added. With `per_question` the
    graph is built from the `candidates` passages nearest to the whole question, and only their sentences are searched. (The
    paper builds it from the passages that come with a question: for that, evaluate with `--own-context`.)
    """

    unit: Literal["sentence", "passage"] = "sentence"
    links: tuple[Literal["EC", "SS", "SA"], ...] = ("EC", "SS", "SA")
    prefilter: int = 100
    context_k: AtLeast1 = 7
    seed_k: AtLeast1 = 3
    expansions: AtLeast0 = 2
    expansion_k: AtLeast1 = 5
    reranker: str = ""
    per_question: bool = False
    candidates: AtLeast1 = 20

    def __post_init__(self) -> None:
        check_limits(self)
        if self.prefilter < max(self.context_k, self.seed_k):
            raise ValueError("prefilter is at least context_k and seed_k, which are chosen from it")

    @property
    def kind(self) -> Kind:
        return Kind.SENTENCE if self.unit == "sentence" else Kind.PASSAGE

    @property
    def walks(self) -> bool:
        """Whether there is a graph to walk on."""
        return self.unit == "sentence" and self.expansions > 0 and bool(self.links)


@dataclass(frozen=True, slots=True)
class SearchState:
    """The evidence so far, best first, and the ids of the units to expand next."""

    hits: Ranking
    frontier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentenceSearch:
    """Searches for the sub-questions of one question. `within` limits the search to these sentence ids; `graph` is optional."""

    corpus: Corpus
    settings: SentenceSearchSettings
    reranker: Reranker | None
    graph: SentenceGraph | None
    within: Sequence[str] | None

    @classmethod
    def open(
        cls, corpus: Corpus, question: str, settings: SentenceSearchSettings, reranker: Reranker | None
    ) -> SentenceSearch:
        """A search over the whole corpus, or over the passages nearest to `question`."""
        if settings.unit == "sentence" and settings.per_question:
            passages = [hit.unit for hit in dense_search(corpus, question, settings.candidates)]
            structures = corpus.structures or StructureSettings()
            own = SentenceGraph.over(passages, corpus.snapshot, settings.links, structures.sentence_graph)
            return cls(corpus, settings, reranker, own, own.ids)
        stored = SentenceGraph.of(corpus.snapshot, settings.links) if settings.walks else None
        return cls(corpus, settings, reranker, stored, None)

    def begin(self, asked: str) -> SearchState:
        """The units nearest to the sub-question."""
        best = self._best(asked, self.within, self.settings.prefilter)
        seeds = tuple(hit.unit.id for hit in best[: self.settings.seed_k])
        return SearchState(best[: self.settings.context_k], seeds)

    def widen(self, asked: str, found: SearchState) -> SearchState:
        """Add the best neighbours of the frontier; they are the new frontier."""
        if self.graph is None or not found.frontier:
            return SearchState(found.hits, ())
        known = {hit.unit.id for hit in found.hits}
        around = [name for name in self.graph.neighbours(found.frontier) if name not in known]
        added = self._best(asked, around, self.settings.expansion_k)
        return SearchState(ranked((*found.hits, *added)), tuple(hit.unit.id for hit in added))

    def _best(self, asked: str, among: Sequence[str] | None, limit: int) -> Ranking:
        depth = max(limit, self.settings.prefilter) if self.reranker else limit
        vector = self.corpus.encoder.encode([asked])[0]
        hits = nearest(self.corpus, vector, depth, self.settings.kind, among)
        return self.reranker.rerank(asked, hits, limit) if self.reranker else hits


def in_reading_order(hits: Ranking) -> tuple[Unit, ...]:
    """The units to read: the sentences of each document as one unit, a line each, at the rank of its best sentence. MuSiQue
    questions were answered better this way than sentence by sentence, 2WikiMultiHopQA questions equally well.
    """
    documents: dict[str, list[Unit]] = {}
    for hit in hits:
        place = hit.unit.document if hit.unit.kind is Kind.SENTENCE else hit.unit.id
        documents.setdefault(place, []).append(hit.unit)
    return tuple(_merge_sentences(sorted(units, key=lambda unit: unit.sources[0])) for units in documents.values())


def _merge_sentences(sentences: Sequence[Unit]) -> Unit:
    first = sentences[0]
    if len(sentences) == 1:
        return first
    text = "\n".join(squeeze(sentence.text) for sentence in sentences)
    sources = tuple(sentence.sources[0] for sentence in sentences)
    return Unit(content_id("a", *(sentence.id for sentence in sentences)), Kind.AGGREGATE, first.title, text, sources)


@dataclass(frozen=True, slots=True)
class ChainragSettings(PassageSettings):
    """How a question is decomposed, and its sub-questions completed, read and integrated.

    `completion` of sub-questions that point back: `off`, by `rules` whatever the language, or by the `language`. `integration`:
    `answers` (AnsInt), `contexts` (CxtInt) or `both`. At most `sub_questions` are asked. The evidence for each has at most
    `evidence_tokens`, and is widened while the language finds it sufficient with a probability below `sufficiency`. The contexts
    are read together up to `context_tokens`. A summary of `carried_words` words stands in for a missing answer (0: none). At
    most `k` units are retrieved in all.
    """

    k: AtLeast1 = 50
    search: SentenceSearchSettings = field(default_factory=SentenceSearchSettings)
    decompose: bool = True
    completion: Literal["off", "rules", "language"] = "language"
    integration: Literal["answers", "contexts", "both"] = "both"
    sub_questions: AtLeast1 = 6
    sufficiency: Share = 0.5
    context_tokens: AtLeast1 = 6000
    carried_words: AtLeast0 = 80

    @property
    def structures(self) -> tuple[str, ...]:
        if self.search.unit == "passage":
            return (PASSAGES,)
        if self.search.per_question:
            return (SENTENCES, EXTRACTIONS)
        return (SENTENCE_GRAPH,) if self.search.walks else (SENTENCES,)

    @property
    def pool(self) -> Pool:
        return Pool((self.search.kind,))

    @property
    def effort(self) -> Effort:
        """Per sub-question: one reading, a judgement before every step of expansion, one rewriting, one summary for the next."""
        most = self.sub_questions if self.decompose else 1
        readings = most * (2 + (self.search.expansions if self.search.walks else 0)) + 1
        rewritings = most - 1 if self.completion == "language" else 0
        return Effort((1, readings), (int(self.decompose), rewritings + int(self.decompose)), (0, most))


def _with(settings: ChainragSettings, **search: object) -> ChainragSettings:
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

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop for each sub-question; a summary stands in for a missing answer. One failed hop if decomposing fails."""
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
        # The summary comes last because it is about another sub-question. It was paid for, so room is kept for it.
        summary = (Hit(carried, found[-1].score if found else 0.0, CARRIED),) if carried else ()
        room = sum(estimated_tokens(hit.unit.searchable) for hit in summary)
        packed = (*pack(found, max(1, self.settings.evidence_tokens - room)), *summary)
        return reading_for(question, asked, (*found, *summary), packed, in_reading_order(packed), meter)[1]

    def _complete(self, question: str, findings: tuple[Finding, ...], meter: Meter) -> str:
        """The sub-question with earlier answers filled in; unchanged if it needs none or the completion is rejected, except that
        references to what was not found are worded.
        """
        if self.settings.completion == "off":
            return question
        if self.settings.completion == "rules":
            return complete_question(question, findings, lambda: complete(question, findings))
        return complete_question(question, findings, lambda: meter.perform(Complete(question, findings, by_model=True)))

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
        packed: Ranking = ()
        if mode != "answers" or guesses:  # the hits of all hops, reranked for the whole question if there is a reranker
            ordered = self._reranker.rerank(question, found, len(found)) if self._reranker else found
            packed = pack(ordered, self.settings.context_tokens)
        if not answered and not packed:
            return None, []
        findings = () if mode == "contexts" else findings_of(hops)
        return integrate(Integrate(question, findings, in_reading_order(packed)), hops, packed, meter)

    @cached_property
    def _reranker(self) -> Reranker | None:
        name = self.settings.search.reranker
        return open_reranker(name, self.corpus.encoder) if name else None
