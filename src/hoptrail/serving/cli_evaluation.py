"""The commands for measurement: evaluate, score. `cli.py` registers them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hoptrail.errors import MadeByAnother, UsageError
from hoptrail.index import contract
from hoptrail.language.tasks import CHAT, OFFLINE
from hoptrail.serving import options, render
from hoptrail.serving.options import option
from hoptrail.types import Usage
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.evaluation.datasets import Dataset
    from hoptrail.evaluation.reports import EvaluationReport
    from hoptrail.index.index import Index
    from hoptrail.index.settings import Settings

Out = Annotated[Path | None, option("--out", "FILE.json", "The file for the results.")]
OWN_CONTEXT = "Ask each question over only its own passages (candidates)."
SINGLE_HOPS = "Ask the self-contained sub-questions instead of the questions."
EvaluationFolder = Annotated[
    Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl or documents/, and questions.")
]


def evaluate(
    data: EvaluationFolder,
    recipes: Annotated[list[str], option("--recipes", "A,B", "The recipes to run.")],
    questions: Annotated[Path | None, typer.Option("--questions", metavar="FILE")] = None,
    limit: Annotated[int | None, option("--limit", "N", "Only the first N questions.", min=1)] = None,
    language: options.LanguageName = None,
    retrieval_only: Annotated[bool, option("--retrieval-only", None, "Do not answer.")] = False,
    out: Out = None,
    work: Annotated[Path | None, option("--work", "DIR", "Keep index, results and runs here.")] = None,
    threads: Annotated[int, option("--threads", "N", "Ask this many questions at once.", min=1)] = 1,
    own_context: Annotated[bool, option("--own-context", None, OWN_CONTEXT)] = False,
    single_hops: Annotated[bool, option("--single-hops", None, SINGLE_HOPS)] = False,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Measure recipes on a data set or on your own documents: answers, retrieval, seconds, cost."""
    from hoptrail.evaluation import datasets, runner
    from hoptrail.evaluation.runner import evaluate_own_contexts
    from hoptrail.plugins import found

    options.check_writable(out)
    if own_context and threads > 1:
        raise UsageError("--own-context asks one question at a time: leave --threads out.")
    dataset = datasets.load_dataset(data, questions, limit)
    dataset = datasets.single_hops_of(dataset) if single_hops else dataset
    names = options.named(recipes)
    keys = options.Given(given, names, ["server"], alone=True)
    with tempfile.TemporaryDirectory() as temporary, options.watching() as watcher:
        folder = work or Path(temporary)
        # A reader of gold cannot build anything, so the index keeps the language of the settings.
        builder = None if language in found("languages") else language
        opened = options.open_index(folder / runner.INDEX_FOLDER / dataset.name, settings, builder, keys)
        performer = language or opened.settings.language
        _check_performer(performer, dataset, [] if retrieval_only else names, opened.settings, work)
        print_building(dataset, names, opened, own_context=own_context)
        chosen: dict[str, Any] = {"retrieval_only": retrieval_only} | ({} if own_context else {"threads": threads})
        measure = evaluate_own_contexts if own_context else runner.evaluate
        report = measure(dataset, names, opened, folder, performer, watcher, **chosen)
    _show_report(report, None if own_context else work, out)


def _show_report(report: EvaluationReport, work: Path | None, out: Path | None) -> None:
    """Print a report and, with the folder `work`, its runs, and write it to `out`. Ends with 4 if documents were not read."""
    from hoptrail.evaluation.run_folder import RUNS_FOLDER
    from hoptrail.serving.render_evaluation import failures, render_evaluation

    for line in (*render.render_notes(report.notes), *failures(report)):
        options.say(line)
    if report.unread:
        options.say(render.render_failures(report.unread))
    options.console_of().print(render_evaluation(report.to_json()))
    if work is not None:
        for _, recipe in report.recipes:  # for `hoptrail compare` and `hoptrail errors`
            options.console_of().print(render.plain(f"run: {work / RUNS_FOLDER / recipe.run}"), soft_wrap=True)
    write_results(report.to_json(), out)
    if report.unread:
        raise typer.Exit(options.INCOMPLETE)


def _check_performer(
    performer: str, dataset: Dataset, recipes: Sequence[str], settings: Settings, work: Path | None
) -> None:
    """Print what a model may cost that answers with `recipes` (none: nothing is answered).
    Raises: UsageError: a model without a folder `work`; questions that the reader was trained on.
    """
    if CHAT in (performer, settings.builder) and work is None:
        raise UsageError("with the language chat, name a folder as --work: the paid replies are stored there.")
    if performer == CHAT:
        _print_costs(dataset, recipes, settings)
    if recipes and performer == OFFLINE and settings.offline.reader:
        from hoptrail.models.networks import refuse_training_questions

        refuse_training_questions(question.id for question in dataset.questions)


def _print_costs(dataset: Dataset, recipes: Sequence[str], settings: Settings) -> None:
    """Print what all questions may cost before anything is spent: some recipes take many replies per question."""
    from hoptrail.language.chat.estimating import estimate_asking
    from hoptrail.language.tasks import Effort
    from hoptrail.models.environment import configured_model
    from hoptrail.recipes.catalogue import recipe_settings

    count, (reading, *decomposing) = len(dataset.questions), settings.chat.asking
    for name in recipes:
        own = recipe_settings(name, settings.recipes)
        effort = replace(own.effort, plans=(0, 0)) if decomposing else own.effort
        estimate = estimate_asking(count, reading, evidence_tokens=own.evidence_tokens, effort=effort)
        options.say(f"{name} may take for {count} questions: {estimate}")
        for chat in decomposing if any(own.effort.plans) else ():
            plans = Effort((0, 0), own.effort.plans)
            estimate = estimate_asking(count, chat, evidence_tokens=0, effort=plans)
            options.say(f"and of {configured_model(chat.model)}, which decomposes: {estimate}")


def print_building(dataset: Dataset, recipes: Sequence[str], index: Index, *, own_context: bool = False) -> None:
    """Print what a model may cost that builds the structures, from a rehearsal over the corpus."""
    from hoptrail.index.indexing import Watcher

    if index.settings.builder != CHAT:
        return
    try:
        usage = index.estimate([dataset.corpus], recipes, Watcher()).usage
    except MadeByAnother:
        return  # nothing will be built: the evaluation says what to do
    times = sum(len(question.candidates) for question in dataset.questions) / dataset.passages if own_context else 1
    numbers = (round(number * times) for number in (usage.calls, usage.prompt_tokens, usage.completion_tokens))
    options.say(f"Building: {render.render_estimate(Usage(*numbers), index.settings.chat.of('build'))}")


def write_results(content: JsonObject, out: Path | None) -> None:
    if out is not None:
        options.write_text(out, contract.to_text(content) + "\n")


def score(
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS.jsonl", help="Lines with prediction and answers.")
    ],
    rule: Annotated[str, option("--rule", "RULE", "hotpotqa, 2wiki, musique or cover.")],
    each: Annotated[bool, option("--each", None, "Also print the score of each line.")] = False,
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
