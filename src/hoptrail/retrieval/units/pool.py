"""A flat pool: units of several kinds that are ranked as one list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Kind, Unit


@dataclass(frozen=True, slots=True)
class Pool:
    """Units of these `kinds`."""

    kinds: tuple[Kind, ...]

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        """All units of the pool, in no particular order."""
        for kind in self.kinds:
            yield from snapshot.units(kind)

    def size(self, snapshot: Snapshot) -> int:
        """The number of units in the pool."""
        return sum(snapshot.count(kind) for kind in self.kinds)
