"""Shares an encoder among the tests of a process, and keeps what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from hoptrail.models.encoder import Encoder, FloatMatrix, Progress
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.local import LocalSettings
from hoptrail.models.minilm import MiniLmEncoder

OPEN_ENCODER = "hoptrail.models.encoder_factory.open_encoder"


class EncodesOnce:
    """An encoder that caches the vector of every text."""

    def __init__(self, encoder: MiniLmEncoder) -> None:
        self.identity = encoder.identity
        self.encode_tokens = encoder.encode_tokens
        self._encoder = encoder
        self._vectors: dict[str, FloatMatrix] = {}

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(new, self._encoder.encode(new, progress), strict=True))
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else self._encoder.encode(texts, progress)


@cache
def open_once(name: str, settings: LocalSettings | None = None) -> Encoder:
    """The encoder of that name, the same for all who ask. The one that ships encodes each text only once."""
    encoder = open_encoder(name, settings)
    return EncodesOnce(encoder) if isinstance(encoder, MiniLmEncoder) else encoder
