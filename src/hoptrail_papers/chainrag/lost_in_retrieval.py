"""Lost in retrieval: the loss of recall when a sub-question lacks the name that an earlier answer gives.

This is the measurement behind ChainRAG ("Background" and "Retrieval Performance Verification"): recall@2 of the first
sub-question, of a later one as asked before anything is known, and of the same one completed. The paper's sub-questions come from
a model and refer back by a pronoun or description. Gold ones have a placeholder (`Where was #1 born?`), which is no search text.
So a sub-question that depends on an earlier one is measured in three wordings: without the placeholder, with a demonstrative in
its place (the paper's case), and completed by rules from the gold answers. The arrow of steps written as triples (`#1 >> spouse`)
is left out. Each wording is searched for in the whole corpus, without a language model.

`recall_in_own_contexts` measures as the paper does: a language decomposes, answers and rewrites, and searches each question's own
passages. Gold passages are those of the whole question, because data sets have no others for a model's sub-questions. (The paper
does not say which are its own; its figures, a little above a half, look like these.)

Later steps depend more often than first ones on a passage that mentions the answer in passing, under a title that no wording
names. For a fair comparison, both are also split by whether the completed sub-question names the gold titles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Dataset
from hoptrail.evaluation.question_run import Asking, PerQuestion, corpus_ids
from hoptrail.evaluation.retrieval_measures import Showing, project_to_passages, recall_at
from hoptrail.evaluation.runner import Contexts, corpus_ids_by_document, index_corpus
from hoptrail.index.indexing import Watcher
from hoptrail.language.questions.references import complete
from hoptrail.language.tasks import Finding
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import dense_search, hybrid_search
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import content_stems
from hoptrail.types import Ranking
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.run_tables import TextTable
from hoptrail_papers.gold_plan import REFERENCE, GoldPlan, gold_plan

DEMONSTRATIVE = "this"
FIRST = "1"
LATER = "later"
UNITS_A_PASSAGE = 10
"""Units retrieved per passage needed, because a document that was split into several passages counts once."""

RETRIEVERS: dict[str, Callable[[Corpus, str, int], Ranking]] = {"dense": dense_search, "hybrid": hybrid_search}


class SubQuestionWording(StrEnum):
    """The wording of a sub-question: `stand-alone` if it depends on no other; otherwise one of the others."""

    STAND_ALONE = "stand-alone"
    REMOVED = "removed"
    POINTED = "pointed"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """Mean recall@k of the sub-questions of one place in one wording.

    A place is a number from 1, or LATER for all after the first. `named` is True for sub-questions that name the titles of all
    their gold passages, False for the others, and None for both together.
    """

    retriever: str
    place: str
    named: bool | None
    wording: SubQuestionWording
    questions: int
    recall: float


@dataclass(frozen=True, slots=True)
class LostInRetrieval:
    """The result for one data set; `questions` is the number of questions with a usable decomposition, out of `of`."""

    data: str
    k: int
    questions: int
    of: int
    rows: tuple[ProbeRow, ...]

    def to_json(self) -> JsonObject:
        """The JSON object, nested by retriever, label of the place, and wording."""
        retrievers: dict[str, dict[str, JsonObject]] = {}
        for row in self.rows:
            place = retrievers.setdefault(row.retriever, {}).setdefault(label(row), {})
            place[row.wording] = {"questions": row.questions, f"recall@{self.k}": row.recall}
        return {"data": self.data, "k": self.k, "questions": self.questions, "of": self.of, "retrievers": retrievers}

    def table(self) -> TextTable:
        """One row per retriever and place of the sub-question, one column per wording."""
        cells: dict[tuple[str, str], dict[SubQuestionWording, str]] = {}
        for row in self.rows:
            cells.setdefault((row.retriever, label(row)), {})[row.wording] = f"{row.recall:.3f} ({row.questions})"
        rows = ((*place, *(shown.get(one, "-") for one in SubQuestionWording)) for place, shown in cells.items())
        asked = f"recall@{self.k} of gold sub-questions, {self.questions} of {self.of} questions have a decomposition"
        return TextTable(f"{self.data}: {asked}", ("retriever", "sub-question", *SubQuestionWording), tuple(rows))


def label(row: ProbeRow) -> str:
    return row.place if row.named is None else f"{row.place}, title {'named' if row.named else 'not named'}"


@dataclass(frozen=True, slots=True)
class _Probe:
    """One wording of one gold step, the passages it should find, and whether the completed step names their titles."""

    number: int
    wording: SubQuestionWording
    text: str
    gold: frozenset[str]
    named: bool

    @property
    def places(self) -> tuple[tuple[str, bool | None], ...]:
        """The place and `named` of each row in which it counts."""
        group = FIRST if self.number == 1 else LATER
        return (*dict.fromkeys(((str(self.number), None), (group, None))), (group, self.named))


def probe_lost_in_retrieval(
    corpus: Corpus, dataset: Dataset, names: Mapping[str, Sequence[str]], k: int = 2
) -> LostInRetrieval:
    """Recall@k of every gold sub-question in its wordings, by dense and by hybrid search over passages.

    `names` has the data set's ids by document id.
    Raises: UsageError: no question of the data set has a decomposition with answers and passages, or `k` is below 1.
    """
    if k < 1:
        raise UsageError(f"recall is taken at 1 or more passages, not {k}.")
    plans = [plan for question in dataset.questions if len((plan := gold_plan(question)).steps) > 1]
    if not plans:
        raise UsageError(
            f"{dataset.name} has no question with a decomposition that gives an answer and a passage for every step. The probe "
            f"needs a data set with gold decompositions, such as MuSiQue."
        )
    titles = {name: entry.title for entry in corpus.snapshot.register.entries for name in names.get(entry.id, ())}
    probes = [probe for plan in plans for probe in _probes(plan, titles)]
    rows = tuple(row for retriever in RETRIEVERS for row in _rows(retriever, probes, corpus, names, k))
    return LostInRetrieval(dataset.name, k, len(plans), len(dataset.questions), rows)


ORIGINAL, REWRITTEN = "chainrag:naive-decomposed", "chainrag:passages"
"""The same search over passages, for sub-questions that keep their references, and for rewritten ones."""


@dataclass(frozen=True, slots=True)
class OwnContextRecalls:
    """Mean recall@k of the first sub-question, and of the second as it was decomposed and rewritten, in percent, over the
    `questions` that the language decomposed, out of `of`.
    """

    data: str
    k: int
    questions: int
    of: int
    first: float
    original: float
    rewritten: float


def recall_in_own_contexts(contexts: Contexts, performers: PerQuestion, k: int = 2) -> OwnContextRecalls:
    """Ask every question over its own passages, with and without rewriting; `contexts` has ORIGINAL and REWRITTEN as recipes.
    Raises: UsageError: no question was decomposed. Interrupted, EndpointRefused, RecordingError: see `Asking.ask`.
    """
    found: list[list[float]] = []
    questions = contexts.dataset.questions
    for done, (question, alone, index) in enumerate(contexts.open_each(), 1):
        index_corpus(alone, contexts.recipes, index, Watcher(stopped=contexts.watcher.stopped))
        recalls = {}
        for name in (ORIGINAL, REWRITTEN):
            recipe = index.recipe(name, performers)
            showing = Showing(recipe.corpus, corpus_ids_by_document(recipe.corpus.snapshot, alone))
            trail = Asking(recipe, performers, alone, showing, retrieval_only=False).ask(question)[1]
            hops = [hop for hop in trail.hops if hop.question != question.question][:2]
            ranked = [dict.fromkeys(passage for hit in hop.hits for passage in hit.passages) for hop in hops]
            recalls[name] = [100 * recall_at(k, list(passages), question.supporting) for passages in ranked]
        if len(recalls[ORIGINAL]) == len(recalls[REWRITTEN]) == 2:
            found.append([*recalls[ORIGINAL], recalls[REWRITTEN][1]])
        contexts.watcher.report("sub-questions over their own passages", done, len(questions))
    if not found:
        raise UsageError(f"no question of {contexts.dataset.name} was decomposed, so there is no second sub-question.")
    means = (mean(list(column)) for column in zip(*found, strict=True))
    return OwnContextRecalls(contexts.dataset.name, k, len(found), len(questions), *means)


def _probes(plan: GoldPlan, titles: Mapping[str, str]) -> Iterator[_Probe]:
    findings = tuple(Finding(step.question, step.question, step.answers[0]) for step in plan.steps)
    for position, step in enumerate(plan.steps):
        completed = complete(step.question, findings[:position])
        wordings = {SubQuestionWording.STAND_ALONE: step.question}
        if step.needs:
            wordings = {
                SubQuestionWording.REMOVED: REFERENCE.sub(" ", step.question),
                SubQuestionWording.POINTED: REFERENCE.sub(DEMONSTRATIVE, step.question),
                SubQuestionWording.COMPLETED: completed,
            }
        named = all(_names(completed, titles.get(passage, "")) for passage in step.passages)
        for wording, text in wordings.items():
            yield _Probe(position + 1, wording, squeeze(text.replace(">>", " ")), step.passages, named)


def _names(question: str, title: str) -> bool:
    """Whether a question has all words of a title, apart from those in parentheses."""
    words = content_stems(title.partition("(")[0])
    return bool(words) and words <= content_stems(question)


def _rows(
    retriever: str, probes: Sequence[_Probe], corpus: Corpus, names: Mapping[str, Sequence[str]], k: int
) -> list[ProbeRow]:
    """Rows by place, LATER last; within a place the total before its split, and wordings in the order of `SubQuestionWording`."""
    recalls: defaultdict[tuple[str, bool | None, SubQuestionWording], list[float]] = defaultdict(list)
    for probe in probes:
        units = RETRIEVERS[retriever](corpus, probe.text, k * UNITS_A_PASSAGE)
        found = project_to_passages(units, partial(corpus_ids, ids=names))
        for place, named in probe.places:
            recalls[place, named, probe.wording].append(recall_at(k, found, probe.gold))
    numbers = sorted({place for place, _, _ in recalls if place != LATER}, key=int)
    return [
        ProbeRow(retriever, place, named, wording, len(values), mean(values))
        for place in (*numbers, LATER)
        for named in (None, True, False)
        for wording in SubQuestionWording
        if (values := recalls.get((place, named, wording)))
    ]
