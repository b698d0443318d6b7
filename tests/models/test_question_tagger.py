"""The question tagger: its network against a second implementation, its places, and what it learned, on rows by another hand."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from training.question_rows import QuestionExample, judged

from hoptrail.errors import ModelUnavailable
from hoptrail.models.local import packaged_folder
from hoptrail.models.networks import read_reader_weights, reader_folder
from hoptrail.models.onnx_runtime import read_weights
from hoptrail.models.question_tagger import (
    QUESTIONS,
    QuestionTagger,
    WantedReply,
    tag_message,
    tag_question,
    tag_text,
    tag_time,
)
from hoptrail.text.words import words
from tiny_bert import plain_bert

WORDS = "embeddings.word_embeddings.weight"


def test_the_network_is_that_of_a_second_implementation() -> None:
    message = "thank you so much"
    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    encoded = tokenizer.encode(message, add_special_tokens=False)
    words = read_weights(packaged_folder() / "model.safetensors")[WORDS]
    weights = {**read_reader_weights(reader_folder(), QUESTIONS), WORDS: words}
    pieces = [101, *encoded.ids, 102]
    hidden = plain_bert(weights, layers=6, heads=12, pieces=pieces, second_from=len(pieces))
    reply = hidden[0] @ weights["reply.weight"].T + weights["reply.bias"]
    assert tag_message(message).reply is WantedReply(int(np.argmax(reply)))


def test_places_are_those_of_the_text() -> None:
    message = "Hi, quick one: when was the boiler last serviced? Thanks!"
    ((start, end),) = tag_message(message).asked
    assert message[start:end] == "when was the boiler last serviced?"
    question = "When was the person who signed the lease of Mill Lane 4 born?"
    described = tag_question(question).inner
    assert described
    assert question[slice(*described)] == "the person who signed the lease of Mill Lane 4"
    text = "Yard book: • The Gull was drawn by Ida Berg in the spring at Dunmere. • She was paid in June."
    marked = tag_text("Who drew the Gull?", text)
    assert [text[start:end] for (start, end), _ in marked] == ["Ida Berg"]
    assert all(likely <= 0 for _, likely in marked)


@pytest.mark.parametrize("text", ["", " ", "?", "\x00\x01", "\ud83d", "😀 when?", "ﬁ", "a" * 3000])
def test_odd_texts_are_tagged(text: str) -> None:
    tags = tag_message(text)
    described = tag_question(text).inner
    times = tag_time(text).places
    marked = [place for place, _ in tag_text("Who was present?", text)]
    assert all(
        0 <= start <= end <= len(text) for start, end in (*tags.asked, *times, *marked, *filter(None, [described]))
    )


@given(st.text(max_size=80))
@settings(max_examples=40, deadline=None)
def test_places_lie_within_any_text(text: str) -> None:
    asked = tag_message(text).asked
    assert all(0 <= start < end <= len(text) for start, end in asked)
    assert all(end <= start for (_, end), (start, _) in pairwise(asked))


def test_a_long_message_is_tagged_in_stretches() -> None:
    filler = "The committee met again and the minutes were read out in full. " * 40
    message = f"{filler}When was the boiler last serviced? {filler}"
    started = time.process_time()
    asked = [message[start:end] for start, end in tag_message(message).asked]
    assert "When was the boiler last serviced?" in asked
    assert time.process_time() - started < 2


def test_weights_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"questions\.npz cannot be read"):
        QuestionTagger(tmp_path)


def plain(text: str) -> list[str]:
    return [word.lower for word in words(text) if word.lower not in {"and", "so", "the", "a", "an"}]


def pieces_of(example: QuestionExample) -> list[list[str]]:
    return [plain(example.message[start:end]) for start, end in example.asked or ()]


def finds_questions(example: QuestionExample) -> bool:
    tags = tag_message(example.message)
    return [plain(example.message[start:end]) for start, end in tags.asked] == pieces_of(example)


def finds_description(example: QuestionExample) -> bool:
    places = (tag_question(example.message).inner, example.inner)
    return len({" ".join(plain(example.message[slice(*place)])) if place else "" for place in places}) == 1


@pytest.mark.parametrize(
    ("concerns", "is_right", "least"),
    [
        (
            lambda one: one.reply and one.asked is not None,
            lambda one: tag_message(one.message).reply is one.reply,
            0.93,
        ),
        (lambda one: one.reply and one.asked is not None, finds_questions, 0.8),
        (lambda one: one.form is not None, finds_description, 0.75),
        (lambda one: one.relation is not None, lambda one: tag_time(one.message).relation is one.relation, 0.79),
    ],
    ids=["reply", "asked", "description", "times"],
)
def test_rows_by_another_hand_are_tagged_rightly(
    concerns: Callable[[QuestionExample], bool], is_right: Callable[[QuestionExample], bool], least: float
) -> None:
    rows = [one for one in judged() if concerns(one)]
    outcomes = Counter(is_right(one) for one in rows)
    assert len(rows) >= 140
    assert outcomes[True] / len(rows) >= least


def test_a_message_without_a_question_has_none() -> None:
    assert tag_message("thanks!").asked == ()
    assert tag_message("thanks!").reply is WantedReply.THANKS


def test_what_a_question_compares_is_marked() -> None:
    compared = {
        "What is the difference between a hard link and a soft link?": ("a hard link", "a soft link"),
        "how do oak and ash differ in handling": ("oak", "ash"),
        "What is the difference between apt and dpkg and when should I use each?": ("apt", "dpkg"),
        "Why is it different now?": (),
        "Why did Ada move to Foss?": (),
    }
    for question, sides in compared.items():
        assert tuple(question[start:end] for start, end in tag_question(question).sides) == sides
