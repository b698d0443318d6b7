"""Tables of every office format name the column of each value: headers of two rows, merged cells, tables side by side."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from documents.file_makers import word_body
from documents.test_sheet_rows import csv_rows, rows_of, workbook
from hoptrail.documents.docx import parse_docx
from hoptrail.documents.html import parse_html
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.markup import OpenTable, TableCell
from hoptrail.documents.pptx import parse_pptx
from hoptrail.documents.xlsx import parse_xlsx

Rows = Sequence[Sequence[str]]
Merged = Sequence[tuple[int, int, int, int]]
"""First row and column of merged cells, and the numbers of their rows and columns."""


def in_excel(rows: Rows, merged: Merged) -> bytes:
    def name(row: int, column: int) -> str:
        return f"{chr(65 + column)}{row + 1}"

    lines = [
        f'<row r="{row + 1}">'
        + "".join(
            f'<c r="{name(row, column)}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for column, cell in enumerate(cells)
            if cell
        )
        + "</row>"
        for row, cells in enumerate(rows)
    ]
    ranges = (
        f'<mergeCell ref="{name(row, column)}:{name(row + height - 1, column + width - 1)}"/>'
        for row, column, height, width in merged
    )
    return workbook("".join(lines), name="Sheet1", after=f"<mergeCells>{''.join(ranges)}</mergeCells>")


def in_word(path: Path, rows: Rows, merged: Merged, marked: int = 0) -> bytes:
    lines = []
    for row, cells in enumerate(rows):
        written = "<w:trPr><w:tblHeader/></w:trPr>" if row < marked else ""
        column = 0
        while column < len(cells):
            covering = [one for one in merged if one[0] <= row < one[0] + one[2] and one[1] == column]
            top, _, height, width = covering[0] if covering else (row, column, 1, 1)
            merge = "" if height == 1 else f'<w:vMerge w:val="{"restart" if row == top else "continue"}"/>'
            text = f"<w:p><w:r><w:t>{cells[column]}</w:t></w:r></w:p>"
            written += f'<w:tc><w:tcPr><w:gridSpan w:val="{width}"/>{merge}</w:tcPr>{text}</w:tc>'
            column += width
        lines.append(f"<w:tr>{written}</w:tr>")
    return word_body(path, f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(lines)}</w:tbl>").read_bytes()


def in_powerpoint(rows: Rows, merged: Merged) -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, Inches(8), Inches(3)).table
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    for row, column, height, width in merged:
        table.cell(row, column).merge(table.cell(row + height - 1, column + width - 1))
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


ROTA: Rows = [
    ("Ward", "Nurse", "January", "", "February", ""),
    ("", "", "Shifts", "Hours", "Shifts", "Hours"),
    ("Maple", "Ines Roth", "4", "38", "5", "47"),
    ("", "Jun Petri", "3", "30", "2", "19.5"),
    ("Cedar", "Lea Strand", "8", "76", "1", "9.5"),
]
ROTA_MERGED: Merged = [(0, 0, 2, 1), (0, 1, 2, 1), (0, 2, 1, 2), (0, 4, 1, 2), (2, 0, 2, 1)]
JUN = {
    "Ward": "Maple",
    "Nurse": "Jun Petri",
    "January Shifts": "3",
    "January Hours": "30",
    "February Shifts": "2",
    "February Hours": "19.5",
}

FARES: Rows = [
    ("Line", "Adult", "", "Child", ""),
    ("", "Single", "Return", "Single", "Return"),
    ("Coast", "4", "7", "2", "3"),
    ("Hill", "5", "9", "2.50", "4"),
]
FARES_MERGED: Merged = [(0, 0, 2, 1), (0, 1, 1, 2), (0, 3, 1, 2)]
COAST = {"Line": "Coast", "Adult Single": "4", "Adult Return": "7", "Child Single": "2", "Child Return": "3"}

CROPS: Rows = [
    ("", "Spring", "", "Autumn", ""),
    ("Crop", "Sown", "Picked", "Sown", "Picked"),
    ("Pea", "12", "40", "3", "9"),
    ("Bean", "7", "31", "2", "8"),
]
REPEATED: Rows = [("Crop", "Spring", "Spring", "Autumn", "Autumn"), *CROPS[1:]]
PEA = {"Crop": "Pea", "Spring Sown": "12", "Spring Picked": "40", "Autumn Sown": "3", "Autumn Picked": "9"}

TENTS: Rows = [("Prices 2026", "", ""), ("Item", "Small", "Large"), ("Tent", "20", "35"), ("Boat", "50", "80")]
TENTS_MERGED: Merged = [(0, 0, 1, 3)]
TENT = {"Item": "Tent", "Small": "20", "Large": "35"}


@pytest.mark.parametrize("form", ["xlsx", "docx", "pptx"])
@pytest.mark.parametrize(
    ("rows", "merged", "number", "expected"),
    [
        *((ROTA, ROTA_MERGED, 3, JUN), (FARES, FARES_MERGED, 2, COAST), (TENTS, TENTS_MERGED, 2, TENT)),
        *((CROPS, [], 2, PEA), (REPEATED, [], 2, PEA)),
    ],
    ids=["rota", "fares", "tents", "crops", "repeated"],
)
def test_a_header_of_two_rows_names_every_column(
    tmp_path: Path, form: str, rows: Rows, merged: Merged, number: int, expected: dict[str, str]
) -> None:
    parsed = {
        "xlsx": lambda: parse_xlsx(in_excel(rows, merged), DEFAULT_LIMITS),
        "docx": lambda: parse_docx(in_word(tmp_path / "a.docx", rows, merged), DEFAULT_LIMITS),
        "pptx": lambda: parse_pptx(in_powerpoint(rows, merged), DEFAULT_LIMITS),
    }[form]()
    assert rows_of(parsed)[number] == expected


def test_a_header_of_two_rows_in_a_text_file_may_repeat_its_cells() -> None:
    assert csv_rows("".join(f"{','.join(row)}\n" for row in REPEATED))[2] == PEA


@pytest.mark.parametrize(
    ("page", "last"),
    [
        ("<tr><td><b>City<td><b>Land<tr><td>Bern<td>Schweiz", {"City": "Bern", "Land": "Schweiz"}),
        ("<tr><td>City<td>Land<tr><td>Bern<td>Schweiz", ["Bern", "Schweiz"]),
        ("<tr><td>City<td>Land<td>Size<tr><td>Bern<td>CH<td>51", {"City": "Bern", "Land": "CH", "Size": "51"}),
        (
            "<tr><td rowspan=2>Line<td colspan=2>Adult<tr><td>Single<td>Return<tr><td>Coast<td>4<td>7",
            {"Line": "Coast", "Adult Single": "4", "Adult Return": "7"},
        ),
        ("<tr><th>Line<th colspan=3>Adult<tr><td>Coast<td>4<td colspan=2>7", {"Line": "Coast", "Adult": "7"}),
    ],
)
def test_a_page_whose_table_marks_no_header_has_one_that_is_bold_or_stands_above_values(
    page: str, last: list[str] | dict[str, str]
) -> None:
    assert rows_of(parse_html(f"<table>{page}</table>".encode(), DEFAULT_LIMITS))[-1] == last


def test_a_title_over_all_columns_is_no_header(tmp_path: Path) -> None:
    assert rows_of(parse_docx(in_word(tmp_path / "a.docx", TENTS, TENTS_MERGED), DEFAULT_LIMITS))[0] == "Prices 2026"


def test_header_rows_that_word_marks_are_believed(tmp_path: Path) -> None:
    rows = [("Team", "Home", "Away"), ("", "Wins", "Wins"), ("Blues", "2", "6"), ("Reds", "1", "0")]
    parsed = parse_docx(in_word(tmp_path / "a.docx", rows, [], marked=2), DEFAULT_LIMITS)
    assert rows_of(parsed)[2] == {"Team": "Blues", "Home Wins": "2", "Away Wins": "6"}


def test_empty_cells_of_a_text_file_stand_for_merged_ones() -> None:
    assert csv_rows(",Spring,,Autumn,\nCrop,Sown,Picked,Sown,Picked\nPea,12,40,3,9\nBean,7,31,2,8\n") == [
        ["Spring", "Autumn"],
        ["Crop", "Sown", "Picked", "Sown", "Picked"],
        {"Crop": "Pea", "Spring Sown": "12", "Spring Picked": "40", "Autumn Sown": "3", "Autumn Picked": "9"},
        {"Crop": "Bean", "Spring Sown": "7", "Spring Picked": "31", "Autumn Sown": "2", "Autumn Picked": "8"},
    ]
    assert csv_rows("Berth,Fee,,Holder\n,Summer,Winter,\nNorth,300,110,Ada\nSouth,280,120,Runa\n")[3] == {
        "Berth": "South",
        "Fee Summer": "280",
        "Fee Winter": "120",
        "Holder": "Runa",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Name,Town,\nAnn,Bern,nice\nBob,Basel,cold\n",
        "Name,Town,\nAnn,Bern,12\nBob,Basel,13\n",
        "Name,Phone,\nAnn,111,\nBob,222,333\n",
    ],
)
def test_a_column_without_a_name_makes_the_first_row_of_values_no_header(text: str) -> None:
    first, *_ = text.split(",")
    assert csv_rows(text)[1][first] == "Ann"  # type: ignore[call-overload, index]


def test_names_of_columns_may_occur_twice_above_values() -> None:
    assert csv_rows("Name,Phone,Phone\nKari Moe,111,222\nOla Lie,333,444\n")[0] == ["Name", "Phone", "Phone"]
    assert csv_rows("Rope,blue,blue\nBuoy,red,green\n") == [["Rope", "blue", "blue"], ["Buoy", "red", "green"]]


def test_tables_beside_each_other_are_two_if_each_has_a_header() -> None:
    rows = [
        ("Fruit", "Price", "", "", "Tool", "Owner"),
        ("Quince", "3.2", "", "", "Adze", "Mirko"),
        ("Medlar", "4.1", "", "", "Froe", "Selma"),
        ("", "", "", "", "Saw", "Ida"),
    ]
    assert rows_of(parse_xlsx(in_excel(rows, []), DEFAULT_LIMITS)) == [
        ["Fruit", "Price"],
        {"Fruit": "Quince", "Price": "3.2"},
        {"Fruit": "Medlar", "Price": "4.1"},
        ["Tool", "Owner"],
        {"Tool": "Adze", "Owner": "Mirko"},
        {"Tool": "Froe", "Owner": "Selma"},
        {"Tool": "Saw", "Owner": "Ida"},
    ]


@pytest.mark.parametrize(
    "text",
    ["Name,Town,,Price,Count\nAnn,Bern,,12,3\nBob,Basel,,14,4\n", "Name,Town,,Note\nAnn,Bern,,old\nBob,Basel,,new\n"],
)
def test_an_empty_column_within_a_table_does_not_end_it(text: str) -> None:
    assert len(csv_rows(text)) == 3


def test_many_header_rows_take_linear_time() -> None:
    start = time.process_time()
    table = OpenTable()
    for number in range(3000):
        table.row([TableCell("Ship", is_header=True), TableCell("Fee", is_header=True)], f"row {number}")
    assert table.row([TableCell("Ferry"), TableCell("9")], "row 3000").cells == (("Ship", "Ferry"), ("Fee", "9"))
    assert time.process_time() - start < 2
