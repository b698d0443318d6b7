"""Fingerprints of the reader's training data, so that nothing is measured on what it was trained on.

`trained.bin` beside the weights has the fingerprint of every question, text and question id that training may have seen, sorted,
eight bytes each.
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
    """Fingerprints of training data, sorted."""

    fingerprints: NDArray[np.uint64]

    def refuse(self, questions: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Refuse training data; questions are given by their words or ids.
        Raises: DataError: one of these was in the training data; the message names the first.
        """
        for kind, candidates in (("question", questions), ("text", texts)):
            for candidate in candidates:
                if self._contains(candidate):
                    raise DataError(
                        f"the {kind} {candidate[:80]!r} was learned from: measure with others, or remove it from training first"
                    )

    def _contains(self, text: str) -> bool:
        digest = np.uint64(fingerprint(text))
        place = int(np.searchsorted(self.fingerprints, digest))
        return place < len(self.fingerprints) and bool(self.fingerprints[place] == digest)

    def write(self, path: Path) -> None:
        """Write the fingerprints as little-endian numbers of eight bytes."""
        path.write_bytes(self.fingerprints.astype("<u8").tobytes())


def read_trained(path: Path) -> Trained:
    """Inverse of `Trained.write`."""
    return Trained(np.frombuffer(path.read_bytes(), "<u8").astype(np.uint64))
