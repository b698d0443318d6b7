"""The writer of follow-ups: its steps against a second implementation, what it copies, and what it learned."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from training.follow_up_rows import copied_from
from training.question_rows import JUDGED
from training.sources import read_lines

from hoptrail.errors import ModelUnavailable
from hoptrail.models.follow_up_writer import SMALL, WRITER, FollowUpWriter, source_of, write_follow_up
from hoptrail.models.local import packaged_folder
from hoptrail.models.networks import read_reader_weights, reader_folder
from hoptrail.models.onnx_runtime import read_weights
from tiny_bert import plain_bert

WORDS = "embeddings.word_embeddings.weight"
BEFORE = (("Who designed the Candlerock Lighthouse?", "Ilse Marrow"),)
JUDGED_RIGHT = 0.6
"""Of 140 follow-ups by another hand, the share that is written in the very words of the key, articles and case apart."""


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def plain(text: str) -> list[str]:
    said = re.findall(r"\w+", text.lower().replace("’", "'").replace("'s", ""))
    return [word for word in said if word not in {"the", "a", "an"}]


def test_a_text_is_as_likely_as_by_a_second_implementation(tokenizer: Tokenizer) -> None:
    written = write_follow_up("and when was she born?", BEFORE)
    weights = read_reader_weights(reader_folder(), WRITER)
    own = {name.removeprefix("writer."): one.astype(np.float64) for name, one in weights.items()}
    source = source_of("and when was she born?", BEFORE, tokenizer)
    words = read_weights(packaged_folder() / "model.safetensors")[WORDS]
    second = source.ids.index(102) + 1
    hidden = plain_bert({**weights, WORDS: words}, layers=6, heads=12, pieces=list(source.ids), second_from=second)
    states = np.concatenate([own["small"], hidden])
    pieces = [*(tokenizer.token_to_id(word) or 0 for word in SMALL), *source.ids]
    said = [*tokenizer.encode(written.text, add_special_tokens=False).ids, 101]
    places = copied_from(pieces, said)
    assert places

    def through(name: str, values: np.ndarray) -> np.ndarray:
        found: np.ndarray = own[f"{name}.weight"] @ values + own[f"{name}.bias"]
        return found

    state, given, likely = np.tanh(through("init", states[len(SMALL)])), own["start"], 0.0
    for step, place in enumerate(places):
        ahead, behind = through_gates(own, "ih", given), through_gates(own, "hh", state)
        reset, update = (1 / (1 + np.exp(-ahead[gate] - behind[gate])) for gate in (0, 1))
        state = update * state + (1 - update) * np.tanh(ahead[2] + reset * behind[2])
        open_ = np.array([piece != 102 for piece in pieces])
        near = np.array([through("near_keys", one) @ through("near", state) for one in states]) / 128**0.5
        near = np.exp(near - near.max()) * open_
        context = np.tanh(through("mix", np.concatenate([(near / near.sum()) @ states, state])))
        logits = np.array([through("keys", one) @ through("query", context) for one in states]) / 128**0.5
        for copied in set(places[:step]):
            logits[copied] += own["again"][0]
        if step and places[step - 1] + 1 < len(logits):
            logits[places[step - 1] + 1] += own["next"][0] + through("goes_on", context)[0]
        logits[~open_] = -np.inf
        shares = np.exp(logits - logits.max())
        likely += np.log(shares[np.array(pieces) == said[step]].sum() / shares.sum())
        given = through("inputs", states[place])
    # The trunk's products are in eight bits there, and a word piece may be copied from several places.
    assert np.exp(likely) == pytest.approx(written.probability, abs=0.05)
    assert written.probability > 0.5


def through_gates(own: dict[str, np.ndarray], name: str, values: np.ndarray) -> list[np.ndarray]:
    """The three gates of the recurrent unit: reset, update, new."""
    return np.split(own[f"cell.weight_{name}"] @ values + own[f"cell.bias_{name}"], 3)


def test_what_goes_on_in_its_text_is_copied_as_it_stands() -> None:
    before = (("Who signed the lease of Unit 4-B (the mill)?", "Zoë O'Neill-Berg"),)
    assert write_follow_up("and when did she sign it?", before).text.startswith("When did Zoë O'Neill-Berg sign ")
    orla = (("Who designed the lighthouse?", "Orla Finch"),)
    assert write_follow_up("and where was she born?", orla).text == "Where was Orla Finch born?"
    assert write_follow_up("why?", (("Is the gym open on Sundays?", "yes"),)).text == "Why is the gym open on Sundays?"


@pytest.mark.parametrize("length", [12, 36, 60, 80, 400])
def test_a_long_question_is_not_cut(length: int) -> None:
    words = " ".join(f"pier {at}" for at in range(length // 2 - 3))
    question = f"What did Ilse Marrow write about {words} in 1871?"
    assert write_follow_up(question, BEFORE).text == question


@pytest.mark.parametrize("text", ["", " ", "?", "\x00\x01", "\ud83d", "😀 when?", "ﬁ", "a" * 3000, "wann?", "いつ?"])
def test_odd_texts_are_copied(text: str) -> None:
    for message, before in ((text, BEFORE), ("and when?", ((text, text),))):
        assert 0 <= write_follow_up(message, before).probability <= 1.0001


def test_only_the_two_turns_before_are_read(tokenizer: Tokenizer) -> None:
    turns = [(f"Who is number {at}?", f"Ada {at}") for at in range(5)]
    assert source_of("and where?", turns, tokenizer).texts == (
        *("and where?", "Who is number 4?", "Ada 4"),
        *("Who is number 3?", "Ada 3"),
    )


def test_the_places_have_the_fewest_jumps() -> None:
    pieces = [7, 8, 9, *range(100, 100 + len(SMALL)), 101, 8, 9, 7, 8, 9, 5]
    assert copied_from(pieces, [7, 8, 9, 5]) == [len(SMALL) + 6 + at for at in range(4)]
    assert copied_from(pieces, [7, 44]) is None


def test_follow_ups_by_another_hand_are_written_in_the_words_of_the_key() -> None:
    rows = [row for row in read_lines(JUDGED / "follow-ups.jsonl") if row["asked"]]
    right = 0
    for row in rows:
        before = tuple((question, answer) for question, answer in row["before"])
        right += plain(write_follow_up(row["message"], before).text) in map(plain, row["asked"])
    assert right / len(rows) >= JUDGED_RIGHT


def test_missing_weights_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        FollowUpWriter(tmp_path)
