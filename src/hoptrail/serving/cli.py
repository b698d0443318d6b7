"""The command line: one function a command, no logic of its own. Results go to standard output, all else to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 stopped but resumable, 4 done but some documents could not be read.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from hoptrail.errors import HoptrailError, Interrupted, UsageError
from hoptrail.index import Index
from hoptrail.indexing import Watcher
from hoptrail.language.opening import LanguageContext, open_language
from hoptrail.serving import contract, render
from hoptrail.serving.progress import progress_reports
from hoptrail.settings import load_settings

FAILED, WRONG_USAGE, STOPPED, INCOMPLETE = 1, 2, 3, 4
INTERRUPTED = 130
"""What the command-line library ends with when a command that does not watch for signals is interrupted."""

app = typer.Typer(
    name="hoptrail",
    help="Answers questions whose answer is spread over several documents, and shows the trail.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

IndexFolder = Annotated[Path, typer.Option("--index", metavar="DIR", help="The index folder.")]
RecipeName = Annotated[
    str | None, typer.Option("--recipe", metavar="NAME", help="The recipe; `hoptrail recipes` lists them.")
]
LanguageName = Annotated[
    str | None, typer.Option("--language", metavar="NAME", help="Who performs the language tasks.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", envvar="HOPTRAIL_SETTINGS", help="A TOML file; see `hoptrail settings`."
    ),
]


@app.command()
def index(
    sources: Annotated[list[str] | None, typer.Argument(metavar="SOURCE...", help="Files, folders, or JSONL.")] = None,
    folder: IndexFolder = ...,  # type: ignore[assignment]
    recipes: Annotated[str, typer.Option("--for", metavar="RECIPE,...", help="Build what these recipes need.")] = "",
    language: LanguageName = None,
    settings: SettingsFile = None,
) -> None:
    """Add or update documents; resumable; only what changed is done again."""
    opened = _open(folder, settings, language)
    if not sources and not recipes:
        raise UsageError("name at least one file or folder to index.")
    with _watching() as watcher:
        report = opened.add(sources or [], _names(recipes), watcher)
    _console(error=True).print(render.render_indexing(report), soft_wrap=True)
    if report.failures:
        raise typer.Exit(INCOMPLETE if report.documents else FAILED)


@app.command()
def remove(
    documents: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT...", help="An id, or the path or title read under.")
    ],
    folder: IndexFolder,
    settings: SettingsFile = None,
) -> None:
    """Remove documents and everything derived from them alone."""
    for title in _open(folder, settings).remove(documents):
        _console(error=True).print(render.plain(f"removed: {title}"), soft_wrap=True)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    folder: IndexFolder,
    recipe: RecipeName = None,
    language: LanguageName = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Answer a question and show the trail."""
    answer = _open(folder, settings).ask(question, recipe, language)
    if as_json:
        _print_json(contract.answer_json(answer))
    else:
        _console().print(render.render_answer(answer))


@app.command()
def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    folder: IndexFolder,
    recipe: RecipeName = None,
    limit: Annotated[int | None, typer.Option("-k", metavar="N", help="How many units.")] = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Retrieval only: what a recipe finds for a question."""
    opened = _open(folder, settings)
    ranking = opened.search(question, recipe, limit)
    if as_json:
        _print_json(contract.search_json(question, recipe or opened.settings.recipe, ranking))
    else:
        _console().print(render.render_ranking(ranking))


@app.command()
def show(folder: IndexFolder, as_json: AsJson = False, settings: SettingsFile = None) -> None:
    """What is in an index: documents, units, links, structures, cost."""
    contents = _open(folder, settings).contents()
    if as_json:
        _print_json(contract.contents_json(contents))
    else:
        _console().print(render.render_contents(contents))


@app.command()
def verify(folder: IndexFolder, settings: SettingsFile = None) -> None:
    """Compare every file of an index with its checksum."""
    count = _open(folder, settings).verify()
    _console(error=True).print(f"{count} files are as they were written.")


@app.command()
def repair(folder: IndexFolder, settings: SettingsFile = None) -> None:
    """Rebuild what is damaged in an index from its stored documents."""
    with _watching() as watcher:
        damaged = _open(folder, settings).repair(watcher)
    for name in damaged:
        _console(error=True).print(render.plain(f"was damaged: {name}"), soft_wrap=True)
    _console(error=True).print(f"{len(damaged)} damaged files; the index is whole.")


@app.command()
def evaluate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl and questions.")],
    recipes: Annotated[str, typer.Option("--recipes", metavar="A,B", help="The recipes to run.")],
    questions: Annotated[Path | None, typer.Option("--questions", metavar="FILE")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N questions.")
    ] = None,
    language: LanguageName = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Do not answer.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.json", help="Where to write the results.")] = None,
    work: Annotated[Path | None, typer.Option("--work", metavar="DIR", help="Keep index and results here.")] = None,
    settings: SettingsFile = None,
) -> None:
    """Measure recipes on a data set: answers, retrieval, seconds, cost."""
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.oracle import OracleLanguage
    from hoptrail.evaluation.running import INDEX_FOLDER
    from hoptrail.evaluation.running import evaluate as run

    dataset = load_dataset(data, questions, limit)
    with tempfile.TemporaryDirectory() as temporary, _watching() as watcher:
        folder = work or Path(temporary)
        # The oracle cannot build anything, so the index keeps the language of the settings.
        builder = None if language == OracleLanguage.name else language
        opened = _open(folder / INDEX_FOLDER / dataset.name, settings, builder)
        if work is None and (language or opened.settings.language) == "chat":
            raise UsageError("with the language chat, name a folder as --work: replies are paid for and kept there.")
        names = _names(recipes)
        report = run(
            dataset, names, opened, folder, language or opened.settings.language, watcher, retrieval_only=retrieval_only
        )
    if out is not None:
        _write(out, contract.to_text(report.to_json()) + "\n")
    for line in render.failures(report):
        _console(error=True).print(line, soft_wrap=True)
    _console().print(render.render_evaluation(report.to_json()))


@app.command()
def score(
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS.jsonl", help="Lines with prediction and answers.")
    ],
    rule: Annotated[str, typer.Option("--rule", metavar="RULE", help="hotpotqa, 2wiki, musique or cover.")],
    each: Annotated[bool, typer.Option("--each", help="One result a line of the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score answers from anywhere by an official rule."""
    from hoptrail.evaluation.predictions import score_predictions, summarise_scores
    from hoptrail.evaluation.scoring import Rule

    if rule not in set(Rule):
        raise UsageError(f"there is no rule {rule}. There are: {', '.join(Rule)}.")
    scores = score_predictions(predictions, Rule(rule))
    summary = contract.summary_json(rule, summarise_scores(scores))
    rows = [contract.score_json(row) for row in scores] if each else []
    if as_json:
        _print_json(summary | ({"each": rows} if each else {}))
        return
    for row in rows:
        print("\t".join(f"{value:.4f}" for value in row.values()))  # noqa: T201
    print("\t".join(f"{name} {value}" for name, value in summary.items()))  # noqa: T201


@app.command()
def recipes(as_json: AsJson = False) -> None:
    """The recipes, and the structures each needs."""
    from hoptrail.recipes.catalogue import RECIPES

    rows = [
        {"name": name, "description": (recipe.__doc__ or "").splitlines()[0], "structures": list(recipe.structures)}
        for name, recipe in RECIPES.items()
    ]
    if as_json:
        _print_json(rows)
    else:
        for row in rows:
            print(f"{row['name']:10} {row['description']}")  # noqa: T201


@app.command()
def replies(
    folder: IndexFolder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="Where to write the recording.")],
) -> None:
    """Write the chat model's replies kept in an index as a recording, for `--language replay:FILE`."""
    from hoptrail.models.recording import write_recording
    from hoptrail.models.remembered import FILE, RememberedReplies

    remembered = RememberedReplies(folder / FILE)
    count = write_recording(remembered.stored(), out)
    _console(error=True).print(render.render_ledger(count, remembered.ledger()))


@app.command()
def doctor(
    folder: Annotated[
        Path | None, typer.Option("--index", metavar="DIR", help="The index whose ledger the checks are entered in.")
    ] = None,
    settings: SettingsFile = None,
) -> None:
    """Whether the chat endpoint, its model, its reply formats and the embeddings work, and what to do if not."""
    from hoptrail.serving.doctor import examine

    harmed = False
    for check in examine(load_settings(settings), folder):
        harmed = harmed or (check.needed and not check.works)
        _console().print(render.render_check(check), soft_wrap=True)
    if harmed:
        raise typer.Exit(FAILED)


@app.command()
def settings(settings: SettingsFile = None) -> None:
    """Every setting with the value in force, as the TOML that sets it."""
    from hoptrail.settings import to_toml

    print(to_toml(load_settings(settings)), end="")  # noqa: T201


def main() -> NoReturn:
    """Run the command line and end the process with one of the five exit codes."""
    # A reader that closes the pipe early (`| head`) ends us quietly, as other tools do.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(app(standalone_mode=True))
    except HoptrailError as error:
        _console(error=True).print(render.plain(f"hoptrail: {error}"), soft_wrap=True)
        sys.exit(_exit_code(error))
    except SystemExit as ended:
        sys.exit(STOPPED if ended.code == INTERRUPTED else ended.code)
    except KeyboardInterrupt:
        sys.exit(STOPPED)


def _exit_code(error: HoptrailError) -> int:
    if isinstance(error, UsageError):
        return WRONG_USAGE
    return STOPPED if isinstance(error, Interrupted) else FAILED


def _open(folder: Path, settings_file: Path | None, language: str | None = None) -> Index:
    loaded = load_settings(settings_file)
    if language is not None:
        open_language(language, LanguageContext(None, folder, loaded.chat))
        loaded = replace(loaded, language=language)
    return Index(folder, loaded)


@contextmanager
def _watching() -> Iterator[Watcher]:
    """Progress on standard error; the first signal to stop saves and ends, a second one ends at once."""
    stopped = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(number, signal.SIG_DFL)

    before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {
        number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with progress_reports(_console(error=True)) as report:
            yield Watcher(report, lambda: stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _console(*, error: bool = False) -> Console:
    """Files and pipes get lines of a fixed width, so that what scripts read does not hang on a window."""
    console = Console(stderr=error, highlight=False, markup=False, emoji=False)
    return (
        console if console.is_terminal else Console(stderr=error, highlight=False, markup=False, emoji=False, width=120)
    )


def _print_json(content: contract.Json | list[contract.Json]) -> None:
    print(contract.to_text(content))  # noqa: T201


def _write(path: Path, text: str) -> None:
    from hoptrail.errors import StorageError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}.") from error


if __name__ == "__main__":
    main()
