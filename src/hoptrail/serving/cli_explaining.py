"""The commands that show why something was found. `cli.py` registers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from hoptrail.errors import UsageError
from hoptrail.json_object import JsonObject
from hoptrail.retrieval.corpus import check_question
from hoptrail.serving.options import AsJson, IndexFolder, SettingsFile, console_of, open_index, print_json
from hoptrail.serving.render import plain

COMPRAG = "comprag"


def explain_triples(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    folder: IndexFolder,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="comprag, or one of its presets (comprag:NAME).")
    ] = COMPRAG,
    limit: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Triples and entities per pattern.")] = 5,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Show the triples of a question, the stored triples nearest to each, and the entities that fill the open slot."""
    from hoptrail.recipes.comprag import Comprag
    from hoptrail.retrieval.triples.explanation import explain

    question = check_question(question)
    opened = open_index(folder, settings).recipe(recipe)
    if not isinstance(opened, Comprag):
        raise UsageError(f"{recipe} does not compare triples; use {COMPRAG} or {COMPRAG}:PRESET.")
    explanation = explain(opened.corpus, opened.space(), opened.asked(question), limit, opened.settings.unbinding)
    content: JsonObject = {
        "question": question,
        "recipe": recipe,
        "patterns": [one.to_json() for one in explanation.patterns],
        "relations": list(explanation.relations),
    }
    if as_json:
        print_json(content)
        return
    lines = [line for one in content["patterns"] for line in _lines(one)]
    console_of().print(Group(*lines) if lines else Text("no triple was found in this question"))


def _lines(pattern: JsonObject) -> Iterator[Text]:
    """One pattern in readable form; dots stand for an open slot."""
    slots = (pattern["subject"], pattern["relation"], pattern["object"])
    yield plain(" | ".join(slot or "..." for slot in slots), "bold")
    for triple in pattern["triples"]:
        line = f"{triple['score']:.3f}  {triple['text']}  [{triple['title']}] {triple['sentence']}"
        yield Text("  ").append_text(plain(line))
    if pattern["fillers"]:
        entities = ", ".join(f"{filler['text']} {filler['score']:.3f}" for filler in pattern["fillers"])
        yield Text("  ").append_text(plain(f"open slot: {entities}"))
