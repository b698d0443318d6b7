"""Scores answers from any system: a JSON-lines file with `prediction` and `answers` per line.

`prediction` is a text, or null for an abstention or failure; `answers` are the gold answer, then its aliases. Other keys are
ignored. The questions are unknown, so null scores zero even if the gold answer says that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hoptrail.errors import DataError
from hoptrail.evaluation.answer_scores import AnswerScore, Rule, mean_score, score_answer
from hoptrail.evaluation.lines import Line, read_lines


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Means over `n` predictions, unrounded."""

    n: int
    em: float
    f1: float
    precision: float
    recall: float


def score_predictions(path: Path, rule: Rule) -> list[AnswerScore]:
    """One score per non-blank line, in the file's order.

    Raises:
        DataError: the file is missing or empty, or a line is malformed; the message names file and line.
    """
    scores = [score_answer(_prediction(line), _answers(line), rule) for line in read_lines(path)]
    if not scores:
        raise DataError(f"{path} holds no predictions")
    return scores


def summarise_scores(scores: Sequence[AnswerScore]) -> ScoreSummary:
    """The means of `scores`."""
    means = mean_score(scores)
    return ScoreSummary(len(scores), means.em, means.f1, means.precision, means.recall)


def _prediction(line: Line) -> str | None:
    if "prediction" not in line.content:
        raise DataError(f'{line.place}: no "prediction"; give a text, or null for an abstention')
    prediction = line.content["prediction"]
    if prediction is None or isinstance(prediction, str):
        return prediction
    raise DataError(f'{line.place}: "prediction" must be a text or null, not {prediction!r}')


def _answers(line: Line) -> list[str]:
    if "answers" not in line.content:
        hint = ', not "answer"' if "answer" in line.content else ""
        raise DataError(f'{line.place}: give "answers"{hint}: a list of texts, the gold answer first, then its aliases')
    answers = line.content["answers"]
    if not isinstance(answers, list) or not answers or not all(isinstance(answer, str) for answer in answers):
        raise DataError(f'{line.place}: "answers" must be a list of at least one text, not {answers!r}')
    return answers
