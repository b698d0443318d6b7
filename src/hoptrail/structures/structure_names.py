"""Names of structures: in `head.structures`, in the needs of recipes and, for those made of links, as kinds of links."""

from __future__ import annotations

PASSAGES = "passages"
EXTRACTIONS = "extractions"
TOPICS = "topics"
AGGREGATES = "aggregates"
FACTS = "facts"
SIMILARITY_TREE = "similarity-tree"
RELATEDNESS_TREE = "relatedness-tree"
JOINT_TREE = "joint-tree"
ENTITY_TREE = "entity-tree"
SENTENCES = "sentences"
SENTENCE_GRAPH = "sentence-graph"
PROFILES = "profiles"
TRIPLES = "triples"
MENTIONS = "mentions"
