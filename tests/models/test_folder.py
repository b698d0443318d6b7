"""Model folders: what is honoured, and that everything we do not compute is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from hoptrail.errors import ModelUnavailable
from hoptrail.models import local
from hoptrail.models.local import encoder_from_folder
from hoptrail.models.onnx_runtime import digest_of, read_weights
from tiny_bert import HEADS, LAYERS, plain_bert, random_weights, write_network, write_safetensors

SENTENCE, PIECES = "The older harbour of Oslo?", [2, 5, 10, 11, 6, 7, 8, 12, 3]
Edit = Callable[..., Path]


def expected(pieces: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    mean = plain_bert(random_weights(), LAYERS, HEADS, pieces).mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_sizes_of_the_folder_are_honoured(tiny_folder: Path) -> None:
    encoder = encoder_from_folder(tiny_folder)
    assert encoder.identity.name == str(tiny_folder)
    assert encoder.identity.digest == digest_of(tiny_folder / "onnx" / "model.onnx")
    assert encoder.identity.dimension == 8
    vectors = encoder.encode(["the", SENTENCE])
    assert np.abs(vectors[1] - expected(PIECES)).max() < 1e-5


@pytest.mark.parametrize(
    ("file", "values", "pieces"),
    [
        ("sentence_bert_config.json", {"max_seq_length": 5}, 5),
        ("sentence_bert_config.json", {"max_seq_length": 5000}, 16),
        ("sentence_bert_config.json", {"max_seq_length": None}, 16),
    ],
)
def test_the_limit_is_the_folders(edit: Edit, file: str, values: dict[str, object], pieces: int) -> None:
    encoder = encoder_from_folder(edit(file, **values))
    assert len(encoder.encode_tokens(["harbour " * 30])[0]) == pieces - 2


def test_the_limit_of_newer_layouts(edit: Edit, tiny_folder: Path) -> None:
    (tiny_folder / "sentence_bert_config.json").unlink()
    edit("tokenizer_config.json", model_max_length=7)
    edit("1_Pooling/config.json", pooling_mode="mean")
    assert len(encoder_from_folder(tiny_folder).encode_tokens(["harbour " * 30])[0]) == 5


@pytest.mark.parametrize(
    ("file", "values", "reason"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pools by cls_token"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}, "pools by nothing"),
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "pools by lasttoken"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "lowers the case"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "prompt"),
    ],
)
def test_other_models_are_refused_by_name(edit: Edit, file: str, values: dict[str, object], reason: str) -> None:
    folder = edit(file, **values)
    with pytest.raises(ModelUnavailable, match=reason) as caught:
        encoder_from_folder(folder)
    assert str(folder) in str(caught.value)


def test_further_layers_are_refused(tiny_folder: Path) -> None:
    modules = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Dense")]
    (tiny_folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelUnavailable, match="layers Dense"):
        encoder_from_folder(tiny_folder)


@pytest.mark.parametrize("name", ["config.json", "onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"])
def test_a_missing_file_is_named(tiny_folder: Path, name: str) -> None:
    (tiny_folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=f"it has no {name}"):
        encoder_from_folder(tiny_folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "1_Pooling/config.json", "modules.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"7", b'["x"]'])
def test_a_broken_file_is_refused(tiny_folder: Path, name: str, content: bytes) -> None:
    (tiny_folder / name).write_bytes(content)
    with pytest.raises(ModelUnavailable, match=name):
        encoder_from_folder(tiny_folder).encode([SENTENCE])


def test_a_width_that_the_network_does_not_have_is_refused(edit: Edit) -> None:
    with pytest.raises(ModelUnavailable, match=r"shape \(1, 9, 8\) .* not vectors of 9"):
        encoder_from_folder(edit("config.json", hidden_size=9)).encode([SENTENCE])


@pytest.mark.parametrize("kept", [0, 100, 2000])
def test_a_truncated_network_is_refused(tiny_folder: Path, kept: int) -> None:
    path = tiny_folder / "onnx" / "model.onnx"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelUnavailable, match=r"onnx/model\.onnx cannot be used"):
        encoder_from_folder(tiny_folder).encode([SENTENCE])


def test_an_altered_network_is_refused(tiny_folder: Path) -> None:
    encoder = encoder_from_folder(tiny_folder)
    write_network(tiny_folder / "onnx" / "model.onnx", random_weights(8))
    with pytest.raises(ModelUnavailable, match="altered"):
        encoder.encode([SENTENCE])


def test_a_larger_vocabulary_than_the_network_is_refused(tiny_folder: Path) -> None:
    weights = random_weights()
    weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][:-4]
    write_network(tiny_folder / "onnx" / "model.onnx", weights)
    with pytest.raises(ModelUnavailable, match=r"onnx/model\.onnx failed"):
        encoder_from_folder(tiny_folder).encode([SENTENCE])


def test_a_network_that_takes_something_else_is_refused(tiny_folder: Path) -> None:
    path = tiny_folder / "onnx" / "model.onnx"
    model = onnx.load(path)
    model.graph.input.append(onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, (1,)))
    onnx.save(model, path)
    with pytest.raises(ModelUnavailable, match="takes pixels"):
        encoder_from_folder(tiny_folder).encode([SENTENCE])


def test_weights_in_a_second_file_are_refused(tiny_folder: Path) -> None:
    (tiny_folder / "onnx" / "model.onnx_data").write_bytes(b"7")
    with pytest.raises(ModelUnavailable, match="second file"):
        encoder_from_folder(tiny_folder)


def test_a_network_may_be_a_link_and_stand_beside_the_others(tiny_folder: Path, tmp_path: Path) -> None:
    """As in the caches of model hubs."""
    expected = encoder_from_folder(tiny_folder).encode(["harbour"])
    (tmp_path / "blobs").mkdir()
    (tiny_folder / "onnx" / "model.onnx").rename(tmp_path / "blobs" / "d41d8c")
    (tiny_folder / "model.onnx").symlink_to(tmp_path / "blobs" / "d41d8c")
    assert np.array_equal(encoder_from_folder(tiny_folder).encode(["harbour"]), expected)


def test_vectors_do_not_depend_on_the_batch(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PADDING", 100)
    encoder = encoder_from_folder(tiny_folder)
    alone, together = encoder.encode([SENTENCE]), encoder.encode(["the", SENTENCE, "old harbour"])
    assert np.abs(together[1] - alone[0]).max() < 1e-6


def test_half_precision_weights_are_widened(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {name: tensor.astype(np.float16) for name, tensor in random_weights().items()})
    for name, tensor in read_weights(path).items():
        assert tensor.dtype == np.float32
        assert np.abs(tensor - random_weights()[name]).max() < 0.01


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_safetensors(path, random_weights() | {"embeddings.position_ids": np.arange(4)})
    weights = read_weights(path)
    assert set(weights) == set(random_weights())
    assert all(np.array_equal(weights[name], tensor) for name, tensor in random_weights().items())


@pytest.mark.parametrize("kept", [0, 4, 8, 100, -1])
def test_truncated_weights_are_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model.safetensors"
    write_safetensors(path, random_weights())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors"):
        read_weights(path)


@pytest.mark.parametrize(
    "header",
    [b"[]", b"{", b'{"a": 1}', b'{"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}', b"\xff" * 9]
    + [
        b'{"a": {"dtype": "F32", "shape": %s, "data_offsets": %s}}' % pair
        for pair in [(b"[2]", b"[0, 4]"), (b"[-1]", b"[4, 0]")]
    ]
    + [b'{"a": {"dtype": "F32", "shape": ["x"], "data_offsets": [0, 4]}}', b'{"a": {"dtype": "", "shape": []}}'],
)
def test_strange_headers_are_refused(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x00" * 16)
    with pytest.raises(ModelUnavailable, match="fetch it again"):
        read_weights(path)
