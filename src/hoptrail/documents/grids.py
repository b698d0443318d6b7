"""What is shown of the sheets and tables of Office files: no hidden rows and columns, and merged cells in every row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hoptrail.documents.blocks import Piece
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.sheet_rows import GridRow, grid_pieces, sheet_pieces
from hoptrail.types import BlockKind

_UNNAMED = re.compile(
    r"(?:sheet|tabelle|feuille?|feuil|hoja|foglio|blad|ark|arkusz|list|planilha|лист) ?\d*", re.IGNORECASE
)
"""Default names of sheets."""
_CELLS_PER_ROW = 100  # cells per row of the limit that the rows of a table may span, empty ones counted

Rows = Iterable[tuple[int, dict[int, str], bool]]
"""The number of each row from 0, its cells by their columns, and whether it is hidden."""


class _Merged(NamedTuple):
    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class OfficeGrid:
    """A sheet or table at a place. What its reader knows of a row must be here before the row is taken. `notes` may grow."""

    place: str
    limits: ReadingLimits
    notes: list[str]
    hidden: list[tuple[int, int]] = field(default_factory=list)  # the first and last of hidden columns
    _inner: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))  # tables in the cells of a row
    _merged: dict[int, list[_Merged]] = field(default_factory=lambda: defaultdict(list))  # by their first rows
    _comments: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))  # heads and texts

    def merge(self, top: int, left: int, bottom: int, right: int) -> None:
        """Merge the cells between the first and last row and column, counted from 0."""
        if (top, left) != (bottom, right):
            self._merged[top].append(_Merged(top, left, bottom, right))

    def nest(self, row: int, tables: Iterable[Any]) -> None:
        """Add the tables in the cells of a row."""
        self._inner[self._place(row)] += tables

    def comment(self, row: int, head: str, text: str) -> None:
        """Add a comment on a row, if it has a text. Excel begins that with the author, whom the head names."""
        text = text.removeprefix(f"{head.removeprefix('Comment by ')}: ")
        self._comments[self._place(row)] += [(head, text)] * bool(text)

    def rows(self, rows: Rows) -> Iterator[GridRow]:
        """Yield the rows that are shown; a blank one stands for those without values. A cell that spans rows is repeated in each.
        Raises: Unreadable: they span too many cells.
        """
        hidden_rows, hidden_columns = 0, set[int]()  # those with values
        merged, above = list[_Merged](), dict[int, str]()
        last, spanned, most = -1, 0, _CELLS_PER_ROW * self.limits.rows
        for number, cells, is_hidden in rows:
            hidden_columns |= {column for column, text in cells.items() if text and self._is_hidden(column)}
            merged = [one for one in (*merged, *self._merged.pop(number, ())) if number <= one.bottom]
            for one in merged:
                above[one.left] = cells.get(one.left, "") if one.top == number else above[one.left]
                cells[one.left] = above[one.left]
            if is_hidden:
                hidden_rows += any(cells.values())
                self._comments.pop(self._place(number), None)
                continue
            filled = (column for column, text in cells.items() if text and not self._is_hidden(column))
            shown = {self._position(column): cells[column] for column in filled}
            if not shown and not self._inner.get(self._place(number)):
                continue
            width = max(shown, default=-1) + 1
            spanned += width
            if spanned > most:
                raise Unreadable(f"{self.place} spans more than {most} cells: split it, or raise the limit `rows`")
            if number > last + 1:
                yield GridRow("", ())
            last = number
            spans = {self._position(one.left): one.right - one.left + 1 for one in merged if one.right > one.left}
            yield GridRow(self._place(number), [shown.get(column, "") for column in range(width)], spans or None)

        hidden = {"rows": hidden_rows, "columns": len(hidden_columns)}
        told = " and ".join(f"{count} hidden {what}" for what, count in hidden.items() if count)
        self.notes += [f"{self.place}: {told} were left out"] if told else []

    def sheet(self, name: str, rows: Rows) -> Iterator[Piece]:
        """Yield a sheet, under its name unless that is a default, the comments after their rows, or at the end."""
        if not _UNNAMED.fullmatch(name):
            yield Piece(BlockKind.HEADING, name, 1, place=self.place)
        for piece in sheet_pieces(self.rows(rows), self.limits):
            yield piece
            for head, text in self._comments.pop(piece.place, ()):
                about = piece.cells[0][1] if piece.cells else piece.text
                yield Piece(BlockKind.PARAGRAPH, f"{head} ({about}): {text}", place=piece.place)
        for place, head, text in ((place, *one) for place, waiting in self._comments.items() for one in waiting):
            yield Piece(BlockKind.PARAGRAPH, f"{head}: {text}", place=place)

    def table(self, rows: Rows, marked: int | None, read: Callable[[Any, str], Iterable[Piece]]) -> Iterator[Piece]:
        """Yield the pieces of a table, whose file marks so many rows as headers. The tables in its cells, which `read` reads at a
        place, follow their row; each row of these has the first text of that row before its cells.
        """
        shown = list(self.rows(rows))
        names = {row.place: next(filter(None, row.cells), "") for row in shown}
        for outer in grid_pieces(shown, marked):
            yield outer
            name = names.get(outer.place, "")
            for number, table in enumerate(self._inner.pop(outer.place, ()), 1):
                for piece in read(table, f"{outer.place}, table {number}"):
                    is_value = name and piece.cells and not piece.level
                    yield replace(piece, cells=(("", name), *piece.cells)) if is_value else piece

    def _place(self, row: int) -> str:
        return f"{self.place}, row {row + 1}"

    def _is_hidden(self, column: int) -> bool:
        return any(first <= column <= last for first, last in self.hidden)

    def _position(self, column: int) -> int:
        """The number of the column among those that are shown."""
        return column - sum(min(column - 1, last) - first + 1 for first, last in self.hidden if first < column)


def hidden_sheets(names: Sequence[str]) -> list[str]:
    return [f"hidden sheets were left out: {', '.join(names)}"] * bool(names)
