"""Much to write into an index, for this process or another."""

from __future__ import annotations

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
