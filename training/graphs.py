"""Writes the graphs of the encoder and the reader as the ONNX files that ship, without their weights.

    python -m training.graphs

A weight is an initializer under the name that it has in its file. Those of the encoder's file are external data there; the others
are given to the session.

Papers: Devlin et al. 2019 (BERT), section 3; Vaswani et al. 2017, sections 3.1 to 3.3, for the layer; Hendrycks and Gimpel
2016 for gelu; Reimers and Gurevych 2019 (Sentence-BERT), section 3, for mean pooling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from hoptrail.models.follow_up_writer import WRITER
from hoptrail.models.local import WEIGHTS, packaged_folder
from hoptrail.models.networks import read_reader_weights
from hoptrail.models.onnx_runtime import GRAPHS, SIGNED, UNSIGNED, ZERO, Tensors, in_eight_bits, read_weights
from hoptrail.models.question_tagger import LAYERS, QUESTIONS
from hoptrail.models.reader import PIECE_HEADS, WHOLE_HEADS
from training.manifest import PACKAGE
from training.sizes import MINILM, BertSizes

OPERATORS, FORMAT = 20, 9
"""The version of the set of operators, the first with Gelu, and that of the file format which belongs to it."""
MICROSOFT = "com.microsoft"
"""The domain of operators that onnxruntime adds."""

Axes = Sequence[str | int]  # a shape. Axes of any length have a name.

BATCH: dict[str, tuple[int, Axes]] = {
    "pieces": (TensorProto.INT64, ("texts", "length")),
    "positions": (TensorProto.INT64, ("length",)),
    "mask": (TensorProto.FLOAT, ("texts", "length")),
}
"""What the graphs that ship take; see `Graph.trunk`."""
PARTS = BATCH | {"segments": (TensorProto.INT64, ("texts", "length"))}
"""What those of texts in two parts take."""


class Graph:
    """A BERT as ONNX nodes. A tensor is the name of a node's output, of an input, or of a weight."""

    def __init__(self, weights: Tensors, sizes: BertSizes) -> None:
        self.weights = weights
        self.sizes = sizes
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._used: list[str] = []

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """An operation with one output, whose name is returned."""
        name = f"node{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        self._used += [one for one in inputs if one in self.weights and one not in self._used]
        return name

    def constant(self, *values: int) -> str:
        """Whole numbers that stand in the graph."""
        name = f"numbers{'_'.join(map(str, values))}"
        self._constants[name] = np.array(values, np.int64)
        return name

    def trunk(self, pieces: str, positions: str, mask: str, segments: str = "") -> list[str]:
        """From a padded batch of texts to the vectors of each layer, the last being the result, shape (texts, length, width).

        `pieces` are word-piece numbers, shape (texts, length); `positions` are 0, 1, ..., shape (length); `mask` is 1.0 at a
        piece and 0.0 at padding, shape (texts, length). `segments` is 0 or 1 for each piece, shape (texts, length), where a text
        has two parts.
        """
        words = self.node("Gather", "embeddings.word_embeddings.weight", pieces)
        places = self.node("Gather", "embeddings.position_embeddings.weight", positions)
        segment = self.node("Gather", "embeddings.token_type_embeddings.weight", segments or self.constant(0))
        hidden = [self._norm(self.node("Add", self.node("Add", words, places), segment), "embeddings")]
        present = self.node("Cast", mask, to=TensorProto.INT32)
        for layer in range(self.sizes.layers):
            hidden.append(self.layer(hidden[-1], present, f"encoder.layer.{layer}"))
        return hidden

    def layer(self, hidden: str, present: str, name: str) -> str:
        """The vectors after a layer; `present` is the mask as whole numbers."""
        mixed = self._attend(hidden, present, f"{name}.attention.self")
        attended = self.linear(mixed, f"{name}.attention.output.dense")
        hidden = self._norm(self.node("Add", hidden, attended), f"{name}.attention.output")
        widened = self.node("Gelu", self.linear(hidden, f"{name}.intermediate.dense"))  # by the error function
        return self._norm(self.node("Add", hidden, self.linear(widened, f"{name}.output.dense")), f"{name}.output")

    def _attend(self, hidden: str, present: str, name: str) -> str:
        """Padding gets -1e9 before the softmax, so its share is exactly 0: a text's result does not depend on how far its batch
        is padded.
        """
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        products = [self.product(hidden, f"{part}.weight") for part in parts]
        biases = self.node("Concat", *(f"{part}.bias" for part in parts), axis=0)
        how: dict[str, Any] = {"num_heads": self.sizes.heads, "mask_filter_value": -1e9}
        return self.node("MultiHeadAttention", *products, biases, present, domain=MICROSOFT, **how)

    def linear(self, tensor: str, name: str) -> str:
        """The product with a weight, and its bias."""
        return self.node("Add", self.product(tensor, f"{name}.weight"), f"{name}.bias")

    def product(self, tensor: str, name: str) -> str:
        """The product with weights of shape (out, in), which are not transposed: they stay where they are. If they are in eight
        bits, their columns have a scale each; `in_eight_bits` has the details.
        """
        if f"{name}.whole" in self.weights:
            whole = self.weights[f"{name}.whole"]
            zero = f"zeros{whole.shape[1]}"
            self._constants[zero] = np.full(whole.shape[1], ZERO[whole.dtype.name], whole.dtype)
            return self.node("DynamicQuantizeMatMul", tensor, f"{name}.whole", f"{name}.scale", zero, domain=MICROSOFT)
        return self.node("FusedMatMul", tensor, name, domain=MICROSOFT, transB=1)

    def first(self, hidden: str) -> str:
        """The vectors of the first word pieces."""
        return self.node("Reshape", self.node("Gather", hidden, self.constant(0), axis=1), self.constant(0, -1))

    def _norm(self, tensor: str, name: str) -> str:
        parts = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
        return self.node("LayerNormalization", tensor, *parts, axis=-1, epsilon=self.sizes.epsilon)

    def model(self, inputs: Mapping[str, tuple[int, Axes]], outputs: Mapping[str, tuple[str, Axes]]) -> onnx.ModelProto:
        """The graph with inputs by their names, a number type and a shape each, and outputs, a tensor and a shape each."""
        for name, (tensor, _) in outputs.items():
            next(node for node in self._nodes if node.output[0] == tensor).output[0] = name
        describe = helper.make_tensor_value_info
        given = [describe(name, number, shape) for name, (number, shape) in inputs.items()]
        made = [describe(name, TensorProto.FLOAT, shape) for name, (_, shape) in outputs.items()]
        known = [numpy_helper.from_array(values, name) for name, values in self._constants.items()]
        known += [_weight(name, self.weights[name]) for name in self._used]
        graph = helper.make_graph(self._nodes, "graph", given, made, known)
        sets = [helper.make_opsetid("", OPERATORS), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, ir_version=FORMAT, opset_imports=sets)


def _weight(name: str, values: NDArray[Any]) -> onnx.TensorProto:
    """A weight that stands in the file that it is mapped from, or that the session is given."""
    number = helper.np_dtype_to_tensor_dtype(values.dtype)
    tensor = TensorProto(name=name, data_type=number, dims=values.shape, data_location=TensorProto.EXTERNAL)
    root: Any = values
    while isinstance(root.base, np.ndarray):
        root = root.base
    place = {"location": "given"}
    if isinstance(root, np.memmap):
        start = root.offset + values.ctypes.data - root.ctypes.data
        place = {"location": Path(str(root.filename)).name, "offset": str(start), "length": str(values.nbytes)}
    for key, value in place.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def encoder_graph(weights: Tensors, sizes: BertSizes) -> onnx.ModelProto:
    """The encoder: unit vectors of texts by mean pooling, and of their word pieces."""
    graph = Graph(weights, sizes)
    hidden = graph.trunk(*BATCH)[-1]
    # The mean of the word pieces and their sum point the same way, and only the direction is kept.
    present = graph.node("Mul", hidden, graph.node("Reshape", "mask", graph.constant(0, -1, 1)))
    total = graph.node("ReduceSum", present, graph.constant(1), keepdims=0)
    outputs: dict[str, tuple[str, Axes]] = {
        "tokens": (graph.node("LpNormalization", hidden, axis=-1, p=2), ("texts", "length", sizes.width)),
        "vectors": (graph.node("LpNormalization", total, axis=-1, p=2), ("texts", sizes.width)),
    }
    return graph.model(BATCH, outputs)


def reader_graph(weights: Tensors, sizes: BertSizes) -> onnx.ModelProto:
    """The reader: the logits of its heads."""
    graph = Graph(weights, sizes)
    hidden = graph.trunk(*PARTS)[-1]
    first = graph.first(hidden)
    outputs: dict[str, tuple[str, Axes]] = {}
    for name in (*PIECE_HEADS, *WHOLE_HEADS):
        tensor, axes = (hidden, ("texts", "length")) if name in PIECE_HEADS else (first, ("texts",))
        outputs[name] = graph.linear(tensor, name), (*axes, len(weights[f"{name}.bias"]))
    return graph.model(PARTS, outputs)


def question_graph(weights: Tensors, sizes: BertSizes) -> onnx.ModelProto:
    """The tagger of questions: the logits of its heads for each word piece, and of those for the whole."""
    graph = Graph(weights, sizes)
    *_, third, second, hidden = graph.trunk(*PARTS)
    present = graph.node("Cast", "mask", to=TensorProto.INT32)
    upper = graph.node("Concat", third, second, hidden, axis=-1)
    outputs: dict[str, tuple[str, Axes]] = {}
    for layer, (pieces, whole) in LAYERS.items():
        if layer:
            hidden = graph.layer(graph.linear(upper, f"{layer}.narrow"), present, f"{layer}.layer")
        first, prefix = graph.first(hidden) if whole else "", f"{layer}." if layer else ""
        for head, columns in pieces.items():
            outputs[head] = graph.linear(hidden, f"{prefix}{head}"), ("texts", "length", columns)
        for head, columns in whole.items():
            outputs[head] = graph.linear(first, f"{prefix}{head}"), ("texts", columns)
    return graph.model(PARTS, outputs)


def states_graph(weights: Tensors, sizes: BertSizes) -> onnx.ModelProto:
    """The trunk of the writer of follow-ups: the vectors of its last layer."""
    graph = Graph(weights, sizes)
    return graph.model(PARTS, {"states": (graph.trunk(*PARTS)[-1], ("texts", "length", sizes.width))})


def probe_graph() -> onnx.ModelProto:
    """A product of unsigned with signed numbers of eight bits, shapes (4, 64) and (64, 32)."""
    describe = helper.make_tensor_value_info
    given = [describe("left", TensorProto.UINT8, [4, 64]), describe("right", TensorProto.INT8, [64, 32])]
    products = [describe("products", TensorProto.INT32, [4, 32])]
    node = helper.make_node("MatMulInteger", ["left", "right"], ["products"])
    graph = helper.make_graph([node], "graph", given, products)
    return helper.make_model(graph, ir_version=FORMAT, opset_imports=[helper.make_opsetid("", OPERATORS)])


def shipped_graphs() -> dict[str, onnx.ModelProto]:
    """The graphs that ship by the names of their files."""
    encoder = dict(read_weights(packaged_folder() / WEIGHTS))
    makers = {
        "encoder": (encoder_graph, encoder),
        "questions": (question_graph, read_reader_weights(PACKAGE, QUESTIONS)),
        "states": (states_graph, read_reader_weights(PACKAGE, WRITER)),
        "reader": (reader_graph, read_reader_weights(PACKAGE)),
    }
    graphs = {"eight-bit-product.onnx": probe_graph()}
    for kind in (SIGNED, UNSIGNED):
        for name, (make, own) in makers.items():
            graphs[f"{name}-{kind}.onnx"] = make(encoder | own | in_eight_bits(own, kind), MINILM)
    return graphs


def main(folder: Path = GRAPHS) -> None:
    folder.mkdir(exist_ok=True)
    for name, model in shipped_graphs().items():
        (folder / name).write_bytes(model.SerializeToString(deterministic=True))
        print(name, (folder / name).stat().st_size)


if __name__ == "__main__":
    main()
