"""The interface of encoders. Each implementation has its own module in this folder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
FloatMatrix = NDArray[np.float32]
"""Rows are vectors."""


def unit_length(vectors: FloatMatrix) -> FloatMatrix:
    """Vectors along the last axis scaled to length 1; zero vectors stay 0."""
    scaled: FloatMatrix = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return scaled.astype(np.float32, copy=False)


Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all), from the calling thread, after every batch."""


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """Identifies comparable vectors: stored with an index, compared when it is opened.

    `name` is what the user chose (`minilm`, a folder, `endpoint:MODEL`), `digest` identifies the weights (the SHA-256 of
    the weights file, or of model name and address for an endpoint), `dimension` is the length of a vector.
    """

    name: str
    digest: str
    dimension: int


class Encoder(Protocol):
    """Turns texts into unit vectors. The same text gives the same vector, whatever it is batched with (within 1e-6)."""

    @property
    def identity(self) -> EncoderIdentity:
        """Tells which vectors can be compared: an index refuses an encoder with another identity than its own."""

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Vectors of length 1, one row per text, in order: shape (len(texts), dimension), float32, C-contiguous.
        Raises: ModelUnavailable: an endpoint failed or sent invalid vectors.
        """


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that can also return a vector per token, which late interaction needs."""

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatMatrix]:
        """Per text a matrix of unit vectors, one row per token, without special tokens: shape (tokens, dimension)."""


class Latest(Generic[K, V]):
    """Computes for several items at once what does not depend on the others, and keeps it for the latest `most`. Thread-safe."""

    def __init__(self, compute: Callable[[list[K]], Iterable[V]], most: int) -> None:
        self._compute, self._most = compute, most
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def of(self, items: Sequence[K]) -> list[V]:
        """The results, in order."""
        with self._lock:
            known = {item: self._kept[item] for item in items if item in self._kept}
        missing = [item for item in dict.fromkeys(items) if item not in known]
        known |= zip(missing, self._compute(missing), strict=True) if missing else ()
        with self._lock:
            self._kept |= known
            for item in known:
                self._kept.move_to_end(item)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return [known[item] for item in items]
