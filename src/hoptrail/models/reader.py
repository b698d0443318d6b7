"""The trained reader: which words of a text answer a question, the answer to a yes/no question, whether the text helps.

    [CLS] question [SEP] (what was read before [SEP]) text [SEP]

There is one trunk, with the architecture of the encoder that ships, and a head for each judgement: start and end of the answer
(both at [CLS] where the text does not answer), the verdict on a yes/no question or a claim, whether the text helps to find the
answer, whether a statement settles the question. Texts are cut at 512 word pieces. Probabilities are not calibrated. The value of
one side of a comparison is read by weights of their own: learned together, other answers suffered (docs/decisions/reading.md).

Devlin et al. 2019 (BERT), sections 4.2 and 4.3, for span and absence of an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from hoptrail.models.encoder import FloatMatrix, Latest
from hoptrail.models.networks import CLS, READER, SEP, TrainedNetwork, read_reader_weights, reader_folder

PIECE_HEADS, WHOLE_HEADS = ("span",), ("verdict", "helps", "settles")
"""The heads that judge each word piece, and those that judge the whole at [CLS]."""
_LONGEST = 512  # word pieces, as many as the trunk has positions
_LONGEST_QUESTION, _LONGEST_BEFORE = 64, 96
_LONGEST_ANSWER = 20
_ANSWERS = 4  # the most per text
_LONGEST_STATEMENT = 400
"""Characters of a statement that are judged: a little more than the 72 word pieces that the reader learned from."""
_MOST_ODDS = 14.0  # log odds beyond these say nothing more
_KEPT = 2000  # readings: those of a few questions


@dataclass(frozen=True, slots=True)
class ToRead:
    """`before` is the text read before for the question."""

    question: str
    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """Characters `start` to `end` of the text; `margin` is its logit minus that of no answer."""

    start: int
    end: int
    margin: float


@dataclass(frozen=True, slots=True)
class TextReading:
    """The result of reading a text for a question.

    `answers` are the most probable ones that do not overlap, best first, with offsets in the text without surrogates. `yes`, `no`
    and `neither` add up to 1, and mean nothing for other than yes/no questions. `helps` is the probability that the text helps to
    find the answer, `settles` the log odds that the text, a single statement, settles the question.
    """

    answers: tuple[SpanAnswer, ...]
    yes: float
    no: float
    neither: float
    helps: float
    settles: float = 0.0

    @property
    def answered(self) -> float:
        """The probability that the text has an answer."""
        return _logistic(self.answers[0].margin) if self.answers else 0.0


@cache
def installed_reader(file_name: str = READER) -> Remembered:
    """The reader of the installed package with these weights, one per process. Raises: ModelUnavailable: as for `Reader`."""
    return Remembered(Reader(file_name=file_name))


class Reader:
    """Reads texts. Thread-safe. Raises: ModelUnavailable: the weights are missing, unusable, or for another encoder."""

    def __init__(self, folder: Path | None = None, file_name: str = READER) -> None:
        self._network = TrainedNetwork("reader", read_reader_weights(folder or reader_folder(), file_name))

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        return list(map(self._read, pairs))

    def _read(self, pair: ToRead) -> TextReading:
        question, before, text = self._network.encode(pair.question, pair.before, pair.text)
        ids = [CLS, *question.ids[:_LONGEST_QUESTION], SEP]
        if before.ids:
            ids += [*before.ids[:_LONGEST_BEFORE], SEP]
        text_at, room = len(ids), _LONGEST - len(ids) - 1
        outputs = self._network.run([*PIECE_HEADS, *WHOLE_HEADS], [*ids, *text.ids[:room], SEP], text_at)
        span, verdict, helps, settles = outputs
        shares = np.exp(verdict - verdict.max())
        yes, no, neither = map(float, shares / shares.sum())
        found = _answers(span[text_at:], float(span[0].sum()), text.offsets[:room])
        return TextReading(found, yes, no, neither, _logistic(float(helps[0])), float(settles[0]))


class TextReader(Protocol):
    """The interface of `Reader`."""

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """The readings, in order."""


class Remembered:
    """A reader with a cache of its latest readings: the stages of an answer read the same texts for the same question again."""

    def __init__(self, reader: TextReader) -> None:
        self._latest = Latest(reader.read, _KEPT)

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        return self._latest.of(pairs)


def _answers(span: FloatMatrix, none: float, offsets: Sequence[tuple[int, int]]) -> tuple[SpanAnswer, ...]:
    """The likeliest spans that do not overlap, best first. `span`: the logits of the word pieces; `none`: that of no answer."""
    count = len(offsets)
    logits = span[:count].astype(np.float64)
    scores = logits[:, None, 0] + logits[None, :, 1]
    starts, ends = np.indices((count, count))
    scores[(ends < starts) | (ends - starts >= _LONGEST_ANSWER)] = -np.inf
    answers: list[SpanAnswer] = []
    while len(answers) < _ANSWERS and scores.size and np.isfinite(best := scores.max()):
        first, last = divmod(int(scores.argmax()), count)
        answers.append(SpanAnswer(offsets[first][0], offsets[last][1], float(best) - none))
        scores[: last + 1, first:] = -np.inf  # all overlapping spans
    return tuple(answers)


def settling(reader: TextReader, question: str, statements: Sequence[str]) -> list[float]:
    """For each statement, read under its title and headings, the log odds that it settles the question, between -14 and 14.

    The head learned to tell the statement that settles a question from others that are as close to the question. Nogueira and
    Cho 2019 (passage re-ranking with BERT), section 3, with a softmax over the statements of a question instead of a loss for
    each.
    """
    readings = reader.read([ToRead(question, statement[:_LONGEST_STATEMENT]) for statement in statements])
    return [bounded(reading.settles) for reading in readings]


def log_odds(share: float) -> float:
    """The log odds of a probability, kept away from 0 and 1."""
    share = min(1 - 1e-6, max(1e-6, share))
    return math.log(share / (1 - share))


def bounded(odds: float) -> float:
    return max(-_MOST_ODDS, min(_MOST_ODDS, odds))


def _logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -60, 60))))
