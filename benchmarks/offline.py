"""Measures the offline language: answers, the calibration of its confidence, decompositions, and speed.

    python -m benchmarks.offline [--work DIR] [--data A,B] [--without-search] [--out FILE.json]

On the development questions. "gold" supplies only the gold passages, in the order of their ids, so that their order reveals
nothing; "hybrid" supplies the twenty best of the recipe `hybrid` (with its index in DIR/NAME/index). Answers score by the data
set's rule. "anyhow" is the reader with a threshold of zero, for comparison with published readers, which never abstain. Risk at
a coverage is the share of wrong answers (F1 under a half) among the most confident answers to that share of the questions.
Decompositions are compared with gold steps where there are any. Times are wall clock of one task with twenty passages, with
nothing remembered from another task.

MultiHop-RAG's corpus here consists of the evidence sentences only. Unanswerable questions (its null queries) count for risk and
abstention, not for F1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from benchmarks.common import data_folder, parser, print_table, read_passages, write_results

from hoptrail import Index, Kind, Span, Unit, Watcher
from hoptrail.evaluation.answer_scores import Rule, score_answer
from hoptrail.evaluation.datasets import ANSWER_RULES, Dataset, Question, load_dataset
from hoptrail.evaluation.runner import INDEX_FOLDER, evaluate
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Decompose, Read
from hoptrail.text.mentions import find_mentions
from hoptrail.text.words import content_stems

DATA = ("2wiki", "hotpotqa", "musique", "multihoprag", "strategyqa")
QUESTIONS = 200
PASSAGES = 20
COVERAGES = (0.25, 0.5, 0.75, 1.0)
Evidence = Sequence[tuple[Question, tuple[Unit, ...]]]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question's outcome: `f1` and `em` of the most probable answer, whatever its confidence; `seconds` of the task."""

    answered: bool
    confidence: float
    em: float
    f1: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """Shares are of all questions; `risk` follows `COVERAGES`."""

    data: str
    evidence: str
    questions: int
    answered: float
    em: float
    f1: float
    em_anyhow: float
    f1_anyhow: float
    risk: tuple[float, ...]
    p50_ms: float


@dataclass(frozen=True, slots=True)
class Decomposed:
    """How many gold decompositions ours agrees with, in the number of hops and in the subject of the first hop."""

    data: str
    questions: int
    same_hops: float
    same_entity: float
    both: float


def with_gold(dataset: Dataset, units: dict[str, Unit]) -> Evidence:
    chosen = dataset.questions[:QUESTIONS]
    return [(one, tuple(units[at] for at in sorted(set(one.supporting)))) for one in chosen if one.supporting]


def with_search(dataset: Dataset, work: Path) -> Evidence:
    """The twenty best passages of the recipe `hybrid`; the first call indexes the corpus."""
    index = Index(work / dataset.name / INDEX_FOLDER)
    with tempfile.TemporaryDirectory() as results:  # brings the index up to date as `hoptrail evaluate` does
        evaluate(dataset, ("hybrid",), index, Path(results), "offline", Watcher(), retrieval_only=True)
    return [
        (one, tuple(hit.unit for hit in index.search(one.question, recipe="hybrid", limit=PASSAGES)))
        for one in dataset.questions[:QUESTIONS]
    ]


def measure(name: str, label: str, given: Evidence) -> Row:
    rule = ANSWER_RULES.get(name, Rule.HOTPOTQA)
    answered = list(_answers(given, rule))
    scored = [one for (question, _), one in zip(given, answered, strict=True) if not question.unanswerable]
    return Row(
        name,
        label,
        len(given),
        mean(one.answered for one in answered),
        mean(one.em * one.answered for one in scored),
        mean(one.f1 * one.answered for one in scored),
        mean(one.em for one in scored),
        mean(one.f1 for one in scored),
        tuple(_risk(answered, coverage) for coverage in COVERAGES),
        1000 * median(one.seconds for one in answered),
    )


def _answers(given: Evidence, rule: Rule) -> Iterator[Answered]:
    least = OfflineSettings().least_confidence
    for question, units in given:
        anyhow = OfflineLanguage(
            settings=OfflineSettings(least_confidence=0.0)
        )  # remembers nothing of another question
        started = time.perf_counter()
        reading = anyhow.perform(Read(question.question, units)).value
        seconds = time.perf_counter() - started
        score = score_answer(reading.answer, question.answers, rule) if question.answers else None
        em, f1 = (score.em, score.f1) if score and not question.unanswerable else (0.0, 0.0)
        yield Answered(reading.answer is not None and reading.confidence >= least, reading.confidence, em, f1, seconds)


def _risk(answered: Sequence[Answered], coverage: float) -> float:
    ordered = sorted(answered, key=lambda one: -one.confidence)
    confident = ordered[: max(1, round(coverage * len(ordered)))]
    return mean(one.f1 < 0.5 for one in confident)


def decomposed(dataset: Dataset) -> Decomposed | None:
    language = OfflineLanguage()
    agreed: list[tuple[bool, bool]] = []
    for question in dataset.questions[:QUESTIONS]:
        if question.decomposition:
            ours = language.perform(Decompose(question.question)).value.questions
            gold = question.decomposition
            agreed.append((len(ours) == len(gold), _same_entity(ours[0], gold[0].question, question.question)))
    if not agreed:
        return None
    hops, entity = (mean(one[at] for one in agreed) for at in (0, 1))
    return Decomposed(dataset.name, len(agreed), hops, entity, mean(all(one) for one in agreed))


def _same_entity(ours: str, gold: str, question: str) -> bool:
    """Whether ours names what the gold step names, and no other name of the question."""
    named = [content_stems(one.text) for one in find_mentions(question, question=True)]
    about = {at for at, name in enumerate(named) if name and name <= content_stems(ours)}
    meant = {at for at, name in enumerate(named) if name and name & content_stems(gold)}
    return bool(about & meant) and about <= meant


def _shown(row: Row) -> Iterator[object]:
    yield from (row.data, row.evidence, row.questions, row.answered, row.em, row.f1, row.em_anyhow, row.f1_anyhow)
    yield from (*row.risk, row.p50_ms)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, metavar="DIR", help="keep indexes here")
    arguments.add_argument("--data", default=",".join(DATA), metavar="A,B")
    arguments.add_argument("--without-search", action="store_true", help="gold passages only: no index is needed")
    options = arguments.parse_args()
    rows: list[Row] = []
    plans: list[Decomposed] = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.data.split(","):
            dataset = load_dataset(data_folder(name))
            units = {
                one.id: Unit(one.id, Kind.PASSAGE, one.title, one.text, (Span(one.id, 0, len(one.text)),))
                for one in read_passages(name)
            }
            rows.append(measure(name, "gold", with_gold(dataset, units)))
            if not options.without_search:
                rows.append(measure(name, "hybrid", with_search(dataset, options.work or Path(temporary))))
            plan = decomposed(dataset)
            plans += [plan] if plan else []
            print(name, "done", file=sys.stderr, flush=True)
    risks = (f"risk at {at:.0%}" for at in COVERAGES)
    print_table(
        ("data", "evidence", "questions", "answered", "EM", "F1", "EM anyhow", "F1 anyhow", *risks, "p50 ms"),
        [tuple(_shown(one)) for one in rows],
    )
    print_table(
        ("data", "questions", "same number of hops", "same first entity", "both"),
        [(one.data, one.questions, one.same_hops, one.same_entity, one.both) for one in plans],
    )
    write_results(options.out, {"answers": rows, "decomposition": plans})


if __name__ == "__main__":
    main()
