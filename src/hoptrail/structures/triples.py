"""Triples of the whole corpus: one unit a triple and sentence, and every distinct text of a slot with its vector.

CompRAG (the poster's "Methodology"). Triples are read off the stored facts (`language/offline/triples.py`; no language is
asked), so one extraction serves all. A slot is encoded once however many triples it stands in, and nothing else is: how slots
become the vector of a triple is decided when it is searched (`retrieval/composition.py`), and no choice there needs this built
anew. Deviations: no filter by TF-IDF, which drops all relations of one word or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np

from hoptrail.executing.executor import HERE, Executor, Work, batched, from_to
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.lemmas import lemmatised
from hoptrail.language.offline.text import squeeze
from hoptrail.language.offline.triple_finders import check_triple_finder, open_triple_finder
from hoptrail.language.tasks import Extraction, Triple
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.names import EXTRACTIONS, TRIPLES
from hoptrail.structures.renewing import encode_units
from hoptrail.types import Kind, Span, Unit, content_id

SEPARATOR = " | "
"""Between the slots in a triple's text; a bar in a slot becomes a slash."""

LONGEST_SLOT = 200
"""Characters of a slot: what is longer is a sentence, not a name or a relation."""

READ_TOGETHER = 128
"""Passages whose facts are read together."""

BATCH = 4096
"""Triples written at a time: nothing is encoded for them."""


@dataclass(frozen=True, slots=True)
class TripleSettings:
    """`extractor`: who reads triples off facts that are not stated as triples (`triple_finders.py`); `stated` takes those only.

    With `lemmas` the base forms of all slots are encoded too, and with `texts` every triple as a whole: what a recipe needs to
    search by these. They are added to an index, or taken from it, without touching the rest.
    """

    extractor: str = "rules"
    lemmas: bool = False
    texts: bool = False

    def __post_init__(self) -> None:
        check_triple_finder(self.extractor)


@dataclass(frozen=True, slots=True)
class Triples:
    """Units of kind triple, whose text is `subject | relation | object` and whose source is the fact's, and of kind slot.

    A slot's source is that of one triple it stands in. The vector stored with a triple is the mean of its slots'.
    """

    settings: TripleSettings = field(default_factory=TripleSettings)
    name: str = TRIPLES
    built_from: tuple[str, ...] = (EXTRACTIONS,)
    needs_language: bool = False

    @property
    def fingerprint(self) -> str:
        """That of the extractor: the other settings only add."""
        return fingerprint(TripleSettings(self.settings.extractor))

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.TRIPLE)
        writer.drop_units(Kind.SLOT)

    def update(self, workshop: Workshop) -> None:
        """Bring triples and slots to what the stored facts say.

        Slots come first, so that a triple that is there has all of its slots, wherever a build was stopped.

        Raises:
            UsageError: the extractor cannot be opened.
        """
        writer = workshop.writer
        snapshot = writer.snapshot()
        wanted = {unit.id: unit for unit in triple_units(snapshot, self.settings.extractor, workshop.executor)}
        slots = slot_units(wanted.values(), self.settings)
        known = set(snapshot.unit_ids(Kind.SLOT))
        encode_units(workshop, [slots[name] for name in sorted(slots.keys() - known)])
        stored = set(snapshot.unit_ids(Kind.TRIPLE))
        writer.remove_units(Kind.TRIPLE, stored - wanted.keys())
        _write(workshop, [wanted[name] for name in sorted(wanted.keys() - stored)])
        writer.remove_units(Kind.SLOT, known - slots.keys())


def triple_units(snapshot: Snapshot, extractor: str, executor: Executor = HERE) -> Iterator[Unit]:
    """The triples of all facts, in document order. The same triple of two sentences is two units."""
    found = batched(stored_in_order(snapshot), READ_TOGETHER)
    work = Work("reading triples off", partial(_read_off, extractor), _name)
    read: Iterator[list[Unit]] = executor.map(work, found)
    return chain.from_iterable(read)


def _read_off(extractor: str, found: Sequence[tuple[Unit, Extraction]]) -> list[Unit]:
    find = open_triple_finder(extractor)
    units = []
    for passage, extraction in found:
        for fact in extraction.facts:
            for triple in find(fact, passage.title):
                text = text_of(triple)
                if text:
                    place = fact.source
                    name = content_id("r", text, place.document, str(place.start), str(place.end))
                    units.append(Unit(name, Kind.TRIPLE, passage.title, text, (place,)))
    return units


def _name(found: Sequence[tuple[Unit, Extraction]]) -> str:
    return from_to([f"{passage.title!r} ({passage.id})" for passage, _ in found])


def slot_units(triples: Iterable[Unit], settings: TripleSettings) -> Mapping[str, Unit]:
    """What is encoded for these triples, by id: every distinct slot, and what else the settings ask for."""
    places: dict[str, Span] = {}
    for unit in triples:
        triple = triple_of(unit)
        texts = [triple.subject, triple.relation, triple.object]
        if settings.lemmas:
            texts += [lemmatised(text) for text in texts]
        if settings.texts:
            texts.append(said(triple))
        for text in texts:
            places.setdefault(text, unit.sources[0])
    return {slot_id(text): Unit(slot_id(text), Kind.SLOT, "", text, (place,)) for text, place in places.items()}


def slot_id(text: str) -> str:
    return content_id("w", text)


def text_of(triple: Triple) -> str:
    """A triple as a unit's text; empty where a slot is empty or far too long."""
    slots = [squeeze(slot.replace("|", "/")) for slot in (triple.subject, triple.relation, triple.object)]
    return SEPARATOR.join(slots) if all(0 < len(slot) <= LONGEST_SLOT for slot in slots) else ""


def triple_of(unit: Unit) -> Triple:
    """The way back."""
    return Triple(*unit.text.split(SEPARATOR))


def said(triple: Triple) -> str:
    """A triple in a row of words."""
    return f"{triple.subject} {triple.relation} {triple.object}"


def _write(workshop: Workshop, units: list[Unit]) -> None:
    """Write triples in batches that are each kept. Their slots are stored."""
    if not units:
        return
    mirror = workshop.writer.snapshot().vectors(Kind.SLOT)
    rows = {name: row for row, name in enumerate(mirror.ids)}
    for start in range(0, len(units), BATCH):
        workshop.pause()
        batch = units[start : start + BATCH]
        places = [[rows[slot_id(slot)] for slot in unit.text.split(SEPARATOR)] for unit in batch]
        workshop.writer.put_units(batch, _unit_length(mirror.matrix[np.array(places)].mean(axis=1)))
        workshop.report("writing triples", start + len(batch), len(units))


def _unit_length(vectors: FloatMatrix) -> FloatMatrix:
    scaled: FloatMatrix = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled
