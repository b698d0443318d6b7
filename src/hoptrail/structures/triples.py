"""Triples of the whole corpus: one unit a triple and sentence, and every distinct text of a slot with its vector.

CompRAG (the poster's "Methodology"). Triples are read off the stored facts (`language/offline/triples.py`; no language is
asked), so one extraction serves all. A slot is encoded once however many triples it stands in, and nothing else is: how slots
become the vector of a triple is decided when it is searched (`retrieval/composition.py`), and no choice there needs this built
anew. Deviations: no filter by TF-IDF, which drops all relations of one word or none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import chain, compress

import numpy as np

from hoptrail.executing.executor import HERE, Executor, Work, batched, from_to
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.triple_finders import check_triple_finder, open_triple_finder
from hoptrail.language.tasks import Extraction, Triple
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import Digests, PackedIds, id_rows, packed, rows_among
from hoptrail.store.scratch import Scratch
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.vectors import VectorMirror
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import kept_at_once
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.names import EXTRACTIONS, TRIPLES
from hoptrail.structures.renewing import append_units, renew_units
from hoptrail.structures.streaming import sifting
from hoptrail.text.lemmas import lemmatised
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Kind, Link, Unit, content_id

SEPARATOR = " | "
"""Between the slots in a triple's text; a bar in a slot becomes a slash."""

LONGEST_SLOT = 200
"""Characters of a slot: what is longer is a sentence, not a name or a relation."""

READ_TOGETHER = 128
"""Passages whose facts are read together."""

BATCH = 4096
"""Triples written at a time at least, and those whose vectors are made together."""

RECENT = 65_536
"""Slots that are known to have just come, or triples that have gone: most come again and again."""

TRIPLE_ID = "r"
"""What ids of triples begin with."""

END = "triple-end"
STATED = "triple-stated"
"""Links: from a slot to a triple that it is the subject or the object of, and from a triple to the passage that states it."""


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

    A slot's source is that of one triple it stands in. The vector stored with a triple is the mean of its slots'. Links lead to
    a triple from its subject and its object (END), and from it to its passage (STATED), so that it can be looked up.
    """

    settings: TripleSettings = field(default_factory=TripleSettings)
    name: str = TRIPLES
    built_from: tuple[str, ...] = (EXTRACTIONS,)
    needs_language: bool = False

    @property
    def fingerprint(self) -> str:
        """That of the extractor: the other settings only add, and links that are missing are made without encoding anything."""
        return fingerprint(TripleSettings(self.settings.extractor))

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.TRIPLE)
        writer.drop_units(Kind.SLOT)
        for kind in (END, STATED):
            writer.drop_links(kind)

    def update(self, workshop: Workshop) -> None:
        """Bring triples and slots to what the stored facts say.

        Slots come first, so that a triple that is there has all of its slots, wherever a build was stopped. A triple counts as
        stored with all of its links only.

        Raises:
            UsageError: the extractor cannot be opened.
        """
        writer = workshop.writer
        snapshot = writer.snapshot()
        # With a document that went, slots that others need may have gone.
        came = workshop.change.came if workshop.change and not workshop.change.went else None
        stored = _Stored(snapshot, writer.scratch) if came is None else frozenset[StatedTriple]()
        with sifting(writer.scratch) as triples:

            def slots() -> Iterator[Unit]:
                recent: set[str] = set()
                for found in stated_triples(snapshot, self.settings.extractor, workshop.executor, came):
                    triples.put(hash(found.unit.id), found, new=found not in stored)
                    units = [unit for unit in slot_units(found.unit, self.settings) if unit.id not in recent]
                    recent.update(unit.id for unit in units)
                    if len(recent) > RECENT:
                        recent.clear()
                    yield from units

            if came is None:
                renew_units(workshop, Kind.SLOT, slots(), by_id=True)
                _remove_all_but(writer, triples.old())
                _write(workshop, *triples.new(), _SlotVectors(writer.snapshot()))
            else:
                append_units(workshop, _not_stored(snapshot, slots()))
                _write(workshop, *triples.new(), partial(writer.snapshot().vectors_of, Kind.SLOT))


def _not_stored(snapshot: Snapshot, slots: Iterable[Unit]) -> Iterator[Unit]:
    for some in batched(slots, BATCH):
        stored = snapshot.stored_ids(Kind.SLOT, {unit.id for unit in some})
        yield from (unit for unit in some if unit.id not in stored)


@dataclass(frozen=True, slots=True)
class StatedTriple:
    """A triple as a unit, and the id of the passage that states it."""

    unit: Unit
    passage: str


def stated_triples(
    snapshot: Snapshot, extractor: str, executor: Executor = HERE, documents: Collection[str] | None = None
) -> Iterator[StatedTriple]:
    """The triples of all facts, or of those of some documents, in document order. The same triple of two sentences is two
    units.
    """
    found = batched(stored_in_order(snapshot, documents), READ_TOGETHER)
    work = Work("reading triples off", partial(_read_off, extractor), _name)
    read: Iterator[list[StatedTriple]] = executor.map(work, found)
    return chain.from_iterable(read)


def _read_off(extractor: str, found: Sequence[tuple[Unit, Extraction]]) -> list[StatedTriple]:
    find = open_triple_finder(extractor)
    read = []
    for passage, extraction in found:
        for fact in extraction.facts:
            for triple in find(fact, passage.title):
                text = text_of(triple)
                if text:
                    place = fact.source
                    name = content_id(TRIPLE_ID, text, place.document, str(place.start), str(place.end))
                    unit = Unit(name, Kind.TRIPLE, passage.title, text, (place,))
                    read.append(StatedTriple(unit, passage.id))
    return read


def _name(found: Sequence[tuple[Unit, Extraction]]) -> str:
    return from_to([f"{passage.title!r} ({passage.id})" for passage, _ in found])


def slot_units(unit: Unit, settings: TripleSettings) -> Iterator[Unit]:
    """What is encoded for a triple: its slots, and what else the settings ask for."""
    triple = triple_in(unit.text)
    texts = [triple.subject, triple.relation, triple.object]
    if settings.lemmas:
        texts += [lemmatised(text) for text in texts]
    if settings.texts:
        texts.append(said(triple))
    return (Unit(slot_id(text), Kind.SLOT, "", text, unit.sources[:1]) for text in texts)


@lru_cache(maxsize=65_536)
def slot_id(text: str) -> str:
    return content_id("w", text)


def text_of(triple: Triple) -> str:
    """A triple as a unit's text; empty where a slot is empty or far too long."""
    slots = [squeeze(slot.replace("|", "/")) for slot in (triple.subject, triple.relation, triple.object)]
    return SEPARATOR.join(slots) if all(0 < len(slot) <= LONGEST_SLOT for slot in slots) else ""


def triple_in(text: str) -> Triple:
    """The way back."""
    return Triple(*text.split(SEPARATOR))


def said(triple: Triple) -> str:
    """A triple in a row of words."""
    return f"{triple.subject} {triple.relation} {triple.object}"


class _Stored:
    """Which triples are stored with their links, by their digests."""

    def __init__(self, snapshot: Snapshot, scratch: Scratch) -> None:
        self._units = scratch.digests(map(hash, snapshot.unit_ids(Kind.TRIPLE)))
        self._ends = scratch.digests(hash((link.source, link.target)) for link in snapshot.links(END))
        self._stated = scratch.digests(hash((link.source, link.target)) for link in snapshot.links(STATED))

    def __contains__(self, found: StatedTriple) -> bool:
        name = found.unit.id
        subject, _, object_ = _slots(found)
        return (
            hash(name) in self._units
            and hash((name, found.passage)) in self._stated
            and all(hash((end, name)) in self._ends for end in (subject, object_))
        )


class _SlotVectors:
    """The vectors of all slots, read at the first call; in files where they are many."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __call__(self, names: Collection[str]) -> VectorMirror:
        """Those of some, all of which are stored.

        Raises:
            KeyError: they are not.
        """
        some = sorted(names)
        rows = rows_among(id_rows(some), packed(self._ids))
        if (rows < 0).any():
            raise KeyError(f"slots without a vector: {', '.join(compress(some, rows < 0))}")
        return VectorMirror(tuple(some), self._matrix[rows])

    @cached_property
    def _ids(self) -> PackedIds:
        return self._snapshot.ids_in_order(Kind.SLOT)

    @cached_property
    def _matrix(self) -> FloatMatrix:
        return self._snapshot.vectors_in_order([Kind.SLOT], self._ids)


def _remove_all_but(writer: Writer, kept: Digests) -> None:
    """Remove all other triples with their links, and links of what is no triple."""
    snapshot = writer.snapshot()
    named = chain(
        snapshot.unit_ids(Kind.TRIPLE),
        (link.source for link in snapshot.links(STATED)),
        (link.target for link in snapshot.links(END)),
    )
    gone = writer.scratch.digests()
    for some in batched((id_ for id_ in named if hash(id_) not in kept), RECENT):
        once = list(dict.fromkeys(some))
        new = ~gone.holding(map(hash, once))
        writer.remove_units(Kind.TRIPLE, compress(once, new))
        gone.add(map(hash, once))


def _slots(found: StatedTriple) -> list[str]:
    return [slot_id(slot) for slot in found.unit.text.split(SEPARATOR)]


def _write(
    workshop: Workshop,
    total: int,
    triples: Iterable[StatedTriple],
    vectors_of: Callable[[Collection[str]], VectorMirror],
) -> None:
    """Write triples that are not there yet with their links, in batches that are each kept. Their slots are stored."""
    done = 0
    for batch in batched(triples, kept_at_once(workshop, total, BATCH)):
        workshop.pause()
        slots = [_slots(found) for found in batch]
        known = vectors_of({name for three in slots for name in three})
        rows = {name: row for row, name in enumerate(known.ids)}
        places = np.array([[rows[name] for name in three] for three in slots])
        parts = (places[first : first + BATCH] for first in range(0, len(places), BATCH))
        vectors = np.concatenate([vectors_of_slots(known.matrix[part]) for part in parts])
        workshop.writer.put_units([found.unit for found in batch], vectors)
        workshop.writer.put_links(
            [link for found, three in zip(batch, slots, strict=True) for link in _links(found, three)]
        )
        done += len(batch)
        workshop.report("writing triples", done, total)


def _links(found: StatedTriple, slots: Sequence[str]) -> Iterator[Link]:
    subject, _, object_ = slots
    for end in dict.fromkeys((subject, object_)):
        yield Link(end, found.unit.id, END, 1.0)
    yield Link(found.unit.id, found.passage, STATED, 1.0)


def vectors_of_slots(slots: FloatMatrix) -> FloatMatrix:
    """The vectors stored with triples, of shape (n, dimension), from those of their slots, (n, 3, dimension)."""
    mean: FloatMatrix = slots.mean(axis=1)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
    return mean
