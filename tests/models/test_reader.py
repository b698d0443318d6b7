"""The trained reader with weights made here: the encoder's own trunk under heads of random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.manifest import in_eight_bits

from hoptrail.errors import ModelUnavailable
from hoptrail.models import networks as networks_module
from hoptrail.models import reader as reader_module
from hoptrail.models.local import packaged_folder
from hoptrail.models.networks import read_reader_weights, reader_folder
from hoptrail.models.onnx_runtime import read_weights
from hoptrail.models.reader import Reader, Remembered, ToRead
from language.offline.scripted_reader import ScriptedReader
from tiny_bert import plain_bert, random_heads

WORDS = "embeddings.word_embeddings.weight"
ASKED = ToRead("Who keeps it?", "Harbour\nIda Berg keeps it.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("reader")
    encoder = read_weights(packaged_folder() / "model.safetensors")
    trunk = {name: values for name, values in encoder.items() if name != WORDS and not name.startswith("pooler.")}
    np.savez(found / "weights.npz", allow_pickle=False, **in_eight_bits(trunk | random_heads(384)))
    return found


@pytest.fixture(scope="module")
def reader(folder: Path) -> Reader:
    return Reader(folder)


def head(weights: Mapping[str, NDArray[Any]], name: str, vectors: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vectors @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])


ROUNDED = 0.05
"""What products in eight bits may change a probability by."""


def test_a_reading_is_that_of_a_second_implementation(folder: Path, reader: Reader) -> None:
    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    question, text = (tokenizer.encode(part, add_special_tokens=False) for part in (ASKED.question, ASKED.text))
    pieces, text_at = [101, *question.ids, 102, *text.ids, 102], len(question.ids) + 2
    weights = {**read_reader_weights(folder), WORDS: read_weights(packaged_folder() / "model.safetensors")[WORDS]}
    hidden = plain_bert(weights, layers=6, heads=12, pieces=pieces, second_from=text_at)

    (reading,) = reader.read([ASKED])
    spans = head(weights, "span", hidden)
    inside = spans[text_at:-1]
    first, last = max(
        ((i, j) for i in range(len(inside)) for j in range(i, min(len(inside), i + 20))),
        key=lambda ends: inside[ends[0], 0] + inside[ends[1], 1],
    )
    assert (reading.answers[0].start, reading.answers[0].end) == (text.offsets[first][0], text.offsets[last][1])
    margin = inside[first, 0] + inside[last, 1] - spans[0].sum()
    assert reading.answers[0].margin == pytest.approx(margin, abs=10 * ROUNDED)
    shares = np.exp(head(weights, "verdict", hidden[0]))
    assert [reading.yes, reading.no, reading.neither] == pytest.approx(list(shares / shares.sum()), abs=ROUNDED)
    assert reading.helps == pytest.approx(1 / (1 + np.exp(-head(weights, "helps", hidden[0])[0])), abs=ROUNDED)
    assert reading.settles == pytest.approx(head(weights, "settles", hidden[0])[0], abs=4 * ROUNDED)


def test_a_reading_does_not_depend_on_what_is_read_beside_it(reader: Reader) -> None:
    others = [ToRead("Which ship?", "The old ship lay in the harbour. " * count, "It rained.") for count in (6, 1, 20)]
    together = reader.read([others[0], ASKED, *others[1:]])
    assert together[1] == reader.read([ASKED])[0]


def test_answers_of_one_text_do_not_overlap(reader: Reader) -> None:
    (reading,) = reader.read([ToRead("Who?", "Ida Berg keeps the old harbour of Dunmere, and Bo Marsh the new one.")])
    places = sorted((one.start, one.end) for one in reading.answers)
    assert len(places) > 1
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    assert [one.margin for one in reading.answers] == sorted((one.margin for one in reading.answers), reverse=True)


def test_an_empty_text_answers_nothing_and_nothing_is_read_of_nothing(reader: Reader) -> None:
    (reading,) = reader.read([ToRead("Who keeps the harbour?", "")])
    assert reading.answers == ()
    assert reader.read([]) == []


def test_weights_that_are_missing_or_unusable_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match=r"weights\.npz cannot be read"):
        Reader(tmp_path)
    np.savez(tmp_path / "weights.npz", allow_pickle=False, other=np.zeros(2, np.float16))
    with pytest.raises(ModelUnavailable, match="the weights of 'reader' do not fit: install hoptrail again"):
        Reader(tmp_path)
    monkeypatch.setattr(networks_module, "installed_folder", lambda _: None)
    with pytest.raises(ModelUnavailable, match=r"`pip install \.` in its repository"):
        reader_folder()


PAIRS = [ToRead("Who?", text) for text in ("Ida Berg.", "Bo Marsh.", "Cy Teal.")]


def test_nothing_is_read_twice() -> None:
    reader = ScriptedReader({"Who?": {"Ida Berg": 2.0, "Bo Marsh": 1.0}})
    kept = Remembered(reader)
    first = kept.read([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert kept.read([PAIRS[1], PAIRS[0]]) == [first[1], first[0]]
    assert reader.asked == PAIRS[:2]


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_KEPT", 2)
    reader = ScriptedReader({})
    kept = Remembered(reader)
    for pair in (PAIRS[0], PAIRS[1], PAIRS[0], PAIRS[2], PAIRS[0], PAIRS[1]):
        kept.read([pair])
    assert reader.asked == [*PAIRS, PAIRS[1]]
