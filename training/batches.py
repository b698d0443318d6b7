"""Turns examples into arrays: word pieces of question and text, cropped around the answer, end to end in steps of training.

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

from training.examples import JUDGED, Example

Integers = NDArray[np.int64]
UNTAUGHT = -1  # the label of an unknown judgement
LONGEST_QUESTION, LONGEST_BEFORE = 40, 64  # word pieces
_CLS, _SEP = 101, 102


@dataclass(frozen=True, slots=True)
class Pieces:
    """One example as numbers: its word pieces, the position of its text among them, and the labels."""

    ids: list[int]
    text_at: int
    start: int
    end: int
    judged: tuple[int, ...]  # the labels of `JUDGED`, in their order


@dataclass(frozen=True, slots=True)
class Ranked:
    """A question whose statements are ranked: each as pieces, the one that settles it first if `is_settled`."""

    statements: Sequence[Pieces]
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of training learns from, as sequences end to end, without padding.

    `ids` and `segments` (1 in a text) have shape (pieces), `starts` (sequences + 1): where each sequence begins, and the end.
    The first `len(start)` sequences are examples: `allowed`, over their pieces, is true where an answer may begin or end;
    `start` and `end` are their labels, counted from the start of their sequence, and `judged`, shape (examples, judgements).
    The other sequences are statements: `question` has the number of the question of each, `settling` for each question the
    place of its settling statement among them, or `UNTAUGHT`.
    """

    ids: Integers
    segments: Integers
    starts: Integers
    allowed: NDArray[np.bool_]
    start: Integers
    end: Integers
    judged: Integers
    question: Integers
    settling: Integers

    @property
    def longest(self) -> int:
        """Pieces of the longest sequence."""
        return int(np.diff(self.starts).max())


def step_of(examples: Sequence[Pieces], ranked: Sequence[Ranked]) -> Step:
    """The step with these examples and these questions. There must be examples."""
    sequences = [*examples, *(one for asked in ranked for one in asked.statements)]
    starts = np.cumsum([0, *(len(one.ids) for one in sequences)])
    segments = np.zeros(starts[-1], np.int64)
    for one, begin, end in zip(sequences, starts, starts[1:], strict=False):
        segments[begin + one.text_at : end] = 1
    allowed = segments[: starts[len(examples)]] == 1
    allowed[starts[1 : len(examples) + 1] - 1] = False  # the last [SEP]
    allowed[starts[: len(examples)]] = True
    firsts = np.cumsum([0, *(len(asked.statements) for asked in ranked)])
    start, end, *judged = np.array([(one.start, one.end, *one.judged) for one in examples], np.int64).T
    return Step(
        ids=np.concatenate([np.array(one.ids, np.int64) for one in sequences]),
        segments=segments,
        starts=starts,
        allowed=allowed,
        start=start,
        end=end,
        judged=np.stack(judged, axis=1),
        question=np.repeat(np.arange(len(ranked)), np.diff(firsts)),
        settling=np.where([asked.is_settled for asked in ranked], firsts[:-1], UNTAUGHT),
    )


def cut(pieces: Sequence[Pieces], budget: int) -> Iterator[list[Pieces]]:
    """The examples in their order, in parts of about `budget` word pieces; a small rest is left out."""
    part: list[Pieces] = []
    size = 0
    for one in pieces:
        part.append(one)
        size += len(one.ids)
        if size >= budget:
            yield part
            part, size = [], 0
    if 2 * size >= budget:
        yield part


def encode(examples: Sequence[Example], tokenizer: Tokenizer, longest: int, draw: random.Random) -> list[Pieces]:
    """The examples as word pieces, in their order."""
    questions, befores, texts = (
        tokenizer.encode_batch([getattr(example, name) for example in examples], add_special_tokens=False)
        for name in ("question", "before", "text")
    )
    together = zip(examples, questions, befores, texts, strict=True)
    return [_pieces(example, question, before, text, longest, draw) for example, question, before, text in together]


def _pieces(
    example: Example, question: Encoding, before: Encoding, text: Encoding, longest: int, draw: random.Random
) -> Pieces:
    ids = [_CLS, *question.ids[:LONGEST_QUESTION], _SEP]
    if before.ids:
        ids += [*before.ids[:LONGEST_BEFORE], _SEP]
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
        judged=tuple(UNTAUGHT if (label := getattr(example, name)) is None else int(label) for name in JUDGED),
    )


def _answer_pieces(example: Example, text: Encoding) -> tuple[int, int]:
    """The first and the last word piece of the answer; 0 and 0 where there is none."""
    if not example.answered:
        return 0, 0
    offsets = enumerate(text.offsets)
    within = [place for place, (start, end) in offsets if start < end and start < example.end and example.start < end]
    return (within[0], within[-1]) if within else (0, 0)


def _crop(length: int, first: int, last: int, longest: int, draw: random.Random) -> int:
    """The start of the crop that keeps the answer whole if possible; 0 for texts without an answer."""
    if length <= longest or last < longest // 2:
        return 0
    return draw.randint(max(0, min(first, last - longest + 1)), max(0, min(first, length - longest)))
