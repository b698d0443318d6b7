"""What a structure is, and what it is handed to build itself.

A structure is something built once per corpus and stored. It brings itself up to date with the documents that the writer
holds: it makes what is missing, takes away what no longer stands, and does so in steps that are each kept, so that a
stopped build goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hoptrail.models.encoder import Encoder
from hoptrail.store.writer import Writer

Report = Callable[[str, int, int], None]
"""Called with (what is being done, how much is done, how much there is)."""


def report_nothing(what: str, done: int, total: int) -> None:
    """For callers that do not watch."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What building needs: where to write, the encoder, whom to tell, and whether to stop.

    `pause` is called between steps; it saves what is finished and raises Interrupted when the user asked to stop.
    """

    writer: Writer
    encoder: Encoder
    report: Report
    pause: Callable[[], None]


class Structure(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes when the settings that shape this structure do; it is then built anew."""
        ...

    def discard(self, writer: Writer) -> None:
        """Take away all of it."""
        ...

    def update(self, workshop: Workshop) -> None:
        """Bring it up to date with the writer's documents, from nothing or from where it was."""
        ...
