"""HippoRAG (Gutiérrez et al., NeurIPS 2024) and HippoRAG 2 (Gutiérrez et al., ICML 2025): PageRank from the question's entities.

    1, section 2.3     entities of the question lead to the nearest nodes, weighted by their rarity     `one`
                       PageRank over entities; a passage has the sum of its entities                entity_graph.py
    2, section 3.2     passages are nodes of the graph too                                          entity_graph.py
    2, section 3.3     the question leads to the nearest triples                                    `two`
    2, section 3.4     recognition: the language leaves out triples that do not help                task assess
    2, section 3.5     the walk restarts at the entities of those triples and, weakly, at all       here
                       passages

Faithful to the graph, the walk, its damping and the weights of seeds. Without a seed, dense search is used, as in the released
code. Deviations: triples are those of `[structures.triples]`; entities of a question are found by rules; a triple's vector is
the mean of its slots'; recognition judges each triple by itself, so a language is asked `facts` times.

The default starts like the first on the graph of the second, without synonyms. On 40 development questions of 2WikiMultiHopQA
it had the most supporting passages among 20 (.95; the first .88, the second unfiltered .81), because the included encoder
compares a question better with names than with triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Assess, Effort
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.rankings import best_first
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.setting_limits import AtLeast1, NotNegative, Share
from hoptrail.text.mentions import find_mentions
from hoptrail.types import Kind, Ranking, Unit
from hoptrail_papers.baselines.entity_graph import EntityGraph, EntityGraphSettings

SEEDS, DAMPING = 5, 0.5  # the number of seeds, and the papers' damping


@dataclass(frozen=True, slots=True)
class HipporagSettings(PassageSettings):
    """Where the walk starts: at `entities` of the question, or at those of the nearest `triples`.

    `entities`: the entity nearest to each name in the question. `triples`: the SEEDS heaviest entities of the `facts` nearest
    triples, without those that the language finds helpful with a probability below `recognition` (0: ask nothing, keep all).
    All passages are seeds with `passage_weight` times their similarity. The walk continues with probability DAMPING.
    """

    start: Literal["entities", "triples"] = "entities"
    facts: AtLeast1 = 5
    recognition: Share = 0.0
    passage_weight: NotNegative = 0.005
    graph: EntityGraphSettings = field(default_factory=EntityGraphSettings)
    structures = (TRIPLES,)

    @property
    def effort(self) -> Effort:
        """Recognition reads each of the facts."""
        return Effort((1, 1 + self.facts)) if self.start == "triples" and self.recognition else Effort()


TWO = HipporagSettings(start="triples", passage_weight=0.05, abstain=Abstain.NEVER)


@dataclass(frozen=True)
class Hipporag(SinglePass):
    """A walk over entities and passages from the names in the question; what it visits most is read once."""

    settings: HipporagSettings = field(default_factory=HipporagSettings)

    name: ClassVar[str] = "hipporag"
    presets: ClassVar[Mapping[str, HipporagSettings]] = {
        "one": HipporagSettings(graph=EntityGraphSettings(passages=False, synonym_k=10), abstain=Abstain.NEVER),
        "two": replace(TWO, recognition=0.5, graph=EntityGraphSettings(synonym_k=10)),
        "two-unfiltered": TWO,
        "no-passages": HipporagSettings(graph=EntityGraphSettings(passages=False)),
    }

    def retrieve(self, question: str) -> Ranking:
        """The hits of `search`; what recognition spends on them is not reported."""
        return self.search(question, Meter(self.language))

    def search(self, question: str, meter: Meter) -> Ranking:
        """At most `k` passages by how often the walk visits them; without a seed, those of dense search."""
        chosen = self.settings
        graph = EntityGraph.of(self.corpus, chosen.graph)
        if chosen.start == "entities":
            names = [mention.text for mention in find_mentions(question, question=True)]
            seeds = {number: 1 / float(graph.passage_counts[number]) for number in graph.nearest(names, 1)}
        else:
            seeds = self._entities_of_facts(question, graph, meter)
        if not seeds:
            return dense_search(self.corpus, question, chosen.k)
        likeness = graph.passage_likeness(question) if chosen.passage_weight else None
        passages = None if likeness is None else chosen.passage_weight * likeness
        return graph.passages(graph.pagerank(seeds, passages, DAMPING), chosen.k)

    def _entities_of_facts(self, question: str, graph: EntityGraph, meter: Meter) -> dict[int, float]:
        """Version 2: the entity's mean fact score divided by the number of passages that name it."""
        scores: defaultdict[int, list[float]] = defaultdict(list)
        for hit in (hit for hit in self._facts(question, meter) if hit.unit.id in graph.fact_rows):
            for number in {int(end) for end in graph.ends[graph.fact_rows[hit.unit.id]]}:
                scores[number].append(hit.score)
        counts = graph.passage_counts
        weights = {number: sum(found) / len(found) / float(counts[number]) for number, found in sorted(scores.items())}
        return {number: weight for number, weight in best_first(weights, SEEDS).items() if weight > 0}

    def _facts(self, question: str, meter: Meter) -> Ranking:
        found = dense_search(self.corpus, question, self.settings.facts, (Kind.TRIPLE,))
        least = self.settings.recognition
        if not least:
            return found
        return tuple(hit for hit in found if _helpfulness(question, hit.unit, meter) >= least)


def _helpfulness(question: str, fact: Unit, meter: Meter) -> float:
    """The probability that a fact helps; 1 if the task fails, so that the fact stays."""
    try:
        return meter.perform(Assess(question, (fact,)))
    except TaskFailed:
        return 1.0
