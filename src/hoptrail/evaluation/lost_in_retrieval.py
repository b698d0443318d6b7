"""Lost in retrieval: how much worse a sub-question is found when it lacks the name that an earlier answer gives.

The measurement behind ChainRAG (digest, "Background" and "Retrieval Performance Verification"): recall@2 of the first
sub-question, of a later one as it is asked before anything is known, and of the same one completed. The paper's sub-questions
come from a model and point back by a pronoun or a description; gold ones hold a placeholder (`Where was #1 born?`) that nobody
would search for. So a sub-question that rests on an earlier one is measured in three wordings: with the placeholder taken out
(the name is simply missing), with a demonstrative in its place (the paper's case), and completed by rules from the gold answers.
The arrow of steps that are written as triples (`#1 >> spouse`) is left out in all of them. Each wording is searched for over
the whole corpus; no language model takes part. Not covered: sub-questions that a model worded, or completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import Dataset
from hoptrail.evaluation.gold_plan import REFERENCE, GoldPlan, gold_plan
from hoptrail.evaluation.retrieval_measures import project_to_passages, recall_at
from hoptrail.evaluation.running import corpus_ids
from hoptrail.evaluation.scoring import mean
from hoptrail.language.offline.completing import complete
from hoptrail.language.tasks import Finding
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.dense import dense_search
from hoptrail.retrieval.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Ranking

DEMONSTRATIVE = "this"
UNITS_A_PASSAGE = 10
"""Units searched for each passage wanted: a document cut into several passages counts once."""

Retriever = Callable[[Corpus, str, int], Ranking]

RETRIEVERS: dict[str, Retriever] = {
    "dense": dense_search,
    "hybrid": lambda corpus, text, limit: hybrid_search(corpus, text, limit, HybridSearchSettings()),
}


class Wording(StrEnum):
    """How a sub-question is put: `stand-alone` for one that rests on no other, the others for one that does."""

    STAND_ALONE = "stand-alone"
    REMOVED = "removed"
    POINTED = "pointed"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """Mean recall@k of the sub-questions of one place (from 1; None: all places after the first) in one wording."""

    retriever: str
    number: int | None
    wording: Wording
    questions: int
    recall: float


@dataclass(frozen=True, slots=True)
class LostInRetrieval:
    """What the probe found in one data set; `questions` had a decomposition to go by, out of `of`."""

    data: str
    k: int
    questions: int
    of: int
    rows: tuple[ProbeRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Nested by retriever, place and wording; all places after the first are under `later`."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.rows:
            place = found.setdefault(row.retriever, {}).setdefault(str(row.number or "later"), {})
            place[row.wording] = {"questions": row.questions, f"recall@{self.k}": row.recall}
        return {"data": self.data, "k": self.k, "questions": self.questions, "of": self.of, "retrievers": found}


@dataclass(frozen=True, slots=True)
class _Asked:
    """One wording of one gold step, and the passages that it should find."""

    number: int
    wording: Wording
    text: str
    gold: frozenset[str]


def probe_lost_in_retrieval(
    corpus: Corpus, dataset: Dataset, names: Mapping[str, Sequence[str]], k: int = 2
) -> LostInRetrieval:
    """Recall@k of every gold sub-question in its wordings, by dense and by hybrid search over passages.

    `names` are the data set's ids of a document, by document id.

    Raises:
        UsageError: no question of the data set has a decomposition with answers and passages, or `k` is below 1.
    """
    if k < 1:
        raise UsageError(f"recall is taken at 1 or more passages, not {k}.")
    plans = [plan for question in dataset.questions if len((plan := gold_plan(question)).steps) > 1]
    if not plans:
        raise UsageError(
            f"{dataset.name} has no question whose decomposition gives an answer and a passage for every step, which the "
            f"probe goes by. Take a data set with gold decompositions, such as MuSiQue."
        )
    asked = [wording for plan in plans for wording in _wordings(plan)]
    rows = tuple(
        row for name, search in RETRIEVERS.items() for row in _rows(name, _recalls(asked, corpus, names, search, k))
    )
    return LostInRetrieval(dataset.name, k, len(plans), len(dataset.questions), rows)


def _wordings(plan: GoldPlan) -> Iterator[_Asked]:
    findings = tuple(Finding(step.question, step.question, step.answers[0]) for step in plan.steps)
    for position, step in enumerate(plan.steps):
        make = partial(_asked, position + 1, step.passages)
        if not step.needs:
            yield make(Wording.STAND_ALONE, step.question)
            continue
        yield make(Wording.REMOVED, REFERENCE.sub(" ", step.question))
        yield make(Wording.POINTED, REFERENCE.sub(DEMONSTRATIVE, step.question))
        yield make(Wording.COMPLETED, complete(step.question, findings[:position]))


def _asked(number: int, gold: frozenset[str], wording: Wording, text: str) -> _Asked:
    return _Asked(number, wording, " ".join(text.replace(">>", " ").split()), gold)


def _recalls(
    asked: Sequence[_Asked], corpus: Corpus, names: Mapping[str, Sequence[str]], search: Retriever, k: int
) -> dict[tuple[int | None, Wording], list[float]]:
    """Recall of every wording, gathered by place and by all later places."""
    recalls: dict[tuple[int | None, Wording], list[float]] = {}
    for one in asked:
        found = project_to_passages(search(corpus, one.text, k * UNITS_A_PASSAGE), partial(corpus_ids, ids=names))
        recall = recall_at(k, found, one.gold)
        recalls.setdefault((one.number, one.wording), []).append(recall)
        if one.number > 1:
            recalls.setdefault((None, one.wording), []).append(recall)
    return recalls


def _rows(retriever: str, recalls: Mapping[tuple[int | None, Wording], Sequence[float]]) -> list[ProbeRow]:
    """By place, the later ones together at the end; wordings in the order of their definition."""
    places = sorted({number for number, _ in recalls if number is not None})
    return [
        ProbeRow(retriever, number, wording, len(recalls[number, wording]), mean(recalls[number, wording]))
        for number in (*places, None)
        for wording in Wording
        if (number, wording) in recalls
    ]
