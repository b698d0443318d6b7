"""Classifiers of entailment: which label counts, what is refused, and which one is found in the cache of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hoptrail.errors import ModelUnavailable
from hoptrail_papers.sunar.answer_uncertainty import INSTALLED, EntailmentModel, installed_entailment
from word_classifier import CONTRADICTION, ENTAILMENT, NEUTRAL, write_word_classifier

pytestmark = pytest.mark.usefixtures("word_classifiers")


def test_what_entails_is_the_likeliest_label_of_a_pair_in_its_order(tmp_path: Path) -> None:
    long, short = "the city of oslo", "oslo"
    bergen = [3 * value for value in CONTRADICTION]
    folder = write_word_classifier(
        tmp_path, {"city": ENTAILMENT}, {"city": [2 * value for value in NEUTRAL], "bergen": bergen}
    )
    model = EntailmentModel(str(folder))
    assert model.entails([(long, short), (short, long), (long, "bergen")]) == [True, False, False]
    assert model.entails([("\ud800 city", "oslo \udc00")]) == [True]
    assert model.entails([]) == []


def test_the_model_says_which_output_is_entailment(tmp_path: Path) -> None:
    labels = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
    folder = write_word_classifier(tmp_path, {"oslo": NEUTRAL}, {"city": [0.0, 2.0, 0.0]}, id2label=labels)
    assert EntailmentModel(str(folder)).entails([("oslo", "oslo"), ("oslo", "city")]) == [True, False]


@pytest.mark.parametrize(
    "labels", [{"0": "LABEL_0", "1": "LABEL_1"}, {"0": "entailment"}, None, ["entailment", "neutral"]]
)
def test_a_model_of_another_task_is_refused(tmp_path: Path, labels: Any) -> None:
    folder = write_word_classifier(tmp_path, {}, {}, id2label=labels)
    with pytest.raises(ModelUnavailable, match="trained for natural language inference"):
        EntailmentModel(str(folder))


def test_a_model_that_the_package_cannot_load_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"absent cannot be loaded"):
        EntailmentModel(str(tmp_path / "absent"))


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
    write_word_classifier(folder, {"city": ENTAILMENT}, {})
    found = installed_entailment(tmp_path)
    assert found == folder
    assert EntailmentModel(str(found)).entails([("city", "city")]) == [True]
