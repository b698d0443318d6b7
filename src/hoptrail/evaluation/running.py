"""Running recipes over a data set's questions: resumable, a failed question counted and named, time kept apart.

The corpus is indexed like anybody's documents. A question's result is on disk before the next is asked, so a run that was
stopped goes on where it was; a question that failed is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from hoptrail.documents.splitting import PassageLimits
from hoptrail.documents.text import cleaned
from hoptrail.documents.walking import shown
from hoptrail.errors import (
    DataError,
    EndpointRefused,
    HoptrailError,
    Interrupted,
    RecordingError,
    TaskFailed,
    UsageError,
)
from hoptrail.evaluation.datasets import Dataset, Question, score_question
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.oracle import OracleLanguage
from hoptrail.evaluation.packed import Showing, packed_recall
from hoptrail.evaluation.results import EvaluationReport, QuestionResult, RecipeReport, ResultsFile, summarise_recipe
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, project_to_passages
from hoptrail.fingerprints import fingerprint
from hoptrail.index import Index
from hoptrail.indexing import Watcher
from hoptrail.language.identity import digest_of_code, language_identity
from hoptrail.language.tasks import Language, Reply, Task
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus, checked_question
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from hoptrail.types import Ranking, Unit, Usage, content_id

T = TypeVar("T")

INDEX_FOLDER = "index"
RESULTS_FOLDER = "results"


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Everything that can change a result, for the fingerprint under which results are kept."""

    recipe: str
    settings: str
    language: str
    encoder: str
    structures: tuple[tuple[str, str, str], ...]
    documents: str
    retrieval_only: bool


class TimedLanguage:
    """A language that keeps the seconds spent in it and the tasks that it performed for a question, and why it last failed.

    `identity` is what its replies hang on (`language.identity`), where that is more than its name.
    """

    def __init__(self, language: Language, identity: str = "") -> None:
        self._language = language
        self.name = language.name
        self.identity = identity or language.name
        self.start()

    def start(self) -> None:
        """Forget what was before: another question comes."""
        self.seconds = 0.0
        self.tasks = 0
        self.failure: str | None = None

    def follow(self, question: Question, names: Mapping[str, Sequence[str]], corpus: Corpus) -> None:
        """Let the oracle know the question and its corpus's ids by document; other languages must not."""
        if isinstance(self._language, OracleLanguage):
            self._language.follow(question, names, corpus.documents)

    def perform(self, task: Task[T]) -> Reply[T]:
        started = time.perf_counter()
        self.tasks += 1
        try:
            return self._language.perform(task)
        except TaskFailed as failure:
            self.failure = str(failure)
            raise
        finally:
            self.seconds += time.perf_counter() - started


def evaluate(
    dataset: Dataset,
    recipes: Sequence[str],
    index: Index,
    work: Path,
    language: str,
    watcher: Watcher,
    *,
    retrieval_only: bool = False,
) -> EvaluationReport:
    """Index the corpus (only what is not there yet), run every recipe over every question, and put the results together.

    Raises:
        UsageError: no recipe is named, or one that there is not.
        DataError: a passage of the corpus could not be read.
        Interrupted: the watcher asked to stop; finished results are kept in `work`.
    """
    if not recipes:
        raise UsageError("name at least one recipe to evaluate; `hoptrail recipes` lists them.")
    index_corpus(dataset, recipes, index, watcher)
    performer = TimedLanguage(_open_performer(language, index), _identity_of(language, index))
    reports = [
        (
            name,
            run_recipe(index.recipe(name, performer), performer, dataset, work, watcher, retrieval_only=retrieval_only),
        )
        for name in recipes
    ]
    return EvaluationReport(dataset.name, len(dataset.questions), language, tuple(reports))


def index_corpus(dataset: Dataset, recipes: Sequence[str], index: Index, watcher: Watcher) -> None:
    """Have `index` hold the corpus, nothing else, and what the recipes need.

    Raises:
        DataError: a passage of the corpus could not be read.
    """
    failures = index.add([dataset.corpus], recipes, watcher).failures
    if failures:
        raise DataError(f"{len(failures)} passages of {dataset.corpus} could not be read; the first: {failures[0]}")
    _leave_only_the_corpus(index, dataset)


def run_recipe(
    recipe: Recipe, language: TimedLanguage, dataset: Dataset, work: Path, watcher: Watcher, *, retrieval_only: bool
) -> RecipeReport:
    """One recipe over all questions. Results that are already in `work` under the same fingerprint are not made again."""
    identity = fingerprint(_identity(recipe, language.identity, retrieval_only))
    names = corpus_ids_by_document(recipe.corpus.snapshot, dataset)
    showing = Showing(recipe.corpus, names)
    folder = work / RESULTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with ResultsFile(folder / f"{dataset.name}-{recipe.name}.jsonl", identity) as results:
        for done, question in enumerate(dataset.questions):
            if watcher.stopped():
                raise Interrupted(
                    "stopped; finished questions are kept. Run the same command with the same --work to go on."
                )
            before = results.finished.get(question.id)
            if before is None or before.error is not None or before.asked != fingerprint(question):
                language.follow(question, names, recipe.corpus)
                results.append(_run_question(recipe, language, question, dataset, showing, retrieval_only))
            watcher.report(recipe.name, done + 1, len(dataset.questions))
        return summarise_recipe(
            dataset.questions,
            results.finished,
            pool_size=recipe.settings.pool.size(recipe.corpus.snapshot),
            fingerprint=fingerprint(recipe.settings),
            retrieval_only=retrieval_only,
            by_oracle=language.name == OracleLanguage.name,
        )


def _open_performer(language: str, index: Index) -> Language:
    """The oracle is opened here and nowhere else: only an evaluation has the gold that it answers from."""
    return OracleLanguage() if language == OracleLanguage.name else index.language(language)


def _identity_of(language: str, index: Index) -> str:
    if language == OracleLanguage.name:
        return f"{language} {digest_of_code('hoptrail.evaluation')}"
    return language_identity(language, index.settings.chat)


def _run_question(
    recipe: Recipe,
    language: TimedLanguage,
    question: Question,
    dataset: Dataset,
    showing: Showing,
    retrieval_only: bool,
) -> QuestionResult:
    language.start()
    started = time.perf_counter()
    prediction: str | None = None
    error: str | None = None
    ranking: Ranking = ()
    usage = Usage()
    try:
        text = checked_question(question.question)
        if retrieval_only:
            ranking = recipe.retrieve(text)
        else:
            answer = recipe.answer(text)
            prediction, ranking, usage = answer.text, answer.ranking, answer.usage
            # Whoever abstains because a task failed has not judged the question: that is no result to keep.
            error = language.failure if answer.abstained else None
    except (Interrupted, EndpointRefused, RecordingError):
        raise  # the next question would meet the same; what is finished is kept
    except HoptrailError as failure:
        error = str(failure)
    seconds = time.perf_counter() - started
    score = None if retrieval_only or error else score_question(question, prediction, dataset.rule)
    return QuestionResult(
        question=question.id,
        prediction=prediction,
        abstained=prediction is None and error is None and not retrieval_only,
        error=error,
        score=score,
        passages=tuple(project_to_passages(ranking, partial(corpus_ids, ids=showing.ids))[:DEEPEST_CUTOFF]),
        packed=packed_recall(ranking, question.supporting, showing),
        seconds_retrieval=seconds - language.seconds,
        seconds_language=language.seconds,
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        tasks=language.tasks,
        asked=fingerprint(question),
    )


def _leave_only_the_corpus(index: Index, dataset: Dataset) -> None:
    """Take out of a kept index what the corpus no longer holds: retrieval must choose from the corpus and nothing else."""
    prefix = _source_prefix(dataset)
    sources = {prefix + cleaned(line.content["id"]).text for line in read_lines(dataset.corpus)}
    strangers = [
        source for document in index.contents().documents for source in document.sources if source not in sources
    ]
    if strangers:
        index.remove(strangers)


def corpus_ids(unit: Unit, ids: Mapping[str, Sequence[str]]) -> list[str]:
    """The corpus's own ids of the documents a unit was made from, in order, without repeats."""
    return list(dict.fromkeys(name for span in unit.sources for name in ids.get(span.document, ())))


def corpus_ids_by_document(snapshot: Snapshot, dataset: Dataset) -> dict[str, list[str]]:
    """Document id to the ids its content has in corpus.jsonl (several, if the corpus repeats itself)."""
    prefix = _source_prefix(dataset)
    return {
        entry.id: [source.removeprefix(prefix) for source in entry.sources if source.startswith(prefix)]
        for entry in snapshot.entries
    }


def _source_prefix(dataset: Dataset) -> str:
    """What the sources of all passages begin with; their ids follow."""
    return f"{shown(dataset.corpus.resolve())}#"


def _structures(recipe: Recipe) -> list[str]:
    """What the recipe's structures are built from is part of what its results hang on; what other recipes need is not."""
    known = structures_by_name(PassageLimits())
    names = (structure.name for structure in with_foundations(recipe.settings.structures, known))
    return sorted(set(names) & set(recipe.corpus.snapshot.head.structures))


def _identity(recipe: Recipe, language: str, retrieval_only: bool) -> RunIdentity:
    head = recipe.corpus.snapshot.head
    return RunIdentity(
        recipe.name,
        fingerprint(recipe.settings),
        language,
        fingerprint(head.encoder),
        tuple((name, head.structures[name], head.languages.get(name, "")) for name in _structures(recipe)),
        content_id("", *(entry.id for entry in recipe.corpus.snapshot.entries)),
        retrieval_only,
    )
