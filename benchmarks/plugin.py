"""Measures HiRAG's retriever and filter as a plug-in (its Table 6) on gold sub-questions, beside single searches with the same
reader.

    python -m benchmarks.plugin --work DIR [--data A,B] [--limit N] [--out FILE.json]

DIR/NAME/index is the index of a data set, as `hoptrail evaluate --recipes hirag --work DIR/NAME` makes it; nothing is written to
it. The sub-questions are the gold steps of the questions that have any, with the gold answers of earlier steps in place of
references, and phrased as questions if the data have triples; one that several questions share is asked once. Every method
supplies evidence from which the offline reader answers:

    bm25, dense, hybrid      one search, 20 passages, read at once
    hirag:plugin             the paper's method: only titles lead to pages, chunk by chunk, each answer checked
    hirag:plugin, default    the same with the default settings: pages by search as well

Recall is that of the step's gold passage in the evidence, best first; attempts are readings per sub-question. p is that of a
paired randomisation test against hybrid. It does not measure other readers, nor whole questions (`hoptrail evaluate` does).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.common import data_folder, parser, print_table, write_results
from benchmarks.neighbourhoods import index_of

from hoptrail import Index
from hoptrail.evaluation.answer_scores import Rule, mean, score_answer
from hoptrail.evaluation.corpus_sources import corpus_ids_by_document
from hoptrail.evaluation.datasets import ANSWER_RULES, Dataset, load_dataset
from hoptrail.evaluation.gold_plan import as_question, gold_plan
from hoptrail.evaluation.paired_tests import paired_difference
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import project_to_passages, recall_at
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Language, Read, Reply, Task
from hoptrail.recipes.hirag import Hirag, HiragSettings
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import check_question

T = TypeVar("T")

BASELINE = "hybrid"
WAYS = ("bm25", "dense", BASELINE, "hirag:plugin")


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A gold step as asked, with its answers and passages."""

    question: str
    answers: tuple[str, ...]
    passages: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one sub-question."""

    recall_2: float
    recall_5: float
    em: float
    f1: float
    answered: bool
    attempts: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """Means over the sub-questions; p of recall@5 and of F1 against the baseline, None for itself."""

    data: str
    way: str
    sub_questions: int
    recall_2: float
    recall_5: float
    em: float
    f1: float
    answered: float
    em_of_answered: float
    attempts: float
    milliseconds: float
    p_recall_5: float | None
    p_f1: float | None


@dataclass
class CountingReads:
    """The offline language, with a count of its readings."""

    language: Language = field(default_factory=OfflineLanguage)
    reads: int = 0

    @property
    def name(self) -> str:
        return self.language.name

    def perform(self, task: Task[T]) -> Reply[T]:
        self.reads += isinstance(task, Read)
        return self.language.perform(task)


def sub_questions(dataset: Dataset) -> list[SubQuestion]:
    """Every distinct gold step, in order."""
    found: dict[str, SubQuestion] = {}
    for plan in map(gold_plan, dataset.questions):
        if len(plan.steps) < 2:
            continue
        for position, step in enumerate(plan.steps):
            question = as_question(plan.completed(position, range(position)))
            found.setdefault(question, SubQuestion(question, step.answers, step.passages))
    return list(found.values())


def ways(index: Index, language: Language) -> Iterator[tuple[str, Recipe]]:
    """The methods compared, including the baseline."""
    for name in WAYS:
        yield name, index.recipe(name, language)
    paper = index.recipe("hirag:plugin", language)
    yield "hirag:plugin, default", Hirag(paper.corpus, language, replace(HiragSettings(), decompose=False))


def outcomes(
    recipe: Recipe, language: CountingReads, dataset: Dataset, asked: Sequence[SubQuestion]
) -> Iterator[Outcome]:
    """Answer all sub-questions with one recipe."""
    rule = ANSWER_RULES.get(dataset.name, Rule.HOTPOTQA)
    passages_of = partial(corpus_ids, ids=corpus_ids_by_document(recipe.corpus.snapshot, dataset))
    for one in asked:
        language.reads, started = 0, time.perf_counter()
        answer = recipe.answer(check_question(one.question))
        milliseconds = 1000 * (time.perf_counter() - started)
        found = project_to_passages(answer.ranking, passages_of)
        score = score_answer(answer.text, one.answers, rule)
        recall_2, recall_5 = (recall_at(k, found, one.passages) for k in (2, 5))
        yield Outcome(recall_2, recall_5, score.em, score.f1, not answer.abstained, language.reads, milliseconds)


def measure(name: str, work: Path, limit: int | None) -> list[Row]:
    """All methods on one data set."""
    dataset = load_dataset(data_folder(name))
    steps = sub_questions(dataset)[:limit]
    language = CountingReads()
    found: dict[str, list[Outcome]] = {}
    for way, recipe in ways(Index(index_of(work, name)), language):
        found[way] = list(outcomes(recipe, language, dataset, steps))
        print(f"{name}: {way} done", flush=True)
    return [row(dataset.name, way, own, found[BASELINE]) for way, own in found.items()]


def row(data: str, way: str, own: Sequence[Outcome], baseline: Sequence[Outcome]) -> Row:
    """The means of one method, with tests against the baseline."""

    def means(*names: str) -> list[float]:
        return [mean([getattr(one, name) for one in own]) for name in names]

    def p_of(name: str) -> float | None:
        first, second = ([getattr(one, name) for one in those] for those in (baseline, own))
        return None if way == BASELINE else paired_difference(first, second, seed=0).p

    answered = [one.em for one in own if one.answered]
    recall_2, recall_5, em, f1, share, attempts, milliseconds = means(*Outcome.__dataclass_fields__)
    scores = (recall_2, recall_5, em, f1, share, mean(answered), attempts, milliseconds)
    return Row(data, way, len(own), *scores, p_of("recall_5"), p_of("f1"))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--data", default="2wiki,musique", metavar="A,B")
    arguments.add_argument("--limit", type=int, metavar="N", help="only the first N sub-questions")
    options = arguments.parse_args()
    rows = [row for name in options.data.split(",") for row in measure(name, options.work, options.limit)]
    names = list(Row.__dataclass_fields__)
    print_table([name.replace("_", " ") for name in names], [[getattr(row, name) for name in names] for row in rows])
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
