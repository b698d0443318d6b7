"""Recipes that retrieve once and read once: their base, whose recipes each add a `retrieve`, and the plain ones.

Keyword search, dense search, and both fused and optionally reranked, the baseline `direct` of papers. Presets of `hybrid` rerank
by late interaction (ColBERT; Khattab and Zaharia 2020, section 3.3; `models/rerankers.py`): over this first stage, or over
keyword search alone, like the paper. Faithful to matching every token of the question with its best in the text. Left out:
training for late interaction (token vectors come from the configured encoder, which must give one for each token), and end-to-end
retrieval by token vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Language, Read, Reading
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import pack
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, dense_search, hybrid_search, keyword_search
from hoptrail.setting_limits import AtLeast1
from hoptrail.types import Answer, Hop, Ranking, Trail, Verdict

if TYPE_CHECKING:
    from hoptrail.models.rerankers import Reranker
    from hoptrail.recipes.answering import CitedHop


@dataclass(frozen=True)
class SinglePass(ABC):
    """Retrieve, pack, read. A failed reading is a failed hop and an abstention, not an error."""

    corpus: Corpus
    language: Language
    settings: PassageSettings

    name: ClassVar[str]

    @abstractmethod
    def retrieve(self, question: str) -> Ranking:
        """The hits to read, best first, at most `k`."""

    def search(self, question: str, meter: Meter) -> Ranking:
        """Like `retrieve`. Recipes whose retrieval asks the language override it. Raises: TaskFailed: from the language."""
        del meter
        return self.retrieve(question)

    def packed(self, ranking: Ranking) -> Ranking:
        return pack(ranking, self.settings.evidence_tokens)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """Answer from the packed hits. Raises: TaskFailed: from the language."""
        return meter.perform(Read(question, tuple(hit.unit for hit in packed), meter.abstain))

    def hops(self, question: str, reading: Reading, found: Ranking, packed: Ranking) -> list[CitedHop]:
        """The hops of a reading of `packed`, a part of `found`. Raises: TaskFailed: the reading cites a span outside `packed`."""
        from hoptrail.recipes.answering import hops_of

        return hops_of(question, reading, found, packed)

    def answer(self, question: str) -> Answer:
        """The answer of one reading, cited; if a task fails, an abstention whose one hop is marked as failed."""
        # Not needed to search.
        from hoptrail.recipes.answering import CitedHop, cite, guess_of, report_hops, withheld_hop
        from hoptrail.recipes.closest import closest

        meter = Meter(self.language, self.settings.abstain)
        meter.asked(question, question)
        ranking: Ranking = ()
        try:
            ranking = self.search(question, meter)
            packed = self.packed(ranking)
            reading = self.read(question, packed, meter)
            hops = self.hops(question, reading, ranking, packed)
        except TaskFailed:
            reading, hops = Reading(None), [CitedHop(Hop(question, question, ranking, None, Verdict.FAILED))]
        evidence = cite(report_hops(hops, meter), self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        name, language = self.name, self.language.name
        return Answer(
            *(question, reading.answer, name, language, evidence, trail, meter.total, ranking, reading.confidence),
            kind=reading.kind,
            items=reading.items,
            closest=closest(question, ranking, self.corpus, self.language, reading.promising),
            guess=guess_of(withheld_hop(question, reading, ranking), reading.confidence, self.corpus, len(hops) - 1),
            notes=reading.notes,
        )


@dataclass(frozen=True, slots=True)
class Bm25Settings(PassageSettings):
    """A class of its own, so that runs of this recipe have a fingerprint of their own."""


@dataclass(frozen=True)
class Bm25(SinglePass):
    """Keyword search (BM25), read once."""

    settings: Bm25Settings = field(default_factory=Bm25Settings)

    name: ClassVar[str] = "bm25"

    def retrieve(self, question: str) -> Ranking:
        """The `k` passages with the highest BM25 scores."""
        return keyword_search(self.corpus, question, self.settings.k)


@dataclass(frozen=True, slots=True)
class DenseSettings(PassageSettings):
    """A class of its own, so that runs of this recipe have a fingerprint of their own."""


@dataclass(frozen=True)
class Dense(SinglePass):
    """Dense search by the encoder's vectors, read once."""

    settings: DenseSettings = field(default_factory=DenseSettings)

    name: ClassVar[str] = "dense"

    def retrieve(self, question: str) -> Ranking:
        """The `k` passages nearest to the question; scores are cosines."""
        return dense_search(self.corpus, question, self.settings.k)


@dataclass(frozen=True, slots=True)
class HybridSettings(PassageSettings):
    """`search` fuses the two searches; `reranker` (`late-interaction` or `cross-encoder:MODEL`; empty for none) then reorders
    the first `rerank_depth` hits.
    """

    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    reranker: str = ""
    rerank_depth: AtLeast1 = 50


@dataclass(frozen=True)
class Hybrid(SinglePass):
    """Keyword and dense search fused, read once."""

    settings: HybridSettings = field(default_factory=HybridSettings)

    name: ClassVar[str] = "hybrid"
    presets: ClassVar[Mapping[str, HybridSettings]] = {
        "late-interaction": HybridSettings(reranker="late-interaction", rerank_depth=100),
        "late-interaction-bm25": HybridSettings(
            search=HybridSearchSettings(dense_weight=0.0), reranker="late-interaction", rerank_depth=100
        ),
    }

    def retrieve(self, question: str) -> Ranking:
        """The `k` best passages of the fused search; with a reranker, the `k` that it puts first among `rerank_depth` of them."""
        if not self.settings.reranker:
            return hybrid_search(self.corpus, question, self.settings.k, self.settings.search)
        depth = max(self.settings.k, self.settings.rerank_depth)
        candidates = hybrid_search(self.corpus, question, depth, self.settings.search)
        return self._reranker.rerank(question, candidates, self.settings.k)

    @cached_property
    def _reranker(self) -> Reranker:
        from hoptrail.models.rerankers import open_reranker  # not needed without one

        return open_reranker(self.settings.reranker, self.corpus.encoder)
