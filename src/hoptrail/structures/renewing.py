"""Bringing the stored units of a kind to what they should be, where that is cheaper to work out than to encode."""

from __future__ import annotations

from collections.abc import Iterable

from hoptrail.structures.building import Workshop
from hoptrail.types import Kind, Unit

BATCH = 512
"""Units encoded and kept at a time."""


def renew_units(workshop: Workshop, kind: Kind, wanted: Iterable[Unit]) -> None:
    """Make the stored units of `kind` exactly these: what differs is encoded and written, what is not wanted goes.

    A stopped run goes on after its last batch. Where nothing differs, nothing is written.
    """
    writer = workshop.writer
    changed = {unit.id: unit for unit in wanted}
    gone = set()
    for unit in writer.snapshot().units(kind):
        if unit.id not in changed:
            gone.add(unit.id)
        elif unit == changed[unit.id]:
            del changed[unit.id]
    writer.remove_units(kind, gone)
    encode_units(workshop, [changed[name] for name in sorted(changed)])


def encode_units(workshop: Workshop, units: list[Unit]) -> None:
    """Encode units of one kind and write them, in batches that are each kept."""
    for start in range(0, len(units), BATCH):
        workshop.pause()
        batch = units[start : start + BATCH]
        vectors = workshop.encoder.encode(
            [unit.searchable for unit in batch],
            lambda done, _, before=start: workshop.report("encoding", before + done, len(units)),  # type: ignore[misc]
        )
        workshop.writer.put_units(batch, vectors)
