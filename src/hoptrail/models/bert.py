"""The BERT encoder with mean pooling, described once, for whichever runtime carries it out.

`bert` says which operations follow one another; an `Operations` performs them (NumPy) or notes them down in a graph
(ONNX, OpenVINO). Dropout and the pooling layer of the original serve training and are absent here. Knows nothing of text,
files or batching.

Papers: Devlin et al. 2019 (BERT), section 3; Vaswani et al. 2017, sections 3.1 to 3.3, for the layer; Hendrycks and Gimpel
2016 for gelu; Reimers and Gurevych 2019 (Sentence-BERT), section 3, for mean pooling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.weights import Weights

T = TypeVar("T")


class Operations(Protocol[T]):
    """What a runtime must be able to do. Axes are counted as NumPy counts them; `add` and `multiply` broadcast."""

    def constant(self, values: NDArray[Any]) -> T:
        """A tensor with these values, of the same shape and type."""

    def rows(self, table: T, indices: T) -> T:
        """The rows of `table` at `indices`: shape (*indices, columns)."""
        ...

    def add(self, left: T, right: T) -> T: ...

    def multiply(self, left: T, right: T) -> T: ...

    def matmul(self, left: T, right: T) -> T:
        """Matrix products over the last two axes, one for each index of the axes before them."""

    def reshape(self, tensor: T, shape: Sequence[int]) -> T:
        """In `shape`, 0 keeps the size of that axis and -1 takes what is left."""
        ...

    def transpose(self, tensor: T, axes: Sequence[int]) -> T: ...

    def softmax(self, tensor: T) -> T:
        """Over the last axis."""
        ...

    def layer_norm(self, tensor: T, scale: T, shift: T, epsilon: float) -> T:
        """Over the last axis, then scaled and shifted."""
        ...

    def gelu(self, tensor: T) -> T:
        """The exact form, by the error function."""
        ...

    def total(self, tensor: T, axis: int) -> T:
        """The sum over one axis, which disappears."""
        ...

    def unit(self, tensor: T) -> T:
        """Divided by the Euclidean norm over the last axis."""
        ...


@dataclass(frozen=True, slots=True)
class BertSizes:
    """The shape of one BERT. `width` is the length of a token's vector and splits evenly over the heads."""

    layers: int
    heads: int
    width: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Inputs(Generic[T]):
    """A padded batch of texts.

    `pieces` are word-piece numbers, shape (texts, length); `positions` are 0, 1, ..., shape (length); `mask` is 1.0 at a
    piece and 0.0 at padding, shape (texts, length). `segments` is 0 or 1 for each piece, shape (texts, length), where a text
    has two parts; without it all is one.
    """

    pieces: T
    positions: T
    mask: T
    segments: T | None = None


@dataclass(frozen=True, slots=True)
class Outputs(Generic[T]):
    """Unit vectors: per word piece, shape (texts, length, width), and per text, shape (texts, width)."""

    tokens: T
    texts: T


def bert(operations: Operations[T], weights: Weights, sizes: BertSizes, inputs: Inputs[T]) -> Outputs[T]:
    """From word pieces to unit vectors. Raises: KeyError, ValueError: as for `trunk`."""
    hidden = trunk(operations, weights, sizes, inputs)
    # The mean of the word pieces and their sum point the same way, and only the direction is kept.
    present = operations.multiply(hidden, operations.reshape(inputs.mask, (0, -1, 1)))
    return Outputs(tokens=operations.unit(hidden), texts=operations.unit(operations.total(present, 1)))


def trunk(operations: Operations[T], weights: Weights, sizes: BertSizes, inputs: Inputs[T]) -> T:
    """From word pieces to the vectors of the last layer, shape (texts, length, width).

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
    hidden = block.embed(inputs)
    # Padding must get no attention: after adding -1e9 its share in the softmax is exactly 0, so a text's vector does not
    # depend on how far its batch is padded.
    absent = operations.add(operations.reshape(inputs.mask, (0, 1, 1, -1)), block.number(-1.0))
    barrier = operations.multiply(absent, block.number(1e9))
    for layer in range(sizes.layers):
        hidden = block.layer(hidden, barrier, f"encoder.layer.{layer}")
    return hidden


class _Block(Generic[T]):
    """The parts of the encoder, by the names that their tensors have in the weights file."""

    def __init__(self, operations: Operations[T], weights: Weights, sizes: BertSizes) -> None:
        self._do = operations
        self._weights = weights
        self._sizes = sizes

    def number(self, value: float) -> T:
        return self._do.constant(np.array(value, np.float32))

    def embed(self, inputs: Inputs[T]) -> T:
        words = self._do.rows(self._tensor("embeddings.word_embeddings.weight"), inputs.pieces)
        places = self._do.rows(self._tensor("embeddings.position_embeddings.weight"), inputs.positions)
        kinds = self._weights["embeddings.token_type_embeddings.weight"]
        if inputs.segments is None:
            segment = self._do.constant(kinds[0])
        else:
            segment = self._do.rows(self._do.constant(kinds), inputs.segments)
        return self._norm(self._do.add(self._do.add(words, places), segment), "embeddings")

    def layer(self, hidden: T, barrier: T, name: str) -> T:
        attended = self._linear(
            self._attend(hidden, barrier, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        hidden = self._norm(self._do.add(hidden, attended), f"{name}.attention.output")
        widened = self._do.gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._norm(self._do.add(hidden, self._linear(widened, f"{name}.output.dense")), f"{name}.output")

    def _attend(self, hidden: T, barrier: T, name: str) -> T:
        do, size = self._do, self._sizes.width // self._sizes.heads
        query, key, value = (
            do.transpose(
                do.reshape(self._linear(hidden, f"{name}.{part}"), (0, 0, self._sizes.heads, size)), (0, 2, 1, 3)
            )
            for part in ("query", "key", "value")
        )  # each of shape (texts, heads, length, size)
        likeness = do.matmul(do.multiply(query, self.number(size**-0.5)), do.transpose(key, (0, 1, 3, 2)))
        mixed = do.matmul(do.softmax(do.add(likeness, barrier)), value)
        return do.reshape(do.transpose(mixed, (0, 2, 1, 3)), (0, 0, self._sizes.width))

    def _linear(self, tensor: T, name: str) -> T:
        product = self._do.matmul(tensor, self._do.constant(self._weights[f"{name}.weight"].T))
        return self._do.add(product, self._tensor(f"{name}.bias"))

    def _norm(self, tensor: T, name: str) -> T:
        scale, shift = self._tensor(f"{name}.LayerNorm.weight"), self._tensor(f"{name}.LayerNorm.bias")
        return self._do.layer_norm(tensor, scale, shift, self._sizes.epsilon)

    def _tensor(self, name: str) -> T:
        return self._do.constant(self._weights[name])
