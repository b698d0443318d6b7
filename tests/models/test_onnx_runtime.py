"""Graphs of stored weights: those of a file stay in the file, in other places they are handed over; the results are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.models import onnx_file, onnx_runtime
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.onnx_runtime import EightBitOperations, OnnxOperations, open_session
from hoptrail.models.weights import Place, place_of

PIECES = np.array([[3, 1, 3]], np.int64)


def mapped(path: Path, values: FloatMatrix, offset: int = 24) -> FloatMatrix:
    """The values as a part of a file."""
    path.write_bytes(b"\7" * offset + values.tobytes())
    return np.memmap(path, np.float32, "r", offset, values.shape)


def products(operations: OnnxOperations, table: FloatMatrix, weights: FloatMatrix) -> FloatMatrix:
    """The rows of a table at PIECES times a matrix."""
    found = operations.linear(operations.rows(operations.stored(table), "pieces"), weights)
    model = operations.model({found: ("texts", "length", len(weights))})
    given = {"pieces": PIECES, "positions": np.arange(3), "mask": np.ones((1, 3), np.float32)}
    result: FloatMatrix = open_session(model, operations, 1).run([found], given)[0]
    return result


@pytest.fixture
def table() -> FloatMatrix:
    return np.random.default_rng(0).normal(size=(40, 64)).astype(np.float32)


@pytest.fixture
def weights() -> FloatMatrix:
    return np.random.default_rng(1).normal(size=(48, 64)).astype(np.float32)


def test_weights_of_a_file_are_not_copied(tmp_path: Path, table: FloatMatrix, weights: FloatMatrix) -> None:
    operations = OnnxOperations()
    found = products(operations, mapped(tmp_path / "table", table), mapped(tmp_path / "weights", weights, 4096))
    assert operations.large == {}
    assert operations.folder == tmp_path
    assert np.allclose(found, table[PIECES] @ weights.T, atol=1e-5)
    assert np.array_equal(found, products(OnnxOperations(), table, weights))


def test_weights_in_a_second_folder_are_handed_over(tmp_path: Path, table: FloatMatrix, weights: FloatMatrix) -> None:
    (tmp_path / "other").mkdir()
    operations = OnnxOperations()
    found = products(operations, mapped(tmp_path / "table", table), mapped(tmp_path / "other" / "weights", weights))
    assert len(operations.large) == 1
    assert np.allclose(found, table[PIECES] @ weights.T, atol=1e-5)


def test_parts_of_a_file_are_read_at_their_places(tmp_path: Path, table: FloatMatrix) -> None:
    whole = mapped(tmp_path / "table", table)
    assert place_of(whole) == Place(tmp_path / "table", 24)
    assert place_of(whole[3:9]) == Place(tmp_path / "table", 24 + 3 * table.strides[0])
    assert place_of(whole.T) is None
    assert place_of(whole[:, :2]) is None
    assert place_of(np.array(whole)) is None
    operations = OnnxOperations()
    assert np.allclose(products(operations, whole[8:], whole), table[8:][PIECES] @ table.T, atol=1e-5)
    assert operations.large == {}


def test_few_weights_stay_in_floats(table: FloatMatrix) -> None:
    few = table[:2]
    exact = products(OnnxOperations(), table, few)
    assert np.array_equal(products(EightBitOperations(), table, few), exact)


def test_loading_needs_few_open_files() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
        "from hoptrail.models.minilm import MiniLmEncoder; print(MiniLmEncoder().encode(['harbour']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(1, 384)", done.stderr


def test_signed_and_unsigned_weights_give_the_same(
    table: FloatMatrix, weights: FloatMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for signed in (onnx_runtime.multiplies_signed_exactly(), False):
        monkeypatch.setattr(onnx_runtime, "multiplies_signed_exactly", lambda signed=signed: signed)
        found.append(products(EightBitOperations(), table, weights))
    assert np.array_equal(found[0], found[1])


def test_products_in_eight_bits_are_near(tmp_path: Path, table: FloatMatrix, weights: FloatMatrix) -> None:
    found = products(EightBitOperations(), mapped(tmp_path / "table", table), weights)
    exact = table[PIECES] @ weights.T
    assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_graphs_are_valid_to_the_reference_checker(table: FloatMatrix, weights: FloatMatrix) -> None:
    for operations in (OnnxOperations(), EightBitOperations()):
        found = operations.gelu(operations.linear(operations.rows(operations.constant(table), "pieces"), weights))
        model = onnx.load_from_string(operations.model({found: ("texts", "length", len(weights))}))
        for tensor in model.graph.initializer:
            if tensor.name in operations.large:  # handed over beside the graph, which the checker does not know
                values = onnx.numpy_helper.from_array(operations.large[tensor.name], tensor.name)
                tensor.CopyFrom(values)
        onnx.checker.check_model(model, full_check=True)


@given(
    st.from_regex(r"[a-zé]{1,300}", fullmatch=True),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(width=32, allow_nan=False), st.text(max_size=300)),
)
def test_attributes_are_read_back_by_the_reference(name: str, value: int | float | str) -> None:
    written = onnx.NodeProto.FromString(onnx_file.node("Any", ["a", "b"], "c", {name: value}, "somewhere"))
    [attribute] = written.attribute
    read = onnx.helper.get_attribute_value(attribute)
    assert (attribute.name, read.decode() if isinstance(read, bytes) else read) == (name, value)
    assert (written.op_type, written.input, written.output, written.domain) == ("Any", ["a", "b"], ["c"], "somewhere")
