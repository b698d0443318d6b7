"""An entity-graph baseline after GraphRAG's local search (Edge et al. 2024 and the released code): no communities, no reports.

    entities     those nearest to the question and to the names in it                       entity_graph.py
    facts        those about the entities, nearest to the question first                    entity_graph.py
    neighbours   the entities at the other ends, and the facts about these                  entity_graph.py
    text units   passages by the facts that they state; facts and passages are packed       here

Faithful to the path from entities over relationships to texts, and to reading both. Leaves out communities and their reports
(for those see `raptor` and `sirerag`), descriptions of entities and relationships by a model, claims, and global search, which
answers from reports alone. An entity is compared by its name; facts are the triples of `[structures.triples]`. Facts and
passages are interleaved, where the released code gives each a share of the tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.rankings import Pool, best_first, interleave
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.setting_limits import AtLeast0, AtLeast1, Share
from hoptrail.text.mentions import find_mentions
from hoptrail.types import Kind, Ranking
from hoptrail_papers.baselines.entity_graph import EntityGraph, facts_about, hits_of, neighbours, passages_of

FACTS = 40


@dataclass(frozen=True, slots=True)
class GraphragSettings(PassageSettings):
    """Use the `entities` nearest to the question or a name in it, the FACTS best facts about them, and as many about their
    neighbours, scaled by `neighbour_weight`. `facts_read` facts are read beside the passages.
    """

    entities: AtLeast1 = 10
    neighbour_weight: Share = 0.5
    facts_read: AtLeast0 = 10
    structures = (TRIPLES,)

    @property
    def pool(self) -> Pool:
        return Pool((Kind.PASSAGE, Kind.TRIPLE) if self.facts_read else (Kind.PASSAGE,))


@dataclass(frozen=True)
class Graphrag(SinglePass):
    """An entity-graph baseline after GraphRAG: entities of the question, facts around them, and the passages that state these."""

    settings: GraphragSettings = field(default_factory=GraphragSettings)

    name: ClassVar[str] = "graphrag"
    presets: ClassVar[Mapping[str, GraphragSettings]] = {
        "passages": GraphragSettings(facts_read=0),
        "no-neighbours": GraphragSettings(neighbour_weight=0.0),
    }

    def retrieve(self, question: str) -> Ranking:
        """The passages that state the best facts, interleaved with up to `facts_read` of these; without facts, dense search."""
        chosen = self.settings
        texts = [*(mention.text for mention in find_mentions(question, question=True)), question]
        graph = EntityGraph.of(self.corpus)
        facts = self._facts(question, texts, graph)
        if not facts:
            return dense_search(self.corpus, question, chosen.k)
        passages = passages_of(graph, facts, chosen.k)
        return interleave([passages, hits_of(graph, facts, chosen.facts_read)], chosen.k)

    def _facts(self, question: str, texts: Sequence[str], graph: EntityGraph) -> dict[int, float]:
        """Scores of the facts about the entities nearest to `texts` and about the neighbours of these."""
        chosen = self.settings
        nearest = best_first(graph.nearest(texts, chosen.entities), chosen.entities)
        entities = {number: score for number, score in nearest.items() if score > 0}
        facts = facts_about(graph, entities, question, FACTS)
        around = neighbours(graph, facts, entities)
        further = {number: chosen.neighbour_weight * score for number, score in around.items()}
        return facts_about(graph, further, question, FACTS) | facts
