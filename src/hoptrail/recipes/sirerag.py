"""SiReRAG (Zhang et al., ICLR 2025): a similarity tree and a relatedness tree, all their nodes in one flat pool.

    section 4.1   similarity tree: summaries over passages                    structures/trees.py
    section 4.2   relatedness tree: facts about one entity are aggregated,    structures/extractions.py, aggregates.py
                  summaries over the aggregates                               structures/trees.py
    section 4.3   passages, aggregates and all summaries in one pool          retrieval/units/pool_search.py
    section 5     the 20 best units are read, one call                        here

Deviations: the query is the bare question (the released code adds its instruction for short answers, see preset `reference`).
Every node is in the pool (the released code loses those without a cluster). By default an aggregate too long for the encoder is
cut into parts of the same entity, and clusters come from Leiden (with `--settings paper:sirerag` aggregates are whole, and
clusters are Gaussian mixtures). The paper asks a model three times: to rewrite a chunk given the one before (figure 6), for
entities with their types (7), for facts with triplets (8). Here one prompt shows a passage with the one before it and asks for
entities with types, and for facts with one triplet each, with names in place of references. Aggregates resolve a family name to
the full name in the same document. Without a language model, sentences serve as propositions, passages are read alone, and
summaries are extracts, see `language/offline`. Clusters, aggregates and summaries are set under [structures].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from hoptrail.language.tasks import Abstain
from hoptrail.recipes.pooled import Pooled, PooledSettings
from hoptrail.retrieval.units.pool import Pool
from hoptrail.structures.structure_names import (
    AGGREGATES,
    ENTITY_TREE,
    FACTS,
    JOINT_TREE,
    PASSAGES,
    RELATEDNESS_TREE,
    SIMILARITY_TREE,
)
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class SireragSettings(PooledSettings):
    """The nodes in the pool besides passages (section 6.2 and appendix A)."""

    similarity_summaries: bool = True
    aggregates: bool = True
    relatedness_summaries: bool = True
    facts: bool = False
    entity_clusters: bool = False
    joint_summaries: bool = False

    @property
    def structures(self) -> tuple[str, ...]:
        """Passages, and the structures of the nodes that are switched on."""
        uses = {
            PASSAGES: True,
            SIMILARITY_TREE: self.similarity_summaries,
            AGGREGATES: self.aggregates,
            FACTS: self.facts,
            RELATEDNESS_TREE: self.relatedness_summaries,
            ENTITY_TREE: self.entity_clusters,
            JOINT_TREE: self.joint_summaries,
        }
        return tuple(name for name, used in uses.items() if used)

    @property
    def pool(self) -> Pool:
        """Passages and the nodes that are switched on; beside the entity tree, the similarity tree has its lowest level only."""
        kinds = {Kind.AGGREGATE: self.aggregates, Kind.FACT: self.facts}
        trees = {
            SIMILARITY_TREE: self.similarity_summaries,
            RELATEDNESS_TREE: self.relatedness_summaries,
            ENTITY_TREE: self.entity_clusters,
            JOINT_TREE: self.joint_summaries,
        }
        return Pool(
            (Kind.PASSAGE, *(kind for kind, used in kinds.items() if used)),
            tuple(tree for tree, used in trees.items() if used),
            (SIMILARITY_TREE,) if self.entity_clusters else (),
        )


PAPER = SireragSettings(evidence_tokens=100_000, repeats=True, abstain=Abstain.NEVER)
"""All of the 20 best units are read: a model's window of 128,000 tokens holds them."""
SELF_ASK = replace(PAPER, reader="self-ask", k=10)
"""Both of its iterations read ten candidates (appendix B)."""


def _passages_alone(settings: SireragSettings, **more: Any) -> SireragSettings:
    """The same settings over passages only: the baselines of tables 6 and 9."""
    return replace(settings, similarity_summaries=False, aggregates=False, relatedness_summaries=False, **more)


@dataclass(frozen=True)
class Sirerag(Pooled):
    """Passages, everything about one entity together, and two trees of summaries in one pool, read once."""

    settings: SireragSettings = field(default_factory=SireragSettings)

    name: ClassVar[str] = "sirerag"
    presets: ClassVar[Mapping[str, SireragSettings]] = {
        "paper": PAPER,
        "reference": replace(PAPER, question_suffix="Answer briefly, in as few words as possible."),
        "a": replace(PAPER, relatedness_summaries=False),
        "b": replace(PAPER, facts=True),
        "c": replace(PAPER, facts=True, aggregates=False),
        "d": replace(PAPER, facts=True, aggregates=False, relatedness_summaries=False),
        "e": replace(PAPER, aggregates=False, relatedness_summaries=False, entity_clusters=True),
        "joint": replace(PAPER, joint_summaries=True),
        "bm25": replace(PAPER, scorer="bm25"),
        "late-interaction": replace(PAPER, scorer="late-interaction"),
        "self-ask": SELF_ASK,
        "closed-book": replace(PAPER, reader="closed-book"),
        "passages-bm25": _passages_alone(PAPER, scorer="bm25"),
        "passages-late-interaction": _passages_alone(PAPER, scorer="late-interaction"),
        "passages-self-ask": _passages_alone(SELF_ASK),
    }
