"""The commands for measurement: evaluate, score, probe, distil. `cli.py` registers them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from hoptrail.errors import UsageError
from hoptrail.json_object import JsonObject
from hoptrail.language.lazy import CHAT, OFFLINE
from hoptrail.serving import contract, options, render

if TYPE_CHECKING:
    from hoptrail.evaluation.datasets import Dataset
    from hoptrail.evaluation.reports import EvaluationReport
    from hoptrail.retrieval.corpus import Corpus
    from hoptrail.settings import Settings

probe = typer.Typer(
    help="Measure one thing about an index on a data set, without answering.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataFolder = Annotated[Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl and questions.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE.json", help="The file for the results.")]
Work = Annotated[Path | None, typer.Option("--work", metavar="DIR", help="Keep the index here.")]


EvaluationFolder = Annotated[
    Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl or documents/, and questions.")
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N questions.")]
Kept = Annotated[Path | None, typer.Option("--work", metavar="DIR", help="Keep index, results and runs here.")]
Threads = Annotated[int, typer.Option("--threads", metavar="N", min=1, help="Ask this many questions at once.")]
OwnContext = Annotated[
    bool, typer.Option("--own-context", help="Ask each question over only its own passages (candidates).")
]
SingleHops = Annotated[
    bool, typer.Option("--single-hops", help="Ask the self-contained sub-questions instead of the questions.")
]


def evaluate(
    data: EvaluationFolder,
    recipes: Annotated[list[str], typer.Option("--recipes", metavar="A,B", help="The recipes to run.")],
    questions: Annotated[Path | None, typer.Option("--questions", metavar="FILE")] = None,
    limit: Limit = None,
    language: options.LanguageName = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Do not answer.")] = False,
    out: Out = None,
    work: Kept = None,
    threads: Threads = 1,
    own_context: OwnContext = False,
    single_hops: SingleHops = False,
    settings: options.SettingsFile = None,
) -> None:
    """Measure recipes on a data set or on your own documents: answers, retrieval, seconds, cost."""
    from hoptrail.evaluation import datasets, runner
    from hoptrail.evaluation.oracle import OracleLanguage
    from hoptrail.evaluation.own_context import evaluate_own_contexts

    options.check_writable(out)
    if own_context and threads > 1:
        raise UsageError("--own-context asks one question at a time: leave --threads out.")
    dataset = datasets.load_dataset(data, questions, limit)
    dataset = datasets.single_hops_of(dataset) if single_hops else dataset
    with tempfile.TemporaryDirectory() as temporary, options.watching() as watcher:
        folder = work or Path(temporary)
        # The oracle cannot build anything, so the index keeps the language of the settings.
        builder = None if language == OracleLanguage.name else language
        opened = options.open_index(folder / runner.INDEX_FOLDER / dataset.name, settings, builder)
        names, performer = options.named(recipes), language or opened.settings.language
        _check_performer(performer, dataset, [] if retrieval_only else names, opened.settings, work)
        chosen: dict[str, Any] = {"retrieval_only": retrieval_only} | ({} if own_context else {"threads": threads})
        measure = evaluate_own_contexts if own_context else runner.evaluate
        report = measure(dataset, names, opened, folder, performer, watcher, **chosen)
    _show_report(report, None if own_context else work, out)


def _show_report(report: EvaluationReport, work: Path | None, out: Path | None) -> None:
    """Print a report and, with the folder `work`, its runs, and write it to `out`. Ends with 4 if documents were not read."""
    from hoptrail.evaluation.run_folder import RUNS_FOLDER
    from hoptrail.serving.render_evaluation import render_evaluation

    for line in (*render.render_notes(report.notes), *render.failures(report)):
        options.say(line)
    if report.unread:
        options.say(render.render_failures(report.unread))
    options.console_of().print(render_evaluation(report.to_json()))
    if work is not None:
        for _, recipe in report.recipes:  # for `hoptrail compare` and `hoptrail errors`
            options.console_of().print(render.plain(f"run: {work / RUNS_FOLDER / recipe.run}"), soft_wrap=True)
    _write_results(report.to_json(), out)
    if report.unread:
        raise typer.Exit(options.INCOMPLETE)


def _check_performer(
    performer: str, dataset: Dataset, recipes: Sequence[str], settings: Settings, work: Path | None
) -> None:
    """Print what a model may cost that answers with `recipes` (none: nothing is answered). Refuses a model without a folder
    `work`, and questions that the reader was trained on.
    """
    if performer == CHAT and work is None:
        raise UsageError("with the language chat, name a folder as --work: the paid replies are stored there.")
    if performer == CHAT:
        _print_costs(dataset, recipes, settings)
    if recipes and performer == OFFLINE and settings.offline.reader:
        from hoptrail.models.reader import refuse_training_questions

        refuse_training_questions(question.id for question in dataset.questions)


def _print_costs(dataset: Dataset, recipes: Sequence[str], settings: Settings) -> None:
    """Print what all questions may cost before anything is spent: some recipes take many replies per question."""
    from hoptrail.language.chat.estimating import estimate_asking
    from hoptrail.recipes.catalogue import recipe_settings

    for name in recipes:
        own, count = recipe_settings(name, settings.recipes), len(dataset.questions)
        estimate = estimate_asking(count, settings.chat, evidence_tokens=own.evidence_tokens, effort=own.effort)
        options.say(f"{name} may take for {count} questions: {estimate}")


@probe.command("lost-in-retrieval")
def probe_lost_in_retrieval(
    data: DataFolder,
    out: Out = None,
    work: Work = None,
    limit: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Number of passages for recall.")] = 2,
    settings: options.SettingsFile = None,
) -> None:
    """Measure recall of sub-questions without the name that an earlier answer gives, and of their completions."""
    from hoptrail.evaluation.lost_in_retrieval import probe_lost_in_retrieval as measure

    options.check_writable(out)
    with _indexed(data, ["hybrid"], work, settings) as (corpus, dataset, names):
        found = measure(corpus, dataset, names, limit)
    _show_probe(found.to_json(), render.render_lost_in_retrieval(found), out)


@probe.command("tree-coverage")
def probe_tree_coverage(
    data: DataFolder, out: Out = None, work: Work = None, settings: options.SettingsFile = None
) -> None:
    """Count the pairs of gold passages that groups of the similarity and relatedness trees contain."""
    from hoptrail.evaluation.tree_coverage import measure_tree_coverage

    options.check_writable(out)
    with _indexed(data, ["sirerag"], work, settings) as (corpus, dataset, names):
        found = measure_tree_coverage(corpus.snapshot, dataset, names)
    _show_probe(found.to_json(), render.render_tree_coverage(found), out)


@contextmanager
def _indexed(
    data: Path, recipes: list[str], work: Path | None, settings: Path | None
) -> Iterator[tuple[Corpus, Dataset, dict[str, list[str]]]]:
    """The indexed corpus, its data set, and the data set's ids of each document."""
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.runner import INDEX_FOLDER, corpus_ids_by_document, index_corpus

    dataset = load_dataset(data, None, None)
    with tempfile.TemporaryDirectory() as temporary, options.watching() as watcher:
        opened = options.open_index((work or Path(temporary)) / INDEX_FOLDER / dataset.name, settings)
        indexed = index_corpus(dataset, recipes, opened, watcher)
        for line in render.render_notes(indexed.notes):
            options.say(line)
        corpus = opened.recipe(recipes[0]).corpus
        yield corpus, dataset, corpus_ids_by_document(corpus.snapshot, dataset)


def _show_probe(content: JsonObject, shown: RenderableType, out: Path | None) -> None:
    options.console_of().print(shown)
    _write_results(content, out)


def _write_results(content: JsonObject, out: Path | None) -> None:
    if out is not None:
        options.write_text(out, contract.to_text(content) + "\n")


def score(
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS.jsonl", help="Lines with prediction and answers.")
    ],
    rule: Annotated[str, typer.Option("--rule", metavar="RULE", help="hotpotqa, 2wiki, musique or cover.")],
    each: Annotated[bool, typer.Option("--each", help="Also print the score of each line.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Score answers from any system by an official rule."""
    from hoptrail.evaluation.answer_scores import Rule, mean_score, score_predictions

    if rule not in set(Rule):
        raise UsageError(f"there is no rule {rule}. Rules: {', '.join(Rule)}.")
    scores = score_predictions(predictions, Rule(rule))
    summary = {"rule": rule, "n": len(scores)} | asdict(mean_score(scores))
    rows = [asdict(row) for row in scores] if each else []
    if as_json:
        options.print_json(summary | ({"each": rows} if each else {}))
        return
    for row in rows:
        print("\t".join(f"{value:.4f}" for value in row.values()))  # noqa: T201
    print("\t".join(f"{name} {value}" for name, value in summary.items()))  # noqa: T201


def distil(
    folder: options.IndexFolder,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the training set.")],
    validation_share: Annotated[
        float | None, typer.Option("--validation-share", metavar="SHARE", help="Share of the documents for validation.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Whose replies, if several models' are stored.")
    ] = "",
    settings: options.SettingsFile = None,
) -> None:
    """Write the stored extraction replies as a fine-tuning set for a smaller model."""
    from hoptrail.corpus.snapshot import Snapshot
    from hoptrail.evaluation.distilling import DistillingSettings, write_training_set
    from hoptrail.models.remembered import FILE, RememberedReplies
    from hoptrail.settings import load_settings
    from hoptrail.types import Kind

    chosen = DistillingSettings(model=model)
    if validation_share is not None:
        chosen = replace(chosen, validation_share=validation_share)
    passages = sorted(Snapshot.open(folder).units(Kind.PASSAGE), key=lambda unit: unit.sources)
    stored = RememberedReplies(folder / FILE).stored()
    counts = write_training_set(stored, passages, load_settings(settings).chat, out, chosen)
    options.console_of().print(render.render_training(counts), soft_wrap=True)
