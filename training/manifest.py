"""Describes the training data of the weights, in a JSON file beside them; `hoptrail.models.learned` has the full list."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

MANIFEST, WEIGHTS = "manifest.json", "weights.npz"
PACKAGE = Path(__file__).resolve().parents[1] / "packages" / "hoptrail-reader" / "src" / "hoptrail_reader"
"""The package that ships the weights."""


class Source(BaseModel):
    """A training file."""

    model_config = ConfigDict(frozen=True)
    path: str
    sha256: str
    licences: tuple[str, ...]


class Manifest(BaseModel):
    """The origin of weights. `commit` is that of the exporting code; `pieces` counts the word pieces seen.

    `averaged` has the number of examples seen by each of the checkpoints whose mean the weights are.
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
