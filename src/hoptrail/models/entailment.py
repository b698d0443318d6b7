"""Deciding whether one statement follows from another, by a classifier for natural language inference (NLI).

    a folder with model.onnx (or onnx/model.onnx), tokenizer.json and config.json       in this process, by onnxruntime
    any other folder or name                                                            by the package sentence-transformers

Any architecture works (BERT, RoBERTa, DeBERTa): the graph defines the computation, `id2label` the meaning of the outputs. No such
model ships with hoptrail; one in this machine's cache of models is found (`installed_entailment`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.json_object import JsonObject
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.extras import loaded, optional_package
from hoptrail.models.onnx_runtime import silent_onnxruntime
from hoptrail.models.prompt_text import whole_text

Pair = tuple[str, str]
"""A premise and a hypothesis."""

ENTAILMENT = "entailment"

_AT_ONCE = 32  # pairs of one batch
_GRAPHS = ("model.onnx", "onnx/model.onnx")
_SPECIAL = 2  # positions that RoBERTa does not use


INSTALLED = ("FacebookAI/roberta-large-mnli", "roberta-large-mnli")
"""SUNAR's classifier, under both of its names."""
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class EntailmentModel(Protocol):
    """Judges pairs."""

    def entails(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether `entailment` is the most probable label of each pair."""
        ...


def open_entailment(name: str) -> EntailmentModel:
    """Open the model in the folder `name`, or the model of that name for sentence-transformers, which may download it.

    Raises:
        ModelUnavailable: a file or the package is missing, the model cannot be loaded, or has no label `entailment`.
    """
    folder = Path(name).expanduser()
    graph = next((folder / place for place in _GRAPHS if (folder / place).is_file()), None)
    return OnnxEntailment(folder, graph) if graph else CrossEncoderEntailment(name)


def installed_entailment(cache: Path | None = None) -> Path | None:
    """The folder of a classifier in the cache of models (default: Hugging Face's) that can be opened without a network; None
    where there is none.
    """
    from huggingface_hub import try_to_load_from_cache

    for name in INSTALLED:
        config = try_to_load_from_cache(name, "config.json", cache_dir=cache)
        if isinstance(config, str) and _can_be_opened(folder := Path(config).parent):
            return folder
    return None


def _can_be_opened(folder: Path) -> bool:
    if any((folder / place).is_file() for place in _GRAPHS) and (folder / "tokenizer.json").is_file():
        return True
    return find_spec("sentence_transformers") is not None and any((folder / name).is_file() for name in _WEIGHTS)


class OnnxEntailment:
    """An ONNX model with the inputs that transformers exports. Pairs are cut at its limit, the longer text first.

    Raises:
        ModelUnavailable: as for `open_entailment`.
    """

    def __init__(self, folder: Path, graph: Path) -> None:
        config = _read_config(folder)
        self._name = str(folder)
        self._entailment, self._labels = _entailment_of(config.get("id2label"), self._name)
        self._tokenizer = _read_tokenizer(folder, config)
        self._session = _open_session(graph)
        self._inputs = [one.name for one in self._session.get_inputs()]

    def entails(self, pairs: Sequence[Pair]) -> list[bool]:
        """See `EntailmentModel.entails`.

        Raises:
            ModelUnavailable: the model does not compute what its config.json says.
        """
        batches = (pairs[start : start + _AT_ONCE] for start in range(0, len(pairs), _AT_ONCE))
        return [place == self._entailment for batch in batches for place in self._likeliest(batch)]

    def _likeliest(self, pairs: Sequence[Pair]) -> Iterator[int]:
        inputs = self._padded(pairs)
        try:
            (logits, *_) = self._session.run(None, {name: inputs[name] for name in self._inputs})
        except Exception as error:  # onnxruntime's errors have no common narrower base
            raise ModelUnavailable(
                f"the entailment model {self._name} cannot compute: {error}; export it for sequence classification, with "
                f"some of the inputs {', '.join(inputs)}"
            ) from error
        if np.shape(logits) != (len(pairs), self._labels):
            raise ModelUnavailable(
                f"the entailment model {self._name} gives an array of shape {np.shape(logits)} for {len(pairs)} pairs and "
                f"{self._labels} labels; export it for sequence classification"
            )
        yield from np.argmax(logits, axis=1).tolist()

    def _padded(self, pairs: Sequence[Pair]) -> Mapping[str, NDArray[np.int64]]:
        """The arrays by the names of inputs: shape (pairs, longest)."""
        encodings = self._tokenizer.encode_batch([(whole_text(one), whole_text(other)) for one, other in pairs])
        rows = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
        }
        return {name: np.array(values, np.int64) for name, values in rows.items()}


class CrossEncoderEntailment:
    """A classifier of the package sentence-transformers, by name or folder.

    Raises:
        ModelUnavailable: as for `open_entailment`.
    """

    def __init__(self, name: str) -> None:
        try:
            package = optional_package("sentence_transformers", "sentence-transformers")
        except ModelUnavailable as error:
            raise ModelUnavailable(
                f"the entailment model {name} is no folder with {' or '.join(_GRAPHS)} in it, and {error}"
            ) from error
        self._model = loaded(package.CrossEncoder, name)
        self._entailment, _ = _entailment_of(self._model.config.id2label, name)

    def entails(self, pairs: Sequence[Pair]) -> list[bool]:
        """See `EntailmentModel.entails`."""
        if not pairs:
            return []
        texts = [(whole_text(one), whole_text(other)) for one, other in pairs]
        logits: FloatMatrix = np.asarray(self._model.predict(texts, show_progress_bar=False))
        return [place == self._entailment for place in np.argmax(logits, axis=1).tolist()]


def _entailment_of(labels: Any, name: str) -> tuple[int, int]:
    """The position of `entailment` among the outputs, and their number; `labels` is the model's `id2label`."""
    names = labels if isinstance(labels, Mapping) else {}
    places = [int(place) for place, label in names.items() if str(label).lower() == ENTAILMENT]
    if len(places) != 1 or len(names) < 2:
        raise ModelUnavailable(
            f"the model {name} has the labels {', '.join(map(str, names.values())) or 'of no id2label'}, of which not exactly "
            f"one is {ENTAILMENT}: name a model that was trained for natural language inference"
        )
    return places[0], len(names)


def _read_config(folder: Path) -> JsonObject:
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"the entailment model {folder} cannot be used: its config.json cannot be read ({error}); put it there"
        ) from error
    return config if isinstance(config, dict) else {}


def _read_tokenizer(folder: Path, config: Mapping[str, Any]) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the package raises nothing more precise
        raise ModelUnavailable(
            f"the entailment model {folder} cannot be used: its tokenizer.json cannot be read ({error}); put it there"
        ) from error
    places = config.get("max_position_embeddings")
    tokenizer.enable_padding(pad_id=int(config.get("pad_token_id") or 0))
    tokenizer.enable_truncation(places - _SPECIAL if isinstance(places, int) and places > _SPECIAL else 512)
    return tokenizer


def _open_session(graph: Path) -> Any:
    onnxruntime = silent_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; warnings about the machine's layout would reach the user's terminal
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors share no narrower base
        raise ModelUnavailable(f"the entailment model {graph} cannot be loaded by onnxruntime: {error}") from error
