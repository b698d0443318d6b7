"""Encoders of the optional packages sentence-transformers and fastembed, which are imported on use.

Both may download a model when it is first named. The adapter for fastembed follows its documented interface and was not tried
with its models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress, unit_length
from hoptrail.models.onnx_runtime import silent_onnxruntime
from hoptrail.models.prompt_text import whole_text

_BATCH = 32


class PackageEncoder:
    """A model of another package, which makes unit vectors of up to `_BATCH` texts at a time. Satisfies `Encoder`."""

    def __init__(self, name: str, digest: str, vectors: Callable[[list[str]], FloatMatrix]) -> None:
        self._vectors = vectors
        self.identity = EncoderIdentity(name, digest, vectors(["dimension"]).shape[1])

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """See `Encoder.encode`. Texts of similar length are together, which takes less padding."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            vectors[chosen] = self._vectors([whole_text(texts[index]) for index in chosen])
            if progress:
                progress(start + len(chosen), len(texts))
        return vectors


def sentence_transformers_encoder(name: str) -> PackageEncoder:
    """Any model that the package sentence-transformers loads, by name or folder.
    Raises: ModelUnavailable: the package is missing, or it cannot load the model.
    """
    package = optional_package("sentence_transformers", "sentence-transformers")
    model = loaded(package.SentenceTransformer, name)
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.cpu().contiguous().numpy().tobytes())

    def vectors(texts: list[str]) -> FloatMatrix:
        unit: FloatMatrix = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return unit

    return PackageEncoder(f"sentence-transformers:{name}", digest.hexdigest(), vectors)


def fastembed_encoder(name: str) -> PackageEncoder:
    """Any text model of the package fastembed, by name. Its identity is its name and the version of the package, since versions
    have changed how a model pools. Raises: ModelUnavailable: the package is missing, or it cannot load the model.
    """
    silent_onnxruntime()  # before fastembed imports it
    package = optional_package("fastembed", "fastembed")
    model = loaded(package.TextEmbedding, name)
    digest = hashlib.sha256(f"{name}\n{version('fastembed')}".encode()).hexdigest()
    return PackageEncoder(
        f"fastembed:{name}", digest, lambda texts: unit_length(np.stack(list(model.embed(texts, batch_size=_BATCH))))
    )


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
