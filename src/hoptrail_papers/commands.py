"""The commands of the papers: `reproduce`, `probe` and `distil` (entry points `hoptrail.commands`)."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hoptrail.errors import UsageError
from hoptrail.language.tasks import CHAT
from hoptrail.serving import options, render
from hoptrail.serving.cli_evaluation import Out, print_building, write_results
from hoptrail.serving.options import AsJson, SettingsFile, console_of, option, print_json, say
from hoptrail.system import interrupts
from hoptrail.system.atomic_write import replace_file
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.compare import show_tables
from hoptrail_papers.presets import PREFIX

if TYPE_CHECKING:
    from hoptrail.evaluation.datasets import Dataset
    from hoptrail.index.settings import Settings
    from hoptrail.retrieval.corpus import Corpus
    from hoptrail_papers.published_tables import PublishedValue
    from hoptrail_papers.published_tables import Table as PublishedTable
    from hoptrail_papers.reproducing import Setting

probe = typer.Typer(
    help="Measure one thing about an index on a data set, without answering.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
trail = typer.Typer(help="Analyse the trails of runs.", no_args_is_help=True, rich_markup_mode=None)

DataFolder = Annotated[Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl and questions.")]
Work = Annotated[Path | None, option("--work", "DIR", "Keep the index here.")]
Builder = Annotated[str | None, option("--language", "NAME", "What builds the index.")]
Examples = Annotated[int, option("--examples", "N", "Show the first N questions of each.", min=0)]


@trail.command("diff")
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A folder in DIR/runs.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another, over the same questions.")],
    exact: Annotated[
        bool, option("--exact", None, "Compare all units of the hits instead of their gold passages.")
    ] = False,
    examples: Examples = 3,
    as_json: AsJson = False,
) -> None:
    """Find where the trails of two runs first differ: at which stage, how often, and whether it helped."""
    from hoptrail.evaluation.run_folder import open_run
    from hoptrail_papers import trail_diff
    from hoptrail_papers.comparing import run_comparison

    runs = [open_run(first), open_run(second)]
    departures, labels = trail_diff.diff_trails(*runs, exact=exact), run_comparison.labels_of(runs)
    if as_json:
        print_json(trail_diff.departures_json(departures, labels))
    else:
        show_tables(trail_diff.departures_tables(departures, labels, examples))


def errors(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders in DIR/runs.")],
    examples: Examples = 3,
    as_json: AsJson = False,
) -> None:
    """Count the first causes of wrong answers."""
    from hoptrail.evaluation.run_folder import open_run
    from hoptrail_papers import error_analysis
    from hoptrail_papers.comparing import run_comparison

    opened = [open_run(run) for run in runs]
    analyses, labels = list(map(error_analysis.analyse_errors, opened)), run_comparison.labels_of(opened)
    if as_json:
        print_json(error_analysis.errors_json(analyses, labels))
    else:
        show_tables(error_analysis.errors_tables(analyses, labels, examples))


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER...", help="sirerag, chainrag, hirag, comprag, sunar, or tables of them."),
    ] = None,
    run: Annotated[
        bool, option("--run", None, "Make possible runs; with an endpoint, also those that call it.")
    ] = False,
    data: Annotated[Path | None, option("--data", "DIR", "The folder of the data sets.")] = None,
    work: Annotated[Path | None, option("--work", "DIR", "Keep runs here, and read their results.")] = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Compare the papers' tables: what is reproduced here, what differs, and what it would take."""
    from hoptrail.index.settings import load_settings
    from hoptrail_papers.published_tables import cells_of, tables_named
    from hoptrail_papers.reproducing import Setting, found_values

    tables, own = tables_named(names or []), load_settings(settings)
    if data is not None and not data.is_dir():
        raise UsageError(f"--data {data} is not a folder: name the one that holds the data sets.")
    setting = Setting.of(own, work, data) if work else None
    if run:
        if data is None or setting is None or not names:
            raise UsageError("--run needs a paper, --data (the folder with the data sets) and --work.")
        for table in tables:
            _run(table, setting, settings, own)
    at_hand = setting.at_hand if setting else frozenset()
    cells = {table.id: cells_of(table, found_values(table, setting) if setting else None, at_hand) for table in tables}
    if as_json:
        print_json([asdict(cell) for own in cells.values() for cell in own])
        return
    for table in tables if names else ():
        _show_cells(table, cells[table.id])
    if len(tables) > 1:
        _show_counts(tables, cells)


def _run(table: PublishedTable, setting: Setting, settings: Path | None, own: Settings) -> None:
    """Make every unfinished run, one at a time; print the reason for each one skipped."""
    from hoptrail_papers.reproducing import planned_runs, runs_left_out

    missing_endpoint = _missing_endpoint(own)
    planned_here, left_out = planned_runs(table, setting), runs_left_out(table, setting)
    if not planned_here and not left_out:
        say(f"{table.id}: no part of it can be run here; its cells say why.")
    for run, reason in left_out.items():
        say(f"not run ({reason}): {run}")
    for planned in planned_here:
        arguments = _with_user_settings(planned.arguments, settings, setting.work)
        command = f"hoptrail {' '.join(arguments)}"
        if planned.out.is_file():
            continue
        if planned.asks_model and missing_endpoint:
            say(f"not run ({missing_endpoint}): {command}")
            continue
        say(command)
        if code := _run_command([sys.executable, "-m", "hoptrail", *arguments]):
            raise typer.Exit(code)


def _run_command(command: Sequence[str]) -> int:
    """Run a command, to which signals are passed on. Returns its exit code."""
    run = subprocess.Popen(
        command,
        stdout=sys.stderr,  # our standard output is for the cells only
        start_new_session=True,  # keeps Ctrl-C away: it would come twice
    )
    with interrupts.answered(lambda: run.send_signal(signal.SIGINT), patience=None):
        return run.wait()


def _with_user_settings(arguments: Sequence[str], settings: Path | None, work: Path) -> list[str]:
    """The arguments of a run with the user's settings, on top of a paper's if the run uses these."""
    from hoptrail_papers.reproducing import OUT_FOLDER

    if settings is None:
        return list(arguments)
    paper = next((word for word in arguments if word.startswith(PREFIX)), None)
    if paper is None:
        return [*arguments, "--settings", str(settings)]
    if str(settings).startswith(PREFIX):
        return list(arguments)
    name = paper.removeprefix(PREFIX)
    content = settings.read_text(encoding="utf-8")
    if (own := tomllib.loads(content).get("paper", name)) != name:
        raise UsageError(
            f"{settings} is over the settings of the paper {own}, and this run is of {name}: leave that line out."
        )
    both = work / OUT_FOLDER / f"{name}.toml"
    both.parent.mkdir(parents=True, exist_ok=True)
    replace_file(both, (content if "paper" in tomllib.loads(content) else f'paper = "{name}"\n{content}').encode())
    return [str(both) if word == paper else word for word in arguments]


def _missing_endpoint(own: Settings) -> str:
    """Why no model can be called; empty if one can."""
    from hoptrail.models.environment import find_address

    chat = own.chat.of("read")
    try:
        find_address("it", chat.base_url, chat.model, chat.api_key_variable)
    except UsageError as error:
        return str(error)
    return ""


def _show_counts(tables: tuple[PublishedTable, ...], cells: dict[str, tuple[PublishedValue, ...]]) -> None:
    from hoptrail_papers.comparing.run_tables import TextTable
    from hoptrail_papers.published_tables import Status

    counts = {table.id: Counter(cell.status for cell in cells[table.id]) for table in tables}
    rows = [(table.id, *(str(counts[table.id][status]) for status in Status)) for table in tables]
    total = Counter(cell.status for own in cells.values() for cell in own)
    rows.append(("all", *(str(total[status]) for status in Status)))
    title = f"{total.total()} published values in {len(tables)} tables"
    note = "`hoptrail reproduce PAPER` shows the cells, with the run that would produce each."
    header = ("table", *(status.name.replace("_", " ").lower() for status in Status))
    show_tables([TextTable(title, header, tuple(rows), note)])


def _show_cells(table: PublishedTable, cells: tuple[PublishedValue, ...]) -> None:
    from hoptrail_papers.comparing.run_tables import TextTable
    from hoptrail_papers.published_tables import cells_of

    whys = {why: f"({number})" for number, why in enumerate(dict.fromkeys(cell.why for cell in cells if cell.why), 1)}
    rows = []
    for cell in cells:
        ours = ("-" if found is None else f"{found:.2f}" for found in (cell.measured, cell.by_rules))
        made = (str(cell.n or "-"), cell.encoder or "-")
        rows.append((cell.row, cell.column, f"{cell.value:,.10g}", *ours, *made, cell.status, whys.get(cell.why, "")))
    header = ("row", "column", "published", "here", "by rules", "n", "encoder", "status", "why")
    note = f"Published: {table.setting}. Here: {table.here}. Tolerance {table.tolerance:g}."
    show_tables([TextTable(f"{table.paper}: {table.title}", header, tuple(rows), note)])
    for why, number in whys.items():
        console_of().print(Text(f"{number} {why}"), soft_wrap=True)
    for run in dict.fromkeys(cell.run for cell in cells_of(table, printed=False) if cell.run):
        console_of().print(Text(run), soft_wrap=True)


@probe.command("lost-in-retrieval")
def probe_lost_in_retrieval(
    data: DataFolder,
    out: Out = None,
    work: Work = None,
    limit: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Number of passages for recall.")] = 2,
    settings: SettingsFile = None,
    language: Annotated[
        str | None, option("--language", "NAME", "Its sub-questions, over each question's own passages.")
    ] = None,
) -> None:
    """Measure recall of sub-questions without the name that an earlier answer gives, and of their completions."""
    from hoptrail_papers.chainrag import lost_in_retrieval

    options.check_writable(out)
    if language is not None:
        _show_figures(_recall_in_own_contexts(data, work, settings, language, limit), out)
        return
    with _indexed(data, "hybrid", work, settings) as (corpus, dataset, names):
        found = lost_in_retrieval.probe_lost_in_retrieval(corpus, dataset, names, limit)
    show_tables([found.table()])
    write_results(found.to_json(), out)


def _recall_in_own_contexts(
    data: Path, work: Path | None, settings: Path | None, language: str, limit: int
) -> JsonObject:
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.runner import INDEX_FOLDER, Contexts, open_performers
    from hoptrail_papers.chainrag.lost_in_retrieval import ORIGINAL, REWRITTEN, recall_in_own_contexts

    if work is None:
        raise UsageError("--language needs --work: the indexes and what is paid for are kept there.")
    dataset = load_dataset(data)
    usable = tuple(question for question in dataset.questions if question.candidates and question.supporting)
    with options.watching() as watcher:
        opened = options.open_index(work / INDEX_FOLDER / dataset.name, settings, language)
        contexts = Contexts(replace(dataset, questions=usable), (ORIGINAL, REWRITTEN), opened, work, watcher)
        return asdict(recall_in_own_contexts(contexts, open_performers(language, opened), limit))


@probe.command("tree-coverage")
def probe_tree_coverage(
    data: DataFolder, out: Out = None, work: Work = None, settings: SettingsFile = None, language: Builder = None
) -> None:
    """Count the pairs of gold passages that groups of the similarity and relatedness trees contain."""
    from hoptrail_papers.sirerag.tree_coverage import measure_tree_coverage

    options.check_writable(out)
    with _indexed(data, "sirerag", work, settings, language) as (corpus, dataset, names):
        found = measure_tree_coverage(corpus.snapshot, dataset, names)
    show_tables([found.table()])
    write_results(found.to_json(), out)


@probe.command("entities")
def probe_entities(
    data: DataFolder, out: Out = None, work: Work = None, settings: SettingsFile = None, language: Builder = None
) -> None:
    """Count the propositions, entities and aggregates of the corpus."""
    from hoptrail_papers.sirerag.tree_coverage import entity_statistics

    options.check_writable(out)
    trees = ("similarity_summaries", "relatedness_summaries")  # not counted, and a model is paid for their summaries
    keys = options.Given([f"recipes.sirerag.{tree}=false" for tree in trees], ["sirerag"])
    with _indexed(data, "sirerag", work, settings, language, keys) as (corpus, _, _):
        found = entity_statistics(corpus.snapshot)
    _show_figures(found, out)


@contextmanager
def _indexed(
    data: Path,
    recipe: str,
    work: Path | None,
    settings: Path | None,
    language: str | None = None,
    keys: options.Given | None = None,
) -> Iterator[tuple[Corpus, Dataset, dict[str, list[str]]]]:
    """The indexed corpus, its data set, and the data set's ids of each document."""
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.runner import INDEX_FOLDER, corpus_ids_by_document, index_corpus

    dataset = load_dataset(data, None, None)
    with tempfile.TemporaryDirectory() as temporary, options.watching() as watcher:
        folder = (work or Path(temporary)) / INDEX_FOLDER / dataset.name
        opened = options.open_index(folder, settings, language, keys, building=True)
        if opened.settings.builder == CHAT and work is None:
            raise UsageError(f"the language {CHAT} needs --work: the index and what is paid for are kept there.")
        print_building(dataset, [recipe], opened)
        for line in render.render_notes(index_corpus(dataset, [recipe], opened, watcher).notes):
            say(line)
        corpus = opened.recipe(recipe).corpus
        yield corpus, dataset, corpus_ids_by_document(corpus.snapshot, dataset)


def _show_figures(found: JsonObject, out: Path | None) -> None:
    shown = (f"{name} {value if isinstance(value, str) else format(value, ',.6g')}" for name, value in found.items())
    console_of().print(Text(", ".join(shown)))
    write_results(found, out)


def distil(
    folder: options.IndexFolder,
    out: Annotated[Path, option("--out", "DIR", "The folder for the training set.")],
    validation_share: Annotated[
        float | None, option("--validation-share", "SHARE", "Share of the documents for validation.")
    ] = None,
    model: Annotated[str, option("--model", "NAME", "Whose replies, if several models' are stored.")] = "",
    settings: SettingsFile = None,
) -> None:
    """Write the stored extraction replies as a fine-tuning set for a smaller model."""
    from hoptrail.corpus.snapshot import Snapshot
    from hoptrail.index.settings import load_settings
    from hoptrail.models.ledger import FILE, RememberedReplies
    from hoptrail.types import Kind
    from hoptrail_papers.distilling import VALIDATION_SHARE, write_training_set

    share = VALIDATION_SHARE if validation_share is None else validation_share
    passages = sorted(Snapshot.open(folder).units(Kind.PASSAGE), key=lambda unit: unit.sources)
    stored = RememberedReplies(folder / FILE).stored()
    own = load_settings(settings)
    figures = own.structures.extractions.figures
    counts = write_training_set(stored, passages, own.chat.of("build"), out, share, model, figures=figures)
    left_out = render.counted(
        (counts.without_reply, "without a reply to today's prompt and settings"),
        (counts.unusable, "with a reply that the text does not support"),
        (counts.repeated, "that repeat another"),
    )
    head = f"{counts.train:,} examples for training, {counts.validation:,} for validation"
    shown = f"{head}; left out: {', '.join(left_out)}." if left_out else f"{head}."
    console_of().print(Text(shown), soft_wrap=True)
