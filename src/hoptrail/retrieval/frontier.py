"""Passages for one question along the names that passages share: adaptive reranking over links of several kinds.

SUNAR reads a first stage and a frontier of nearest neighbours in turns (`adaptive.py`). The frontier here holds what the
passages' words lead to: pages that a passage names, pages that name it, and passages that share a name which few have. Needs
the structures of path search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.errors import UsageError
from hoptrail.retrieval.adaptive import AdaptiveSettings, Neighbours, rerank_adaptively
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.retrieval.known_passages import KnownPassages
from hoptrail.retrieval.passage_graph import PassageGraph
from hoptrail.retrieval.passage_scoring import HYBRID, open_scoring, passages_by_id
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Hit, Ranking

FRONTIER = "frontier"
"""The channel of hits that links led to."""


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """The `depth` best of keyword and dense search are read by `scorer` (`passage_scoring.py`), with what they lead to.

    A name leads from one passage to all that share it where no more than `namers` do (in a large corpus at most 40:
    `structures/terms.py`).
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
    linked = _linking(corpus.snapshot, settings.namers)
    first = {hit.unit.id: hit for hit in hybrid_search(corpus, question, settings.depth, search)}

    scorer = open_scoring(settings.scorer, corpus).scorer(question)
    placed = rerank_adaptively({name: hit.score for name, hit in first.items()}, linked, scorer, settings.adaptive)[
        :limit
    ]
    units = passages_by_id(corpus.snapshot, [one.id for one in placed])
    return tuple(
        Hit(units[one.id], one.score, first[one.id].channel if one.id in first else FRONTIER) for one in placed
    )


def _linking(snapshot: Snapshot, namers: int) -> Neighbours:
    """Says which passages a passage leads to, in the order of the names: by the graph of all, or by look-ups."""
    if snapshot.has_terms:
        known = KnownPassages(snapshot)
        return lambda passages: _looked_up(known, passages, namers)
    graph = PassageGraph.of(snapshot)
    return lambda passages: {passage: _linked(graph, passage, namers) for passage in passages}


def _linked(graph: PassageGraph, passage: str, namers: int) -> Sequence[str]:
    row = graph.row(passage)
    found: dict[int, None] = {}
    for number in graph.named_by.at(row):
        found |= dict.fromkeys(graph.owners.at(number).tolist())
        if graph.counts[number] <= namers:
            found |= dict.fromkeys(graph.namers.at(number).tolist())
    found.pop(row, None)
    return [graph.passages[other].id for other in found]


def _looked_up(known: KnownPassages, passages: Sequence[str], namers: int) -> Mapping[str, Sequence[str]]:
    known.read_names(passages)
    found = {passage: _named(known, passage, namers) for passage in passages}
    known.read_units({other for others in found.values() for other in others})
    # What is gone since names were counted is left out.
    return {passage: [other for other in others if other in known.units] for passage, others in found.items()}


def _named(known: KnownPassages, passage: str, namers: int) -> Sequence[str]:
    found: dict[str, None] = {}
    for _, term in known.named(passage):
        found |= dict.fromkeys(term.owners)
        if term.passages <= namers:
            found |= dict.fromkeys(term.namers)
    found.pop(passage, None)
    return list(found)
