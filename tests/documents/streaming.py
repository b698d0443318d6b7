"""Traces the memory of reading many documents."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import islice

from hoptrail.types import Document


def traced_peaks(items: Iterator[object], ends: int, between: int) -> tuple[int, int]:
    """The peaks in bytes while the first and the last `ends` documents are read; there are `between` more of them, read untraced.

    What is kept shows at the ends, and tracing the memory of all takes several times as long.
    """
    peaks = []
    for count, traced in ((ends, True), (between, False), (ends, True)):
        if traced:
            tracemalloc.start()
        assert sum(isinstance(item, Document) for item in islice(items, count)) == count
        if traced:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert next(items, None) is None
    return peaks[0], peaks[1]
