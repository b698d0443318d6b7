"""The files that ship: weights in eight bits, and a description of their training data in a JSON file beside them.

`hoptrail.models.networks.read_reader_weights` reads the weights; `hoptrail.models.networks` has the full list of the training
data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from hoptrail.models.networks import TRAINED, fingerprint, read_trained

MANIFEST, WEIGHTS = "manifest.json", "weights.npz"
LICENCE, OWN_LICENCE = "CC-BY-SA-4.0", "Apache-2.0"
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "packages" / "hoptrail-reader" / "src" / "hoptrail_reader"
"""The package that ships the weights."""


class Source(BaseModel):
    """A training file."""

    model_config = ConfigDict(frozen=True)
    path: str
    sha256: str
    licences: tuple[str, ...]


class Manifest(BaseModel):
    """The origin of weights. `commit` is that of the exporting code; `pieces` counts the word pieces seen, `questions` those
    whose statements were ranked; `held_out` are the folders of `training/written` that ranking did not learn from.

    `tagger_sha256` is that of the question tagger's weights, `tagger_examples` the number of examples that it learned from;
    `writer_sha256` and `writer_rows` say the same of the writer of follow-ups, `values_sha256` and `values_examples` of the
    reader of values that are compared.
    `averaged` has the number of examples seen by each of the checkpoints whose mean the weights are.
    """

    model_config = ConfigDict(frozen=True)
    trunk_sha256: str
    weights_sha256: str
    trained_sha256: str
    tagger_sha256: str = ""
    tagger_examples: int = 0
    writer_sha256: str = ""
    writer_rows: int = 0
    values_sha256: str = ""
    values_examples: int = 0
    commit: str
    seed: int
    rate: float
    budget: int
    longest: int
    steps: int
    examples: int
    pieces: int
    questions: int
    held_out: tuple[str, ...]
    averaged: tuple[int, ...] = ()
    shares: dict[str, float]
    licence: str
    sources: tuple[Source, ...]

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(self.model_dump_json(indent=1) + "\n", "utf-8")


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def in_eight_bits(tensors: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Matrices as integers with a scale per row, as `hoptrail.models.reader` reads them; vectors in sixteen bits."""
    stored: dict[str, NDArray[Any]] = {}
    for name, values in tensors.items():
        if values.ndim == 1:
            stored[name] = values.astype(np.float16)
            continue
        scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / 127
        stored[name] = np.rint(values / scale).astype(np.int8)
        stored[f"{name}.scale"] = scale.astype(np.float32)
    return stored


def own_source(path: Path) -> Source:
    """A training file of this repository."""
    return Source(path=path.relative_to(ROOT).as_posix(), sha256=digest_of_file(path), licences=(OWN_LICENCE,))


def shipped_manifest() -> Manifest:
    return Manifest.model_validate_json((PACKAGE / MANIFEST).read_text("utf-8"))


def trained_on(texts: Iterable[str]) -> NDArray[np.uint64]:
    """The fingerprints of questions, texts and ids, sorted."""
    return np.array(sorted({fingerprint(text) for text in texts}), np.uint64)


def write_trained(fingerprints: NDArray[np.uint64], path: Path) -> None:
    """Write fingerprints as `read_trained` reads them."""
    path.write_bytes(fingerprints.astype("<u8").tobytes())


def enter(part: str, file_name: str, learned: Iterable[str], *sources: Source, **counts: int) -> None:
    """Enter the shipped weights of a part (`weights`, `tagger`, `writer`, `values`) in the manifest, with `counts` and the files
    of these paths as they are now, and the texts that it learned from in the fingerprints.
    """
    known = read_trained(PACKAGE / TRAINED).fingerprints
    write_trained(np.union1d(known, trained_on(learned)), PACKAGE / TRAINED)
    digests = {f"{part}_sha256": PACKAGE / file_name, "trained_sha256": PACKAGE / TRAINED}
    manifest, update = shipped_manifest(), {name: digest_of_file(path) for name, path in digests.items()}
    files = {one.path: one for one in (*manifest.sources, *sources)}
    manifest.model_copy(update={**update, **counts, "sources": tuple(files.values())}).write(PACKAGE)
