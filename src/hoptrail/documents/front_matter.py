"""Front matter: YAML between lines of dashes before a text, as Obsidian, Hugo, Jekyll and Pandoc read it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from hoptrail.documents.blocks import Piece
from hoptrail.text.dates import find_date
from hoptrail.types import BlockKind

# Dashes before a blank line are a horizontal rule, as in Pandoc (https://pandoc.org/MANUAL.html#extension-yaml_metadata_block).
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?![ \t]*\n)(?P<yaml>(?:#[^\n]*\n|[ \t]*\n)*+[\w-]+:(?=\s).*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DATES = ("date", "updated", "lastmod", "last_modified", "modified", "created")
"""Keys for the date of a text, best first."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter: a row with its keys as headers, and its end offset in the text (0: there is none)."""

    title: str = ""
    date: str = ""
    row: Piece | None = None
    end: int = 0
    notes: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    """Read the front matter of a text. Invalid YAML becomes a paragraph, with a note."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter()
    try:
        values = yaml.load(match["yaml"], yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        paragraph = Piece(BlockKind.PARAGRAPH, match["yaml"], place="line 2")
        notes = ("its front matter is not valid YAML: neither title nor date was taken from it",)
        return FrontMatter(row=paragraph, end=match.end(), notes=notes)
    if not isinstance(values, dict):
        return FrontMatter()
    fields = {key: _as_text(value) for key, value in values.items() if isinstance(key, str)}
    cells = tuple((key, value) for key, value in fields.items() if value and key != "title")
    date = next((iso for key in _DATES if (iso := _date(fields.get(key, "")))), "")
    row = Piece(BlockKind.ROW, cells=cells, place="line 2", labelled=True) if cells else None
    return FrontMatter(fields.get("title", ""), date, row, match.end())


def _as_text(value: object) -> str:
    """A value, or the values of a list joined; deeper nesting is ignored."""
    if isinstance(value, list):
        return ", ".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _date(value: str) -> str:
    return value if re.fullmatch(r"(?:19|20)\d\d", value) else find_date(value)
