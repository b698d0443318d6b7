"""Parses Jupyter notebooks: Markdown cells as Markdown, code cells as code. Outputs are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode, parse_json_text
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markdown import markdown_pieces
from hoptrail.types import BlockKind


def parse_ipynb(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a notebook: title (of its metadata, else the first heading) and blocks, each with the number of its cell."""
    decoded = decode(data)
    notebook = parse_json_text(decoded.text, "a notebook")
    cells = _cells(notebook)
    if cells is None:
        raise Unreadable("is not a notebook: it has no list of cells")
    pieces = [piece for number, cell in enumerate(cells, 1) for piece in _pieces(number, cell)]
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    title = title if isinstance(title, str) else ""
    return assemble(title or first_heading(pieces), pieces, decoded.notes, limits.text)


def _cells(notebook: object) -> list[object] | None:
    """The cells of format 4, or of the worksheets of earlier formats."""
    if not isinstance(notebook, dict):
        return None
    sheets = notebook.get("worksheets")
    if isinstance(sheets, list):
        parts = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for part in parts if isinstance(part, list) for cell in part]
    cells = notebook.get("cells")
    return cells if isinstance(cells, list) else None


def _pieces(number: int, cell: object) -> Iterator[Piece]:
    if not isinstance(cell, dict):
        return
    place, kind = f"cell {number}", cell.get("cell_type")
    source = cell.get(
        "source", cell.get("input", "")
    )  # a string or a list of strings; the second is of code in format 3
    text = "".join(part for part in (source if isinstance(source, list) else [source]) if isinstance(part, str))
    if kind == "heading":  # of format 3
        level = cell.get("level")
        yield Piece(BlockKind.HEADING, text, level if isinstance(level, int) and 1 <= level <= 6 else 1, place=place)
    elif kind == "markdown":
        yield from (replace(piece, place=place) for piece in markdown_pieces(text))
    else:
        yield Piece(BlockKind.CODE if kind == "code" else BlockKind.PARAGRAPH, text, place=place)
