"""Classifiers of entailment: tiny models as ONNX made here, whose logits can be worked out by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.entailment import INSTALLED, installed_entailment, open_entailment
from tiny_classifier import CONTRADICTION, ENTAILMENT, NEUTRAL, WORDS, table, write_tiny_classifier


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_what_entails_is_the_likeliest_label_of_a_pair_in_its_order(tmp_path: Path, place: str) -> None:
    """UnitStatement of `the city of oslo`, oslo follows; the other way round it is open; bergen is denied."""
    rows = table({"city": ENTAILMENT}, {"city": 2 * NEUTRAL, "bergen": 3 * CONTRADICTION})
    model = open_entailment(str(write_tiny_classifier(tmp_path, rows, place)))
    long, short = "where? the city of oslo", "where? oslo"
    assert model.entails([(long, short), (short, long), (long, "bergen"), (long, long)]) == [True, False, False, False]
    assert model.entails([]) == []


def by_hand(rows: FloatMatrix, premise: Sequence[str], hypothesis: Sequence[str]) -> int:
    total = np.zeros(3)
    for start, words in ((0, ["<s>", *premise, "</s>"]), (len(WORDS), hypothesis)):
        for word in words:
            total = total + rows[start + WORDS.index(word)]
    return int(np.argmax(total))


def test_a_random_model_over_more_pairs_than_one_batch(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    rows = chance.normal(size=(2 * len(WORDS), 3)).astype(np.float32)
    model = open_entailment(str(write_tiny_classifier(tmp_path, rows)))
    pairs = [[list(chance.choice(WORDS[4:], chance.integers(1, 9))) for _ in range(2)] for _ in range(100)]
    found = model.entails([(" ".join(one), " ".join(other)) for one, other in pairs])
    assert found == [by_hand(rows, one, other) == 1 for one, other in pairs]
    assert {True, False} == set(found)


def test_labels_may_stand_in_any_order_and_case(tmp_path: Path) -> None:
    rows = table({}, {"oslo": NEUTRAL})
    folder = write_tiny_classifier(tmp_path, rows, id2label={"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"})
    assert open_entailment(str(folder)).entails([("oslo", "oslo"), ("oslo", "city")]) == [True, False]


def test_a_model_without_segments_is_not_given_any(tmp_path: Path) -> None:
    rows = table({"oslo": ENTAILMENT, "bergen": 2 * NEUTRAL}, {})
    model = open_entailment(str(write_tiny_classifier(tmp_path, rows, segments=False)))
    assert model.entails([("oslo", "the"), ("oslo", "bergen"), ("the", "oslo")]) == [True, False, True]


def test_two_labels_are_enough(tmp_path: Path) -> None:
    rows = table({}, {"oslo": np.array([0, 1], dtype=np.float32)}, width=2)
    folder = write_tiny_classifier(tmp_path, rows, id2label={"0": "not_entailment", "1": "entailment"})
    assert open_entailment(str(folder)).entails([("oslo", "oslo"), ("oslo", "city")]) == [True, False]


def test_pairs_beyond_the_models_limit_are_cut_where_they_are_longer(tmp_path: Path) -> None:
    """10 positions, 2 of them unused, 2 special pieces: 6 words in all."""
    rows = table({"bergen": CONTRADICTION}, {"oslo": ENTAILMENT})
    model = open_entailment(str(write_tiny_classifier(tmp_path, rows, max_position_embeddings=10)))
    assert model.entails([("the " * 5 + "bergen", "oslo"), ("the " * 4 + "bergen bergen", "oslo")]) == [True, False]
    assert model.entails([("the " * 500, "oslo " * 500)]) == [True]


def test_a_lone_surrogate_does_not_stop_it(tmp_path: Path) -> None:
    model = open_entailment(str(write_tiny_classifier(tmp_path, table({}, {"oslo": ENTAILMENT}))))
    assert model.entails([("\ud800", "oslo \udc00")]) == [True]


@pytest.mark.parametrize(
    "labels", [{"0": "LABEL_0", "1": "LABEL_1"}, {"0": "entailment"}, None, ["entailment", "neutral"]]
)
def test_a_model_of_another_task_is_refused(tmp_path: Path, labels: Any) -> None:
    folder = write_tiny_classifier(tmp_path, table({}, {}), id2label=labels)
    with pytest.raises(ModelUnavailable, match="trained for natural language inference"):
        open_entailment(str(folder))


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_a_missing_or_broken_file_is_named(tmp_path: Path, file: str) -> None:
    folder = write_tiny_classifier(tmp_path, table({}, {}))
    for spoil in ((folder / file).write_text, lambda _: (folder / file).unlink()):
        spoil("{")
        with pytest.raises(ModelUnavailable, match=f"its {file} cannot be read"):
            open_entailment(str(folder))


def test_a_graph_that_is_none_or_of_another_shape_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_classifier(tmp_path, np.zeros((2 * len(WORDS), 4), dtype=np.float32))
    with pytest.raises(ModelUnavailable, match=r"shape \(1, 4\) for 1 pairs and 3 labels"):
        open_entailment(str(folder)).entails([("a", "b")])
    folder = write_tiny_classifier(tmp_path, np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ModelUnavailable, match="cannot compute"):
        open_entailment(str(folder)).entails([("oslo", "oslo")])
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelUnavailable, match="cannot be loaded by onnxruntime"):
        open_entailment(str(folder))


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the optional package is installed")
def test_without_a_graph_the_optional_package_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no folder with model\.onnx .*`pip install hoptrail\[sentence-transf"):
        open_entailment(str(tmp_path / "absent"))


@pytest.mark.parametrize("name", INSTALLED)
def test_a_classifier_in_the_cache_of_models_is_found_there(tmp_path: Path, name: str) -> None:
    """Nothing is fetched: one that is not there, or not whole, is none."""
    assert installed_entailment(tmp_path) is None
    place = tmp_path / f"models--{name.replace('/', '--')}"
    folder = place / "snapshots" / "c0ffee"
    folder.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("c0ffee")
    (folder / "config.json").write_text("{}")
    assert installed_entailment(tmp_path) is None
    write_tiny_classifier(folder, table({"city": ENTAILMENT}, {}))
    found = installed_entailment(tmp_path)
    assert found == folder
    assert open_entailment(str(found)).entails([("city", "city")]) == [True]
