"""What each paper ran, as printed: settings of everything that is built and asked, and the rows of its tables.

`--settings paper:NAME` takes the settings of a file here; `--recipes` takes what a row names. A file has

    title, printed_with   the paper, and what its authors used that is not ours to choose: encoder, models, who finds entities
    rows                  a printed row and the recipe with the preset that it is; the first is the main row
    settings              as in any settings file

Who measures changes nothing but the encoder, the endpoint and what else is the machine's, in a file of their own that begins with
`paper = "NAME"`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from hoptrail.errors import UsageError

PREFIX = "paper:"
"""How the name of a paper's settings begins where a file may be named."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A file here. `settings` are nested keys and values as TOML gives them."""

    name: str
    title: str
    printed_with: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The recipe with the preset of the main row."""
        return next(iter(self.rows.values()))


@cache
def shipped_papers() -> dict[str, Paper]:
    """All of them by name."""
    found = sorted(
        (file for file in files(__name__).iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )
    read = {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in found}
    return {name: Paper(name, **content) for name, content in read.items()}


def paper_named(name: str) -> Paper:
    """One by its name, with or without PREFIX.

    Raises:
        UsageError: there is none.
    """
    known = shipped_papers()
    if (bare := name.removeprefix(PREFIX)) not in known:
        raise UsageError(f"there are no settings of a paper {bare!r}. There are: {', '.join(known)}.")
    return known[bare]
