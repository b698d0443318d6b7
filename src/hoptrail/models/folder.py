"""Reading the configuration of a model folder in the layout of sentence-transformers, without loading the weights.

Accepted are BERT weights in safetensors with exact gelu, absolute positions and mean pooling, without other layers after it than
normalisation, and without prompts before texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoptrail.errors import ModelUnavailable
from hoptrail.json_object import JsonObject
from hoptrail.models.bert import BertSizes
from hoptrail.models.local import LocalEncoder, LocalModel, LocalSettings
from hoptrail.models.weights import digest_of

_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = ("cls_token", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def encoder_from_folder(folder: Path, settings: LocalSettings | None = None) -> LocalEncoder:
    """The encoder of a model folder; its name is the folder's path as given.
    Raises: ModelUnavailable: a file is missing or unreadable, or the model is of a kind that is not computed here.
    """
    model = read_folder(folder)
    return LocalEncoder(str(folder), digest_of(model.weights), model, settings)


def read_folder(folder: Path) -> LocalModel:
    """Files and sizes of the model in `folder`. Raises: ModelUnavailable: as for `encoder_from_folder`."""
    reader = _Folder(folder)
    reader.check_architecture()
    reader.check_modules()
    reader.check_pooling()
    reader.check_prompts()
    return reader.model()


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path

    def model(self) -> LocalModel:
        config = self._object("config.json")
        try:
            sizes = BertSizes(
                layers=int(config["num_hidden_layers"]),
                heads=int(config["num_attention_heads"]),
                width=int(config["hidden_size"]),
                epsilon=float(config["layer_norm_eps"]),
            )
            places = int(config["max_position_embeddings"])
        except KeyError as error:
            raise self._refusal(f"its config.json lacks {error}") from error
        except (TypeError, ValueError) as error:
            raise self._refusal(f"its config.json has a size that is not a number ({error})") from error
        return LocalModel(
            weights=self._file("model.safetensors"),
            tokenizer=self._file("tokenizer.json"),
            sizes=sizes,
            longest=int(min(self._longest() or places, places)),
        )

    def _longest(self) -> int | None:
        """The limit in word pieces: sentence-transformers has it in the first of these files, since version 6 in the second."""
        older = self._object("sentence_bert_config.json", optional=True).get("max_seq_length")
        newer = self._object("tokenizer_config.json", optional=True).get("model_max_length")
        return older or newer

    def check_architecture(self) -> None:
        config = self._object("config.json")
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        absolute = {"position_embedding_type": "absolute"}
        for key, value in (expected | absolute).items():
            found = config.get(key, absolute.get(key))
            if found != value:
                raise self._refusal(f"its {key} is {found!r}; only {value!r} is computed here")

    def check_modules(self) -> None:
        modules = self._json("modules.json") if (self.path / "modules.json").exists() else []
        if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
            raise self._refusal("its modules.json is not a list of layers")
        names = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
        surplus = [name for name in names if name not in _MODULES]
        if surplus:
            raise self._refusal(
                f"it has the layers {', '.join(surplus)}; only {', '.join(sorted(_MODULES))} are computed here"
            )

    def check_pooling(self) -> None:
        pooling = self._object("1_Pooling/config.json")
        others = [name for name in _POOLINGS if pooling.get(f"pooling_mode_{name}")]
        named = pooling.get("pooling_mode", "mean" if pooling.get("pooling_mode_mean_tokens") else "")
        if others or named != "mean":
            raise self._refusal(
                f"it pools by {', '.join(others) or named or 'nothing'}; only the mean is computed here"
            )

    def check_prompts(self) -> None:
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
            f"the model folder {self.path} cannot be used: {reason}. A folder needs config.json, model.safetensors, "
            "tokenizer.json and 1_Pooling/config.json; for other models install hoptrail[sentence-transformers] and "
            f"name it sentence-transformers:{self.path}"
        )
