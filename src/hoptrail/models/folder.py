"""Encoders from a model folder in the layout of sentence-transformers, with the network as an ONNX file.

Accepted are networks with mean pooling, without other layers after it than normalisation, and without prompts before texts. The
published models have the file; for another one, sentence-transformers writes it:
`SentenceTransformer(NAME, backend="onnx").save_pretrained(FOLDER)`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.models.local import LocalEncoder, LocalModel
from hoptrail.models.onnx_runtime import Session
from hoptrail.models.weights import digest_of
from hoptrail.types.json_object import JsonObject

_NETWORKS = ("onnx/model.onnx", "model.onnx")
_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = ("cls_token", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def encoder_from_folder(folder: Path, threads: int = 0) -> LocalEncoder:
    """The encoder of a model folder; its name is the folder's path as given. With 0 `threads` there is one per core.
    Raises: ModelUnavailable: a file is missing or unreadable, or the model is of a kind that is not computed here.
    """
    reader = _Folder(folder)
    reader.check()
    model = reader.model()
    return LocalEncoder(str(folder), digest_of(model.weights), model, _Network, threads=threads)


class _Network:
    """A network that takes word pieces and where they are, and gives a vector for each: of a text, their mean is taken."""

    def __init__(self, model: LocalModel) -> None:
        self._session = Session(model.weights, 1)
        unknown = self._session.inputs - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ValueError(f"the network takes {', '.join(sorted(unknown))}, which nothing is known of here")
        self._name, self._width = model.weights, model.width

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return unit_length((self._run(pieces, mask) * mask[:, :, np.newaxis]).sum(axis=1))

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return unit_length(self._run(pieces, mask))

    def _run(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        every = {"input_ids": pieces, "attention_mask": mask.astype(np.int64), "token_type_ids": np.zeros_like(pieces)}
        try:
            vectors: FloatMatrix = self._session.run(None, {name: every[name] for name in self._session.inputs})[0]
        except Exception as error:  # the runtime's errors share no narrower base
            raise ModelUnavailable(f"the network of the model {self._name} failed: {error}") from error
        if vectors.shape != (*pieces.shape, self._width):
            raise ModelUnavailable(
                f"the network of the model {self._name} gives numbers of shape {vectors.shape} for {pieces.shape} word pieces, "
                f"not vectors of {self._width}"
            )
        return vectors


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path

    def model(self) -> LocalModel:
        config = self._object("config.json")
        try:
            width, places = int(config["hidden_size"]), int(config["max_position_embeddings"])
        except KeyError as error:
            raise self._refusal(f"its config.json lacks {error}") from error
        except (TypeError, ValueError) as error:
            raise self._refusal(f"its config.json has a size that is not a number ({error})") from error
        # Sentence-transformers has its limit in the first of these files, since version 6 in the second.
        older = self._object("sentence_bert_config.json", optional=True).get("max_seq_length")
        newer = self._object("tokenizer_config.json", optional=True).get("model_max_length")
        longest = int(min(older or newer or places, places))
        # The ONNX file is where exporters write it.
        path = next((one for one in map(self.path.joinpath, _NETWORKS) if one.is_file()), None)
        if path is None:
            raise self._refusal(f"it has no {_NETWORKS[0]}")
        if path.with_name(f"{path.name}_data").exists():
            raise self._refusal("its network has the weights in a second file, which is not read here")
        return LocalModel(path, self._file("tokenizer.json"), width, longest)

    def check(self) -> None:
        """Refuse what is not computed here."""
        modules = self._json("modules.json") if (self.path / "modules.json").exists() else []
        if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
            raise self._refusal("its modules.json is not a list of layers")
        names = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
        surplus = [name for name in names if name not in _MODULES]
        if surplus:
            raise self._refusal(
                f"it has the layers {', '.join(surplus)}; only {', '.join(sorted(_MODULES))} are computed here"
            )
        pooling = self._object("1_Pooling/config.json")
        others = [name for name in _POOLINGS if pooling.get(f"pooling_mode_{name}")]
        named = pooling.get("pooling_mode", "mean" if pooling.get("pooling_mode_mean_tokens") else "")
        if others or named != "mean":
            raise self._refusal(
                f"it pools by {', '.join(others) or named or 'nothing'}; only the mean is computed here"
            )
        if self._object("sentence_bert_config.json", optional=True).get("do_lower_case"):
            raise self._refusal("it lowers the case of texts outside its tokeniser, which is not done here")
        prompt = self._object("config_sentence_transformers.json", optional=True).get("default_prompt_name")
        if prompt:
            raise self._refusal(f"it puts a prompt ({prompt!r}) before every text, which is not done here")

    def _object(self, name: str, *, optional: bool = False) -> JsonObject:
        found = self._json(name) if not optional or (self.path / name).exists() else {}
        if not isinstance(found, dict):
            raise self._refusal(f"its {name} is not a JSON object")
        return found

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._file(name).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise self._refusal(f"its {name} cannot be read: {error}") from error

    def _file(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            raise self._refusal(f"it has no {name}")
        return path

    def _refusal(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"the model folder {self.path} cannot be used: {reason}. A folder needs config.json, onnx/model.onnx, tokenizer.json "
            "and 1_Pooling/config.json; for other models install hoptrail[sentence-transformers] and name it "
            f"sentence-transformers:{self.path}"
        )
