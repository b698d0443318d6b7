"""SiReRAG (Zhang et al., ICLR 2025): a similarity tree and a relatedness tree, all their nodes in one flat pool.

    section 4.1   similarity tree: summaries over passages                    structures/trees.py
    section 4.2   relatedness tree: facts about one entity are aggregated,    structures/extractions.py, aggregates.py
                  summaries over the aggregates                               structures/trees.py
    section 4.3   passages, aggregates and all summaries in one pool          retrieval/pool.py
    section 5     the 20 best units are read, one call                        here

Deviations: the bare question is searched for (the released code searches with its instruction for short answers, see preset
`reference`); every node reaches the pool (the released code loses those without a cluster); an aggregate too long for the
encoder is cut into parts of the same entity. Without a language model sentences stand for propositions and summaries are
extracts, see `language/offline`. How clusters, aggregates and summaries are made is set under [structures].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.pooled import Pooled, PooledSettings
from hoptrail.retrieval.pool import Pool
from hoptrail.structures.names import AGGREGATES, ENTITY_TREE, FACTS, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class SireragSettings(PooledSettings):
    """Which nodes are in the pool beside passages and the similarity tree's summaries (section 6.2 and appendix A)."""

    aggregates: bool = True
    relatedness_summaries: bool = True
    facts: bool = False
    entity_clusters: bool = False
    joint_summaries: bool = False

    @property
    def structures(self) -> tuple[str, ...]:
        wanted = {
            AGGREGATES: self.aggregates,
            FACTS: self.facts,
            RELATEDNESS_TREE: self.relatedness_summaries,
            ENTITY_TREE: self.entity_clusters,
            JOINT_TREE: self.joint_summaries,
        }
        return (SIMILARITY_TREE, *(name for name, needed in wanted.items() if needed))

    @property
    def pool(self) -> Pool:
        kinds = {Kind.AGGREGATE: self.aggregates, Kind.FACT: self.facts}
        trees = {
            RELATEDNESS_TREE: self.relatedness_summaries,
            ENTITY_TREE: self.entity_clusters,
            JOINT_TREE: self.joint_summaries,
        }
        return Pool(
            (Kind.PASSAGE, *(kind for kind, wanted in kinds.items() if wanted)),
            (SIMILARITY_TREE, *(tree for tree, wanted in trees.items() if wanted)),
        )


@dataclass(frozen=True)
class Sirerag(Pooled):
    """Passages, everything about one entity together, and two trees of summaries in one pool, read once."""

    settings: SireragSettings = field(default_factory=SireragSettings)

    name: ClassVar[str] = "sirerag"
    presets: ClassVar[Mapping[str, SireragSettings]] = {
        "paper": SireragSettings(),
        "reference": SireragSettings(question_suffix="Answer briefly, in as few words as possible."),
        "a": SireragSettings(relatedness_summaries=False),
        "b": SireragSettings(facts=True),
        "c": SireragSettings(facts=True, aggregates=False),
        "d": SireragSettings(facts=True, aggregates=False, relatedness_summaries=False),
        "e": SireragSettings(aggregates=False, relatedness_summaries=False, entity_clusters=True),
        "joint": SireragSettings(joint_summaries=True),
    }
