"""Passages for one question along the names that passages share: adaptive reranking over links of several kinds.

SUNAR reads a first stage and a frontier of nearest neighbours in turns (`adaptive.py`). The frontier here holds what the
passages' words lead to: pages that a passage names, pages that name it, and passages that share a name which few have. Needs
the structures of path search.
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
"""The channel of hits that links led to."""


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """The `depth` best of keyword and dense search are read by `scorer` (`scoring.py`), with what they lead to.

    A name leads from one passage to all that share it where no more than `namers` do.
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
    """The `limit` best of what was read, best first.

    Raises:
        NotBuilt: the structures of path search are not built.
    """
    graph = PassageGraph.of(corpus.snapshot)

    def linked(passages: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return {passage: _linked(graph, passage, settings.namers) for passage in passages}

    first = {hit.unit.id: hit for hit in hybrid_search(corpus, question, settings.depth, search)}

    scorer = open_scoring(settings.scorer, corpus)(question)
    placed = rerank_adaptively({name: hit.score for name, hit in first.items()}, linked, scorer, settings.adaptive)[
        :limit
    ]
    units = passages_by_id(corpus.snapshot, [one.id for one in placed])
    return tuple(
        Hit(units[one.id], one.score, first[one.id].channel if one.id in first else FRONTIER) for one in placed
    )


def _linked(graph: PassageGraph, passage: str, namers: int) -> Sequence[str]:
    """The passages that a passage leads to, in the order of the names."""
    row = graph.passages.row(passage)
    found: dict[int, None] = {}
    for number in graph.named_by.at(row):
        found |= dict.fromkeys(graph.owners.at(number).tolist())
        if graph.counts[number] <= namers:
            found |= dict.fromkeys(graph.namers.at(number).tolist())
    found.pop(row, None)
    return [graph.passages[other].id for other in found]
