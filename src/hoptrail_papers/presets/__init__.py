"""The papers' own settings, for building and asking, and the rows of their tables.

`--settings paper:NAME` uses the settings of a file here; `--recipes` takes the recipes that its rows name. A file has

    title, printed_with   the paper, and what its authors used that we cannot choose: encoder, models, entity finder
    rows                  printed row -> recipe with preset; the first is the main row
    settings              as in any settings file

To reproduce a paper, change only the encoder, the endpoint and other machine settings, in a file that begins with
`paper = "NAME"`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from hoptrail.errors import UsageError
from hoptrail.types.json_object import JsonObject

PREFIX = "paper:"
"""Marks the name of a paper's settings where a settings file may be named too."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper's file. `settings` are nested keys and values as parsed from TOML."""

    name: str
    title: str
    printed_with: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)


@cache
def shipped_papers() -> dict[str, Paper]:
    """All papers by name, sorted."""
    toml = (file for file in files(__name__).iterdir() if file.name.endswith(".toml"))
    contents = {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in toml}
    return {name: Paper(name, **content) for name, content in sorted(contents.items())}


def paper_settings(name: str) -> JsonObject:
    """The settings of the paper of a name. Raises: UsageError: there is no such paper."""
    return paper_named(name).settings


def paper_named(name: str) -> Paper:
    """The paper of a name, with or without PREFIX. Raises: UsageError: there is no such paper."""
    known = shipped_papers()
    if (bare := name.removeprefix(PREFIX)) not in known:
        raise UsageError(f"there are no settings of a paper {bare!r}. There are: {', '.join(known)}.")
    return known[bare]
