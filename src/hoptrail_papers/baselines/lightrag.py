"""An entity-graph baseline after LightRAG (Guo et al. 2024): names lead to entities, topics to relationships; no descriptions.

    section 3.2, keywords     low-level ones are the names of the question, high-level ones its     question_triples.py
                              relations and noun phrases
    section 3.2, low level    entities near to the names, and the facts about them                  entity_graph.py
    section 3.2, high level   facts near to the topics                                              entity_graph.py
    released code             passages of both are interleaved; `mix` adds dense search             here

Faithful to the two levels, and to the depths, the least cosine and the interleaving of the released code. Deviations: keywords
are found by rules, not by a model; entities, relationships and their comparison are those of `[structures.triples]`, without
descriptions by a model; only passages are read. A question without a name is its own low-level keyword, as in the released code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.rankings import interleave
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.setting_limits import ShareAbove0, check_limits
from hoptrail.text.mentions import find_mentions
from hoptrail.types import Ranking
from hoptrail_papers.baselines.entity_graph import EntityGraph, facts_about, facts_like, passages_of
from hoptrail_papers.comprag.question_triples import question_triples

Level = Literal["local", "global", "naive"]
NEAREST, FACTS = 40, 100  # the released code's depths


@dataclass(frozen=True, slots=True)
class LightragSettings(PassageSettings):
    """The interleaved `levels`: `local` (names to entities), `global` (topics to facts), `naive` (dense search of passages).

    A level uses the NEAREST entities or facts with a cosine of at least `least`; `local` uses FACTS facts of its entities.
    """

    levels: tuple[Level, ...] = ("local", "global")
    least: ShareAbove0 = 0.2
    structures = (TRIPLES,)

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.levels:
            raise ValueError("levels has at least 1 level")


@dataclass(frozen=True)
class Lightrag(SinglePass):
    """An entity-graph baseline after LightRAG: names lead to entities, topics to facts; the passages of both are interleaved."""

    settings: LightragSettings = field(default_factory=LightragSettings)

    name: ClassVar[str] = "lightrag"
    presets: ClassVar[Mapping[str, LightragSettings]] = {
        "local": LightragSettings(levels=("local",)),
        "global": LightragSettings(levels=("global",)),
        "mix": LightragSettings(levels=("local", "global", "naive")),
    }

    def retrieve(self, question: str) -> Ranking:
        """The passages of all levels, interleaved; if no level has any, those of dense search."""
        names, topics = keywords(question)
        names, about = names or (question,), ", ".join(topics)
        graph = EntityGraph.of(self.corpus)
        found = [self._level(level, question, names, about, graph) for level in self.settings.levels]
        return interleave(found, self.settings.k) or dense_search(self.corpus, question, self.settings.k)

    def _level(self, level: Level, question: str, names: Sequence[str], about: str, graph: EntityGraph) -> Ranking:
        chosen = self.settings
        match level:
            case "local":
                nearest = graph.nearest(names, NEAREST)
                entities = {number: score for number, score in nearest.items() if score >= chosen.least}
                facts = facts_about(graph, entities, question, FACTS)
            case "global":
                facts = facts_like(graph, about, NEAREST, chosen.least) if about else {}
            case "naive":
                return dense_search(self.corpus, question, chosen.k)
        return passages_of(graph, facts, chosen.k)


def keywords(question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The low-level keywords of a question (names) and its high-level ones (relations and noun phrases), without repeats."""
    names = dict.fromkeys(mention.text for mention in find_mentions(question, question=True))
    asked = question_triples(question, noun_phrases=True)
    phrases = [slot for pattern in asked.partial for slot in pattern.slots if slot and slot not in names]
    return tuple(names), tuple(dict.fromkeys((*asked.relations, *phrases)))
