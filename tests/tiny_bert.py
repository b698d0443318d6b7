"""A very small BERT in a folder, and BERT written a second time as plainly as possible."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from training.graphs import Graph
from training.sizes import COLUMNS, BertSizes

from hoptrail.models.reader import PIECE_HEADS, WHOLE_HEADS

Matrix = NDArray[np.float64]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "harbour", "of", "oslo", "is", "old", "##er", "?", "."]
WIDTH, LAYERS, HEADS, PLACES = 8, 2, 2, 16


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    names = {"float32": "F32", "float16": "F16", "int64": "I64", "float64": "F64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, tensor in tensors.items():
        span = [offset, offset + tensor.nbytes]
        header[name] = {"dtype": names[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": span}
        offset += tensor.nbytes
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + b"".join(t.tobytes() for t in tensors.values()))


def random_weights(seed: int = 7) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings": (len(WORDS), WIDTH),
        "embeddings.position_embeddings": (PLACES, WIDTH),
        "embeddings.token_type_embeddings": (2, WIDTH),
        "embeddings.LayerNorm": (WIDTH,),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        shapes |= {f"{name}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        shapes |= {f"{name}.attention.output.dense": (WIDTH, WIDTH), f"{name}.attention.output.LayerNorm": (WIDTH,)}
        shapes |= {f"{name}.intermediate.dense": (4 * WIDTH, WIDTH), f"{name}.output.dense": (WIDTH, 4 * WIDTH)}
        shapes |= {f"{name}.output.LayerNorm": (WIDTH,)}
    weights = {f"{name}.weight": random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    biases = {name: shape[0] for name, shape in shapes.items() if not name.endswith("_embeddings")}
    return weights | {f"{name}.bias": random.normal(size=size).astype(np.float32) for name, size in biases.items()}


def random_heads(width: int) -> dict[str, NDArray[np.float32]]:
    """Those of the reader."""
    random = np.random.default_rng(3)
    sizes = {name: COLUMNS.get(name, 1) for name in (*PIECE_HEADS, *WHOLE_HEADS)}
    weights = {f"{name}.weight": random.normal(size=(size, width), scale=0.1) for name, size in sizes.items()}
    weights |= {f"{name}.bias": random.normal(size=size) for name, size in sizes.items()}
    return {name: values.astype(np.float32) for name, values in weights.items()}


def write_network(path: Path, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """The network as exporters write it: with its weights, from word pieces and where they are to a vector for each."""
    graph = Graph(weights, BertSizes(LAYERS, HEADS, WIDTH))
    length = graph.node("Squeeze", graph.node("Shape", "input_ids", start=1))
    count = [graph.node("Squeeze", graph.constant(number)) for number in (0, 1)]
    places = graph.node("Range", count[0], length, count[1])
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = graph.trunk("input_ids", places, mask)[-1]
    inputs = dict.fromkeys(("input_ids", "attention_mask"), (TensorProto.INT64, ("texts", "length")))
    model = graph.model(inputs, {"last_hidden_state": (hidden, ("texts", "length", WIDTH))})
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)


def write_tiny_folder(folder: Path) -> Path:
    """A model folder in the layout of sentence-transformers: 2 layers, 2 heads, 8 dimensions, at most 12 word pieces."""
    (folder / "1_Pooling").mkdir(parents=True)
    write_network(folder / "onnx" / "model.onnx", random_weights())
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": WORDS[number], "special": True, "single_word": False}
            | {"lstrip": False, "rstrip": False, "normalized": False}
            for number in range(5)
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(WORDS)},
        },
    }
    config = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "num_hidden_layers": LAYERS}
    config |= {"num_attention_heads": HEADS, "layer_norm_eps": 1e-12, "max_position_embeddings": PLACES}
    modules = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]
    contents = {
        "tokenizer.json": tokenizer,
        "config.json": config,
        "modules.json": modules,
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
        "sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": False},
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def plain_bert(
    weights: Mapping[str, NDArray[Any]], layers: int, heads: int, pieces: list[int], second_from: int | None = None
) -> Matrix:
    """Token vectors of one text, unpadded, in double precision; written from the papers, apart from `training/graphs.py`.

    From the place `second_from` on, the pieces are of a second segment.
    """

    def tensor(name: str) -> Matrix:
        return weights[name].astype(np.float64)

    def linear(x: Matrix, name: str) -> Matrix:
        product: Matrix = np.einsum("ti,oi->to", x, tensor(f"{name}.weight"))
        return product + tensor(f"{name}.bias")

    def norm(x: Matrix, name: str) -> Matrix:
        centred = x - x.mean(axis=1, keepdims=True)
        spread = np.sqrt(x.var(axis=1, keepdims=True) + 1e-12)
        return np.asarray(centred / spread * tensor(f"{name}.LayerNorm.weight") + tensor(f"{name}.LayerNorm.bias"))

    def attend(x: Matrix, name: str) -> Matrix:
        q, k, v = (linear(x, f"{name}.{part}") for part in ("query", "key", "value"))
        mixed = []
        for columns in np.split(np.arange(x.shape[1]), heads):
            share = np.exp(q[:, columns] @ k[:, columns].T / math.sqrt(len(columns)))
            mixed.append(share / share.sum(axis=1, keepdims=True) @ v[:, columns])
        return np.hstack(mixed)

    erf = np.vectorize(math.erf)
    x = tensor("embeddings.word_embeddings.weight")[pieces]
    x = x + tensor("embeddings.position_embeddings.weight")[: len(pieces)]
    segments = [int(second_from is not None and place >= second_from) for place in range(len(pieces))]
    x = norm(x + tensor("embeddings.token_type_embeddings.weight")[segments], "embeddings")
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        attended = linear(attend(x, f"{name}.attention.self"), f"{name}.attention.output.dense")
        x = norm(x + attended, f"{name}.attention.output")
        wide = linear(x, f"{name}.intermediate.dense")
        x = norm(x + linear(wide * (1 + erf(wide / math.sqrt(2))) / 2, f"{name}.output.dense"), f"{name}.output")
    return x
