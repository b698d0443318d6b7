"""Readings that are kept: the stages of an answer ask the same question of the same texts again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from hoptrail.models.reader import Reading, ToRead

_KEPT = 2000
"""Readings: those of a few questions."""


class TextReader(Protocol):
    """What reads texts: `models.reader.Reader`."""

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """A reading of each, in their order."""
        ...


class Remembered:
    """Reads what it has not read of late. May be called from several threads."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self._kept: OrderedDict[ToRead, Reading] = OrderedDict()
        self._lock = Lock()

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """A reading of each, in their order."""
        with self._lock:
            known = {pair: self._kept[pair] for pair in pairs if pair in self._kept}
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        known |= zip(missing, self._reader.read(missing), strict=True)
        with self._lock:
            self._kept |= known
            for pair in known:
                self._kept.move_to_end(pair)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return [known[pair] for pair in pairs]
