"""A very small classifier of pairs as ONNX in a folder, whose logits can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hoptrail.models.encoder import FloatMatrix

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "oslo", "city", "bergen", "of", "the", "?", "where"]
PADDING = WORDS.index("<pad>")
LABELS = ("contradiction", "entailment", "neutral")
CONTRADICTION, ENTAILMENT, NEUTRAL = np.eye(3, dtype=np.float32)


def tokenizer(post: str = "</s>") -> dict[str, Any]:
    number = {word: place for place, word in enumerate(WORDS)}
    specials = {word: {"id": word, "ids": [number[word]], "tokens": [word]} for word in ("<s>", post)}
    single = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    second = [{"SpecialToken": {"id": post, "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, *second],
            "special_tokens": specials,
        },
        "model": {"type": "WordLevel", "vocab": number, "unk_token": "<unk>"},
    }


def write_tiny_classifier(
    folder: Path, table: FloatMatrix, place: str = "model.onnx", *, segments: bool = True, **config: Any
) -> Path:
    """Logits are the sum of rows of `table`: for each word piece of the premise one of the first half, of the hypothesis one of
    the second; without `segments` the model does not tell them apart. Padding has rows too, which the mask must hide.
    """
    import onnx
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
    from onnx.numpy_helper import from_array

    size = ["pairs", "length"]
    names = ("token_type_ids", "attention_mask", "input_ids") if segments else ("input_ids", "attention_mask")
    nodes = [
        make_node("Mul", ["token_type_ids" if segments else "nothing", "half"], ["moved"]),
        make_node("Add", ["input_ids", "moved"], ["rows"]),
        make_node("Gather", ["table", "rows"], ["found"]),
        make_node("Cast", ["attention_mask"], ["shown"], to=TensorProto.FLOAT),
        make_node("Unsqueeze", ["shown", "last"], ["mask"]),
        make_node("Mul", ["found", "mask"], ["kept"]),
        make_node("ReduceSum", ["kept", "middle"], ["logits"], keepdims=0),
    ]
    constants = {
        "table": table,
        "half": np.array(len(WORDS)),
        "nothing": np.array(0),
        "last": np.array([2]),
        "middle": np.array([1]),
    }
    graph = make_graph(
        nodes,
        "classifier",
        [make_tensor_value_info(name, TensorProto.INT64, size) for name in names],
        [make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", table.shape[1]])],
        [from_array(value, name) for name, value in constants.items()],
    )
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=9), folder / place)
    labels = {str(number): label for number, label in enumerate(LABELS)}
    written = {"id2label": labels, "max_position_embeddings": 40, "pad_token_id": PADDING, **config}
    (folder / "config.json").write_text(json.dumps(written))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    return folder


def table(premise: dict[str, FloatMatrix], hypothesis: dict[str, FloatMatrix], width: int = 3) -> FloatMatrix:
    """Rows of 0 for all other words, but padding speaks loudly for entailment."""
    made = np.zeros((2 * len(WORDS), width), dtype=np.float32)
    made[PADDING] = 1000 * ENTAILMENT[:width]
    for start, rows in ((0, premise), (len(WORDS), hypothesis)):
        for word, row in rows.items():
            made[start + WORDS.index(word)] = row
    return made
