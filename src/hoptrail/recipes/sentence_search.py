"""Search for one sub-question: the nearest units first, then their neighbours in the sentence graph, step by step.

ChainRAG, "Seed Sentence Retrieval + Graph Expansion". The caller decides whether the evidence suffices; if not, it widens the
search by one step. With passages as units there is no graph, so the search cannot be widened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hoptrail.models.rerankers import Reranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.ranking import ranked
from hoptrail.retrieval.sentences.graph import SentenceGraph
from hoptrail.retrieval.units.dense import dense_search, nearest
from hoptrail.types import Kind, Ranking, Unit, content_id

LinkKind = Literal["EC", "SS", "SA"]


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
    links: tuple[LinkKind, ...] = ("EC", "SS", "SA")
    prefilter: int = 100
    context_k: int = 7
    seed_k: int = 3
    expansions: int = 2
    expansion_k: int = 5
    reranker: str = ""
    per_question: bool = False
    candidates: int = 20

    def __post_init__(self) -> None:
        if min(self.context_k, self.seed_k, self.expansion_k, self.candidates) < 1 or self.expansions < 0:
            raise ValueError("context_k, seed_k, expansion_k and candidates are at least 1, expansions at least 0")
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
            own = SentenceGraph.over(passages, corpus.snapshot, settings.links, corpus.structures.sentence_graph)
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
    """The units to read: the sentences of each document merged into one, a line each, in text order.

    A merged unit ranks where its best sentence did. MuSiQue questions were answered better this way than sentence by sentence,
    2WikiMultiHopQA questions equally well, and each title is given once.
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
    text = "\n".join(" ".join(sentence.text.split()) for sentence in sentences)
    sources = tuple(sentence.sources[0] for sentence in sentences)
    return Unit(content_id("a", *(sentence.id for sentence in sentences)), Kind.AGGREGATE, first.title, text, sources)
