"""Measures the exported reader on development questions and on held-out training examples.

    python -m training.evaluate [--weights DIR] [--data DIR] [--limit N] [--out FILE.json]

`musique`: its answered sub-questions, with earlier gold answers filled in, on their gold passage. `hotpotqa`: the yes/no
questions on their gold sentences. `strategyqa`: its questions on their facts. Questions that were learned from are refused.
The other figures are on held-out examples of the training sets, split by text. F1 is of the most probable answer, whatever its
probability; `silent` is the share of unanswerable questions with a probability below a half; accuracies are balanced over the
verdicts; `helps` is the share of pairs of a helpful and an unhelpful text that are ordered correctly; `first` that of questions
whose settling statement is ranked above twenty close ones.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hoptrail.evaluation.answer_scores import Rule, score_answer
from hoptrail.models.networks import TRAINED, read_trained
from hoptrail.models.reader import Reader, TextReading, ToRead, settling
from training import made, sources
from training.examples import VERDICTS, Example, Verdict
from training.made import Distractors
from training.manifest import PACKAGE
from training.mixture import Pools, read_pools
from training.sources import DATA
from training.statements import HELD_OUT, choices_of
from training.written import FOLDER


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure over `count` examples."""

    what: str
    measure: str
    value: float
    count: int


def sub_questions(folder: Path) -> list[tuple[Example, tuple[str, ...]]]:
    """The answered sub-questions of a set with their gold passages and answers."""
    data = sources.read_multi_hop(folder)
    return [
        (Example("musique", question, data.shown(step["supporting"])), (step["answer"],))
        for line in data.questions
        for question, step in sources.asked_steps(line)
        if step["answer"] and step["supporting"] in data.passages
    ]


def strategy_questions(folder: Path) -> list[Example]:
    return [
        Example("strategyqa", line["question"], " ".join(line["facts"]), verdict=VERDICTS[line["answers"][0]])
        for line in sources.read_lines(folder / "questions.jsonl")
    ]


def read_all(reader: Reader, examples: Sequence[Example]) -> list[TextReading]:
    return reader.read([ToRead(one.question, one.text, one.before) for one in examples])


def answers_f1(reader: Reader, what: str, asked: Sequence[tuple[Example, tuple[str, ...]]]) -> Figure:
    scores = []
    for (example, answers), reading in zip(asked, read_all(reader, [example for example, _ in asked]), strict=True):
        said = example.text[reading.answers[0].start : reading.answers[0].end] if reading.answers else ""
        scores.append(score_answer(said, answers, Rule.MUSIQUE).f1)
    return Figure(what, "F1", sum(scores) / len(scores), len(scores))


def answered_share(reader: Reader, what: str, examples: Sequence[Example], *, answered: bool) -> Figure:
    """The share classified correctly, of questions that are all answered or all unanswered by their texts."""
    found = read_all(reader, examples)
    right = [(bool(one.answers) and one.answers[0].margin >= 0) == answered for one in found]
    return Figure(what, "answered" if answered else "silent", sum(right) / len(right), len(right))


def balanced_accuracy(reader: Reader, what: str, examples: Sequence[Example]) -> Figure:
    """The mean over yes and no of the share classified correctly, when one of them is always chosen."""
    right: dict[Verdict, list[bool]] = defaultdict(list)
    for example, reading in zip(examples, read_all(reader, examples), strict=True):
        if example.verdict in (Verdict.YES, Verdict.NO):
            right[example.verdict].append((reading.yes >= reading.no) == (example.verdict is Verdict.YES))
    shares = [sum(told) / len(told) for told in right.values()]
    return Figure(what, "balanced accuracy", sum(shares) / len(shares), sum(map(len, right.values())))


def helps_order(reader: Reader, what: str, examples: Sequence[Example], draw: random.Random) -> Figure:
    """The share of sampled pairs in which the helpful text has the higher probability."""
    by_kind: dict[bool, list[float]] = {True: [], False: []}
    for example, reading in zip(examples, read_all(reader, examples), strict=True):
        by_kind[bool(example.helps)].append(reading.helps)
    pairs = [(draw.choice(by_kind[True]), draw.choice(by_kind[False])) for _ in range(1000)]
    return Figure(what, "helps", sum(one > other for one, other in pairs) / len(pairs), len(examples))


def chosen_first(reader: Reader, limit: int) -> Figure:
    """The share of questions whose settling statement is scored above the others, in folders not learned from for this."""
    found = [one for name in HELD_OUT for one in choices_of(FOLDER / name) if one.settling is not None][:limit]
    scored = (settling(reader, one.question, [str(one.settling), *one.others]) for one in found)
    right = [odds.index(max(odds)) == 0 for odds in scored]
    return Figure("statements of held-out folders", "first", sum(right) / len(right), len(right))


def kept_back(reader: Reader, pools: Pools, limit: int) -> Iterable[Figure]:
    """Figures on held-out examples of the training sets, and on generated ones."""
    draw = random.Random(0)
    validation: Mapping[str, Sequence[Example]] = {pool: found[:limit] for pool, found in pools.validation.items()}
    for pool in ("reading", "sentences", "steps", "whole"):
        yield answers_f1(reader, pool, [(example, (example.answer,)) for example in validation[pool]])
    reading = validation["reading"]
    yield answered_share(reader, "reading", reading, answered=True)
    distractors = Distractors.of([example.text for example in pools.validation["reading"]])
    others = [made.unanswerable(example, distractors, draw) for example in reading]
    yield answered_share(reader, "reading, another text", others, answered=False)
    without = [one for one in map(made.without_answer, reading) if one]
    yield answered_share(reader, "reading, without the answer", without, answered=False)
    for kind in sorted({example.source for example in validation["yes_no"]}):
        one_source = [example for example in pools.validation["yes_no"] if example.source == kind][:limit]
        if {example.verdict for example in one_source} >= {Verdict.YES, Verdict.NO}:
            yield balanced_accuracy(reader, kind, one_source)
    yield chosen_first(reader, limit)
    yield helps_order(reader, "passages of one question's context", validation["helps"], draw)
    rows = [made.row(pools.kinds, draw) for _ in range(limit)]
    answerable = [row for row in rows if row.answered]
    yield answers_f1(reader, "made rows", [(row, (row.answer,)) for row in answerable])
    yield answered_share(reader, "made rows", [row for row in rows if not row.answered], answered=False)


def figures(weights: Path, data: Path, limit: int) -> Iterable[Figure]:
    """All measurements, one figure after another. Raises: DataError: a question of the evaluation was learned from."""
    reader, trained = Reader(weights), read_trained(weights / TRAINED)
    steps = sub_questions(data / "musique")[: limit or None]
    hotpotqa = [
        one for one in sources.whole_questions(sources.read_multi_hop(data / "hotpotqa")) if one.verdict is not None
    ]
    strategyqa = strategy_questions(data / "strategyqa")[: limit or None]
    examples = [*(example for example, _ in steps), *hotpotqa, *strategyqa]
    trained.refuse((example.question for example in examples), (example.text for example in examples))
    yield answers_f1(reader, "musique sub-questions, gold passage", steps)
    in_words = [one for one in steps if ">>" not in one[0].question]
    yield answers_f1(reader, "musique sub-questions in words, gold passage", in_words)
    yield balanced_accuracy(reader, "hotpotqa yes/no, gold sentences", hotpotqa)
    yield balanced_accuracy(reader, "strategyqa, facts", strategyqa)
    yield from kept_back(reader, read_pools(data, 0, ()), limit or 1000)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--weights", type=Path, default=PACKAGE)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--limit", type=int, default=0, help="maximum number of examples of each kind")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    began, found = time.monotonic(), []
    for figure in figures(options.weights, options.data, options.limit):
        found.append(figure)
        print(
            f"{time.monotonic() - began:5.0f} s  {figure.value:.3f}  {figure.measure}, {figure.what} ({figure.count})"
        )
    if options.out:
        options.out.write_text(json.dumps([asdict(figure) for figure in found], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
