"""Evaluates recipes over each question's own passages, as in ChainRAG: one small index per question.

The passages are the question's `candidates`. The indexes are built one by one with the same settings and encoder, and kept in the
work folder, so that a stopped run resumes. Results go to a results file, as in a run over the whole corpus. There is no run
folder, because such a run has no single index. `pool_size` in the report is the mean number of own passages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError, Interrupted
from hoptrail.evaluation import runner
from hoptrail.evaluation.datasets import Dataset, Question
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.question_run import Asking, PerQuestion
from hoptrail.evaluation.reports import EvaluationReport, RecipeReport, summarise_recipe
from hoptrail.evaluation.results import open_results
from hoptrail.evaluation.retrieval_measures import Showing
from hoptrail.fingerprints import digest_with, fingerprint
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher
from hoptrail.language.factory import language_identity
from hoptrail.plugins import found
from hoptrail.recipes.catalogue import changed_keys, recipe_settings
from hoptrail.system.atomic_write import replace_file
from hoptrail.types import content_id

OWN = "own"


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
    runner.check_named(recipes)
    usable = replace(dataset, questions=tuple(question for question in dataset.questions if question.candidates))
    if not usable.questions:
        raise DataError(
            f"no question of {dataset.name} has candidates: --own-context needs own passages for each question."
        )
    contexts = Contexts(usable, tuple(recipes), index, work, watcher)
    performers = runner.open_performers(language, index)
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
            own = Index(folder / runner.INDEX_FOLDER, self.index.settings)
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
        identity = [
            fingerprint(part) for part in (own, settings.structures, settings.passages, self.index.encoder.identity)
        ]
        documents = [texts[name] for name in sorted(texts)]
        builder = language_identity(settings.builder, settings.chat.of("build"), settings.offline)
        rest = [digest_with(own), recipe, builder, language, str(retrieval_only)]
        return content_id("", *identity, *rest, *documents)


def _report(recipe: str, contexts: Contexts, performers: PerQuestion, *, retrieval_only: bool) -> RecipeReport:
    dataset, watcher = contexts.dataset, contexts.watcher
    path = contexts.work / runner.RESULTS_FOLDER / f"{dataset.name}-{OWN}-{recipe.replace(':', '.')}.jsonl"
    identity = contexts.identity(recipe, performers.identity, retrieval_only=retrieval_only)
    with open_results(path, identity) as results:
        for done, (question, alone, index) in enumerate(contexts.open_each(), 1):
            if watcher.stopped():
                raise Interrupted(runner.STOPPED)
            if runner.is_open(question, results.finished.get(question.id)):
                runner.index_corpus(alone, contexts.recipes, index, Watcher(stopped=watcher.stopped))
                opened = index.recipe(recipe, performers)
                names = runner.corpus_ids_by_document(opened.corpus.snapshot, alone)
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
