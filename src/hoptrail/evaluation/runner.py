"""Runs recipes over the questions of a data set. Resumable; failed questions are counted and named.

The corpus is indexed like any documents. The trail and result of a question are on disk as soon as it is answered, so a stopped
run resumes there; failed questions are asked again. Finished runs are kept in folders (`run_folder.py`).

ChainRAG searches each question's own passages, its `candidates`: then there is one small index per question. They are built one
by one with the same settings and encoder, and kept in the work folder, so that a stopped run resumes. There is no run folder,
because such a run has no single index. `pool_size` in the report is the mean number of own passages.

The documents of an index have names in the data. The name of a corpus line is its id. The name of an own document is its path
below `documents/`, even if the file has several documents, such as a JSONL file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain, islice, takewhile
from pathlib import Path
from platform import python_version
from typing import Any, TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.decoding import cleaned
from hoptrail.documents.splitting import PassageLimits
from hoptrail.documents.walking import shown
from hoptrail.errors import DataError, DocumentError, Interrupted, MadeByAnother, UsageError
from hoptrail.evaluation.datasets import Dataset, Question, files_below
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.question_run import Asking, PerQuestion, corpus_ids
from hoptrail.evaluation.reports import EvaluationReport, RecipeReport, summarise_recipe
from hoptrail.evaluation.results import QuestionResult, ResultsFile, open_results
from hoptrail.evaluation.retrieval_measures import Showing
from hoptrail.evaluation.run_folder import RunFolder, RunHeader
from hoptrail.fingerprints import digest_with, fingerprint
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher
from hoptrail.index.settings import to_toml
from hoptrail.index.syncing import IndexingReport
from hoptrail.language.factory import language_identity
from hoptrail.models.environment import configured_model
from hoptrail.plugins import found, loaded
from hoptrail.recipes.catalogue import changed_keys, recipe_settings
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.rankings import Pool
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from hoptrail.system.atomic_write import replace_file
from hoptrail.types import content_id

Item = TypeVar("Item")
Result = TypeVar("Result")

INDEX_FOLDER = "index"
RESULTS_FOLDER = "results"
OWN = "own"

UNSETTLED = " (not whole)"

STOPPED = "stopped; finished questions are kept. Run the same command with the same --work to go on."
SCRIPTED = "scripted"  # prefix of the names of languages whose replies come in a fixed order
MODEL_LANGUAGES = ("chat", "replay")  # languages whose tasks a language model performs or has performed


def evaluate(
    dataset: Dataset,
    recipes: Sequence[str],
    index: Index,
    work: Path,
    language: str,
    watcher: Watcher,
    *,
    retrieval_only: bool = False,
    threads: int = 1,
) -> EvaluationReport:
    """Index the corpus as far as needed, run every recipe over every question, and summarise the results. `threads` is the number
    of questions asked at once; it changes only the measured seconds. Finished results are kept in `work`, whatever is raised.

    Raises: UsageError: no recipe is named, a recipe does not exist, a scripted language is to serve several threads, or the
    oracle is to answer questions about own documents. DataError: a passage of the corpus, or all own documents, could not be
    read. IndexUnavailable: the index cannot be used, or lacks a structure that a recipe needs. Interrupted: the watcher asked to
    stop.
    """
    check_named(recipes)
    if threads > 1 and language.startswith(SCRIPTED):
        raise UsageError("a scripted language gives its replies in the order of asking, so it serves one thread only.")
    if dataset.rule is None and language in found("languages"):
        raise UsageError(
            f"the {language} answers from gold passages and answers, which questions about own documents lack."
        )
    indexed = index_corpus(dataset, recipes, index, watcher)
    performers = open_performers(language, index)
    own = index.settings.recipes
    runs = [
        RecipeRun(name, index.recipe(name, performers), performers, dataset, work, changed_keys(name, own))
        for name in recipes
    ]
    reports = tuple((run.name, run.run(watcher, retrieval_only=retrieval_only, threads=threads)) for run in runs)
    notes, unread = tuple(indexed.notes), tuple(indexed.failures)
    return EvaluationReport(dataset.name, len(dataset.questions), language, reports, notes, unread)


def check_named(recipes: Sequence[str]) -> None:
    """Raises: UsageError: no recipe is named."""
    if not recipes:
        raise UsageError("name at least one recipe to evaluate; `hoptrail recipes` lists them.")


def index_corpus(dataset: Dataset, recipes: Sequence[str], index: Index, watcher: Watcher) -> IndexingReport:
    """Make `index` hold the corpus and nothing else, with the structures that the recipes need. Raises: UsageError: another
    language has built one of them. DataError: a passage of the corpus, or all own documents, could not be read.
    """
    try:
        report = index.add([dataset.corpus], recipes, watcher)
    except MadeByAnother as error:
        raise UsageError(f"{error.fact}. Name another folder as `--work`.") from error
    if report.failures and dataset.rule is not None:
        raise _unread("passages", report.failures, dataset)
    # Of a reused index, documents that are no longer in the data are removed: retrieval must search the data and nothing else.
    if dataset.rule is None:
        present = files_below(dataset.corpus)
    else:
        present = frozenset(cleaned(line.content["id"]).text for line in read_lines(dataset.corpus))
    name_of = _name_of(dataset)
    sources = (source for document in index.contents().documents for source in document.sources)
    if outdated := [source for source in sources if name_of(source) not in present]:
        index.remove(outdated)
    if report.failures and not index.contents().documents:
        raise _unread("documents, all there are,", report.failures, dataset)
    return report


def _unread(what: str, failures: Sequence[DocumentError], dataset: Dataset) -> DataError:
    return DataError(f"{len(failures)} {what} of {dataset.corpus} could not be read; the first: {failures[0]}")


@dataclass(frozen=True, slots=True)
class RecipeRun:
    """A recipe, under the name that the user gave, and the questions it is run over. `language` is that of the recipe, and
    `changed` what the settings change of its preset.
    """

    name: str
    recipe: Recipe
    language: PerQuestion
    dataset: Dataset
    work: Path
    changed: tuple[str, ...] = ()

    def run(self, watcher: Watcher, *, retrieval_only: bool = False, threads: int = 1) -> RecipeReport:
        """Ask all questions that have no result under the same fingerprint in `work`, and summarise all results.
        Raises: Interrupted: the watcher asked to stop; finished results are kept.
        """
        names = corpus_ids_by_document(self.recipe.corpus.snapshot, self.dataset)
        asking = Asking(self.recipe, self.language, self.dataset, Showing(self.recipe.corpus, names), retrieval_only)
        header = self._header(names, retrieval_only)
        path = self.work / RESULTS_FOLDER / f"{self.dataset.name}-{self.recipe.name}.jsonl"
        with open_results(path, header.fingerprint) as results:
            settings = to_toml(self.recipe.settings, f"recipes.{self.recipe.name}.").lstrip()
            folder = RunFolder(self.work, header, settings, self.dataset.questions)
            self._ask(asking, results, folder, watcher, threads)
            folder.finish(results.finished)
            return summarise_recipe(
                self.dataset.questions,
                results.finished,
                pool_size=header.pool_size,
                identity={"fingerprint": header.settings, "changed": list(self.changed), "run": header.name},
                retrieval_only=retrieval_only,
                by_oracle=self.language.name in found("languages"),
                own_documents=self.dataset.rule is None,
            )

    def _ask(self, asking: Asking, results: ResultsFile, folder: RunFolder, watcher: Watcher, threads: int) -> None:
        """Ask the open questions. A trail is stored before its result, so that no result lacks one."""
        questions = self.dataset.questions
        remaining = [question for question in questions if is_open(question, results.finished.get(question.id))]
        done = len(questions) - len(remaining)
        until_stopped = takewhile(lambda _: not watcher.stopped(), remaining)
        for result, trail in map_threaded(until_stopped, asking.ask, threads):
            folder.trails.append(trail)
            results.append(result)
            done += 1
            watcher.report(self.recipe.name, done, len(questions))
        if done < len(questions):
            raise Interrupted(STOPPED)

    def _header(self, names: Mapping[str, Sequence[str]], retrieval_only: bool) -> RunHeader:
        snapshot, settings = self.recipe.corpus.snapshot, self.recipe.settings
        encoder, own, structures = snapshot.head.encoder, fingerprint(settings), _structures(self.recipe)
        documents = content_id("", *(entry.id for entry in snapshot.register.entries))
        # Everything that can change a result: results are stored under its digest.
        identity = (digest_with(self.recipe), self.recipe.name, own, self.language.identity, fingerprint(encoder))
        digest = content_id("", *identity, *chain(*structures), documents, str(retrieval_only))[: len(own)]
        return RunHeader(
            data=self.dataset.name,
            recipe=self.name,
            language=self.language.name,
            rule=self.dataset.rule,
            retrieval_only=retrieval_only,
            fingerprint=digest,
            settings=own,
            documents=documents,
            structures=structures,
            pool_size=settings.pool.size(snapshot),
            outside_pool=_gold_outside_pool(settings.pool, snapshot, self.dataset, names),
            encoder=encoder,
            versions={"hoptrail": version("hoptrail"), "python": python_version()},
            model=self.language.model,
        )


def is_open(question: Question, before: QuestionResult | None) -> bool:
    """Whether a question must be asked: it has no result, failed, or was corrected since."""
    return before is None or before.error is not None or before.asked != fingerprint(question)


def _gold_outside_pool(
    pool: Pool, snapshot: Snapshot, dataset: Dataset, names: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The gold passages from which no unit of the pool was made."""
    missing = {passage for question in dataset.questions for passage in question.supporting}
    for unit in pool.units(snapshot):
        if not missing:
            break
        missing.difference_update(corpus_ids(unit, names))
    return tuple(sorted(missing))


def open_performers(language: str, index: Index) -> PerQuestion:
    """Open a language by name. Only here are readers of gold available, because only an evaluation has it."""
    if language in found("languages"):
        return PerQuestion(language, loaded("languages", language))
    opened = index.language(language, fully_priced=True)
    chat = index.settings.chat
    models = dict.fromkeys(configured_model(own.model) for own in chat.asking)
    model = "+".join(models) if language.partition(":")[0] in MODEL_LANGUAGES else ""
    identity = language_identity(language, chat, index.settings.offline)
    return PerQuestion(opened.name, lambda: opened, identity, model)


def _structures(recipe: Recipe) -> tuple[tuple[str, str, str], ...]:
    """The recipe's structures and those they are built from, each with its fingerprint and the language that built it. An
    unfinished structure is marked, because results change when it is finished.
    """
    head = recipe.corpus.snapshot.head
    known = structures_by_name(PassageLimits())
    needed = {structure.name for structure in with_foundations(recipe.settings.structures, known)}
    return tuple(
        (name, head.structures[name], head.languages.get(name, "") + ("" if name in head.settled else UNSETTLED))
        for name in sorted(needed & head.structures.keys())
    )


def map_threaded(items: Iterable[Item], work: Callable[[Item], Result], threads: int) -> Iterator[Result]:
    """Yield `work(item)` of every item in order of completion. With one thread, the calling thread does the work in order.

    An item is taken only when a thread is free, so that `items` may end the work early. If the work on an item raises, items
    under way are finished and yielded first, and no further item is begun.
    Raises: UsageError: `threads` is below 1.
    """
    if threads < 1:
        raise UsageError(f"at least one thread is needed, not {threads}")
    if threads == 1:
        yield from map(work, items)
        return
    items = iter(items)
    failure: BaseException | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="hoptrail-question") as pool:
        under_way: set[Future[Result]] = {pool.submit(work, item) for item in islice(items, threads)}
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                failure = failure or error
                if error is None:
                    yield future.result()
            if failure is None:
                under_way |= {pool.submit(work, item) for item in islice(items, threads - len(under_way))}
    if failure is not None:
        raise failure


def corpus_ids_by_document(snapshot: Snapshot, dataset: Dataset) -> dict[str, list[str]]:
    """The names in the data by document id; several if the data repeat the content of a document."""
    name_of = _name_of(dataset)
    return {
        entry.id: list(dict.fromkeys(name for source in entry.sources if (name := name_of(source)) is not None))
        for entry in snapshot.register.entries
    }


def _name_of(dataset: Dataset) -> Callable[[str], str | None]:
    """Gives the data's name for a source; None if the source is not from the data."""
    if dataset.rule is not None:
        prefix = f"{shown(dataset.corpus.resolve())}#"
        return lambda source: source.removeprefix(prefix) if source.startswith(prefix) else None
    folder, files = f"{shown(dataset.corpus.resolve())}/", files_below(dataset.corpus)

    def file_name(source: str) -> str | None:
        name = source.removeprefix(folder) if source.startswith(folder) else ""
        while name and name not in files:
            name = name.rpartition("#")[0]  # the name of a file may itself contain `#`
        return name or None

    return file_name


# --- each question over its own passages


def evaluate_own_contexts(
    dataset: Dataset,
    recipes: Sequence[str],
    index: Index,
    work: Path,
    language: str,
    watcher: Watcher,
    *,
    retrieval_only: bool = False,
) -> EvaluationReport:
    """Run every recipe over every question with candidates, each over an index of these alone. Settings and encoder are those of
    `index`, which is not changed. `Interrupted` leaves finished results in `work`.
    Raises: UsageError: no recipe is named, or a recipe does not exist. DataError: no question has candidates.
    """
    check_named(recipes)
    usable = replace(dataset, questions=tuple(question for question in dataset.questions if question.candidates))
    if not usable.questions:
        raise DataError(
            f"no question of {dataset.name} has candidates: --own-context needs own passages for each question."
        )
    contexts = Contexts(usable, tuple(recipes), index, work, watcher)
    performers = open_performers(language, index)
    reports = [(name, _report(name, contexts, performers, retrieval_only=retrieval_only)) for name in recipes]
    return EvaluationReport(f"{dataset.name}-{OWN}", len(usable.questions), language, tuple(reports))


@dataclass(frozen=True)
class Contexts:
    """The own corpora of the questions."""

    dataset: Dataset
    recipes: tuple[str, ...]
    index: Index
    work: Path
    watcher: Watcher

    def open_each(self) -> Iterator[tuple[Question, Dataset, Index]]:
        """Yield every question with a data set of its own corpus, and the index for it."""
        texts = self.texts
        for question in self.dataset.questions:
            folder = self.work / OWN / self.dataset.name / content_id("q", question.id)
            corpus = folder / "corpus.jsonl"
            lines = [texts[name] for name in question.candidates if name in texts]
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(corpus, "".join(f"{line}\n" for line in lines).encode())
            own = Index(folder / INDEX_FOLDER, self.index.settings)
            own.encoder = self.index.encoder
            alone = replace(self.dataset, corpus=corpus, passages=len(lines), questions=(question,))
            yield question, alone, own

    @property
    def texts(self) -> Mapping[str, str]:
        """The candidates of all questions as lines of a corpus file, by id."""
        candidates = {name for question in self.dataset.questions for name in question.candidates}
        lines = (line.content for line in read_lines(self.dataset.corpus) if line.content["id"] in candidates)
        return {content["id"]: json.dumps(content, sort_keys=True) for content in lines}

    def identity(self, recipe: str, language: str, *, retrieval_only: bool) -> str:
        """A hash of everything that can change a result."""
        settings, texts = self.index.settings, self.texts
        own: Any = recipe_settings(recipe, settings.recipes)
        parts = (own, settings.structures, settings.passages, self.index.encoder.identity)
        identity = list(map(fingerprint, parts))
        documents = [texts[name] for name in sorted(texts)]
        builder = language_identity(settings.builder, settings.chat.of("build"), settings.offline)
        rest = [digest_with(own), recipe, builder, language, str(retrieval_only)]
        return content_id("", *identity, *rest, *documents)


def _report(recipe: str, contexts: Contexts, performers: PerQuestion, *, retrieval_only: bool) -> RecipeReport:
    dataset, watcher = contexts.dataset, contexts.watcher
    path = contexts.work / RESULTS_FOLDER / f"{dataset.name}-{OWN}-{recipe.replace(':', '.')}.jsonl"
    identity = contexts.identity(recipe, performers.identity, retrieval_only=retrieval_only)
    with open_results(path, identity) as results:
        for done, (question, alone, index) in enumerate(contexts.open_each(), 1):
            if watcher.stopped():
                raise Interrupted(STOPPED)
            if is_open(question, results.finished.get(question.id)):
                index_corpus(alone, contexts.recipes, index, Watcher(stopped=watcher.stopped))
                opened = index.recipe(recipe, performers)
                names = corpus_ids_by_document(opened.corpus.snapshot, alone)
                asking = Asking(opened, performers, alone, Showing(opened.corpus, names), retrieval_only)
                results.append(asking.ask(question)[0])
            watcher.report(recipe, done, len(dataset.questions))
        return summarise_recipe(
            dataset.questions,
            results.finished,
            pool_size=round(sum(len(question.candidates) for question in dataset.questions) / len(dataset.questions)),
            identity={
                "fingerprint": identity,
                "changed": changed_keys(recipe, contexts.index.settings.recipes),
                "run": "",
            },
            retrieval_only=retrieval_only,
            by_oracle=performers.name in found("languages"),
        )
