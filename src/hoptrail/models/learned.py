"""What the reader's weights have learned from, as fingerprints, so that nothing is measured with what was learned.

`trained.bin` beside the weights holds the fingerprint of every question, text and question id that learning may have seen,
sorted, eight bytes each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import DataError

TRAINED = "trained.bin"


def fingerprint(text: str) -> int:
    """64 bits of the SHA-256 of a text without case and runs of spaces: the same for the same words."""
    digest = hashlib.sha256(" ".join(text.lower().split()).encode()).digest()
    return int.from_bytes(digest[:8], "little")


@dataclass(frozen=True, slots=True)
class Trained:
    """Fingerprints of what was learned from, sorted."""

    fingerprints: NDArray[np.uint64]

    def refuse(self, questions: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Raises where any of these was learned from; questions by their words or their ids.

        Raises:
            DataError: it was; the message names the first.
        """
        for kind, known in (("question", questions), ("text", texts)):
            for one in known:
                if self._holds(one):
                    raise DataError(
                        f"the {kind} {one[:80]!r} was learned from: measure with others, or take it out of training first"
                    )

    def _holds(self, text: str) -> bool:
        wanted = np.uint64(fingerprint(text))
        place = int(np.searchsorted(self.fingerprints, wanted))
        return place < len(self.fingerprints) and bool(self.fingerprints[place] == wanted)

    def write(self, path: Path) -> None:
        """Eight bytes each, the lowest first."""
        path.write_bytes(self.fingerprints.astype("<u8").tobytes())


def trained_on(texts: Iterable[str]) -> Trained:
    """The fingerprints of questions, texts and ids."""
    return Trained(np.array(sorted({fingerprint(text) for text in texts}), np.uint64))


def read_trained(path: Path) -> Trained:
    """What `Trained.write` wrote."""
    return Trained(np.frombuffer(path.read_bytes(), "<u8").astype(np.uint64))
