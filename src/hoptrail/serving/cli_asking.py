"""The commands `ask` (one question, or several in a dialogue) and `search`. `cli.py` registers them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hoptrail.corpus.source_files import file_of
from hoptrail.errors import UsageError
from hoptrail.index import contract
from hoptrail.index.index import Index
from hoptrail.language.listener import LazyLanguage, Listener, ObservedLanguage
from hoptrail.language.tasks import OFFLINE
from hoptrail.recipes.catalogue import reported_name
from hoptrail.retrieval.corpus import check_question
from hoptrail.serving import options, render
from hoptrail.serving.setup import offer
from hoptrail.text.normal_forms import folded
from hoptrail.types import Answer, AnswerKind

if TYPE_CHECKING:
    from hoptrail.language.tasks import Language

PROMPT = "? "
_HISTORY_LENGTH = 1_000  # questions in the history of the arrow keys
HELP = """\
Type a question; it may follow up the answer before ("and when was she born?").
/sources   the statements that the last answer rests on, or that come closest
/open N    open the file of the N-th of them
/trail     how the last answer was found
/help      this
/quit      end, like Ctrl-D"""


def ask(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Without it, a dialogue: one question per line.")
    ] = None,
    folder: options.IndexFolder = ...,  # type: ignore[assignment]
    recipe: options.RecipeName = None,
    language: options.LanguageName = None,
    as_of: options.AsOf = "",
    as_json: options.AsJson = False,
    trail: Annotated[
        bool, options.option("--trail", None, "Also show how the answer was found, step by step.")
    ] = False,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Answer a question from the documents; without a question, a dialogue."""
    index = options.open_index(folder, settings, None, options.Given(given, [recipe], language=language))
    if question is None and as_json:
        raise UsageError("--json answers one question: name it.")
    if not as_json:
        options.refuse_empty(index)
    if question is None:
        _dialogue(index, recipe, language, as_of, trail=trail)
        return
    answer = _answered(partial(index.ask, question, recipe, as_of=as_of), index.language(language))
    options.say_unfinished(index, answer.recipe, recipe or index.settings.recipe)
    if as_json:
        options.print_json(answer.to_dict())
    else:
        options.console_of().print(render.render_answer(answer, folded=not trail))
        if answer.text is None and answer.language == OFFLINE and sys.stdout.isatty() and (offered := offer()):
            options.say(offered)
    if answer.failed:
        raise typer.Exit(options.FAILED)


def _answered(ask: Callable[..., Answer], language: Language) -> Answer:
    """What `ask(language=...)` answers; a terminal shows it as a model writes it. What was shown and does not stand is said."""
    written: dict[str, str] = {}
    with options.waiting() as show:

        def wrote(question: str, text: str) -> None:
            written[question] = text
            show(text)  # type: ignore[misc]

        answer = ask(language=ObservedLanguage(language, Listener(wrote=wrote if show else None)))
    text, given = written.get(answer.asked, ""), answer.text or (answer.guess.text if answer.guess else "")
    if folded(text.strip(" .")) not in folded(given):
        options.say(f"withdrawn when it was checked: {text}")
    return answer


def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    folder: options.IndexFolder,
    recipe: options.RecipeName = None,
    limit: Annotated[int | None, options.option("-k", "N", "Number of places.", min=1)] = None,
    as_of: options.AsOf = "",
    as_json: options.AsJson = False,
    settings: options.SettingsFile = None,
    given: options.SetKeys = None,
) -> None:
    """Find places: the lines that come closest to a question or to some words, each with its file."""
    opened = options.open_index(folder, settings, None, options.Given(given, [recipe]))
    question, requested = check_question(question), recipe or opened.settings.recipe
    if not as_json:
        options.refuse_empty(opened)
    with options.waiting("searching"):
        used = opened.recipe(recipe, LazyLanguage(opened.language), limit, opened.view(as_of))
        ranking = used.retrieve(question)
    options.say_unfinished(opened, used.name, requested)
    if as_json:
        options.print_json(contract.search_json(question, reported_name(requested, used), ranking))
        return
    sources = used.corpus.sources({hit.unit.document for hit in ranking})
    options.console_of().print(render.render_search(question, ranking, sources))


def _dialogue(index: Index, recipe: str | None, language: str | None, as_of: str, *, trail: bool) -> None:
    """Answer line by line. A follow-up is completed from the answers before; a line that is refused ends nothing."""
    opened = index.language(language)
    used = index.recipe(recipe, opened, view=index.view(as_of))  # raises before the first question
    options.say_unfinished(index, used.name, recipe or index.settings.recipe)
    conversation = index.conversation(recipe=recipe, as_of=as_of)
    for line in _lines():
        name, _, argument = line.partition(" ")
        if name in ("/quit", "/exit", "/q"):
            return
        try:
            if line.startswith("/") or line.lower() in ("help", "?"):
                _obey(name, argument, conversation.answers)
            else:
                answer = _answered(partial(conversation.ask, line), opened)
                options.console_of().print(render.render_answer(answer, folded=not trail))
        except UsageError as error:
            options.say(f"hoptrail: {error}")


def _obey(name: str, argument: str, answers: Sequence[Answer]) -> None:
    """Raises: UsageError: there is no such command, or nothing to show or to open."""
    if name not in ("/sources", "/open", "/trail"):
        options.say(Text(HELP))
        return
    answers = [one for one in answers if one.kind is not AnswerKind.REPLY]
    if not answers:
        raise UsageError(f"{name} is about the last answer, and there is none yet.")
    sources = render.sources_of(answers[-1])
    if name == "/trail":
        options.console_of().print(render.render_answer(answers[-1]))
    elif name == "/sources":
        for number, source in enumerate(sources, start=1):
            options.console_of().print(render.render_source(str(number), source))
    elif argument.isdecimal() and 0 < int(argument) <= len(sources):
        file = file_of(sources[int(argument) - 1].source)
        options.say(f"opening {file}")
        typer.launch(file)
    else:
        raise UsageError(f"/open takes a number from 1 to {len(sources)}: /sources lists them.")


def _lines() -> Iterator[str]:
    """Lines of input until its end, without a prompt if they come from a pipe. The history is kept for the next dialogue."""
    if not sys.stdin.isatty():
        yield from filter(None, map(str.strip, sys.stdin))
        return
    hint = "Ask; a question may follow up the answer before. /help lists commands, Ctrl-D ends."
    options.console_of(error=True).print(hint, style="dim")
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
