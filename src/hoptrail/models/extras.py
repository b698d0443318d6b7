"""Encoders of the optional packages sentence-transformers and fastembed, which are imported on use.

Both may download a model when it is first named. The adapter for fastembed follows its documented interface and was not tried
with its models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.onnx_runtime import silent_onnxruntime
from hoptrail.models.prompt_text import whole_text

_BATCH = 32


class SentenceTransformersEncoder:
    """Any model that the package sentence-transformers loads, by name or folder. Satisfies `Encoder`.
    Raises: ModelUnavailable: the package is missing, or it cannot load the model.
    """

    def __init__(self, name: str) -> None:
        package = optional_package("sentence_transformers", "sentence-transformers")
        self._model = loaded(package.SentenceTransformer, name)
        digest = hashlib.sha256()
        for tensor in self._model.state_dict().values():
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        dimension = self._model.encode("dimension").shape[0]
        self.identity = EncoderIdentity(f"sentence-transformers:{name}", digest.hexdigest(), dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """See `Encoder.encode`."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            batch = [whole_text(texts[index]) for index in chosen]
            vectors[chosen] = self._model.encode(batch, normalize_embeddings=True, show_progress_bar=False)
            if progress:
                progress(start + len(chosen), len(texts))
        return vectors


class FastEmbedEncoder:
    """Any text model of the package fastembed, by name. Satisfies `Encoder`.

    Its identity is the model's name and the package's version, since versions have changed how a model pools.
    Raises: ModelUnavailable: the package is missing, or it cannot load the model.
    """

    def __init__(self, name: str) -> None:
        silent_onnxruntime()  # before fastembed imports it
        package = optional_package("fastembed", "fastembed")
        self._model = loaded(package.TextEmbedding, name)
        digest = hashlib.sha256(f"{name}\n{version('fastembed')}".encode()).hexdigest()
        dimension = self._vectors(["dimension"]).shape[1]
        self.identity = EncoderIdentity(f"fastembed:{name}", digest, dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """See `Encoder.encode`."""
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [whole_text(text) for text in texts[start : start + _BATCH]]
            vectors[start : start + len(batch)] = self._vectors(batch)
            if progress:
                progress(start + len(batch), len(texts))
        return vectors

    def _vectors(self, texts: list[str]) -> FloatMatrix:
        produced: Iterable[FloatMatrix] = self._model.embed(texts, batch_size=_BATCH)
        rows = np.stack(list(produced))
        unit: FloatMatrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def optional_package(module: str, extra: str) -> Any:
    """The module of an optional package.
    Raises: ModelUnavailable: it is not installed; the message has the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ModelUnavailable(
            f"the package {extra} is not installed ({error}); install it with `pip install hoptrail[{extra}]`"
        ) from error


def loaded(kind: Any, name: str) -> Any:
    """A model of another package, made by `kind(name)`. Raises: ModelUnavailable: the package cannot load it."""
    try:
        return kind(name)
    except Exception as error:  # other packages raise whatever their dependencies raise
        raise ModelUnavailable(
            f"the model {name} cannot be loaded by {kind.__module__.partition('.')[0]}: {error}"
        ) from error
