"""The command that asks: one question, or several in a dialogue. Entered in the command line by `cli.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.index import Index
from hoptrail.serving import contract, render
from hoptrail.serving.options import (
    FAILED,
    AsJson,
    AsOf,
    IndexFolder,
    LanguageName,
    RecipeName,
    SettingsFile,
    console_of,
    open_index,
    print_json,
    say_unfinished,
)
from hoptrail.types import Answer

PROMPT = "? "
_MOST_REMEMBERED = 1_000
"""Questions in the history, which the arrow keys go through."""


def ask(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Without one, a dialogue: a question a line.")
    ] = None,
    folder: IndexFolder = ...,  # type: ignore[assignment]
    recipe: RecipeName = None,
    language: LanguageName = None,
    as_of: AsOf = "",
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Answer a question and show the trail; without a question, a dialogue."""
    index = open_index(folder, settings)
    if question is None:
        if as_json:
            raise UsageError("--json answers one question: give it.")
        _dialogue(index, recipe, language, as_of)
        return
    answer = index.ask(question, recipe, language, as_of=as_of)
    say_unfinished(index, answer.recipe, recipe or index.settings.recipe)
    if as_json:
        print_json(contract.answer_json(answer))
    else:
        console_of().print(render.render_answer(answer))
    if answer.failed:
        raise typer.Exit(FAILED)


def _dialogue(index: Index, recipe: str | None, language: str | None, as_of: str) -> None:
    """Answers line after line. What points back is completed from the answer before; a question that is refused ends nothing."""
    from hoptrail.language.following import stand_alone

    index.recipe(
        recipe, language, view=index.view(as_of)
    )  # what is wrong with the index or the recipe is said before anything is asked
    before: Answer | None = None
    for line in _lines():
        try:
            asked = stand_alone(line, before, index.language(language))
            if asked != line:
                console_of().print(render.plain(f"Asked: {asked}", "italic"), soft_wrap=True)
            before = index.ask(asked, recipe, language, as_of=as_of)
        except UsageError as error:
            console_of(error=True).print(render.plain(f"hoptrail: {error}"), soft_wrap=True)
        else:
            console_of().print(render.render_answer(before))


def _lines() -> Iterator[str]:
    """What is typed, until the end of input; lines of a pipe without a prompt. The history is kept for the next dialogue."""
    if not sys.stdin.isatty():
        yield from filter(None, map(str.strip, sys.stdin))
        return
    console_of(error=True).print("Ask; questions may follow on from the answer before. Ctrl-D ends.", style="dim")
    with suppress(EOFError), _history():
        while True:
            if line := input(PROMPT).strip():
                yield line


@contextmanager
def _history() -> Iterator[None]:
    """The questions of earlier dialogues, for the arrow keys, where the system has what goes through them."""
    if find_spec("readline") is None:  # Windows, whose terminal remembers lines itself
        yield
        return
    import readline

    from platformdirs import user_state_path

    file: Path = user_state_path("hoptrail", ensure_exists=True) / "questions"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(_MOST_REMEMBERED)
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(file)
