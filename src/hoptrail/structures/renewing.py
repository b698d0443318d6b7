"""Bringing the stored units of a kind to what they should be, where that is cheaper to work out than to encode."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import encode_batches, kept_at_once
from hoptrail.structures.streaming import Sifted, sifting
from hoptrail.types import Kind, Unit

BATCH = 512
"""Units kept at a time at least."""


def renew_units(workshop: Workshop, kind: Kind, wanted: Iterable[Unit], *, by_id: bool = False) -> None:
    """Make the stored units of `kind` exactly these: what differs is encoded and written, what is not wanted goes.

    With `by_id` units of one id do not differ. Of several with one id the first counts. In memory is a batch; what differs is
    set aside meanwhile. A stopped run goes on after its last batch. Where nothing differs, nothing is written.
    """
    writer = workshop.writer
    snapshot = writer.snapshot()
    known = writer.scratch.digests(map(hash, snapshot.unit_ids(kind)))
    stored = known if by_id else writer.scratch.digests(map(hash, snapshot.units(kind)))
    with sifting(writer.scratch) as units:
        for unit in wanted:
            units.put(hash(unit.id), unit, new=hash(unit.id if by_id else unit) not in stored)
        still = units.digests()
        writer.remove_units(kind, (id_ for id_ in snapshot.unit_ids(kind) if hash(id_) not in still))
        for batch, vectors in _encoded(workshop, units):
            write_units(writer, batch, vectors, np.array([hash(unit.id) in known for unit in batch]))


def renew_by_document(
    workshop: Workshop, kind: Kind, units_of: Callable[[Collection[str] | None], Iterable[Unit]]
) -> None:
    """As `renew_units`, of a kind whose units are each made from one document and go with it.

    `units_of` is given documents, or None for all: where it is known which came, nothing else is looked at.
    """
    if workshop.change is None:
        renew_units(workshop, kind, units_of(None))
    else:
        append_units(workshop, units_of(workshop.change.came))


def append_units(workshop: Workshop, wanted: Iterable[Unit]) -> None:
    """Encode units of one kind of which none is stored, and write them; of several with one id the first counts."""
    with sifting(workshop.writer.scratch) as units:
        for unit in wanted:
            units.put(hash(unit.id), unit, new=True)
        for batch, vectors in _encoded(workshop, units):
            workshop.writer.put_units(batch, vectors)


def _encoded(workshop: Workshop, units: Sifted[Unit]) -> Iterator[tuple[Sequence[Unit], FloatMatrix]]:
    """The new ones, in batches to be kept."""
    total, new = units.new()
    return encode_batches(workshop, batched(new, kept_at_once(workshop, total, BATCH)), total)


def write_units(writer: Writer, units: Sequence[Unit], vectors: FloatMatrix, old: NDArray[np.bool_]) -> None:
    """Replace the `old` ones, whose ids are stored, and add the others, which costs less."""
    for rows, write in ((np.flatnonzero(~old), writer.put_units), (np.flatnonzero(old), writer.put_units)):
        write([units[row] for row in rows.tolist()], vectors[rows])


def encode_units(workshop: Workshop, units: list[Unit]) -> None:
    """Encode units of one kind and write them, in batches that are each kept."""
    if not units:
        return
    size = kept_at_once(workshop, len(units), BATCH)
    for batch, vectors in encode_batches(workshop, batched(units, size), len(units)):
        workshop.writer.put_units(batch, vectors)
