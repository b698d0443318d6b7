"""Search along the names that passages share: adaptive reranking over links of several kinds.

SUNAR alternates between a first stage and a frontier of nearest neighbours (`adaptive.py`). The frontier here holds pages that a
passage names, pages that name it, and passages that share a rare name with it. Needs the structures of path search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.passages.adaptive import AdaptiveSettings, rerank_adaptively
from hoptrail.retrieval.passages.scoring import HYBRID, open_scoring, passages_by_id
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Hit, Ranking

FRONTIER = "frontier"
"""Channel of hits found along links."""


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """`scorer` (`scoring.py`) scores the `depth` best of keyword and dense search and passages linked to them.

    A name links the passages that share it if at most `namers` do.
    """

    depth: int = 50
    scorer: str = HYBRID
    namers: int = 10
    adaptive: AdaptiveSettings = field(default_factory=lambda: AdaptiveSettings(budget=60, batch=10))

    def __post_init__(self) -> None:
        if self.depth < 1 or self.namers < 0:
            raise UsageError(f"depth is at least 1 and namers at least 0, not {self.depth} and {self.namers}")


def search_frontier(
    corpus: Corpus, question: str, limit: int, search: HybridSearchSettings, settings: FrontierSettings
) -> Ranking:
    """The `limit` best of the scored passages.

    Raises:
        NotBuilt: the structures of path search are not built.
    """
    graph = PassageGraph.of(corpus.snapshot)

    def linked(passages: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return {passage: _linked_passages(graph, passage, settings.namers) for passage in passages}

    first = {hit.unit.id: hit for hit in hybrid_search(corpus, question, settings.depth, search)}
    first_scores = {name: hit.score for name, hit in first.items()}
    scorer = open_scoring(settings.scorer, corpus)(question)
    reranked = rerank_adaptively(first_scores, linked, scorer, settings.adaptive)[:limit]
    units = passages_by_id(corpus.snapshot, [item.id for item in reranked])
    return tuple(
        Hit(units[item.id], item.score, first[item.id].channel if item.id in first else FRONTIER) for item in reranked
    )


def _linked_passages(graph: PassageGraph, passage: str, namers: int) -> Sequence[str]:
    """The passages that names link to a passage, in the order of the names."""
    row = graph.passages.row(passage)
    rows: dict[int, None] = {}
    for name in graph.named_by.at(row):
        rows |= dict.fromkeys(graph.owners.at(name).tolist())
        if graph.counts[name] <= namers:
            rows |= dict.fromkeys(graph.namers.at(name).tolist())
    rows.pop(row, None)
    return [graph.passages[other].id for other in rows]
