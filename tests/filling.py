"""Much to write into an index, for this process or another, and a disk that takes little."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hoptrail.corpus.writer import writing_to
from hoptrail.types import Usage
from world import HashingEncoder, make_document, make_passage

BIG = 60
"""Documents, of 4,000 characters each."""


def fill(folder: Path) -> None:
    """Write and commit a quarter of a million characters."""
    encoder = HashingEncoder()
    documents = [make_document(f"Big {number}", f"{number} {_filling(number)}.") for number in range(BIG)]
    units = [make_passage(document) for document in documents]
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.checkpoint()
        writer.publish(Usage())


def _filling(number: int) -> str:
    return "".join(chr(97 + (at * at * number) % 26) for at in range(4000))


@contextmanager
def files_below(size: int) -> Iterator[None]:
    """No file of this process may grow beyond a size."""
    before, heeded = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heeded)
