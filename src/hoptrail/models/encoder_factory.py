"""From an encoder's name, as users write it in settings and on the command line, to the encoder.

    minilm                          all-MiniLM-L6-v2 in this process (the one used unless another is named)
    a folder path                   a BERT model in the layout of sentence-transformers, in this process
    endpoint:MODEL                  an embeddings endpoint at OPENAI_BASE_URL, with the key OPENAI_API_KEY
    sentence-transformers:NAME      a model of that package
    fastembed:NAME                  a model of that package

The environment is read when an endpoint is opened (`environment.py`), and nowhere else. The same name also brings an encoder
to another process (`NamedEncoder`), where it is opened once.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hoptrail.errors import IndexMismatch, UsageError
from hoptrail.models.encoder import Encoder, EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.endpoint import EndpointEncoder, EndpointSettings
from hoptrail.models.environment import find_address
from hoptrail.models.extras import FastEmbedEncoder, SentenceTransformersEncoder
from hoptrail.models.folder import encoder_from_folder
from hoptrail.models.local import LocalSettings
from hoptrail.models.minilm import MiniLmEncoder


def open_encoder(name: str, settings: LocalSettings | None = None) -> Encoder:
    """The encoder called `name`; its weights may be loaded only on first use. `settings` are for those of our own.

    Raises:
        UsageError: no encoder is called so, or an endpoint is named and its address is not set.
        ModelUnavailable: the weights, a file of the folder or an optional package are missing.
    """
    kind, _, model = name.partition(":")
    if name == "minilm":
        return MiniLmEncoder(settings=settings)
    if kind in _BY_PREFIX and model:
        return _BY_PREFIX[kind](model)
    if folder := _folder(name):
        return encoder_from_folder(folder, settings)
    raise _no_encoder(name)


def check_encoder(name: str) -> None:
    """Refuse what can be the name of no encoder. What is a path by its look may be one of another machine.

    Raises:
        UsageError: no encoder is called so.
    """
    kind, _, model = name.partition(":")
    known = name == "minilm" or (kind in _BY_PREFIX and model) or Path(name).name != name
    if not name or not (known or _folder(name)):
        raise _no_encoder(name)


def _folder(name: str) -> Path | None:
    """The folder at the path `name`, if there is one."""
    try:
        folder = Path(name).expanduser()
    except RuntimeError:  # ~nobody/model, where nobody is called so
        return None
    return folder if name and folder.is_dir() else None


def _no_encoder(name: str) -> UsageError:
    return UsageError(
        f"there is no encoder {name!r}: name minilm, the path of a folder with a model (none is at this path), "
        f"or one of {', '.join(f'{prefix}:MODEL' for prefix in _BY_PREFIX)}"
    )


def _endpoint(model: str) -> Encoder:
    address = find_address(f"the encoder endpoint:{model}", model=model)
    return EndpointEncoder(EndpointSettings(model, address.base_url, address.key))


_ENDPOINT = "endpoint"
_BY_PREFIX: dict[str, Callable[[str], Encoder]] = {
    _ENDPOINT: _endpoint,
    "sentence-transformers": SentenceTransformersEncoder,
    "fastembed": FastEmbedEncoder,
}


@dataclass(frozen=True, slots=True)
class NamedEncoder:
    """An encoder that travels as its name: whatever process it is used in opens it, once, to run on one core there.

    `identity` is that of the encoder meant; the one that is found must have it.
    """

    name: str
    identity: EncoderIdentity
    is_remote_safe: bool = True

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """See `Encoder.encode`.

        Raises:
            UsageError, ModelUnavailable: it is not to be had in this process; see `open_encoder`.
            IndexMismatch: what goes by its name here is another encoder.
        """
        encoder = _opened(self.name)
        found, meant = encoder.identity, self.identity
        if (found.digest, found.dimension) != (meant.digest, meant.dimension):  # its name may be a path of that machine
            raise IndexMismatch(
                f"the encoder {self.name} is another one on {socket.gethostname()} than where building was started: its "
                f"weights have the SHA-256 {found.digest}, expected {meant.digest}. Copy them there"
            )
        return encoder.encode(texts, progress)


def remote_safe_encoder(name: str, encoder: Encoder) -> Encoder:
    """`encoder`, which was opened by `name`, in the form that goes furthest: an endpoint stays here with its key."""
    return encoder if name.partition(":")[0] == _ENDPOINT else NamedEncoder(name, encoder.identity)


@lru_cache(maxsize=2)
def _opened(name: str) -> Encoder:
    return open_encoder(name, LocalSettings(threads=1))
