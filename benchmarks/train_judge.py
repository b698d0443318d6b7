"""Fits the judge of the offline language: the probability that an answer is right, from the features of its derivation.

    python -m benchmarks.train_judge FOLDER[:N]... --work DIR [--folds-only]

FOLDER is a folder for `hoptrail evaluate`, a data set or own documents, or its first N questions; DIR/index/NAME is its index,
as `hoptrail evaluate --work DIR` leaves it. A question gives two examples: with the best passages that `trail` finds, and with
the best of those that name none of its answers, where nothing is right; the second has `UNANSWERABLE_WEIGHT` times the weight of
the first. Every folder has the same weight, however many questions it has. The fit is a logistic regression with a ridge; weights
in `FIXED` are given. The printed figures use weights fitted on all other folders.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from benchmarks.common import parser, print_table
from numpy.typing import NDArray

from hoptrail import Index, Unit
from hoptrail.evaluation.answer_scores import Rule, score_answer
from hoptrail.evaluation.datasets import ANSWER_RULES, Question, load_dataset
from hoptrail.evaluation.outcomes import is_right, settles
from hoptrail.language.offline import concluding
from hoptrail.language.offline.concluding import NAMES, Judge, Option, options, study
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.page_reading import Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.questions.question_kinds import kind_asked
from hoptrail.language.spelling import corrected
from hoptrail.models.reader import TextReader, installed_reader
from hoptrail.types import AnswerKind

FOUND, READ = 20, 5
UNANSWERABLE_WEIGHT = 0.4
RIDGE = 3.0
FIXED = {"odds": 0.08}
"""The reader's odds count a little whatever the data say: fitted beside the odds that the page helps they count for nothing."""
LEAST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_READ_KINDS = (AnswerKind.SHORT, AnswerKind.YES_NO)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """The possible answers to a question, and which of them are right."""

    folder: str
    answerable: bool
    options: tuple[Option, ...]
    right: tuple[bool, ...]
    f1: tuple[float, ...]


def examples(folder: Path, work: Path, model: TextReader, most: int | None = None) -> Iterator[Example]:
    """Two examples for each of the first `most` questions that one reading may settle."""
    settings = OfflineSettings()
    rule = ANSWER_RULES.get(folder.name, Rule.HOTPOTQA)
    index = Index(work / "index" / folder.name)
    for question in load_dataset(folder, limit=most).questions:
        kind = kind_asked(question.question)
        if kind not in _READ_KINDS:
            continue
        found = [hit.unit for hit in index.search(question.question, recipe="trail", limit=FOUND)]
        bare = unsettled(question, found) if kind is AnswerKind.YES_NO else without(question.answers, found)
        for answerable, units in ((True, found[:READ]), (False, bare[:READ])):
            evidence = open_evidence(units, settings)
            question_text = corrected(question.question, units)
            offered = options(study(question_text, Reader(evidence, model, settings)))
            known = answerable and not question.unanswerable
            right = tuple(known and is_right(question, one.answer) for one in offered)
            f1 = tuple(
                score_answer(one.answer, question.answers, rule).f1 if known and question.answers else 0.0
                for one in offered
            )
            yield Example(folder.name, known, tuple(offered), right, f1)


def without(answers: Sequence[str], units: Sequence[Unit]) -> list[Unit]:
    """The units that name none of the answers."""
    spellings = [answer.lower() for answer in answers if answer]
    return [unit for unit in units if not any(answer in unit.searchable.lower() for answer in spellings)]


def unsettled(question: Question, units: Sequence[Unit]) -> list[Unit]:
    """The units that do not settle a yes/no question; none if the settling ones are unknown."""
    return [unit for unit in units if not settles(question, [unit.text, unit.readable])] if question.shows else []


def fit(found: Sequence[Example]) -> Judge:
    """Logistic regression with a ridge on standardised values, by Newton's method; returns weights for the raw values."""
    values = np.array([astuple(option.evidence) for one in found for option in one.options])
    right = np.array([right for one in found for right in one.right], dtype=np.float64)
    given = np.array([FIXED.get(name, 0.0) for name in NAMES])
    values_fitted = np.where([name in FIXED for name in NAMES], 0.0, values)
    mean, deviation = values_fitted.mean(0), values_fitted.std(0) + 1e-6
    standard = np.column_stack([(values_fitted - mean) / deviation, np.ones(len(values))])
    weights = np.zeros(standard.shape[1])
    counts = _counts(found)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-standard @ weights - values @ given))
        slope = standard.T @ (counts * (chance - right)) + RIDGE * weights
        curve = (standard * (counts * chance * (1 - chance))[:, None]).T @ standard + RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    own = weights[:-1] / deviation
    return Judge(tuple((own + given).tolist()), float(weights[-1] - mean @ own))


def _counts(found: Sequence[Example]) -> Floats:
    """The weight of each option, the same in all for every folder."""
    sizes = Counter(one.folder for one in found for _ in one.options)
    each = sum(sizes.values()) / len(sizes)
    return np.array(
        [
            each / sizes[one.folder] * (1.0 if one.answerable else UNANSWERABLE_WEIGHT)
            for one in found
            for _ in one.options
        ]
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """The most probable option of an example."""

    folder: str
    answerable: bool
    probability: float
    right: bool
    f1: float


def likeliest(one: Example, judge: Judge) -> Judged:
    """The answer that would be given, however unsure."""
    best = max(((judge.probability(option.evidence), at) for at, option in enumerate(one.options)), default=(0.0, None))
    probability, at = best
    right, f1 = (one.right[at], one.f1[at]) if at is not None else (False, 0.0)
    return Judged(one.folder, one.answerable, probability, right, f1)


def report(judged: Sequence[Judged]) -> None:
    rows = []
    for folder in sorted({one.folder for one in judged}):
        here = [one for one in judged if one.folder == folder]
        own, sure = [one for one in here if one.answerable], [one for one in here if one.probability >= 0.5]
        given = [one for one in sure if one.answerable]
        rows.append(
            (
                *(folder, len(own), float(np.mean([one.f1 for one in own])), _right(own)),
                *(len(given) / max(1, len(own)), _right(given), _right(sure)),
            )
        )
    print_table(("folder", "answerable", "F1 anyhow", "right anyhow", "sure", "sure: right", "with unanswerable"), rows)
    table = []
    for least, most in zip(LEAST, (*LEAST[1:], 1.01), strict=True):
        within = [one for one in judged if least <= one.probability < most]
        if within:
            mean = float(np.mean([one.probability for one in within]))
            table.append((f"{least:.1f}", len(within), mean, _right(within)))
    print_table(("from", "answers", "mean probability", "right"), table)


def _right(judged: Sequence[Judged]) -> float:
    return float(np.mean([one.right for one in judged])) if judged else 0.0


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("folders", nargs="+", metavar="FOLDER[:N]")
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--folds-only", action="store_true", help="report, but write no weights")
    options = arguments.parse_args()
    model = installed_reader()
    found: list[Example] = []
    for name in options.folders:
        folder, _, most = name.partition(":")
        found += examples(Path(folder), options.work, model, int(most) if most else None)
    names = sorted({one.folder for one in found})
    judged = []
    for name in names:
        judge = fit([one for one in found if one.folder != name] or found)
        judged += [likeliest(one, judge) for one in found if one.folder == name]
    report(judged)
    judge = fit(found)
    print_table(("value", "weight"), zip(NAMES, judge.weights, strict=True))
    if not options.folds_only:
        path = Path(concluding.__file__).parent / "weights" / "judge.json"
        weights, constant = [round(weight, 4) for weight in judge.weights], round(judge.constant, 4)
        content = json.dumps({"names": NAMES, "weights": weights, "constant": constant}, indent=1)
        path.write_text(f"{content}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
