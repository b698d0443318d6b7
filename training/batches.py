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

from training.examples import Example, Group

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

    Examples of one question have the same number in `group`. `segments` is 1 in the text; `mask` is 0 for padding; `allowed` is
    1 where an answer may begin or end.
    """

    ids: Integers
    segments: Integers
    mask: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    group: Integers
    start: Integers
    end: Integers
    verdict: Integers
    helps: Integers


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in word pieces: of a batch with its padding, and of a text, which is cropped to this."""

    batch: int
    text: int


def batches(groups: Sequence[Group], tokenizer: Tokenizer, limits: Limits, draw: random.Random) -> Iterator[Batch]:
    """Batches of whole groups of similar length, in random order."""
    encoded = iter(encode([example for group in groups for example in group], tokenizer, limits.text, draw))
    ready = sorted(([next(encoded) for _ in group] for group in groups), key=_longest)
    together: list[list[list[Pieces]]] = [[]]
    for pieces in ready:
        if together[-1] and sum(map(len, (*together[-1], pieces))) * _longest(pieces) > limits.batch:
            together.append([])
        together[-1].append(pieces)
    draw.shuffle(together)
    yield from map(pad, together)


def _longest(group: Sequence[Pieces]) -> int:
    return max(len(one.ids) for one in group)


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
    first, last = _kept_pieces(example, text)
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


def _kept_pieces(example: Example, text: Encoding) -> tuple[int, int]:
    """The first and the last word piece of the answer, or of what comes closest to one; 0 and 0 where there is none."""
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


def pad(groups: Sequence[Sequence[Pieces]]) -> Batch:
    """One batch of some groups of examples."""
    group = [one for pieces in groups for one in pieces]
    numbers = np.repeat(np.arange(len(groups)), [len(pieces) for pieces in groups])
    shape = (len(group), _longest(group))
    ids, segments = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    mask, allowed = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for place, one in enumerate(group):
        ids[place, : len(one.ids)] = one.ids
        segments[place, one.text_at : len(one.ids)] = 1
        mask[place, : len(one.ids)] = True
        allowed[place, 0] = True
        allowed[place, one.text_at : len(one.ids) - 1] = True
    right = np.array([(one.start, one.end, one.verdict, one.helps) for one in group], np.int64)
    return Batch(ids, segments, mask, allowed, numbers, right[:, 0], right[:, 1], right[:, 2], right[:, 3])
