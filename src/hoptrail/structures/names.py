"""What structures are called: in `head.structures`, in what recipes need, and, for those made of links, as kinds of link."""

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
