"""What the weights were trained on, as one JSON file beside them; what was seen in full is `hoptrail.models.learned`'s."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

MANIFEST, WEIGHTS = "manifest.json", "weights.npz"
PACKAGE = Path(__file__).resolve().parents[1] / "packages" / "hoptrail-reader" / "src" / "hoptrail_reader"
"""Where they ship."""


class Source(BaseModel):
    """A file that was learned from."""

    model_config = ConfigDict(frozen=True)
    path: str
    sha256: str
    licences: tuple[str, ...]


class Manifest(BaseModel):
    """Where weights come from. `commit` is of the code that exported; `pieces` counts word pieces that were seen.

    `averaged` are the examples that each checkpoint had seen whose mean the weights are.
    """

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
    averaged: tuple[int, ...] = ()
    shares: dict[str, float]
    licence: str
    sources: tuple[Source, ...]


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
