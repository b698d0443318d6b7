"""The command `ask`: one question, or several in a dialogue. `cli.py` registers it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.index.index import Index
from hoptrail.serving import options, render

PROMPT = "? "
_HISTORY_LENGTH = 1_000
"""Questions in the history of the arrow keys."""


def ask(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Without it, a dialogue: one question per line.")
    ] = None,
    folder: options.IndexFolder = ...,  # type: ignore[assignment]
    recipe: options.RecipeName = None,
    language: options.LanguageName = None,
    as_of: options.AsOf = "",
    as_json: options.AsJson = False,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Answer a question and show the trail; without a question, a dialogue."""
    index = options.open_index(folder, settings, None, options.Given(given, [recipe]))
    if question is None:
        if as_json:
            raise UsageError("--json answers one question: name it.")
        _dialogue(index, recipe, language, as_of)
        return
    answer = index.ask(question, recipe, language, as_of=as_of)
    options.say_unfinished(index, answer.recipe, recipe or index.settings.recipe)
    if as_json:
        options.print_json(answer.to_dict())
    else:
        options.console_of().print(render.render_answer(answer))
    if answer.failed:
        raise typer.Exit(options.FAILED)


def _dialogue(index: Index, recipe: str | None, language: str | None, as_of: str) -> None:
    """Answer line by line. A follow-up is completed from the answers before; a refused question does not end the dialogue."""
    # Raises for an unusable index or recipe before the first question.
    used = index.recipe(recipe, language, view=index.view(as_of))
    options.say_unfinished(index, used.name, recipe or index.settings.recipe)
    conversation = index.conversation(recipe=recipe, language=language, as_of=as_of)
    for line in _lines():
        try:
            options.console_of().print(render.render_answer(conversation.ask(line)))
        except UsageError as error:
            options.say(f"hoptrail: {error}")


def _lines() -> Iterator[str]:
    """Lines of input until its end, without a prompt if they come from a pipe. The history is kept for the next dialogue."""
    if not sys.stdin.isatty():
        yield from filter(None, map(str.strip, sys.stdin))
        return
    options.console_of(error=True).print("Ask; a question may follow up the previous answer. Ctrl-D ends.", style="dim")
    with suppress(EOFError), _history():
        while True:
            if line := input(PROMPT).strip():
                yield line


@contextmanager
def _history() -> Iterator[None]:
    """Make the questions of earlier dialogues available to the arrow keys, if the system has readline."""
    if find_spec("readline") is None:  # Windows, whose terminal keeps a history itself
        yield
        return
    import readline

    from platformdirs import user_state_path

    file: Path = user_state_path("hoptrail", ensure_exists=True) / "questions"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(_HISTORY_LENGTH)
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(file)
