"""Estimates of the cost of bringing structures up to date, from the stored rows that they have still to process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.language.tasks import OFFLINE
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.progress_tracker import TEXT, BuildStep
from hoptrail.structures.sentences import sentence_units
from hoptrail.types import Kind, Unit

SAMPLE = 240  # texts that are sampled for their mean length with titles and headings
SAMPLED_DOCUMENTS = 12

LONGEST = 1100  # about the number of characters of a text that an encoder reads
_PASSAGE = 800  # about the number of characters of a passage, before any is cut


def estimated_steps(structures: Sequence[Structure], context: BuildContext) -> Iterator[BuildStep]:
    """Each structure with its cost. A finished structure processes only added documents, any other all documents."""
    snapshot, writer = context.writer.snapshot(), context.writer
    change = writer.change
    if change is not None and change.nothing and all(structure.name in writer.structures for structure in structures):
        return
    for structure in structures:
        finished = structure.name in writer.structures and change is not None
        added = change.added if finished and change else None
        encoded = structure.encodes
        if structure.needs_language and context.language and context.language.name != OFFLINE:
            yield BuildStep(structure.name, None)
        elif encoded is Kind.PASSAGE:
            yield _passages(structure, snapshot)
        elif encoded is Kind.SENTENCE:
            pending = snapshot.table.documents_without(encoded, added)
            count = snapshot.register.sizes(pending).sentences
            documents = snapshot.documents(pending[:: max(1, len(pending) // SAMPLED_DOCUMENTS)])
            sample = (islice(sentence_units(document), SAMPLE // SAMPLED_DOCUMENTS) for document in documents)
            yield BuildStep(structure.name, count * _mean_cost(chain.from_iterable(sample)), count, encoded)
        else:
            yield BuildStep(structure.name, structure.cost * snapshot.register.sizes(added).characters)


def _passages(structure: Structure, snapshot: Snapshot) -> BuildStep:
    waiting = snapshot.numbered.unencoded()
    uncut = snapshot.register.sizes(snapshot.table.documents_without(Kind.PASSAGE, None))
    count = len(waiting) + uncut.documents + uncut.characters // _PASSAGE
    sample = snapshot.numbered.units(waiting[:: max(1, len(waiting) // SAMPLE)])
    cost = len(waiting) * _mean_cost(sample) + uncut.characters + TEXT * (count - len(waiting))
    return BuildStep(structure.name, cost, count, Kind.PASSAGE, _majority(snapshot, waiting))


def _mean_cost(units: Iterable[Unit]) -> float:
    costs = [min(len(unit.searchable), LONGEST) + TEXT for unit in units]
    return sum(costs) / max(1, len(costs))


def _majority(snapshot: Snapshot, passages: Numbers) -> str:
    """The document with more than half of these passages, and their number; empty where there is none."""
    documents, counts = np.unique(snapshot.numbered.origins_of(passages).documents, return_counts=True)
    if len(documents) < 2 or 2 * counts.max() <= len(passages):
        return ""
    [entry] = snapshot.register.of(snapshot.register.ids(documents[[counts.argmax()]]))
    return f"{counts.max():,} of them of {entry.sources[0]}"
