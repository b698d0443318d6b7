"""Trains the offline reader's scorer on training questions and writes its weights into the package.

    python -m benchmarks.train_offline [--folds-only] [--seed N]

Reads musique_train and hotpotqa_train alone, never a development question. A question gives four examples: with its gold
passages, with eight other passages of its own context added, with those alone, and with the gold passages less every sentence
that says an answer; from the last two nothing is right to answer. A gold sub-question gives two more, with its passage and two
others, whole and less what says its answer. What has no right answer only calibrates, and counts `UNANSWERABLE_WEIGHT` of
what has one, so that a confidence means: how often right, were a quarter of all questions without an answer. The network is
trained with Adam to maximise the log of the expected F1 (squared) of a softmax over a question's candidates. The calibration
is a logistic regression on predictions for questions that were held out in five folds, by whether the answer's F1 is at least
a half; the risk table printed comes from the same held-out predictions.

The encoder is not used, so neither it nor the machine changes the weights: same data and seed, same weights.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.common import data_folder, parser, print_table, read_passages
from benchmarks.made_worlds import made_questions
from numpy.typing import NDArray

from hoptrail import Kind, Span, Unit
from hoptrail.evaluation.datasets import ANSWER_RULES, Question, load_dataset
from hoptrail.evaluation.scoring import Rule, score_answer
from hoptrail.language.offline import scorer as scorer_module
from hoptrail.language.offline.concluding import Option, Studied, likeliest, options, study
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.reading import Reader
from hoptrail.language.offline.scorer import JUDGED, Scorer, write_scorer
from hoptrail.language.offline.searching import weigh
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.sentences import sentence_spans

TRAINING = ("musique_train", "hotpotqa_train")
FOLDS = 5
NETWORKS = 3
HIDDEN = 24
EPOCHS = 30
BATCH = 32
RATE = 3e-3
DECAY = 0.03
DROPPED = 0.1
OTHERS = 8
WORLDS = 80
MADE_PAGES = 17
UNANSWERABLE = frozenset({"none", "cut", "hop cut"})
UNANSWERABLE_WEIGHT = 0.4
RIDGE = 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A question with evidence, as studied (candidates are not kept), their features (n x m) and the F1 of each.

    `group` decides the fold; `kind` is gold, mixed, hop, or one of `UNANSWERABLE`.
    """

    group: int
    kind: str
    data: str
    answers: tuple[str, ...]
    studied: Studied
    texts: tuple[str, ...]
    values: Floats
    f1: Floats


SETTINGS = OfflineSettings()


def examples(name: str, seed: int) -> Iterator[Example]:
    """All examples of one training set, evidence in random order."""
    chance = random.Random(f"{name} {seed}")
    units = {
        one.id: Unit(one.id, Kind.PASSAGE, one.title, one.text, (Span(one.id, 0, len(one.text)),))
        for one in read_passages(name)
    }
    for group, question in enumerate(load_dataset(data_folder(name)).questions):
        gold = [units[at] for at in dict.fromkeys(question.supporting)]
        others = [units[at] for at in question.candidates if at not in question.supporting]
        chance.shuffle(others)
        mixes = {
            "gold": gold,
            "mixed": gold + others[:OTHERS],
            "none": others[:OTHERS],
            "cut": without(question.answers, gold) + others[:2],
        }
        for kind, mix in mixes.items():
            chance.shuffle(mix)
            yield _example(group, kind, name, question.question, question.answers, mix)
        for asked, answer, supporting in _hops(question):
            mix = [units[supporting], *others[:2]]
            chance.shuffle(mix)
            yield _example(group, "hop", name, asked, (answer,), mix)
            yield _example(group, "hop cut", name, asked, (answer,), without((answer,), mix))


def without(answers: Sequence[str], units: Sequence[Unit]) -> list[Unit]:
    """The units less every sentence that says an answer, and less those whose titles do."""
    said = [answer.lower() for answer in answers if answer]
    kept = []
    for unit in units:
        spans = sentence_spans(unit.text, SETTINGS.unit_sentences)
        lines = [unit.text[start:end] for start, end in spans]
        text = " ".join(line for line in lines if not any(answer in line.lower() for answer in said))
        if text and not any(answer in unit.title.lower() for answer in said):
            name = f"{unit.id} cut"
            kept.append(Unit(name, Kind.PASSAGE, unit.title, text, (Span(name, 0, len(text)),)))
    return kept


def made_examples(seed: int) -> Iterator[Example]:
    """Examples from worlds of our own; a question that they leave open only calibrates."""
    for group, made in enumerate(made_questions(seed, WORLDS, 6)):
        units = [
            Unit(f"{group} {at}", Kind.PASSAGE, title, text, (Span(f"{group} {at}", 0, len(text)),))
            for at, (title, text) in enumerate(made.pages)
        ]
        kind = "none" if made.answer is None else "gold"
        evidence = units[:MADE_PAGES] if kind == "none" else units
        yield _example(group // 6, kind, "made", made.question, (made.answer or "",), evidence)


def _hops(question: Question) -> Iterator[tuple[str, str, str]]:
    """Gold sub-questions in words (not as `subject >> relation`) with their answers and passages."""
    answers: list[str] = []
    for step in question.decomposition:
        asked = re.sub(r"#(\d)", lambda match: answers[int(match[1]) - 1], step.question)
        answers.append(step.answer or "")
        if step.answer and step.supporting and ">>" not in asked:
            yield asked[0].upper() + asked[1:], step.answer, step.supporting


def _example(
    group: int, kind: str, data: str, question: str, answers: Sequence[str], evidence: Sequence[Unit]
) -> Example:
    opened = open_evidence(evidence, SETTINGS)
    studied = study(question, opened, Reader(opened, SETTINGS), SETTINGS)
    rule = ANSWER_RULES.get(data, Rule.HOTPOTQA)
    known = kind not in UNANSWERABLE
    f1 = np.array([score_answer(text, answers, rule).f1 if known else 0.0 for text in studied.texts])
    bare = replace(studied, seen=())  # a candidate holds on to its page
    return Example(group, kind, data, tuple(answers), bare, studied.texts, studied.values, f1)


def train(found: Sequence[Example], seed: int) -> Scorer:
    """The mean of several networks, as one."""
    learnable = [one for one in found if one.kind not in UNANSWERABLE and one.f1.max(initial=0.0) > 0.3]
    rows = np.concatenate([one.values for one in learnable])
    mean, deviation = rows.mean(0), rows.std(0) + 1e-3
    standard = [np.clip((one.values - mean) / deviation, -4, 4) for one in learnable]
    networks = [_network(standard, [one.f1**2 for one in learnable], seed + at) for at in range(NETWORKS)]
    return Scorer(
        mean,
        deviation,
        np.mean([one["linear"] for one in networks], axis=0),
        np.concatenate([one["inner"] for one in networks], axis=1),
        np.concatenate([one["bias"] for one in networks]),
        np.concatenate([one["outer"] for one in networks]) / NETWORKS,
        np.zeros(len(JUDGED) + 1),
    )


def _network(values: Sequence[Floats], gains: Sequence[Floats], seed: int) -> dict[str, Floats]:
    chance = np.random.default_rng(seed)
    width = values[0].shape[1]
    weights: dict[str, Floats] = {
        "inner": chance.normal(0, width**-0.5, (width, HIDDEN)),
        "bias": np.zeros(HIDDEN),
        "outer": chance.normal(0, HIDDEN**-0.5, HIDDEN),
        "linear": np.zeros(width),
    }
    first = {name: np.zeros_like(part) for name, part in weights.items()}
    second = {name: np.zeros_like(part) for name, part in weights.items()}
    step = 0
    for epoch in range(EPOCHS):
        order = chance.permutation(len(values))
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            kept = chance.random(width) > DROPPED
            slopes = _slopes(weights, [values[at] * kept for at in batch], [gains[at] for at in batch])
            step += 1
            for name, slope in slopes.items():
                first[name] = 0.9 * first[name] + 0.1 * slope
                second[name] = 0.999 * second[name] + 0.001 * slope * slope
                move = first[name] / (1 - 0.9**step) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
                weights[name] = weights[name] - rate * (move + DECAY * weights[name])
    return weights


def _slopes(weights: dict[str, Floats], values: Sequence[Floats], gains: Sequence[Floats]) -> dict[str, Floats]:
    """The gradient of the mean of -log(expected gain) over the questions of a batch."""
    rows, gain = np.concatenate(values), np.concatenate(gains)
    lengths = np.array([len(one) for one in gains])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    hidden = np.tanh(rows @ weights["inner"] + weights["bias"])
    scores = hidden @ weights["outer"] + rows @ weights["linear"]
    shares = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
    shares /= np.repeat(np.add.reduceat(shares, starts), lengths)
    expected = np.add.reduceat(shares * gain, starts) + 1e-6
    slope = (shares - shares * gain / np.repeat(expected, lengths)) / len(values)
    back = np.outer(slope, weights["outer"]) * (1 - hidden * hidden)
    return {"inner": rows.T @ back, "bias": back.sum(0), "outer": hidden.T @ slope, "linear": rows.T @ slope}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What could be concluded on a held-out example: the options, and the F1 of each."""

    example: Example
    options: tuple[Option, ...]
    f1: tuple[float, ...]


def outcome(one: Example, scorer: Scorer) -> Outcome:
    found = options(one.studied, weigh(one.texts, one.values, scorer))
    rule = ANSWER_RULES.get(one.data, Rule.HOTPOTQA)
    known = one.kind not in UNANSWERABLE
    return Outcome(
        one,
        tuple(found),
        tuple(score_answer(option.answer, one.answers, rule).f1 if known else 0.0 for option in found),
    )


def calibrate(outcomes: Sequence[Outcome]) -> Floats:
    """Logistic regression with a ridge on standardised values, by Newton's method; weights for the values as they are."""
    values = np.array([option.judged for one in outcomes for option in one.options])
    right = np.array([f1 >= 0.5 for one in outcomes for f1 in one.f1], dtype=np.float64)
    counts = np.array(
        [UNANSWERABLE_WEIGHT if one.example.kind in UNANSWERABLE else 1.0 for one in outcomes for _ in one.options]
    )
    mean, deviation = values.mean(0), values.std(0) + 1e-6
    standard = np.column_stack([(values - mean) / deviation, np.ones(len(values))])
    weights = np.zeros(standard.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-standard @ weights))
        slope = standard.T @ (counts * (chance - right)) + RIDGE * weights
        curve = (standard * (counts * chance * (1 - chance))[:, None]).T @ standard + RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    own = weights[:-1] / deviation
    return np.append(own, weights[-1] - mean @ own)


def held_out(found: Sequence[Example], seed: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for fold in range(FOLDS):
        scorer = train([one for one in found if one.group % FOLDS != fold], seed)
        outcomes += [outcome(one, scorer) for one in found if one.group % FOLDS == fold]
    return outcomes


def report(outcomes: Sequence[Outcome], calibration: Floats) -> None:
    """F1 by kind and risk by coverage, all on held-out folds."""
    nothing = np.zeros(1)
    judge = Scorer(nothing, nothing, nothing, nothing, nothing, nothing, calibration)
    concluded: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for one in outcomes:
        best = likeliest(one.options, judge)
        f1 = one.f1[one.options.index(best[0])] if best else 0.0
        most = float(one.example.f1.max(initial=0.0))
        concluded.setdefault((one.example.data, one.example.kind), []).append((best[1] if best else 0.0, f1, most))
    rows = [
        (data, kind, len(part), *(float(np.mean([one[column] for one in part])) for column in (1, 2)))
        for (data, kind), part in sorted(concluded.items())
    ]
    print_table(("data", "evidence", "examples", "F1, held out", "F1 of the best candidate"), rows)
    all_kinds = ("gold", "mixed", "hop", *sorted(UNANSWERABLE))
    for kinds in (all_kinds, *((kind,) for kind in all_kinds)):
        judged = [one for (_, kind), part in concluded.items() if kind in kinds for one in part]
        table = []
        for least in (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            kept = [one for one in judged if one[0] >= least]
            if kept:
                right = float(np.mean([f1 >= 0.5 for _, f1, _ in kept]))
                table.append((least, len(kept) / len(judged), float(np.mean([one[0] for one in kept])), right))
        print(", ".join(kinds))
        print_table(("least confidence", "answered", "mean confidence", "right"), table)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--folds-only", action="store_true", help="report, but write no weights")
    given = arguments.parse_args()
    found = [one for name in TRAINING for one in examples(name, given.seed)] + list(made_examples(given.seed))
    outcomes = held_out(found, given.seed)
    calibration = calibrate(outcomes)
    report(outcomes, calibration)
    if given.folds_only:
        return
    last = train(found, given.seed)
    stored = Scorer(last.mean, last.deviation, last.linear, last.inner, last.bias, last.outer, calibration)
    path = Path(scorer_module.__file__).parent / "weights" / "scorer.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(write_scorer(stored), encoding="utf-8")
    print(f"{path.stat().st_size:,} bytes in {path.name}")


if __name__ == "__main__":
    main()
