"""The commands that show why something was found. Entered in the command line by `cli.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import checked_question
from hoptrail.serving import contract
from hoptrail.serving.options import AsJson, IndexFolder, SettingsFile, console_of, open_index, print_json
from hoptrail.serving.render import plain

COMPRAG = "comprag"


def explain_triples(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    folder: IndexFolder,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="comprag, or one of its presets (comprag:NAME).")
    ] = COMPRAG,
    limit: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Triples and entities a pattern.")] = 5,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """The question's own triples, the stored triples nearest to each, and the entities that fill its open slot."""
    from hoptrail.recipes.comprag import Comprag
    from hoptrail.retrieval.triples.explanation import explain

    question = checked_question(question)
    opened = open_index(folder, settings).recipe(recipe)
    if not isinstance(opened, Comprag):
        raise UsageError(f"{recipe} compares no triples; give {COMPRAG} or {COMPRAG}:PRESET.")
    found = explain(opened.corpus, opened.space(), opened.asked(question), limit, opened.settings.unbinding)
    content: contract.Json = {
        "question": question,
        "recipe": recipe,
        "patterns": [one.to_json() for one in found.patterns],
        "relations": list(found.relations),
    }
    if as_json:
        print_json(content)
        return
    lines = [line for one in content["patterns"] for line in _lines(one)]
    console_of().print(Group(*lines) if lines else Text("no triple is read off this question"))


def _lines(pattern: contract.Json) -> Iterator[Text]:
    """One pattern as people read it; an open slot is shown as dots."""
    slots = (pattern["subject"], pattern["relation"], pattern["object"])
    yield plain(" | ".join(slot or "..." for slot in slots), "bold")
    for triple in pattern["triples"]:
        said = f"{triple['score']:.3f}  {triple['text']}  [{triple['title']}] {triple['sentence']}"
        yield Text("  ").append_text(plain(said))
    if pattern["fillers"]:
        entities = ", ".join(f"{filler['text']} {filler['score']:.3f}" for filler in pattern["fillers"])
        yield Text("  ").append_text(plain(f"open slot: {entities}"))
