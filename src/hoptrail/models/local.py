"""The encoder in this process: tokenising, batching, and encoding to unit vectors.

The networks are in `minilm.py` (that which ships) and `folder.py` (those of a user), the runtime in `onnx_runtime.py`. Texts are
cut at the model's limit, as sentence-transformers does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Batching. Larger batches were slower when measured: their layers leave the cache."""

    batch: int = 1024  # word pieces of a padded batch
    padding: int = 10  # word pieces of padding that one text may add to a batch: about the cost of another batch
    window: int = 2048  # texts that are tokenised and sorted by length together
    characters: int = 20_000  # of a text that are read; more would matter only at 80 characters per word piece
    threads: int = 0  # 0: one per core that this process may use


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts of similar length: their indices and their word pieces."""

    indices: list[int]
    encodings: list[Encoding]

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

    `load` makes the network of a model for a number of threads. Raises: ValueError: the weights do not fit.
    """

    def __init__(
        self,
        name: str,
        digest: str,
        model: LocalModel,
        load: Callable[[LocalModel, int], Network],
        settings: LocalSettings | None = None,
    ) -> None:
        self.identity = EncoderIdentity(name, digest, model.width)
        self._model = model
        self._load_network = load
        self._settings = settings or LocalSettings()
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, Network] | None = None

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Unit vectors in the order of `texts`, shape (len(texts), dimension); see `Encoder.encode`.
        Raises: ModelUnavailable: the model's files are missing, altered or unusable.
        """
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        done = 0
        for batch in self._batches(texts):
            vectors[batch.indices] = self._ready()[1].texts(*batch.padded())
            done += len(batch.indices)
            if progress:
                progress(done, len(texts))
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatMatrix]:
        """Per text the unit vectors of its word pieces without special ones: shape (pieces, dimension).
        Raises: ModelUnavailable: as for `encode`.
        """
        vectors: list[FloatMatrix] = [np.empty((0, self.identity.dimension), np.float32)] * len(texts)
        for batch in self._batches(texts):
            rows = self._ready()[1].tokens(*batch.padded())
            for index, row, encoding in zip(batch.indices, rows, batch.encodings, strict=True):
                ordinary = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
                vectors[index] = row[ordinary]
        return vectors

    def _batches(self, texts: Sequence[str]) -> Iterator[_Batch]:
        """Batches of texts of similar length, to limit padding; in windows, to limit memory."""
        for start in range(0, len(texts), self._settings.window):
            cut = [
                whole_text(text[: self._settings.characters]) for text in texts[start : start + self._settings.window]
            ]
            window = list(map(self._ready()[0].encode, cut))
            waiting: list[int] = []
            for index in sorted(range(len(window)), key=lambda index: len(window[index])):
                count, length = len(waiting), len(window[index])
                padding = count * (length - len(window[waiting[-1]])) if waiting else 0
                if waiting and ((count + 1) * length > self._settings.batch or padding > self._settings.padding):
                    yield _Batch([start + place for place in waiting], [window[place] for place in waiting])
                    waiting = []
                waiting.append(index)
            yield _Batch([start + place for place in waiting], [window[place] for place in waiting])

    def _ready(self) -> tuple[Tokenizer, Network]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Tokenizer, Network]:
        model = self._model
        check_digest(model.weights, self.identity.digest, self.identity.name)
        tokenizer = _tokenizer(model)
        limited = hasattr(os, "sched_getaffinity")  # Linux; a container's limit shows here
        cores = len(os.sched_getaffinity(0)) if limited else os.cpu_count() or 1
        try:
            return tokenizer, self._load_network(model, self._settings.threads or cores)
        except ValueError as error:
            raise ModelUnavailable(f"the weights {model.weights} cannot be used: {error}") from error


def _tokenizer(model: LocalModel) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(model.tokenizer))
    except Exception as error:  # the package raises nothing more precise
        raise ModelUnavailable(f"the tokeniser {model.tokenizer} cannot be read: {error}") from error
    tokenizer.enable_truncation(model.longest)
    tokenizer.no_padding()
    return tokenizer
