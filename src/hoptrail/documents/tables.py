"""Turns table rows into pieces: detects header rows, assigns headers to cells, and resolves column and row spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hoptrail.documents.blocks import Piece
from hoptrail.types import BlockKind

_LARGEST_SPAN = 1000
"""Columns or rows that a cell may span, as in browsers."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: whether it is marked as a header, and how many columns and rows it spans."""

    text: str
    is_header: bool = False
    columns: int = 1
    rows: int = 1


@dataclass(slots=True)
class Table:
    """A table that is read row by row. A row of header cells alone is a header row, as is any row while `in_head`.

    The header of a column joins its cells in the last header rows, from the top down.
    """

    in_head: bool = False
    _headers: dict[int, str] = field(default_factory=dict)
    _after_data: bool = False
    _spanning: dict[int, tuple[int, TableCell]] = field(default_factory=dict)

    def row(self, cells: Sequence[TableCell]) -> Piece | None:
        """The piece of a row; None if it has one cell, or in a table without headers one filled cell.

        A cell that spans rows is repeated in each of them.
        """
        placed = list(self._placed(cells))
        if len(placed) < 2:
            return None
        if self.in_head or all(cell.is_header for _, cell in placed):
            return self._header_row(placed)
        if not self._headers and sum(bool(cell.text) for _, cell in placed) < 2:
            return None
        self._after_data = True
        values = tuple((self._headers.get(column, ""), cell.text) for column, cell in placed)
        return Piece(BlockKind.ROW, cells=values)

    def _header_row(self, placed: Sequence[tuple[int, TableCell]]) -> Piece:
        if self._after_data:
            self._headers, self._after_data = {}, False
        for first, cell in placed:
            for column in range(first, first + cell.columns):
                above = self._headers.get(column, "")
                is_repeated = not cell.text or above.endswith(cell.text)
                self._headers[column] = above if is_repeated else f"{above} {cell.text}".strip()
        return Piece(BlockKind.ROW, level=1, cells=tuple(("", cell.text) for _, cell in placed))

    def _placed(self, cells: Sequence[TableCell]) -> Iterator[tuple[int, TableCell]]:
        """Yield each cell with its column, including cells of earlier rows that span this one."""
        above, self._spanning = self._spanning, {}
        column = 0
        waiting = list(reversed(cells))
        while waiting or any(known >= column for known in above):
            remaining, cell = above.pop(column, (0, None))
            if cell is None:
                if not waiting:
                    column = min(known for known in above if known >= column)
                    continue
                cell = waiting.pop()
                remaining = cell.rows
            if remaining > 1:
                self._spanning[column] = (remaining - 1, cell)
            yield column, cell
            column += cell.columns


def span_of(attribute: str | None) -> int:
    """The value of a `colspan` or `rowspan`, within bounds; 1 if it is no number."""
    digits = (attribute or "").strip()[:9]
    return max(1, min(int(digits), _LARGEST_SPAN)) if digits.isascii() and digits.isdecimal() else 1
