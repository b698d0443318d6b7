"""Counts of what was extracted from a corpus: table 3 of SiReRAG (Zhang et al. 2025).

An entity is what one aggregate would be about; `entities` counts them before single mentions are dropped. Facts are the paper's
propositions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.structures.extractions import stored_in_order
from hoptrail.types import Kind
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.sirerag.aggregates import AggregateSettings
from hoptrail_papers.sirerag.facts_by_entity import grouped_by_entity


@dataclass(frozen=True, slots=True)
class ExtractionStatistics:
    """Numbers of passages, facts, entities and aggregates; mean, most and least facts of an entity."""

    chunks: int
    propositions: int
    entities: int
    aggregates: int
    mean: float
    most: int
    least: int

    def to_json(self) -> JsonObject:
        """The numbers by name."""
        return asdict(self)


def extraction_statistics(snapshot: Snapshot, settings: AggregateSettings) -> ExtractionStatistics:
    """Table 3 for one index. Raises: UsageError: it holds no facts."""
    found = list(stored_in_order(snapshot))
    figures = settings.dates_and_numbers
    counts = [len(group.facts) for group in grouped_by_entity(found, dates_and_numbers=figures)]
    if not counts:
        raise UsageError(f"{snapshot.folder} holds no facts about entities. Index it `--for sirerag`.")
    facts = sum(len(extraction.facts) for _, extraction in found)
    aggregates = snapshot.count(Kind.AGGREGATE)
    return ExtractionStatistics(
        *(snapshot.count(Kind.PASSAGE), facts, len(counts), aggregates),
        *(sum(counts) / len(counts), max(counts), min(counts)),
    )
