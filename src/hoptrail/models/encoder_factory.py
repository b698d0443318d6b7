"""Opening an encoder by its name, as users write it in settings and on the command line.

    minilm                          all-MiniLM-L6-v2 in this process (the default)
    a folder path                   a model in the layout of sentence-transformers, with its ONNX file, in this process
    endpoint:MODEL                  an embeddings endpoint at OPENAI_BASE_URL, with the key OPENAI_API_KEY
    endpoint:MODEL?batch=10         the same with at most ten texts a request (without it 64, and fewer where that is refused)
    sentence-transformers:NAME      a model of that package
    fastembed:NAME                  a model of that package

The packages sentence-transformers and fastembed are optional and imported on use; both may download a model when it is first
named. The adapter for fastembed follows its documented interface and was not tried with its models.

The environment is read only when an endpoint is opened (`environment.py`). An encoder is sent to other processes by its name too
(`NamedEncoder`), where it is opened once.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hoptrail.errors import IndexMismatch, ModelUnavailable, UsageError
from hoptrail.models.encoder import Encoder, EncoderIdentity, FloatMatrix, Progress, unit_length
from hoptrail.models.endpoint import EndpointEncoder
from hoptrail.models.environment import find_address
from hoptrail.models.local import MiniLmEncoder, encoder_from_folder
from hoptrail.models.onnx_runtime import silent_onnxruntime
from hoptrail.models.prompt_text import whole_text

DEFAULT_ENCODER = "minilm"
_ENDPOINT = "endpoint"
_BATCH = 32  # texts that a model of another package is given at once
_shipped = lru_cache(MiniLmEncoder)
"""The encoder that ships, loaded once for all indexes of a process."""


def open_encoder(name: str, threads: int = 0) -> Encoder:
    """Open the encoder `name`; its weights may be loaded only on first use. `threads` of one in this process: 0 is one per core.
    Raises: UsageError: there is no such encoder, or an endpoint is named and its address is not set. ModelUnavailable: the
    weights, a file of the folder or an optional package are missing.
    """
    kind, _, model = name.partition(":")
    if name == DEFAULT_ENCODER:
        return _shipped(threads=threads)
    if kind in _BY_PREFIX and model:
        return _BY_PREFIX[kind](model)
    if folder := _folder(name):
        return encoder_from_folder(folder, threads)
    raise _no_encoder(name)


def check_encoder(name: str) -> None:
    """Refuse what cannot be the name of an encoder. Anything that looks like a path may be one of another machine.
    Raises: UsageError: there is no such encoder.
    """
    kind, _, model = name.partition(":")
    known = name == DEFAULT_ENCODER or (kind in _BY_PREFIX and model) or Path(name).name != name
    if not name or not (known or _folder(name)):
        raise _no_encoder(name)


def _folder(name: str) -> Path | None:
    try:
        folder = Path(name).expanduser()
    except RuntimeError:  # ~name/model without a user of that name
        return None
    return folder if name and folder.is_dir() else None


def _no_encoder(name: str) -> UsageError:
    return UsageError(
        f"there is no encoder {name!r}: name minilm, the path of a folder with a model (none is at this path), "
        f"or one of {', '.join(f'{prefix}:MODEL' for prefix in _BY_PREFIX)}"
    )


def _at_endpoint(name: str) -> EndpointEncoder:
    model, _, batch = name.partition("?batch=")
    if "?batch=" in name and (not batch.isdecimal() or int(batch) < 1):
        raise UsageError(f"the encoder endpoint:{name} has no size of a batch: write endpoint:{model}?batch=10")
    address = find_address(f"the encoder endpoint:{model}", model=model)
    return EndpointEncoder(address, int(batch)) if batch else EndpointEncoder(address)


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
    """Any model that sentence-transformers loads, by name or folder. Raises: ModelUnavailable: it, or the package, is missing."""
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
    """The module of an optional package. Raises: ModelUnavailable: it is not installed; the message says how to install it."""
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


_BY_PREFIX: dict[str, Callable[[str], Encoder]] = {
    _ENDPOINT: _at_endpoint,
    "sentence-transformers": sentence_transformers_encoder,
    "fastembed": fastembed_encoder,
}


@dataclass(frozen=True, slots=True)
class NamedEncoder:
    """An encoder that is sent to other processes by its name; each opens it once, to run on one core.

    The encoder that is found there must have the same `identity`.
    """

    name: str
    identity: EncoderIdentity
    is_remote_safe: bool = True

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """See `Encoder.encode`. Raises: as `open_encoder`, and IndexMismatch: its name stands for another encoder here."""
        encoder = _opened(self.name)
        found, expected = encoder.identity, self.identity
        if (found.digest, found.dimension) != (expected.digest, expected.dimension):  # the name may be a local path
            raise IndexMismatch(
                f"the encoder {self.name} is another one on {socket.gethostname()} than where building was started: its "
                f"weights have the SHA-256 {found.digest}, expected {expected.digest}. Copy them there"
            )
        return encoder.encode(texts, progress)


def remote_safe_encoder(name: str, encoder: Encoder) -> Encoder:
    """`encoder`, opened by `name`, in a form that can be sent to other processes, except an endpoint: its key stays here."""
    return encoder if name.partition(":")[0] == _ENDPOINT else NamedEncoder(name, encoder.identity)


@lru_cache(maxsize=2)
def _opened(name: str) -> Encoder:
    return open_encoder(name, threads=1)
