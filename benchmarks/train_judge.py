"""Fits the judge of the offline language: how probably an answer is right, from what was seen on the way to it.

    python -m benchmarks.train_judge FOLDER... --work DIR [--folds-only]

FOLDER is what `hoptrail evaluate` takes: a data set or somebody's own documents; DIR/index/NAME is its index, as `hoptrail
evaluate --work DIR` leaves it. A question gives three examples: with the best passages that `trail` finds, with the best of
those that name none of its answers, and with the first ones without their statements that do: in the last two nothing is right,
and each counts `UNANSWERABLE_WEIGHT` of the first. Every folder counts as much as every other, however many questions it
has. The first step of the judge is a softmax over the options of a question, the second a logistic regression over the likeliest
ones, each with a ridge. What is printed was judged by weights that were fitted on all other folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.common import parser, print_table
from numpy.typing import NDArray

from hoptrail import Index, Unit
from hoptrail.evaluation.data_folders import load_data
from hoptrail.evaluation.datasets import ANSWER_RULES, Question
from hoptrail.evaluation.outcomes import is_right, settles
from hoptrail.evaluation.scoring import Rule, score_answer
from hoptrail.language.offline import judging
from hoptrail.language.offline.concluding import Option, believed, options, study
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.judging import NAMES, WHICH, Judge, chosen, write_judge
from hoptrail.language.offline.reading import Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.question_kinds import kind_asked
from hoptrail.language.spelling import corrected
from hoptrail.models.reader import installed_reader
from hoptrail.models.remembered_readings import Remembered, TextReader
from hoptrail.text.statements import statements_of
from hoptrail.types import AnswerKind

FOUND, READ = 20, 5
UNANSWERABLE_WEIGHT = 0.4
RIDGE_OF_WHICH, RIDGE = 30.0, 3.0
HELD = {"odds": 0.12, "strangers": -2.0}
"""Weights of the second step that are not fitted: the folders hold too few questions of names that nobody knows, and of readings
against every answer, to tell what these are worth (fitted, an unknown name spoke for an answer).
"""
SURE = 0.45
"""What `trail` gives as an answer."""
LEAST = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_READ_KINDS = (AnswerKind.SHORT, AnswerKind.YES_NO)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """What may be concluded of a question, and which of it is right."""

    folder: str
    answerable: bool
    options: tuple[Option, ...]
    right: tuple[bool, ...]
    f1: tuple[float, ...]


def examples(folder: Path, work: Path, model: TextReader) -> Iterator[Example]:
    """Those of each question that one reading may settle."""
    settings = OfflineSettings()
    rule = ANSWER_RULES.get(folder.name, Rule.HOTPOTQA)
    index = Index(work / "index" / folder.name)
    for question in load_data(folder).questions:
        kind = kind_asked(question.question)
        if kind not in _READ_KINDS:
            continue
        found = [hit.unit for hit in index.search(question.question, recipe="trail", limit=FOUND)]
        if kind is AnswerKind.YES_NO:
            bare = [unsettled(question, found)]
        else:
            bare = [without(question.answers, found), silenced(question.answers, found[:READ])]
        for answerable, units in ((True, found[:READ]), *((False, units[:READ]) for units in bare)):
            evidence = open_evidence(units, settings)
            asked = corrected(question.question, units)
            offered = options(study(asked, evidence, Reader(evidence, model, settings), settings))
            known = answerable and not question.unanswerable
            right = tuple(known and is_right(question, one.answer) for one in offered)
            f1 = tuple(
                score_answer(one.answer, question.answers, rule).f1 if known and question.answers else 0.0
                for one in offered
            )
            yield Example(folder.name, known, tuple(offered), right, f1)


def without(answers: Sequence[str], units: Sequence[Unit]) -> list[Unit]:
    """The units that name none of the answers."""
    said = [answer.lower() for answer in answers if answer]
    return [unit for unit in units if not any(answer in unit.searchable.lower() for answer in said)]


def silenced(answers: Sequence[str], units: Sequence[Unit]) -> list[Unit]:
    """The units without their statements that name an answer, and none whose title does."""
    said = [answer.lower() for answer in answers if answer]
    kept = []
    for unit in units:
        text = unit.text
        for one in statements_of(unit):
            if any(answer in one.said.lower() for answer in said):
                text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
        if not any(answer in unit.title.lower() for answer in said):
            kept.append(replace(unit, text=text))
    return kept


def unsettled(question: Question, units: Sequence[Unit]) -> list[Unit]:
    """The units that do not settle a question of yes or no; none where nobody said which do."""
    return [unit for unit in units if not settles(question, [unit.text, unit.readable])] if question.shows else []


def fit(found: Sequence[Example]) -> Judge:
    """Both steps: which option of a question that has a right one, then how probably the likeliest is right."""
    found = [one for one in found if one.options]
    folders = Counter(one.folder for one in found)
    counts = [
        (1.0 if one.answerable else UNANSWERABLE_WEIGHT) * len(found) / len(folders) / folders[one.folder]
        for one in found
    ]
    which = fit_softmax(list(groups(found, counts)))
    picked = [chosen(which, [option.evidence for option in one.options]) for one in found]
    right = np.array([one.right[place] for one, (place, _) in zip(found, picked, strict=True)], dtype=np.float64)
    return Judge(tuple(which), *fit_logistic(np.array([values for _, values in picked]), right, np.array(counts)))


def groups(found: Sequence[Example], counts: Sequence[float]) -> Iterator[tuple[Floats, Floats, float]]:
    """Values of the first step, shares of what is right (F1 where none is wholly so) and weight of what gives a choice."""
    for one, count in zip(found, counts, strict=True):
        worth = np.maximum(np.array(one.right, dtype=np.float64), one.f1)
        if worth.std() > 0:
            yield np.array([option.evidence.values(WHICH) for option in one.options]), worth / worth.sum(), count


def fit_softmax(found: Sequence[tuple[Floats, Floats, float]]) -> list[float]:
    """A conditional logit with a ridge on standardised values, by Newton's method."""
    deviation = np.concatenate([values for values, _, _ in found]).std(0) + 1e-6
    weights = np.zeros(len(deviation))
    for _ in range(30):
        slope, curve = RIDGE_OF_WHICH * weights, RIDGE_OF_WHICH * np.eye(len(weights))
        for values, worth, count in found:
            standard = values / deviation
            shares = np.exp(standard @ weights - np.max(standard @ weights))
            shares /= shares.sum()
            centred = standard - shares @ standard
            slope = slope + count * standard.T @ (shares - worth)
            curve = curve + count * centred.T @ (centred * shares[:, None])
        weights = weights - np.linalg.solve(curve, slope)
    own: list[float] = (weights / deviation).tolist()
    return own


def fit_logistic(values: Floats, right: Floats, counts: Floats) -> tuple[tuple[float, ...], float]:
    """Weights of `NAMES`, those of `HELD` as they are, and a constant: a ridge on standardised values, by Newton's method."""
    weights = np.array([HELD.get(name, 0.0) for name in NAMES])
    free = np.array([name not in HELD for name in NAMES])
    held, fitted = values @ weights, values[:, free]
    mean, deviation = fitted.mean(0), fitted.std(0) + 1e-6
    standard = np.column_stack([(fitted - mean) / deviation, np.ones(len(fitted))])
    found = np.zeros(standard.shape[1])
    for _ in range(60):  # by half a step, since whole ones from zero overshoot what is held
        chance = 1 / (1 + np.exp(-held - standard @ found))
        slope = standard.T @ (counts * (chance - right)) + RIDGE * found
        curve = (standard * (counts * chance * (1 - chance))[:, None]).T @ standard + RIDGE * np.eye(len(found))
        found -= 0.5 * np.linalg.solve(curve, slope)
    weights[free] = found[:-1] / deviation
    return tuple(weights.tolist()), float(found[-1] - mean @ weights[free])


@dataclass(frozen=True, slots=True)
class Judged:
    """The likeliest option of an example."""

    folder: str
    answerable: bool
    probability: float
    right: bool
    f1: float


def likeliest(one: Example, judge: Judge) -> Judged:
    """What would be answered, however unsure."""
    if not one.options:
        return Judged(one.folder, one.answerable, 0.0, right=False, f1=0.0)
    at, probability = believed(one.options, judge)
    return Judged(one.folder, one.answerable, probability, one.right[at], one.f1[at])


def report(judged: Sequence[Judged]) -> None:
    """F1 if everything is answered, what would be given as an answer, by folder, and what probabilities are worth."""
    rows = []
    for folder in sorted({one.folder for one in judged}):
        own = [one for one in judged if one.folder == folder and one.answerable]
        bare = [one for one in judged if one.folder == folder and not one.answerable]
        sure = [one.right for one in own if one.probability >= SURE]
        size = max(1, len(own))
        anyhow = float(np.mean([one.f1 for one in own])), float(np.mean([one.right for one in own]))
        told = sum(sure) / size, (len(sure) - sum(sure)) / size
        rows.append((folder, len(own), *anyhow, *told, float(np.mean([one.probability >= SURE for one in bare]))))
    print_table(("folder", "answerable", "F1 anyhow", "right anyhow", "right", "wrong", "answered without"), rows)
    table = []
    for least, most in zip(LEAST, (*LEAST[1:], 1.01), strict=True):
        within = [one for one in judged if least <= one.probability < most]
        if within:
            mean = float(np.mean([one.probability for one in within]))
            table.append((f"{least:.1f}", len(within), mean, float(np.mean([one.right for one in within]))))
    print_table(("from", "answers", "mean probability", "right"), table)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--folds-only", action="store_true", help="report, but write no weights")
    given = arguments.parse_args()
    model = Remembered(installed_reader())
    found = [one for folder in given.folders for one in examples(folder, given.work, model)]
    names = sorted({one.folder for one in found})
    judged = []
    for name in names:
        judge = fit([one for one in found if one.folder != name] or found)
        judged += [likeliest(one, judge) for one in found if one.folder == name]
    report(judged)
    judge = fit(found)
    print_table(("value", "weight"), [*zip(WHICH, judge.which, strict=True), *zip(NAMES, judge.weights, strict=True)])
    if not given.folds_only:
        path = Path(judging.__file__).parent / "weights" / "judge.json"
        path.write_text(write_judge(judge), encoding="utf-8")


if __name__ == "__main__":
    main()
