"""What the weights were trained on: read by whoever ships them, and asked before anything is measured with them.

A manifest is one JSON file beside the weights, and `trained.bin`: the fingerprints of every question, of every text and of
every question id that learning may have seen, sorted, eight bytes each. Evaluation refuses what they hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from hoptrail.errors import DataError
from training.examples import fingerprint

MANIFEST, TRAINED, WEIGHTS = "manifest.json", "trained.bin", "weights.npz"
PACKAGE = Path(__file__).resolve().parents[1] / "packages" / "hoptrail-reader" / "src" / "hoptrail_reader"
"""Where they ship."""


class Source(BaseModel):
    """A file that was learned from."""

    model_config = ConfigDict(frozen=True)
    path: str
    sha256: str
    licences: tuple[str, ...]


class Manifest(BaseModel):
    """Where weights come from. `commit` is of the code that trained; `pieces` counts word pieces that were seen."""

    model_config = ConfigDict(frozen=True)
    trunk_sha256: str
    weights_sha256: str
    trained_sha256: str
    commit: str
    seed: int
    rate: float
    budget: int
    longest: int
    steps: int
    rounds: int
    examples: int
    pieces: int
    shares: dict[str, float]
    licence: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """Fingerprints of what was learned from, sorted."""

    fingerprints: NDArray[np.uint64]

    def refuse(self, questions: Iterable[str], texts: Iterable[str]) -> None:
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


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
