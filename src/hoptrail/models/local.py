"""The encoder in this process: tokenising, batching, and encoding to unit vectors.

The networks are in `minilm.py` (that which ships) and `folder.py` (those of a user), the runtime in `onnx_runtime.py`. Texts are
cut at the model's limit, as sentence-transformers does. Every batch is computed by one thread, many batches by several.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.weights import check_digest

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model's files, the length of its vectors, and the number of word pieces of a text that it reads (two of them special)."""

    weights: Path
    tokenizer: Path
    width: int
    longest: int


class Network(Protocol):
    """A loaded model. Its methods may be called from several threads at once."""

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        """Unit vectors of a padded batch of texts: shape (texts, width). `mask` is 1.0 at a piece and 0.0 at padding."""

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        """Unit vectors of every word piece of a padded batch: shape (texts, length, width)."""


_BATCH = 1024
"""Word pieces of a padded batch. Larger ones were slower when measured: their layers leave the cache."""
_PADDING = 10
"""Word pieces of padding that one text may add to a batch: about the cost of another batch."""
_WINDOW = 2048
"""Texts that are tokenised and sorted by length together."""
_CHARACTERS = 20_000
"""Characters of a text that are read; more would matter only at 80 characters per word piece."""
_FEW = 32
"""Texts that one thread computes sooner than several are started: those of a question."""


_Compute = Callable[[NDArray[np.int64], FloatMatrix], FloatMatrix]
"""A method of `Network`."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts of similar length: their indices and their word pieces."""

    indices: list[int]
    encodings: list[Encoding]

    def takes(self, length: int, most: int) -> bool:
        """Whether a text of `length` word pieces, not fewer than the last one has, belongs into this batch."""
        count = len(self.encodings)
        return (count + 1) * length <= most and count * (length - len(self.encodings[-1])) <= _PADDING

    def padded(self) -> tuple[NDArray[np.int64], FloatMatrix]:
        """Padded word pieces and their mask: shapes (texts, length)."""
        shape = (len(self.encodings), max(len(encoding) for encoding in self.encodings))
        pieces, mask = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        for row, encoding in enumerate(self.encodings):
            pieces[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1.0
        return pieces, mask


class LocalEncoder:
    """An encoder in this process; satisfies `TokenEncoder`. Loads on first use; safe in several threads.

    `load` makes the network of a model. Raises: ValueError: the weights do not fit. `threads` is how many compute at once (0: one
    per core that this process may use), `batch` the word pieces of a padded batch; with 1 every text is computed alone.
    """

    def __init__(
        self,
        name: str,
        digest: str,
        model: LocalModel,
        load: Callable[[LocalModel], Network],
        *,
        threads: int = 0,
        batch: int = _BATCH,
    ) -> None:
        self.identity = EncoderIdentity(name, digest, model.width)
        self._model = model
        self._load_network = load
        self._threads = threads or _cores()
        self._batch = batch
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, Network] | None = None

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Unit vectors in the order of `texts`, shape (len(texts), dimension); see `Encoder.encode`.
        Raises: ModelUnavailable: the model's files are missing, altered or unusable.
        """
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        done = 0
        for batch, rows in self._computed(texts, lambda network: network.texts):
            vectors[batch.indices] = rows
            done += len(batch.indices)
            if progress:
                progress(done, len(texts))
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatMatrix]:
        """Per text the unit vectors of its word pieces without special ones: shape (pieces, dimension).
        Raises: ModelUnavailable: as for `encode`.
        """
        vectors: list[FloatMatrix] = [np.empty((0, self.identity.dimension), np.float32)] * len(texts)
        for batch, rows in self._computed(texts, lambda network: network.tokens):
            for index, row, encoding in zip(batch.indices, rows, batch.encodings, strict=True):
                ordinary = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
                vectors[index] = row[ordinary]
        return vectors

    def _computed(
        self, texts: Sequence[str], of: Callable[[Network], _Compute]
    ) -> Iterator[tuple[_Batch, FloatMatrix]]:
        """Batches with what the network gives for them, in windows, to limit memory."""
        for start in range(0, len(texts), _WINDOW):
            window = texts[start : start + _WINDOW]
            batches = self._batches(window, start)
            compute = partial(_compute, of(self._ready()[1]))
            if self._threads == 1 or len(window) <= _FEW:
                yield from zip(batches, map(compute, batches), strict=True)
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    yield from zip(batches, pool.map(compute, batches), strict=True)

    def _batches(self, texts: Sequence[str], start: int) -> list[_Batch]:
        """Batches of texts of similar length, to limit padding; `start` is the index of the first text."""
        tokenizer = self._ready()[0]
        encodings = [tokenizer.encode(whole_text(text[:_CHARACTERS])) for text in texts]
        batches: list[_Batch] = []
        for index in sorted(range(len(encodings)), key=lambda index: len(encodings[index])):
            encoding = encodings[index]
            if not batches or not batches[-1].takes(len(encoding), self._batch):
                batches.append(_Batch([], []))
            batches[-1].indices.append(start + index)
            batches[-1].encodings.append(encoding)
        return batches

    def _ready(self) -> tuple[Tokenizer, Network]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Tokenizer, Network]:
        model = self._model
        check_digest(model.weights, self.identity.digest, self.identity.name)
        tokenizer = _tokenizer(model)
        try:
            return tokenizer, self._load_network(model)
        except ValueError as error:
            raise ModelUnavailable(f"the weights {model.weights} cannot be used: {error}") from error


def _compute(network: _Compute, batch: _Batch) -> FloatMatrix:
    return network(*batch.padded())


def _cores() -> int:
    limited = hasattr(os, "sched_getaffinity")  # Linux; a container's limit shows here
    return len(os.sched_getaffinity(0)) if limited else os.cpu_count() or 1


def _tokenizer(model: LocalModel) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(model.tokenizer))
    except Exception as error:  # the package raises nothing more precise
        raise ModelUnavailable(f"the tokeniser {model.tokenizer} cannot be read: {error}") from error
    tokenizer.enable_truncation(model.longest)
    tokenizer.no_padding()
    return tokenizer
