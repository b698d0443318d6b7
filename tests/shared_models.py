"""Shares an encoder among the tests of a process, and what it computes among the processes of a run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from hoptrail.models.encoder import Encoder, FloatMatrix, Progress
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.minilm import MiniLmEncoder

OPEN_ENCODER = "hoptrail.models.encoder_factory.open_encoder"


VECTORS = "SHARED_VECTORS"
"""The variable of the environment with the folder of vectors that the processes of a run share, if they do."""


def _file_of(text: str) -> Path | None:
    folder = os.environ.get(VECTORS)
    return Path(folder, f"{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}.npy") if folder else None


def _stored(text: str) -> FloatMatrix | None:
    file = _file_of(text)
    if file is None or not file.exists():
        return None
    vector: FloatMatrix = np.load(file)
    return vector


def _store(text: str, vector: FloatMatrix) -> None:
    if file := _file_of(text):
        part = file.with_name(f"{os.getpid()}-{file.name}")
        np.save(part, vector)
        part.rename(file)


class EncodesOnce:
    """An encoder that caches the vector of every text."""

    def __init__(self, encoder: MiniLmEncoder) -> None:
        self.identity = encoder.identity
        self.encode_tokens = encoder.encode_tokens
        self._encoder = encoder
        self._vectors: dict[str, FloatMatrix] = {}

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update({text: vector for text in new if (vector := _stored(text)) is not None})
        missing = [text for text in new if text not in self._vectors]
        for text, vector in zip(missing, self._encoder.encode(missing, progress), strict=True):
            self._vectors[text] = vector
            _store(text, vector)
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else self._encoder.encode(texts, progress)


@cache
def open_once(name: str, threads: int = 0) -> Encoder:
    """The encoder of that name, the same for all who ask. The one that ships encodes each text only once."""
    encoder = open_encoder(name, threads)
    return EncodesOnce(encoder) if isinstance(encoder, MiniLmEncoder) else encoder
