"""Reads the rows of the tables in OpenDocument files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.odf_text import OFFICE, TABLE, TEXT, OdfText
from hoptrail.documents.sheet_rows import GridRow
from hoptrail.text.normal_forms import squeeze

_COLUMNS = 16384
"""The most columns of a sheet."""


@dataclass(slots=True)
class OdfTables:
    """Reads tables. `hidden`: notes on what is not shown of them; `nested`: the tables in cells of the row read last, for the
    caller to take.
    """

    text: OdfText
    limits: ReadingLimits
    hidden: list[str] = field(default_factory=list)
    nested: list[Any] = field(default_factory=list)

    def rows(self, table: Any) -> Iterator[GridRow]:
        """Yield the rows that are shown, each at `row N`. A cell that spans rows is repeated in each of them. Comments
        wait among the asides of the text.
        """
        columns = _is_shown(table)
        above: dict[int, tuple[int, str]] = {}
        number = 0
        for row in table.iter(f"{TABLE}table-row"):
            if next(row.iterancestors(f"{TABLE}table")) is not table:
                continue
            times = min(int(row.get(f"{TABLE}number-rows-repeated", "1")), 2**20)
            cells, spans = self._cells(row, columns, above)
            place = f"row {number + 1}"
            if row.get(f"{TABLE}visibility", "visible") != "visible":
                self._count_hidden(table, "rows", any(cells))
                self.text.asides.clear()
            elif any(map(str.strip, cells)):
                for repeated in range(min(times, self.limits.rows + 1)):
                    yield GridRow(f"row {number + repeated + 1}", cells, spans or None)
            else:
                yield GridRow(place, ())
            number += times

    def _cells(
        self, row: Any, columns: list[bool], above: dict[int, tuple[int, str]]
    ) -> tuple[list[str], dict[int, int]]:
        """The texts of the shown cells of a row, and how many columns they span. `above`: by their column, the rows that cells
        still span and their text.
        """
        cells: list[str] = []
        spans: dict[int, int] = {}
        position, blanks = 0, 0
        for cell in row:
            if cell.tag not in {f"{TABLE}table-cell", f"{TABLE}covered-table-cell"}:
                continue
            text = squeeze(" ".join(self._cell_lines(cell)))
            times = min(int(cell.get(f"{TABLE}number-columns-repeated", "1")), _COLUMNS - position)
            for column in range(position, position + times):
                remaining, spanned = above.pop(column, (0, ""))
                if cell.tag.endswith("covered-table-cell"):
                    text = spanned
                if remaining > 1:
                    above[column] = remaining - 1, spanned
                rows, width = (int(cell.get(f"{TABLE}number-{name}-spanned", "1")) for name in ("rows", "columns"))
                if rows > 1:
                    above[column] = rows - 1, text
                if column < len(columns) and not columns[column]:
                    self._count_hidden(row.getparent(), "columns", bool(text))
                    continue
                if width > 1:
                    spans[len(cells) + blanks] = width
                if text:
                    cells += [*[""] * blanks, text]
                    blanks = 0
                else:
                    blanks += 1
            position += times
        width = max((start + columns for start, columns in spans.items()), default=0)
        return cells + [""] * max(0, min(width, _COLUMNS) - len(cells)), spans

    def _cell_lines(self, cell: Any) -> Iterator[str]:
        for child in cell:
            if child.tag in {f"{TEXT}p", f"{TEXT}h"}:
                yield self.text.paragraph(child)
            elif child.tag == f"{OFFICE}annotation":
                self.text.annotation(child)
            elif child.tag == f"{TABLE}table":
                self.nested.append(child)
            elif child.tag == f"{TEXT}list":
                yield "; ".join(filter(None, self._cell_lines(child)))
            elif child.tag in {f"{TEXT}list-item", f"{TEXT}section"}:
                yield from self._cell_lines(child)

    def _count_hidden(self, element: Any, what: str, has_text: bool) -> None:
        name = next(
            (one.get(f"{TABLE}name", "") for one in [element, *element.iterancestors()] if one.tag == f"{TABLE}table"),
            "",
        )
        note = f"sheet {name}: hidden {what} were left out"
        if has_text and note not in self.hidden:
            self.hidden.append(note)


def _is_shown(table: Any) -> list[bool]:
    """Whether each column of a table is shown, as far as it says so."""
    shown: list[bool] = []
    for column in table.iter(f"{TABLE}table-column"):
        times = min(int(column.get(f"{TABLE}number-columns-repeated", "1")), _COLUMNS - len(shown))
        shown += [column.get(f"{TABLE}visibility", "visible") == "visible"] * times
    return shown
