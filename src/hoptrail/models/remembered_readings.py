"""A cache of readings: the stages of an answer read the same texts for the same question again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from hoptrail.models.reader import Reading, ToRead

_KEPT = 2000
"""Cached readings: those of a few questions."""


class TextReader(Protocol):
    """The interface of `models.reader.Reader`."""

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """The readings, in order."""
        ...


class Remembered:
    """A reader with a cache of its latest readings. Thread-safe."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self._kept: OrderedDict[ToRead, Reading] = OrderedDict()
        self._lock = Lock()

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """The readings, in order."""
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
