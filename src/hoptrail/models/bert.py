"""The BERT encoder as a graph, and with mean pooling as a loaded model.

Dropout and the pooling layer of the original serve training and are absent here. Knows nothing of text, files or batching.

Papers: Devlin et al. 2019 (BERT), section 3; Vaswani et al. 2017, sections 3.1 to 3.3, for the layer; Hendrycks and Gimpel
2016 for gelu; Reimers and Gurevych 2019 (Sentence-BERT), section 3, for mean pooling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.onnx_runtime import OnnxOperations, open_session
from hoptrail.models.weights import Weights


@dataclass(frozen=True, slots=True)
class BertSizes:
    """The shape of one BERT. `width` is the length of a token's vector and splits evenly over the heads."""

    layers: int
    heads: int
    width: int
    epsilon: float


class LoadedBert:
    """A loaded encoder with mean pooling. `tokens` and `texts` may be called from several threads at once.
    Raises: KeyError, ValueError: as for `trunk`; the tensors do not fit one another.
    """

    def __init__(self, weights: Weights, sizes: BertSizes, threads: int, operations: OnnxOperations) -> None:
        hidden = trunk(operations, weights, sizes)
        # The mean of the word pieces and their sum point the same way, and only the direction is kept.
        present = operations.multiply(hidden, operations.reshape("mask", (0, -1, 1)))
        self._tokens = operations.unit(hidden)
        self._texts = operations.unit(operations.total(present, 1))
        self._operations = operations  # the session reads large tensors where they are, so they must outlive it
        shapes = {self._tokens: ("texts", "length", sizes.width), self._texts: ("texts", sizes.width)}
        self._session = open_session(operations.model(shapes), operations, threads)

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        """Unit vectors of a padded batch: shape (texts, width)."""
        return self._run(self._texts, pieces, mask)

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        """Unit vectors of every word piece of a padded batch: shape (texts, length, width)."""
        return self._run(self._tokens, pieces, mask)

    def _run(self, output: str, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        inputs = {"pieces": pieces, "positions": np.arange(pieces.shape[1]), "mask": mask}
        vectors: FloatMatrix = self._session.run([output], inputs)[0]
        return vectors


def trunk(operations: OnnxOperations, weights: Weights, sizes: BertSizes, *, segments: bool = False) -> str:
    """From the inputs of `OnnxOperations.model` to the vectors of the last layer, shape (texts, length, width).

    Raises:
        KeyError: `weights` lack a tensor that an encoder of these sizes has; the key is its name.
        ValueError: `weights` are of other sizes.
    """
    found = weights["embeddings.word_embeddings.weight"].shape[-1]
    if found != sizes.width or sizes.width % sizes.heads:
        raise ValueError(
            f"vectors of {found} numbers do not make {sizes.heads} heads of a hidden_size of {sizes.width}"
        )
    block = _Block(operations, weights, sizes)
    hidden = block.embed(segments=segments)
    present = operations.whole_numbers("mask")
    for layer in range(sizes.layers):
        hidden = block.layer(hidden, present, f"encoder.layer.{layer}")
    return hidden


class _Block:
    """The parts of the encoder, by the names that their tensors have in the weights file."""

    def __init__(self, operations: OnnxOperations, weights: Weights, sizes: BertSizes) -> None:
        self._do = operations
        self._weights = weights
        self._sizes = sizes

    def embed(self, *, segments: bool) -> str:
        words = self._do.rows(self._tensor("embeddings.word_embeddings.weight"), "pieces")
        places = self._do.rows(self._tensor("embeddings.position_embeddings.weight"), "positions")
        kinds = self._weights["embeddings.token_type_embeddings.weight"]
        segment = self._do.rows(self._do.constant(kinds), "segments") if segments else self._do.constant(kinds[0])
        return self._norm(self._do.add(self._do.add(words, places), segment), "embeddings")

    def layer(self, hidden: str, present: str, name: str) -> str:
        mixed = self._attend(hidden, present, f"{name}.attention.self")
        attended = self._linear(mixed, f"{name}.attention.output.dense")
        hidden = self._norm(self._do.add(hidden, attended), f"{name}.attention.output")
        widened = self._do.gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._norm(self._do.add(hidden, self._linear(widened, f"{name}.output.dense")), f"{name}.output")

    def _attend(self, hidden: str, present: str, name: str) -> str:
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        products = [self._do.linear(hidden, self._weights[f"{part}.weight"]) for part in parts]
        biases = self._do.constant(np.concatenate([self._weights[f"{part}.bias"] for part in parts]))
        return self._do.attention(products, biases, present, self._sizes.heads)

    def _linear(self, tensor: str, name: str) -> str:
        product = self._do.linear(tensor, self._weights[f"{name}.weight"])
        return self._do.add(product, self._tensor(f"{name}.bias"))

    def _norm(self, tensor: str, name: str) -> str:
        scale, shift = self._tensor(f"{name}.LayerNorm.weight"), self._tensor(f"{name}.LayerNorm.bias")
        return self._do.layer_norm(tensor, scale, shift, self._sizes.epsilon)

    def _tensor(self, name: str) -> str:
        return self._do.stored(self._weights[name])
