"""CSV, TSV and Excel files: formats of numbers, header rows, and refused files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import pytest

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.number_formats import apply_format
from hoptrail.documents.records import parse_csv
from hoptrail.documents.sheet_rows import has_header
from hoptrail.documents.xlsx import parse_xlsx

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def rows_of(parsed: Parsed) -> list[dict[str, str] | list[str] | str]:
    """Each block: a row as a dict by header, a row without headers or a header row as a list, other blocks as text."""
    rows: list[dict[str, str] | list[str] | str] = []
    for block in parsed.blocks:
        values = [parsed.text[cell.start : cell.end] for cell in block.cells]
        if not block.cells:
            rows.append(parsed.text[block.start : block.end].strip())
        elif any(cell.header for cell in block.cells):
            rows.append({cell.header: value for cell, value in zip(block.cells, values, strict=True)})
        else:
            rows.append(values)
    return rows


def csv_rows(text: str) -> list[dict[str, str] | list[str] | str]:
    return rows_of(parse_csv(text.encode(), DEFAULT_LIMITS))


def workbook(rows: str, *, name: str = "Prices", sheet_xml: bytes | None = None, after: str = "") -> bytes:
    """An Excel file with one sheet of these rows (XML), built by hand; `after` follows them."""
    main = f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{rows}</sheetData>{after}</worksheet>'
    members = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{OFFICE}"><sheets>'
        f'<sheet name="{name}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        archive.writestr("xl/worksheets/sheet1.xml", sheet_xml or main.encode())
    return out.getvalue()


def refusal(data: bytes, limits: ReadingLimits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Unreadable) as raised:
        parse_xlsx(data, limits)
    return str(raised.value)


def test_a_header_may_stand_apart_from_its_table() -> None:
    table = "Boats of 2026\n\nBoat,Length,Port\n\nSkua,9,Foss\n\nNote,see below,x\n\nTern,7,Holm\nTeal,8,Foss\n\n"
    assert csv_rows(f"{table}Berth,Fee\nNorth,10\n") == [
        "Boats of 2026",
        ["Boat", "Length", "Port"],
        {"Boat": "Skua", "Length": "9", "Port": "Foss"},
        {"Boat": "Note", "Length": "see below", "Port": "x"},
        {"Boat": "Tern", "Length": "7", "Port": "Holm"},
        {"Boat": "Teal", "Length": "8", "Port": "Foss"},
        ["Berth", "Fee"],
        {"Berth": "North", "Fee": "10"},
    ]
    assert csv_rows("Keeper,Ada\n\nBerth,Fee\nNorth,10\n")[2] == {"Berth": "North", "Fee": "10"}


@pytest.mark.parametrize(
    "text",
    [
        "Keeper,Ada\n\nRent,300\nHeat,40\n",
        "Boat,Length,Port\n\nFrom the harbour master\nSkua,9,Foss\nTern,7,Holm\n",
        "Skua,9,Foss\nTern,7,Holm\n\nNote,see below,x\n\nTeal,8,Foss\nCoot,6,Holm\n",
    ],
)
def test_a_row_alone_that_may_be_anything_else_is_no_header(text: str) -> None:
    assert not any(block.is_header for block in parse_csv(text.encode(), DEFAULT_LIMITS).blocks)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    lines = [("Item", "Price", "Note"), ("Rope", "12", "thin"), ("Buoy", "3", "red")]
    assert csv_rows("\n".join(delimiter.join(line) for line in lines)) == [
        ["Item", "Price", "Note"],
        {"Item": "Rope", "Price": "12", "Note": "thin"},
        {"Item": "Buoy", "Price": "3", "Note": "red"},
    ]


def test_commas_in_numbers_do_not_hide_semicolons() -> None:
    assert csv_rows("Item;Price\nRope;1,50\nBuoy;2,75\n")[1] == {"Item": "Rope", "Price": "1,50"}


def test_a_first_line_may_declare_the_delimiter() -> None:
    assert csv_rows("sep=|\nItem|Price\nRope, thin|1\n")[-1] == {"Item": "Rope, thin", "Price": "1"}


def test_quoted_cells_hold_delimiters_quotation_marks_and_line_ends() -> None:
    parsed = parse_csv(b'Item,Note\n"Rope, thin","says ""hi""\nand goes"\nBuoy,red\n', DEFAULT_LIMITS)
    assert rows_of(parsed)[1:] == [
        {"Item": "Rope, thin", "Note": 'says "hi" and goes'},
        {"Item": "Buoy", "Note": "red"},
    ]
    assert [block.place for block in parsed.blocks] == ["row 1", "row 2", "row 3"]


def test_a_quotation_mark_that_is_never_closed_loses_no_row() -> None:
    parsed = parse_csv(b"Item,Size\n" + b'Pipe,"3\n' + b"Pipe,4\n" * 60, DEFAULT_LIMITS)
    assert len(parsed.blocks) == 62
    assert "never closed" in parsed.notes[0]


def test_lines_before_a_table_are_paragraphs_and_blank_rows_separate_tables() -> None:
    text = "Stock of March\n\nItem,Price\nRope,12\n\nBuoy,3\n\nTown,People,Since\nBern,133000,1191\n"
    assert csv_rows(text) == [
        "Stock of March",
        ["Item", "Price"],
        {"Item": "Rope", "Price": "12"},
        {"Item": "Buoy", "Price": "3"},
        ["Town", "People", "Since"],
        {"Town": "Bern", "People": "133000", "Since": "1191"},
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("City", "Land"), ("Bern", "Switzerland")], True),
        ([("", "2023", "2024"), ("Rope", "3", "4")], True),
        ([("City", "Land"), (), ("Bern", "Switzerland")], True),
        ([("Bern", "133000"), ("Basel", "173000")], False),
        ([("Owner", "Ada Lovelace"), ("Start", "3 March 2024"), ("Place", "Bern")], False),
        ([("Founded", "1850"), ("Closed", "1901")], False),
        ([("Name:", "Ada"), ("Town:", "Bern")], False),
        ([("It opened in the spring.", "It closed."), ("a", "b")], False),
        ([("Ada", "ada@example.org"), ("Bob", "bob@example.org")], False),
        ([("Item", "Price", ""), ("Rope", "12", "cheap")], True),
        ([("md2 init", "[Function]"), ("md2 update", "[Function]")], False),
        ([("no", "name", "town"), ("C1", "Ada", "Bern"), ("C2", "Bob", "Basel")], True),
        ([("Ada", "no", "Bern"), ("Bob", "yes", "Basel")], False),
        ([("No.", "Item", "Qty. left"), ("7", "Rope", "2")], True),
        ([("wine", "bottle €", "case of 6 €"), ("Aramon", "9.50", "54")], True),
        (
            [
                ("section", "item", "2023", "2024", "note"),
                ("income", "rents", "1718", "1902", ""),
                ("income", "fees", "3", "1.50", ""),
            ],
            True,
        ),
        ([("date", "", "lamp", ""), ("2025-08-11", "", "5", ""), ("2025-08-12", "", "6", "")], True),
        ([("Rope", "1999", "2004"), ("Buoy", "2001", "2003")], False),
        ([("Rope", "12 €"), ("Buoy", "3 €")], False),
        ([("item", "2022", "2023", "2024"), ("Rope", "3", "4", ""), ("Buoy", "5", "6", "")], True),
        ([("item", "budget", "2024"), ("Rope", "30", "28"), ("Buoy", "12", "14")], True),
        ([("Alice", "sales", "2019"), ("Bo", "buying", "2021")], False),
        ([("Rope", "blue", "2024"), ("Buoy", "red", "1500")], False),
        ([("wine", "€"), ("Aramon", "9.50"), ("Merlot", "11")], True),
        ([("wine", "€"), ("Aramon", "9.50"), ("Merlot", "-")], True),
        ([("Rope", "€"), ("Buoy", "£")], False),
        ([("Rope", "€"), ("Buoy", "3 €")], False),
        ([("wine", "£"), ("Rope", "£5")], False),
        ([("Ada", "chair", "2019"), ("Bo", "-", "n/a")], False),
        ([("Alice", "sales", "2019"), ("Bo", "-", "2021"), ("Cy", "-", "-"), ("Di", "-", "n/a")], False),
        ([("A12", "clock", "1901", "1950"), ("A13", "lamp", "ca. 1880", "-"), ("A14", "pump", "1911", "1930")], False),
        ([("Ada", "n/a", "Bern"), ("Bob", "bob@example.org", "Basel")], False),
        ([("Step", "Minutes"), ("Mix well.", "5"), ("Bake it.", "as needed")], True),
        ([("Item", "Price"), ("Rope", "12"), ("", "see above"), ("Buoy", "30")], True),
        ([("", ""), ("a", "")], False),
        ([("alone", "here")], False),
        ([("a",), ("b",)], False),
    ],
)
def test_when_the_first_row_is_a_header(rows: Sequence[Sequence[str]], expected: bool) -> None:
    assert has_header(rows) is expected


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.155, "0.0%", "15.5%"),
        (1200, '#,##0.00 "EUR"', "1,200.00 EUR"),
        (1200, "[$€-407] #,##0.00", "€ 1,200.00"),
        (-5, "0.00;(0.00)", "(5.00)"),
        (-5, "0.00;[Red]-0.00", "-5.00"),
        *(
            (-5, code, f"-{shown}")
            for code, shown in (("#,##0", "5"), ('0" - net"', "5 - net"), ('0.0 "(est)"', "5.0 (est)"))
        ),
        (1234567, '#,##0,"k"', "1,235k"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (7, '"Q1" 000', "Q1 007"),
        (3, 'General" km"', "3 km"),
        *((0.125, "0%", "13%"), (1.005, "0.00", "1.01"), (-2.5, "0", "-3")),
        *((612345678, "00 00 00 00 00", "06 12 34 56 78"), (1234.5, "# ##0.00", "1 234.50")),
        (5551234, r"[<=9999999]###\-####;\(###\)\ ###\-####", "555-1234"),
        (2025551234, r"[<=9999999]###\-####;\(###\)\ ###\-####", "(202) 555-1234"),
        (2500, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "2.5K"),
        (1200.5, r'_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-', "1,200.50 €"),
    ],
)
def test_numbers_are_written_as_their_cells_show_them(value: float, code: str, shown: str) -> None:
    assert apply_format(value, code) == shown


def test_more_rows_than_the_limit() -> None:
    limits = ReadingLimits(rows=3)
    with pytest.raises(Unreadable, match="more than 3 rows: split it, or raise the limit `rows`"):
        parse_csv(b"a,b\n" * 4, limits)
    row = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="B{0}"><v>2</v></c></row>'
    assert "has more than 3 rows" in refusal(workbook("".join(map(row.format, range(1, 5)))), limits)
    assert len(parse_xlsx(workbook("".join(map(row.format, range(1, 4)))), limits).blocks) == 4


def test_a_distant_cell_costs_only_its_row() -> None:
    data = workbook('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>')
    assert parse_xlsx(data, DEFAULT_LIMITS).text == "Prices\n\n1\n\n2"
    far = "".join(f'<row r="{number}"><c r="XFD{number}"><v>1</v></c></row>' for number in range(1, 9))
    assert "spans more than 100000 cells" in refusal(workbook(far), ReadingLimits(rows=1000))


def test_cells_with_nothing_but_a_style_do_not_count() -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="A1048576" s="1"></c></row>'
    assert parse_xlsx(workbook(rows), DEFAULT_LIMITS).text == "Prices\n\n1"


def test_formulas_without_a_value_are_counted() -> None:
    cells = '<c r="A1"><v>1</v></c><c r="B1"><f>A1*2</f><v></v></c><c r="C1"><f>A1*3</f></c><c r="D1"><f>A1*4</f><v>4</v></c>'
    parsed = parse_xlsx(workbook(f'<row r="1">{cells}</row>'), DEFAULT_LIMITS)
    assert parsed.text == "Prices\n\n1\t4"
    assert parsed.notes == ("2 formulas hold no value: open the file in a spreadsheet program and save it",)


def test_a_damaged_sheet_is_refused() -> None:
    assert "damaged" in refusal(workbook("", sheet_xml=b"<worksheet><sheetData><row"))
