"""Scores of yes-no answers (StrategyQA), and of long answers to ambiguous questions (ASQA).

A long answer is judged by the readings of its question, each with its short answers. The published scores extract short answers
with a specific model (RoBERTa, fine-tuned on SQuAD 2.0). Here the reader is a parameter, so figures of `disambiguation_f1` and
`disambiguation_rouge` are comparable only for the same reader. ROUGE-L uses our normalised words, without stemming. Values are
between 0 and 1.

Sources: Geva et al. 2021 (StrategyQA), Stelmakh et al. 2022 (ASQA).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Rule, mean, normalise, score_answer

Reader = Callable[[str, str], str | None]
"""Answers a question from a text, or abstains (None): `reader(question, text)`."""


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """One reading of an ambiguous question, with its accepted short answers."""

    question: str
    answers: tuple[str, ...]


def yes_no_accuracy(prediction: str | None, gold: str) -> float:
    """1 if the first word of the answer is the gold `yes` or `no`, else 0, also for an abstention.

    Raises:
        UsageError: the gold answer is neither yes nor no.
    """
    if normalise(gold) not in {"yes", "no"}:
        raise UsageError(f"accuracy is for questions whose gold answer is yes or no, not {gold!r}")
    words = normalise(prediction or "").split()
    return float(bool(words) and words[0] == normalise(gold))


def string_em(prediction: str | None, readings: Sequence[Disambiguation]) -> float:
    """STR-EM: the share of the readings with a short answer that the long answer contains as a run of words.

    Raises:
        UsageError: there are no readings.
    """
    _check(readings)
    return mean([score_answer(prediction, reading.answers, Rule.COVER).em for reading in readings])


def disambiguation_f1(prediction: str | None, readings: Sequence[Disambiguation], read: Reader) -> float:
    """Disambig-F1: the mean F1 with which `read` answers every reading from the long answer alone.

    Raises:
        UsageError: there are no readings.
    """
    _check(readings)
    if prediction is None:
        return 0.0
    extracted = [(read(reading.question, prediction), reading.answers) for reading in readings]
    return mean([score_answer(answer, answers, Rule.MUSIQUE).f1 for answer, answers in extracted])


def rouge_l(prediction: str | None, references: Sequence[str]) -> float:
    """F1 of the longest common subsequence of words with the nearest reference.

    Raises:
        UsageError: there are no references.
    """
    if not references:
        raise UsageError("ROUGE-L needs at least one reference")
    words = normalise(prediction or "").split()
    return max(_rouge_l(words, normalise(reference).split()) for reference in references)


def disambiguation_rouge(f1: float, rouge: float) -> float:
    """DR: the geometric mean of Disambig-F1 and ROUGE-L."""
    return math.sqrt(f1 * rouge)


def _rouge_l(words: Sequence[str], expected: Sequence[str]) -> float:
    common = _longest_common(words, expected)
    return 2 * common / (len(words) + len(expected)) if common else 0.0


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, row by row."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, expected in enumerate(other, start=1):
            before, row[place] = row[place], before + 1 if word == expected else max(row[place], row[place - 1])
    return row[-1]


def _check(readings: Sequence[Disambiguation]) -> None:
    if not readings:
        raise UsageError("a long answer is judged by at least one reading of its question")
