"""Turns examples into arrays: word pieces of question and text, cropped around the answer, in batches of similar length.

    [CLS] question [SEP] (what was read before [SEP]) text [SEP]

The text is the second segment, everything before it the first. If the text does not answer, start and end are at [CLS].
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from training.examples import Example

Integers = NDArray[np.int64]

UNTAUGHT = -1
"""The label of an unknown judgement."""

LONGEST_QUESTION, LONGEST_BEFORE = 40, 64
"""Maximum number of word pieces of a sequence in training."""

_CLS, _SEP = 101, 102


@dataclass(frozen=True, slots=True)
class Pieces:
    """One example as numbers: its word pieces, the position of its text among them, and the labels."""

    ids: list[int]
    text_at: int
    start: int
    end: int
    verdict: int
    helps: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded examples. The first four have shape (examples, length), the labels (examples).

    `segments` is 1 in the text; `mask` is 0 for padding; `allowed` is 1 where an answer may begin or end.
    """

    ids: Integers
    segments: Integers
    mask: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    start: Integers
    end: Integers
    verdict: Integers
    helps: Integers


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in word pieces: of a batch with its padding, and of a text, which is cropped to this."""

    batch: int
    text: int


def batches(examples: Sequence[Example], tokenizer: Tokenizer, limits: Limits, draw: random.Random) -> Iterator[Batch]:
    """Batches of examples of similar length, in random order."""
    ready = sorted(encode(examples, tokenizer, limits.text, draw), key=lambda one: len(one.ids))
    groups: list[list[Pieces]] = [[]]
    for pieces in ready:
        if groups[-1] and (len(groups[-1]) + 1) * len(pieces.ids) > limits.batch:
            groups.append([])
        groups[-1].append(pieces)
    draw.shuffle(groups)
    yield from map(pad, groups)


def encode(examples: Sequence[Example], tokenizer: Tokenizer, longest: int, draw: random.Random) -> list[Pieces]:
    """The examples as word pieces, in their order."""
    questions, befores, texts = (
        tokenizer.encode_batch(strings, add_special_tokens=False)
        for strings in (
            [example.question for example in examples],
            [example.before for example in examples],
            [example.text for example in examples],
        )
    )
    together = zip(examples, questions, befores, texts, strict=True)
    return [
        _pieces(example, question.ids, before.ids, text, longest, draw) for example, question, before, text in together
    ]


def _pieces(
    example: Example, question: list[int], before: list[int], text: Encoding, longest: int, draw: random.Random
) -> Pieces:
    ids = [_CLS, *question[:LONGEST_QUESTION], _SEP]
    if before:
        ids += [*before[:LONGEST_BEFORE], _SEP]
    first, last = _answer_pieces(example, text)
    crop = _crop(len(text.ids), first, last, longest, draw)
    shift = len(ids) - crop
    start = end = UNTAUGHT if example.answered is None else 0
    if example.answered:
        start, end = first + shift, min(last, crop + longest - 1) + shift
    return Pieces(
        ids=[*ids, *text.ids[crop : crop + longest], _SEP],
        text_at=len(ids),
        start=start,
        end=end,
        verdict=UNTAUGHT if example.verdict is None else int(example.verdict),
        helps=UNTAUGHT if example.helps is None else int(example.helps),
    )


def _answer_pieces(example: Example, text: Encoding) -> tuple[int, int]:
    """The first and the last word piece of the answer; 0 and 0 where there is none."""
    if not example.answered:
        return 0, 0
    within = [
        place
        for place, (start, end) in enumerate(text.offsets)
        if end > example.start and start < example.end and end > start
    ]
    return (within[0], within[-1]) if within else (0, 0)


def _crop(length: int, first: int, last: int, longest: int, draw: random.Random) -> int:
    """The start of the crop that keeps the answer whole if possible; 0 for texts without an answer."""
    if length <= longest or last < longest // 2:
        return 0
    return draw.randint(max(0, min(first, last - longest + 1)), max(0, min(first, length - longest)))


def pad(group: Sequence[Pieces]) -> Batch:
    """One batch of a group of examples."""
    shape = (len(group), max(len(one.ids) for one in group))
    ids, segments = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    mask, allowed = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for place, one in enumerate(group):
        ids[place, : len(one.ids)] = one.ids
        segments[place, one.text_at : len(one.ids)] = 1
        mask[place, : len(one.ids)] = True
        allowed[place, 0] = True
        allowed[place, one.text_at : len(one.ids) - 1] = True
    right = np.array([(one.start, one.end, one.verdict, one.helps) for one in group], np.int64)
    return Batch(ids, segments, mask, allowed, right[:, 0], right[:, 1], right[:, 2], right[:, 3])
