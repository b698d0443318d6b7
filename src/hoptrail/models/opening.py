"""From an encoder's name, as users write it in settings and on the command line, to the encoder.

    minilm                          all-MiniLM-L6-v2 in this process (the one used unless another is named)
    a folder path                   a BERT model in the layout of sentence-transformers, in this process
    endpoint:MODEL                  an embeddings endpoint at OPENAI_BASE_URL, with the key OPENAI_API_KEY
    sentence-transformers:NAME      a model of that package
    fastembed:NAME                  a model of that package

The environment is read when an endpoint is opened (`environment.py`), and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.models.encoder import Encoder
from hoptrail.models.endpoint import EndpointEncoder, EndpointSettings
from hoptrail.models.environment import find_address
from hoptrail.models.extras import FastEmbedEncoder, SentenceTransformersEncoder
from hoptrail.models.folder import encoder_from_folder
from hoptrail.models.minilm import MiniLmEncoder


def open_encoder(name: str) -> Encoder:
    """The encoder called `name`; its weights may be loaded only on first use.

    Raises:
        UsageError: no encoder is called so, or an endpoint is named and its address is not set.
        ModelUnavailable: the weights, a file of the folder or an optional package are missing.
    """
    kind, _, model = name.partition(":")
    if name == "minilm":
        return MiniLmEncoder()
    if kind in _BY_PREFIX and model:
        return _BY_PREFIX[kind](model)
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return encoder_from_folder(folder)
    raise UsageError(
        f"there is no encoder {name!r}: name minilm, the path of a folder with a model (none is at this path), "
        f"or one of {', '.join(f'{prefix}:MODEL' for prefix in _BY_PREFIX)}"
    )


def _endpoint(model: str) -> Encoder:
    address = find_address(f"the encoder endpoint:{model}", model=model)
    return EndpointEncoder(EndpointSettings(model, address.base_url, address.key))


_BY_PREFIX: dict[str, Callable[[str], Encoder]] = {
    "endpoint": _endpoint,
    "sentence-transformers": SentenceTransformersEncoder,
    "fastembed": FastEmbedEncoder,
}
