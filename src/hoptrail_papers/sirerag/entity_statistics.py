"""SiReRAG's table 3: how many propositions, entities and aggregates an index has, and how many propositions an entity."""

from __future__ import annotations

from collections import Counter

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind
from hoptrail.types.json_object import JsonObject


def entity_statistics(snapshot: Snapshot) -> JsonObject:
    """The counts of an index with extractions and aggregates. Entities are compared without case; an aggregate is one
    entity's, whatever its parts.
    """
    mentioned: Counter[str] = Counter()
    chunks = propositions = 0
    entities: set[str] = set()
    for _, extraction in stored_in_order(snapshot, None):
        chunks += 1
        propositions += len(extraction.facts)
        entities.update(map(folded, extraction.entities))
        for fact in extraction.facts:
            mentioned.update({folded(entity) for entity in fact.entities})
    counts = list(mentioned.values()) or [0]
    return {
        "chunks": chunks,
        "propositions": propositions,
        "entities": len(entities | mentioned.keys()),
        "aggregates": len({folded(unit.title) for unit in snapshot.units(Kind.AGGREGATE)}),
        "mean": sum(counts) / len(counts),
        "most": max(counts),
        "fewest": min(counts),
    }
