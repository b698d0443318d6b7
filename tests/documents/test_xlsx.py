"""Sheets are read as they are shown: hidden rows and columns, comments, dates, struck-out text, one damaged sheet of several."""

from __future__ import annotations

import io
import zipfile

import pytest

from documents.test_sheet_rows import OFFICE, PACKAGE, SPREADSHEET, rows_of, workbook
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.markup import STRUCK
from hoptrail.documents.number_formats import shown_number
from hoptrail.documents.xlsx import parse_xlsx


def cells(row: int, *values: str, attributes: str = "") -> str:
    inside = "".join(
        f'<c r="{chr(65 + column)}{row}" t="inlineStr"><is><t>{value}</t></is></c>'
        for column, value in enumerate(values)
        if value
    )
    return f'<row r="{row}"{attributes}>{inside}</row>'


def with_members(data: bytes, **members: str) -> bytes:
    """The archive with members added or replaced, named with `__` for `/`."""
    out = io.BytesIO()
    names = {name.replace("__", "/"): xml for name, xml in members.items()}
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name not in names:
                new.writestr(name, old.read(name))
        for name, xml in names.items():
            new.writestr(name, xml)
    return out.getvalue()


def relations(**targets: str) -> str:
    inside = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets.items())
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{inside}</Relationships>'


STAFF = (
    cells(1, "Name", "Town", "Salary", "Team"),
    cells(2, "Hana", "Bern", "45200", "Pumps"),
    cells(3, "Left staff", "Basel", "1", "Doors", attributes=' hidden="1"'),
    cells(4, "Ivo", "Basel", "50100", "Doors"),
)


def test_hidden_rows_and_columns_are_left_out_and_told() -> None:
    sheet = (
        f'<worksheet xmlns="{SPREADSHEET}"><cols><col min="3" max="3" hidden="1"/><col min="9" max="16384" hidden="1"/></cols>'
        f"<sheetData>{''.join(STAFF)}</sheetData></worksheet>"
    )
    parsed = parse_xlsx(workbook("", sheet_xml=sheet.encode()), DEFAULT_LIMITS)
    assert rows_of(parsed) == [
        "Prices",
        ["Name", "Town", "Team"],
        {"Name": "Hana", "Town": "Bern", "Team": "Pumps"},
        {"Name": "Ivo", "Town": "Basel", "Team": "Doors"},
    ]
    assert parsed.notes == ("sheet Prices: 1 hidden rows and 1 hidden columns were left out",)


COMMENTS = f"""<comments xmlns="{SPREADSHEET}"><authors><author>Rosa</author></authors><commentList>
<comment ref="A2" authorId="0"><text><r><t>Rosa:
</t></r><r><t>Needs a new belt </t></r><r><t>by May.</t></r></text></comment>
<comment ref="B2" authorId="0"><text><t>[Threaded comment] Your version of Excel ...</t></text></comment>
<comment ref="D9" authorId="0"><text><t>Ask the town.</t></text></comment></commentList></comments>"""
THREAD = """<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">
<threadedComment ref="B2" dT="2026-06-18T10:00:00" personId="p1"><text>Too dear?</text></threadedComment></ThreadedComments>"""
PERSONS = """<personList xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">
<person displayName="Bo Lind" id="p1"/></personList>"""


def test_comments_follow_their_row() -> None:
    rows = cells(1, "Machine", "Price") + cells(2, "Lathe B", "900 euros") + cells(3, "Saw", "80 euros")
    sheet = relations(comments="../comments1.xml", threadedComment="../threadedComments/t1.xml")
    book = relations(worksheet="worksheets/sheet1.xml", person="persons/person.xml").replace('"r0"', '"rId1"')
    data = with_members(
        workbook(rows, name="Sheet1"),
        **{
            "xl__worksheets___rels__sheet1.xml.rels": sheet,
            "xl___rels__workbook.xml.rels": book,
            "xl__comments1.xml": COMMENTS,
            "xl__threadedComments__t1.xml": THREAD,
            "xl__persons__person.xml": PERSONS,
        },
    )
    assert rows_of(parse_xlsx(data, DEFAULT_LIMITS)) == [
        ["Machine", "Price"],
        {"Machine": "Lathe B", "Price": "900 euros"},
        "Comment by Rosa (Lathe B): Needs a new belt by May.",
        "Comment by Bo Lind on 2026-06-18 (Lathe B): Too dear?",
        {"Machine": "Saw", "Price": "80 euros"},
        "Comment by Rosa: Ask the town.",
    ]


def test_struck_out_text_is_left_out_and_told() -> None:
    styles = f"""<styleSheet xmlns="{SPREADSHEET}"><fonts><font/><font><strike/></font></fonts>
    <cellXfs><xf fontId="0"/><xf fontId="1"/></cellXfs></styleSheet>"""
    parts = "<r><rPr><strike/></rPr><t>£45</t></r><r><t>£52 for 10</t></r>"
    parts += "<r><rPr><vertAlign val='superscript'/></rPr><t>6</t></r>"
    row = f'<row r="1"><c r="A1" s="1"><v>7</v></c><c r="B1" s="0"><v>8</v></c><c r="C1" t="inlineStr"><is>{parts}</is></c></row>'
    links = relations(worksheet="worksheets/sheet1.xml", styles="styles.xml").replace('"r0"', '"rId1"')
    members = {"xl__styles.xml": styles, "xl___rels__workbook.xml.rels": links}
    parsed = parse_xlsx(with_members(workbook(row, name="Sheet1"), **members), DEFAULT_LIMITS)
    assert parsed.text == "8\t£52 for 10^6"
    assert parsed.notes == (STRUCK,)


def test_an_error_in_a_cell_is_shown() -> None:
    row = '<row r="1"><c r="A1" t="e"><v>#N/A</v></c><c r="B1" t="b"><v>1</v></c></row>'
    assert parse_xlsx(workbook(row, name="Sheet1"), DEFAULT_LIMITS).text == "#N/A\tTRUE"


def test_one_damaged_sheet_leaves_the_others() -> None:
    book = f"""<workbook xmlns="{SPREADSHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="Good" sheetId="1" r:id="rId1"/>
    <sheet name="Bad" sheetId="2" r:id="r1"/></sheets></workbook>"""
    links = relations(worksheet="worksheets/sheet1.xml", other="worksheets/sheet2.xml").replace('"r0"', '"rId1"')
    data = with_members(
        workbook(cells(1, "kept", "too")),
        **{
            "xl__workbook.xml": book,
            "xl___rels__workbook.xml.rels": links,
            "xl__worksheets__sheet2.xml": "<worksheet><row",
        },
    )
    parsed = parse_xlsx(data, DEFAULT_LIMITS)
    assert parsed.text == "Good\n\nkept\ttoo"
    assert parsed.notes == ("xl/worksheets/sheet2.xml is damaged and was left out", "sheet Bad was not read")


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (45870, "yyyy-mm-dd", "2025-08-01"),
        (45870, "d. mmmm yyyy", "2025-08-01"),
        (45870.3125, 'dd/mm/yyyy "at" hh:mm', "2025-08-01 07:30"),
        (45870.3125, "dd/mm/yyyy", "2025-08-01"),
        (45870, "mmm yyyy", "Aug 2025"),
        (45870, "mmmm", "August"),
        (45870, "yyyy", "2025"),
        (0.3125, "hh:mm", "07:30"),
        (0.3125, "h:mm AM/PM", "07:30"),
        (1.135416667, "[h]:mm", "27:15"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (1.5e9, "0.00E+00", "1.50E+09"),
        (42, ";;;", ""),
        (0, "0;-0;;@", ""),
        (3, '"none"', "none"),
        (0.1, "General", "0.1"),
        (12.5, "# ?/?", "12.5"),
        (1500, "#,##0 [$kr-414]", "1,500 kr"),
        (7, "[Red]0", "7"),
        (float("inf"), "0.00", "inf"),
    ],
)
def test_numbers_dates_and_times_are_written_as_shown(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


def test_dates_may_count_from_1904() -> None:
    assert shown_number(44408, "yyyy-mm-dd", from_1904=True) == "2025-08-01"
