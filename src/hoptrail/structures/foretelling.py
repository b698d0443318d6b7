"""What bringing structures up to date will cost, by what is stored that they have still to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.language.late import OFFLINE
from hoptrail.structures.building import Workshop
from hoptrail.structures.course import TEXT, Step
from hoptrail.structures.declaring import Structure
from hoptrail.types import Kind

_PASSAGE = 800
"""Characters of a passage, about, where none is cut yet."""


def foretold(structures: Sequence[Structure], workshop: Workshop) -> Iterator[Step]:
    """Each structure with its cost: in one that is there only new documents are looked at, else all."""
    snapshot, writer = workshop.writer.snapshot(), workshop.writer
    change = writer.change()
    if change is not None and change.nothing and all(one.name in writer.structures for one in structures):
        return
    for structure in structures:
        whole = structure.name not in writer.structures or change is None
        came = None if whole or change is None else change.came
        encoded = structure.encodes
        if structure.needs_language and workshop.language and workshop.language.name != OFFLINE:
            yield Step(structure.name, None)
        elif encoded is Kind.PASSAGE:
            yield _passages(structure, snapshot)
        elif encoded is Kind.SENTENCE:
            sizes = snapshot.register.sizes(snapshot.table.documents_without(encoded, came))
            yield Step(structure.name, sizes.sentence_characters + TEXT * sizes.sentences, sizes.sentences, encoded)
        else:
            yield Step(structure.name, structure.cost * snapshot.register.sizes(came).characters)


def _passages(structure: Structure, snapshot: Snapshot) -> Step:
    waiting = snapshot.texts.unencoded(Kind.PASSAGE)
    uncut = snapshot.register.sizes(snapshot.table.documents_without(Kind.PASSAGE, None))
    count = len(waiting) + uncut.documents + uncut.characters // _PASSAGE
    cost = snapshot.texts.characters(waiting) + uncut.characters + TEXT * count
    return Step(structure.name, cost, count, Kind.PASSAGE, _mostly(snapshot, waiting))


def _mostly(snapshot: Snapshot, passages: Numbers) -> str:
    """Which document more than half of these are of, and how many; empty where there is none."""
    documents, counts = np.unique(snapshot.texts.origins_of(passages).documents, return_counts=True)
    if len(documents) < 2 or 2 * counts.max() <= len(passages):
        return ""
    [entry] = snapshot.register.of(snapshot.register.ids(documents[[counts.argmax()]]))
    return f"{counts.max():,} of them of {entry.sources[0]}"
