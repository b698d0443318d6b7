"""The graphs that ship, and their weights: those of the encoder's file stay there, others are handed over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from training.graphs import encoder_graph, reader_graph, shipped_graphs
from training.sizes import BertSizes

from hoptrail.models.local import packaged_folder
from hoptrail.models.onnx_runtime import (
    GRAPHS,
    SIGNED,
    UNSIGNED,
    ZERO,
    Session,
    Tensors,
    Weights,
    in_eight_bits,
    kind_of_weights,
    read_weights,
)
from tiny_bert import HEADS, LAYERS, WIDTH, random_heads, random_weights

PIECES = np.array([[101, 1037, 2773, 102]], np.int64)
BATCH: Tensors = {"pieces": PIECES, "positions": np.arange(4), "mask": np.ones((1, 4), np.float32)}
SIZES = BertSizes(LAYERS, HEADS, WIDTH)


@pytest.fixture(scope="module")
def weights() -> Weights:
    return read_weights(packaged_folder() / "model.safetensors")


def test_the_graphs_that_ship_are_those_that_training_writes() -> None:
    written = shipped_graphs()
    assert sorted(path.name for path in GRAPHS.iterdir()) == sorted(written)
    for name, model in written.items():
        assert onnx.load(str(GRAPHS / name), load_external_data=False) == model, (
            f"{name}: run python -m training.graphs"
        )


@pytest.mark.parametrize("kind", ["", SIGNED, UNSIGNED])
def test_graphs_are_valid_to_the_reference_checker(kind: str) -> None:
    plain = random_weights() | random_heads(WIDTH)
    every: Tensors = plain | in_eight_bits(plain, kind) if kind else plain
    for model in (encoder_graph(every, SIZES), reader_graph(every, SIZES)):
        for tensor in model.graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:  # which the checker does not know
                tensor.CopyFrom(onnx.numpy_helper.from_array(every[tensor.name], tensor.name))
        onnx.checker.check_model(model, full_check=True)


_ANONYMOUS = """
import re, sys
from hoptrail.models.local import MiniLmEncoder
from pathlib import Path
import onnxruntime, tokenizers
status = Path("/proc/self/status")
used = lambda: int(re.search(r"RssAnon:\\s+(\\d+) kB", status.read_text())[1]) / 1024
before = used()
MiniLmEncoder().encode(["harbour"])
print(used() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells how much memory is a process's own")
def test_weights_of_the_file_are_not_copied() -> None:
    done = subprocess.run([sys.executable, "-c", _ANONYMOUS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 60, "megabytes; the weights have 90"


def test_loading_needs_few_open_files() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
        "from hoptrail.models.local import MiniLmEncoder; print(MiniLmEncoder().encode(['harbour']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(1, 384)", done.stderr


def test_signed_and_unsigned_weights_give_the_same(weights: Weights) -> None:
    layers = {name: values for name, values in weights.items() if name.startswith("encoder.")}
    found = []
    for kind in (kind_of_weights(), UNSIGNED):
        session = Session(f"encoder-{kind}", 1, packaged_folder().resolve(), in_eight_bits(layers, kind))
        found += session.run(["vectors"], BATCH)
    assert np.array_equal(found[0], found[1])


def test_signed_weights_fit_their_graph(weights: Weights) -> None:
    layers = {name: values for name, values in weights.items() if name.startswith("encoder.")}
    found = [
        Session(f"encoder-{kind}", 1, packaged_folder().resolve(), in_eight_bits(layers, kind)).run(["vectors"], BATCH)
        for kind in (SIGNED, UNSIGNED)
    ]
    assert (found[0][0] * found[1][0]).sum() > 0.9  # sums of two products may be cut off


def test_weights_that_the_graph_does_not_take_are_refused(weights: Weights) -> None:
    folder = packaged_folder().resolve()
    layers = {name: values for name, values in weights.items() if name.startswith("encoder.")}
    given = in_eight_bits(layers, UNSIGNED)
    graph = f"encoder-{UNSIGNED}"
    with pytest.raises(ValueError, match="nobody"):
        Session(graph, 1, folder, {**given, "nobody": np.ones((64, 64), np.float32)})
    with pytest.raises(ValueError, match="given"):
        Session(graph, 1, folder)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        Session(graph, 1, GRAPHS, given)


@pytest.mark.parametrize("kind", [SIGNED, UNSIGNED])
def test_whole_numbers_are_near_and_few_weights_stay(kind: str) -> None:
    many = np.random.default_rng(1).normal(size=(48, 64)).astype(np.float32)
    many[3] = 0
    found = in_eight_bits({"few": many[:2], "many": many, "embeddings.many": many, "bias": many.ravel()}, kind)
    assert sorted(found) == ["many.scale", "many.whole"]
    assert found["many.whole"].dtype == kind
    assert found["many.whole"].shape == (64, 48)
    back = (found["many.whole"].astype(np.float32) - ZERO[kind]).T * found["many.scale"][:, np.newaxis]
    assert np.abs(back - many).max() <= found["many.scale"].max() / 2 * 1.001
    assert not back[3].any()
