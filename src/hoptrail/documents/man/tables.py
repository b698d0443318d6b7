"""Reads the tables of manual pages (tbl)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from hoptrail.documents.blocks import Piece
from hoptrail.documents.man.roff import RoffLine
from hoptrail.documents.markup import TableCell, table_rows

_TAB = re.compile(r"tab[ \t]*\((?P<tab>.)\)", re.IGNORECASE)
_RULES = frozenset(("", "_", "=", "\\_"))
_EMPHASISED = re.compile(r"[cC]|[bB]|[fF]\(?B")
_KEY = re.compile(r"[lrcnaLRCNA][^lrcnasLRCNAS]*")
_BOLD = ("\\fB", "\\f(", "\\fI", "\\f[")


@dataclass(slots=True)
class _Row:
    """`bold`: whether each cell is in bold or italics. `ruled`: a rule follows."""

    place: str
    cells: list[str] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)
    ruled: bool = False

    @property
    def is_bold(self) -> bool:
        """Whether all cells with text are."""
        return any(self.cells) and all(bold for cell, bold in zip(self.cells, self.bold, strict=True) if cell)


def table_pieces(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> Iterator[Piece]:
    """Yield the rows. `inline` writes a line without macros and escapes. The first row is a header if the format centres it or
    sets it in bold unlike the others, if all its cells are in bold, or if only it has a rule below.
    """
    formats, rows = _parts(lines, inline)
    heads = len(rows) > 1 and (
        _heads_by_format(formats)
        or (rows[0].is_bold and not rows[1].is_bold)
        or (rows[0].ruled and not any(row.ruled for row in rows[1:-1]))
    )
    above: list[str] = []
    for row in rows:
        above = row.cells = [
            above[at] if cell == "\\^" and at < len(above) else cell for at, cell in enumerate(row.cells)
        ]
    return table_rows([(row.place, list(map(TableCell, row.cells))) for row in rows], int(heads))


def _heads_by_format(formats: list[str]) -> bool:
    """Whether the first row has a rule below it, or a format of its own that is centred or bold in every column."""
    keys = [_KEY.findall(one) for one in formats[:2]]
    is_ruled = len(formats) > 2 and formats[1] != "" and not formats[1].strip("_= ")
    has_own = len(keys) == 2 and keys[0] != keys[1] and bool(keys[0])
    return is_ruled or (has_own and all(map(_EMPHASISED.search, keys[0])))


def _parts(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> tuple[list[str], list[_Row]]:
    """The formats of rows, and the rows."""
    tab, formats, rows = "\t", list[str](), list[_Row]()
    in_format, block, is_first = True, False, True
    for line in lines:
        text = line.rest
        if line.macro and not block:
            in_format = in_format or line.macro == "T&"
        elif is_first and text.rstrip().endswith(";"):
            given = _TAB.search(text)
            tab = given["tab"] if given is not None else tab
        elif in_format:
            formats += [one.strip() for one in text.split(",")]
            in_format = not text.rstrip().endswith(".")
        elif block and not (line.macro == "" and text.startswith("T}")):
            rows[-1].cells[-1] = f"{rows[-1].cells[-1]} {inline(line)}".strip()
            rows[-1].bold[-1] = rows[-1].bold[-1] or line.macro in {"B", "SB", "I"} or text.startswith(_BOLD)
        elif not block and text.strip() in _RULES:
            if rows:
                rows[-1].ruled = rows[-1].ruled or bool(text.strip())
        else:
            parts = text.split(tab)
            if block:
                parts = parts[1:]
            else:
                rows.append(_Row(line.place))
            block = False
            for part in parts:
                block = part.strip() == "T{"
                shown = part.strip() if part.strip() == "\\^" else inline(replace(line, macro="", rest=part)).strip()
                rows[-1].cells.append("" if block or part.strip() in _RULES else shown)
                rows[-1].bold.append(part.strip().startswith(_BOLD))
        is_first = is_first and line.macro != ""
    return formats, [row for row in rows if any(row.cells)]
