"""What bringing structures up to date will cost, by what is stored that they have still to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.language.lazy import OFFLINE
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.course import TEXT, Step
from hoptrail.structures.declaring import Structure
from hoptrail.structures.sentences import sentence_units
from hoptrail.types import Kind, Unit

SAMPLE = 240
"""Texts that are looked at to tell how long they are, with titles and headings."""
SAMPLED_DOCUMENTS = 12

LONGEST = 1100
"""Characters of a text after which an encoder reads no further, about."""

_PASSAGE = 800
"""Characters of a passage, about, where none is cut yet."""


def foretold(structures: Sequence[Structure], context: BuildContext) -> Iterator[Step]:
    """Each structure with its cost: in one that is there only new documents are looked at, else all."""
    snapshot, writer = context.writer.snapshot(), context.writer
    change = writer.change()
    if change is not None and change.nothing and all(one.name in writer.structures for one in structures):
        return
    for structure in structures:
        whole = structure.name not in writer.structures or change is None
        came = None if whole or change is None else change.added
        encoded = structure.encodes
        if structure.needs_language and context.language and context.language.name != OFFLINE:
            yield Step(structure.name, None)
        elif encoded is Kind.PASSAGE:
            yield _passages(structure, snapshot)
        elif encoded is Kind.SENTENCE:
            pending = snapshot.table.documents_without(encoded, came)
            count = snapshot.register.sizes(pending).sentences
            yield Step(structure.name, count * _mean(_some_sentences(snapshot, pending)), count, encoded)
        else:
            yield Step(structure.name, structure.cost * snapshot.register.sizes(came).characters)


def _passages(structure: Structure, snapshot: Snapshot) -> Step:
    waiting = snapshot.texts.unencoded(Kind.PASSAGE)
    uncut = snapshot.register.sizes(snapshot.table.documents_without(Kind.PASSAGE, None))
    count = len(waiting) + uncut.documents + uncut.characters // _PASSAGE
    some = snapshot.texts.units(waiting[:: max(1, len(waiting) // SAMPLE)])
    cost = len(waiting) * _mean(some) + uncut.characters + TEXT * (count - len(waiting))
    return Step(structure.name, cost, count, Kind.PASSAGE, _mostly(snapshot, waiting))


def _some_sentences(snapshot: Snapshot, documents: Sequence[str]) -> Iterator[Unit]:
    """A few of a few documents."""
    few = documents[:: max(1, len(documents) // SAMPLED_DOCUMENTS)]
    for document in snapshot.documents(few):
        yield from islice(sentence_units(document), SAMPLE // SAMPLED_DOCUMENTS)


def _mean(texts: Iterable[Unit]) -> float:
    """What encoding one of some texts costs, as the encoder sees them."""
    costs = [min(len(text.searchable), LONGEST) + TEXT for text in texts]
    return sum(costs) / max(1, len(costs))


def _mostly(snapshot: Snapshot, passages: Numbers) -> str:
    """Which document more than half of these are of, and how many; empty where there is none."""
    documents, counts = np.unique(snapshot.texts.origins_of(passages).documents, return_counts=True)
    if len(documents) < 2 or 2 * counts.max() <= len(passages):
        return ""
    [entry] = snapshot.register.of(snapshot.register.ids(documents[[counts.argmax()]]))
    return f"{counts.max():,} of them of {entry.sources[0]}"
