"""Lost in retrieval: how much worse a sub-question is found when it lacks the name that an earlier answer gives.

The measurement behind ChainRAG (digest, "Background" and "Retrieval Performance Verification"): recall@2 of the first
sub-question, of a later one as it is asked before anything is known, and of the same one completed. The paper's sub-questions
come from a model and point back by a pronoun or a description; gold ones hold a placeholder (`Where was #1 born?`) that nobody
would search for. So a sub-question that rests on an earlier one is measured in three wordings: with the placeholder taken out
(the name is simply missing), with a demonstrative in its place (the paper's case), and completed by rules from the gold answers.
The arrow of steps that are written as triples (`#1 >> spouse`) is left out in all of them. Each wording is searched for over
the whole corpus; no language model takes part. Not covered: sub-questions that a model worded, or completed.

Later steps rest more often than first ones on a passage that tells the answer in passing, under a title that no wording names.
So that like is compared with like, both are also taken apart by whether the sub-question, completed, names the gold titles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Dataset
from hoptrail.evaluation.gold_plan import REFERENCE, GoldPlan, gold_plan
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import project_to_passages, recall_at
from hoptrail.language.completing import complete
from hoptrail.language.tasks import Finding
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.text.words import content_stems
from hoptrail.types import Ranking

DEMONSTRATIVE = "this"
FIRST = "1"
LATER = "later"
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
    """Mean recall@k of the sub-questions of one place in one wording.

    A place is a number from 1, or LATER for all after the first; `named` tells those that name the titles of all their gold
    passages (True) from the others (False), and is None for all of them.
    """

    retriever: str
    place: str
    named: bool | None
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
        """Nested by retriever, place and wording; a place that is taken apart stands three times."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for row in self.rows:
            place = found.setdefault(row.retriever, {}).setdefault(label(row), {})
            place[row.wording] = {"questions": row.questions, f"recall@{self.k}": row.recall}
        return {"data": self.data, "k": self.k, "questions": self.questions, "of": self.of, "retrievers": found}


def label(row: ProbeRow) -> str:
    """What the place of a row is called."""
    return row.place if row.named is None else f"{row.place}, title {'named' if row.named else 'not named'}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One wording of one gold step, the passages that it should find, and whether the step names their titles."""

    number: int
    wording: Wording
    text: str
    gold: frozenset[str]
    named: bool

    @property
    def places(self) -> tuple[tuple[str, bool | None], ...]:
        """The rows that it counts in."""
        group = FIRST if self.number == 1 else LATER
        return (*dict.fromkeys(((str(self.number), None), (group, None))), (group, self.named))


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
    titles = {name: entry.title for entry in corpus.snapshot.register.entries for name in names.get(entry.id, ())}
    asked = [wording for plan in plans for wording in _wordings(plan, titles)]
    rows = tuple(
        row for name, search in RETRIEVERS.items() for row in _rows(name, _recalls(asked, corpus, names, search, k))
    )
    return LostInRetrieval(dataset.name, k, len(plans), len(dataset.questions), rows)


def _wordings(plan: GoldPlan, titles: Mapping[str, str]) -> Iterator[_Asked]:
    findings = tuple(Finding(step.question, step.question, step.answers[0]) for step in plan.steps)
    for position, step in enumerate(plan.steps):
        completed = complete(step.question, findings[:position])
        wordings = {Wording.STAND_ALONE: step.question}
        if step.needs:
            wordings = {
                Wording.REMOVED: REFERENCE.sub(" ", step.question),
                Wording.POINTED: REFERENCE.sub(DEMONSTRATIVE, step.question),
                Wording.COMPLETED: completed,
            }
        named = all(_names(completed, titles.get(passage, "")) for passage in step.passages)
        for wording, text in wordings.items():
            yield _Asked(position + 1, wording, " ".join(text.replace(">>", " ").split()), step.passages, named)


def _names(question: str, title: str) -> bool:
    """Whether all words of a title stand in a question; what a title has in brackets nobody asks with."""
    words = content_stems(title.partition("(")[0])
    return bool(words) and words <= content_stems(question)


def _recalls(
    asked: Sequence[_Asked], corpus: Corpus, names: Mapping[str, Sequence[str]], search: Retriever, k: int
) -> dict[tuple[str, bool | None, Wording], list[float]]:
    """Recall of every wording, gathered by the rows that it counts in."""
    recalls: dict[tuple[str, bool | None, Wording], list[float]] = {}
    for one in asked:
        found = project_to_passages(search(corpus, one.text, k * UNITS_A_PASSAGE), partial(corpus_ids, ids=names))
        recall = recall_at(k, found, one.gold)
        for place, named in one.places:
            recalls.setdefault((place, named, one.wording), []).append(recall)
    return recalls


def _rows(retriever: str, recalls: Mapping[tuple[str, bool | None, Wording], Sequence[float]]) -> list[ProbeRow]:
    """By place, the later ones together at the end, what is taken apart behind the whole; wordings as they are defined."""
    numbers = sorted({place for place, _, _ in recalls if place != LATER}, key=int)
    return [
        ProbeRow(
            retriever, place, named, wording, len(recalls[place, named, wording]), mean(recalls[place, named, wording])
        )
        for place in (*numbers, LATER)
        for named in (None, True, False)
        for wording in Wording
        if (place, named, wording) in recalls
    ]
