"""What is said of a long encoding: before it begins how much there is, and once its first batches are timed how long it takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Kind

MANY = 1000
"""Units that take about a minute on one core; of fewer nothing is said."""

_TIMED = 5.0
"""Seconds after which batches tell how fast it goes."""
_LONG = 60.0
"""Seconds that are worth telling."""


def told_before(kind: Kind, documents: Sequence[str], snapshot: Snapshot) -> str:
    """How many units there are to encode, and of which document more than half of them are; empty where there are few.
    `documents`: that of each unit.
    """
    if len(documents) < MANY:
        return ""
    [(document, most)] = Counter(documents).most_common(1)
    line = f"{len(documents):,} {kind}s to encode"
    if 2 * most <= len(documents):
        return line
    [entry] = snapshot.register.of([document])
    return f"{line}, {most:,} of them of {entry.sources[0]}"


class Outlook:
    """Tells once how long the rest of an encoding takes."""

    def __init__(self, say: Callable[[str], None], total: int) -> None:
        self._say, self._total = say, total
        self._began = time.perf_counter()
        self._told = total < MANY

    def note(self, kind: Kind, done: int) -> None:
        """So many of the units are encoded by now."""
        taken = time.perf_counter() - self._began
        if self._told or taken < _TIMED:
            return
        self._told = True
        left = taken / done * (self._total - done)
        if left >= _LONG:
            self._say(
                f"encoding {self._total:,} {kind}s takes about {round(left / 60):,} min more; a stopped run goes on later"
            )
