"""Fits the confidence in answers that are read from single statements, and writes it into the package.

    python -m training.answers FOLDER[:EACH]... [--report] [--work DIR]

FOLDER is a folder of people's documents for `hoptrail evaluate`; `:3` takes every third question. Five regressions are fitted
(`hoptrail.language.offline.answer_weights`): how likely each candidate is right, and each from a pair of statements, how
likely the best answer is, how likely yes or no is, and how likely an answer by hops is.
`--report` prints how answers are judged by weights fitted on all other folders, and writes nothing. `--work` keeps the indexes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail import Index
from hoptrail.evaluation.datasets import Question, load_dataset
from hoptrail.evaluation.outcomes import is_right
from hoptrail.language.closeness import UNITS, encoder_similarity
from hoptrail.language.offline import answer_weights
from hoptrail.language.offline.answer_weights import (
    NUMBERS,
    Candidate,
    Regression,
    Weights,
    chain_numbers,
    confidence_numbers,
    weighed,
)
from hoptrail.language.offline.hops import likeliest_way
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.statement_reading import StatementReader
from hoptrail.language.questions.plans import make_plan
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.question_tagger import tag_question
from hoptrail.models.reader import installed_reader
from hoptrail.text.mentions import find_mentions
from hoptrail.types import AnswerKind, Unit

WEIGHTS = Path(answer_weights.__file__).parent / "weights" / "answers.json"
LEVELS = (0.3, 0.5, 0.6, 0.7, 0.8)
RIDGE = 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A question's candidates and which of them are right; of one for yes or no, the numbers of each and whether it is right; of
    one that is taken apart, those of its answer by hops, as the stored weights read them.
    """

    folder: str
    candidates: tuple[Candidate, ...]
    right: tuple[bool, ...]
    verdicts: tuple[tuple[tuple[float, ...], bool], ...] = ()
    chain: tuple[tuple[float, ...], bool] | None = None


def examples(folder: Path, each: int, work: Path) -> Iterator[Example]:
    """An example for every `each`-th question that one reading may answer."""
    index = Index(work / folder.name)
    if not index.folder.exists():
        index.add(folder / "documents", "trail")
    reader = StatementReader(installed_reader(), encoder_similarity(open_encoder("minilm")))
    for question in islice(load_dataset(folder).questions, 0, None, each):
        found = index.search(question.question, recipe="trail", limit=UNITS)
        if example := example_of(folder.name, question, reader, [hit.unit for hit in found]):
            yield example


def example_of(folder: str, question: Question, reader: StatementReader, units: Sequence[Unit]) -> Example | None:
    """The example of a question; None for a list, how or why."""

    def answers(answer: str) -> bool:
        return not question.unanswerable and is_right(question, answer)

    kind = tag_question(question.question).kind
    if kind is AnswerKind.YES_NO:
        numbers = reader.verdict_numbers(question.question, units)
        return Example(folder, (), (), tuple((one, answers(answer)) for answer, one in numbers.items()))
    if kind is not AnswerKind.SHORT:
        return None
    names = [mention.text for mention in find_mentions(question.question, question=True)]
    candidates = reader.candidates(question.question, units, names, pairs=True)
    settings, chain = OfflineSettings(), None
    plan = make_plan(question.question, settings.most_hops, settings.question_characters)
    if plan.comparison is None and len(plan.questions) > 1:
        hops = [hop for _, hop in likeliest_way(question.question, plan, units, reader)]
        if len(hops) == len(plan.questions):
            chain = chain_numbers([hop.confidence for hop in hops]), answers(hops[-1].answer)
    return Example(folder, candidates, tuple(answers(one.answer) for one in candidates), chain=chain)


def fitted(found: Sequence[Example]) -> Weights:
    """The weights for these examples: of candidates, then of the best answers; of yes and no; of answers by hops. Raises:
    ValueError: of one of these there is no example.
    """
    known = [(one, right) for example in found for one, right in zip(example.candidates, example.right, strict=True)]
    span = _regression([(one.numbers, right) for one, right in known if one.pair is None])
    pair = _regression([(one.numbers, right) for one, right in known if one.pair is not None])
    verdict = _regression([one for example in found for one in example.verdicts])
    chain = _regression([example.chain for example in found if example.chain])
    candidates = Weights(span, pair, verdict, verdict, chain)
    return replace(candidates, confidence=_regression([_best(one, candidates) for one in found if one.candidates]))


def _best(example: Example, weights: Weights) -> tuple[tuple[float, ...], bool]:
    found = weighed(example.candidates, weights)
    return confidence_numbers(0, found), example.right[example.candidates.index(found[0].candidate)]


def judged(example: Example, weights: Weights) -> tuple[float, bool]:
    """The confidence in the best answer, at once or by hops, and whether it is right."""
    if example.verdicts:
        return max((weights.verdict.probability(numbers), right) for numbers, right in example.verdicts)
    found = [(0.0, False)]
    if example.chain:
        found.append((weights.chain.probability(example.chain[0]), example.chain[1]))
    if example.candidates:
        numbers, right = _best(example, weights)
        found.append((weights.confidence.probability(numbers), right))
    return max(found)


def _regression(rows: Sequence[tuple[tuple[float, ...], bool]]) -> Regression:
    """Logistic regression with a ridge on standardised numbers, by Newton's method. Raises: ValueError: there are no rows."""
    if not rows:
        raise ValueError(
            "nothing to fit: these folders lack a question with an answer, one for yes or no, or one of several hops"
        )
    values = np.array([numbers for numbers, _ in rows])
    right = np.array([right for _, right in rows], np.float64)
    mean, deviation = values.mean(0), values.std(0) + 1e-6
    standard = np.column_stack([(values - mean) / deviation, np.ones(len(values))])
    ridge = RIDGE * np.diag([1.0] * values.shape[1] + [0.0])
    weights = np.zeros(standard.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-standard @ weights))
        slope = standard.T @ (chance - right) + ridge @ weights
        weights -= np.linalg.solve((standard * (chance * (1 - chance))[:, None]).T @ standard + ridge, slope)
    own = weights[:-1] / deviation
    return Regression(tuple(np.round(own, 4).tolist()), round(float(weights[-1] - mean @ own), 4))


def report(found: Sequence[Example]) -> None:
    """Print the shares of right and wrong answers of all questions at each level, by weights fitted on the other folders."""
    print("folder, questions, right / wrong at confidences of at least", *LEVELS)
    total = np.zeros((len(LEVELS), 2), np.int64)
    for name in sorted({one.folder for one in found}):
        here = [one for one in found if one.folder == name]
        weights = fitted([one for one in found if one.folder != name] or here)
        answers = [judged(one, weights) for one in here]
        given = [[right for confidence, right in answers if confidence >= level] for level in LEVELS]
        counts = np.array([(sum(right), len(right) - sum(right)) for right in given])
        total += counts
        print(name, len(here), *(f"{right}/{wrong}" for right, wrong in counts))
    print("all", len(found), *(f"{right}/{wrong}" for right, wrong in total))


def write(weights: Weights) -> None:
    fits: dict[str, Regression] = {name: getattr(weights, name) for name in NUMBERS}
    content = {
        name: {"numbers": NUMBERS[name], "weights": fit.weights, "constant": fit.constant} for name, fit in fits.items()
    }
    WEIGHTS.write_text(f"{json.dumps(content, indent=1)}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[:EACH]")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--work", type=Path, metavar="DIR")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found: list[Example] = []
        for name in options.folders:
            folder, _, each = name.partition(":")
            found += examples(Path(folder), int(each or 1), options.work or Path(temporary))
    if options.report:
        report(found)
    else:
        write(fitted(found))


if __name__ == "__main__":
    main()
