r"""Renders a parsed file as text lines, for reading and comparison.

`python tests/documents/block_lines.py FILE...` writes the lines of each file to `FILE.blocks`. Review them before you commit.

The first lines are the title, the date with its origin, and the notes, if there are any. Then each block has one line, with
fields separated by ` | `:

    heading 1 | | line 1 | Stores
    paragraph | Stores | line 3 | It opened on 5 March:
    item 2 ordered | Stores | line 4 | Rope <- It opened on 5 March:
    row header | Stores | line 6 | City ¦ Land
    row | Stores | line 8 | City=Bern ¦ Land=Switzerland @2024-03

The fields are the kind with its level (for a table row whether it is a header), the headings above it, its place in the file, and
its text (for a row the cells, each after its header). `<-` precedes the lead of an item, `@` the date of the heading above. Line
breaks are written `\n`, tabs `\t`, and a backslash `\\`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.forms import Form, form_of, parser_of, true_form
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.types import Block, BlockKind


def form_at(path: Path) -> Form:
    """The format of a file by its ending, else by its content."""
    form = true_form(form_of(path), path.read_bytes())
    assert form is not None, f"{path} has no known ending, and no content that is recognised"
    return form


def parse(path: Path) -> Parsed:
    """Parse a file by the parser for its format."""
    return parser_of(form_at(path).name)(path.read_bytes(), DEFAULT_LIMITS)


def lines_of(form: str, content: str | bytes) -> list[str]:
    """The lines of a file of this form and content. What they show stands at the offsets of its block or cell."""
    data = content if isinstance(content, bytes) else content.encode()
    return block_lines(parser_of(form)(data, DEFAULT_LIMITS)).splitlines()


def block_lines(parsed: Parsed) -> str:
    """The lines of a parsed file, each with its line end."""
    return "".join(f"{line}\n" for line in _lines(parsed))


def _lines(parsed: Parsed) -> Iterator[str]:
    if parsed.title:
        yield f"title: {_escaped(parsed.title)}"
    if parsed.date:
        yield f"date: {parsed.date} ({parsed.date_from})"
    for note in parsed.notes:
        yield f"note: {_escaped(note)}"
    for block in parsed.blocks:
        yield " | ".join([_kind(block), " > ".join(block.path), block.place, _content(block, parsed.text)])


def _kind(block: Block) -> str:
    if block.kind is BlockKind.ROW:
        return "row header" if block.is_header else "row"
    level = f" {block.level}" if block.level else ""
    return f"{block.kind}{level}{' ordered' if block.ordered else ''}"


def _content(block: Block, text: str) -> str:
    cells = [
        f"{_escaped(cell.header)}={_escaped(text[cell.start : cell.end])}"
        if cell.header
        else _escaped(text[cell.start : cell.end])
        for cell in block.cells
    ]
    content = " ¦ ".join(cells) if cells else _escaped(text[block.start : block.end].rstrip())
    lead = f" <- {_escaped(block.lead)}" if block.lead else ""
    date = f" @{block.date}" if block.date else ""
    return f"{content}{lead}{date}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(f"{name}.blocks").write_text(block_lines(parse(Path(name))), "utf-8")
