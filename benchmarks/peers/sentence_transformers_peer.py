"""sentence-transformers with all-MiniLM-L6-v2 and its defaults. Environment: `sentence-transformers`.

It runs in a separate process of an interpreter that the caller names
(`python -m benchmarks.peers.sentence_transformers_peer MODEL TEXTS.json VECTORS.npy`), because it brings a framework that
hoptrail does not use.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.common import Measured, run_measured
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """`vectors` has one row per text; `seconds` are those of encoding alone, `process` covers the whole process."""

    vectors: Matrix
    seconds: float
    process: Measured


def nearest_rows(matrix: Matrix, vector: Matrix, limit: int) -> list[int]:
    """The rows with the highest product, best first, in plain NumPy."""
    scores = matrix @ vector
    best = np.argpartition(scores, -limit)[-limit:]
    return [int(row) for row in best[np.argsort(-scores[best])]]


def encode_with_sentence_transformers(python: Path, texts: Sequence[str], folder: Path) -> Encoded:
    """Encode in a process of another interpreter; `folder` holds its input and output."""
    from hoptrail.models.minilm import packaged_folder

    given, made = folder / "texts.json", folder / "vectors.npy"
    given.write_text(json.dumps(list(texts)), encoding="utf-8")
    process = run_measured(
        [python, "-m", "benchmarks.peers.sentence_transformers_peer", packaged_folder(), given, made]
    )
    return Encoded(np.load(made), float(process.output), process)


def remembered_vectors(python: Path, texts: Sequence[str], folder: Path) -> Matrix:
    """The peer's vectors, kept in `folder` under a hash of the texts, because computing them takes many minutes."""
    digest = hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:12]
    cache = folder / f"sentence-transformers-{digest}.npy"
    if not cache.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(cache, encode_with_sentence_transformers(python, texts, folder).vectors)
    vectors: Matrix = np.load(cache)
    return vectors


def main() -> None:
    """Encode, save the vectors, print the seconds that encoding took."""
    from sentence_transformers import SentenceTransformer

    model, given, made = sys.argv[1:]
    texts = json.loads(Path(given).read_text(encoding="utf-8"))
    encoder = SentenceTransformer(model, device="cpu")
    started = time.perf_counter()
    vectors = encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    seconds = time.perf_counter() - started
    np.save(made, np.asarray(vectors, dtype=np.float32))
    print(seconds)


if __name__ == "__main__":
    main()
