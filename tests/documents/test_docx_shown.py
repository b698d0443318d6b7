"""The text of a Word file is what a person sees: marks, numbers, formulas and symbols, but no hidden and struck-out text."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from documents.file_makers import with_member, word_body
from documents.test_docx import cell, content_control, paragraph, row, run, table
from documents.test_sheet_rows import rows_of
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.docx import parse_docx
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.markup import HIDDEN, STRUCK

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def parsed(path: Path, body: str) -> Parsed:
    return parse_docx(word_body(path, body).read_bytes(), DEFAULT_LIMITS)


def marked(text: str, *properties: str) -> str:
    return f'<w:r><w:rPr>{"".join(properties)}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_hidden_and_struck_out_text_is_left_out_and_told(tmp_path: Path) -> None:
    body = (
        paragraph(run("Price: "), marked("£45", "<w:strike/>"), run(" £52"))
        + paragraph(run("Seen."), marked(" Secret.", "<w:vanish/>"), marked(" Also seen.", '<w:vanish w:val="0"/>'))
        + paragraph(marked("Twice.", "<w:dstrike/>"), run("Left."))
    )
    result = parsed(tmp_path / "a.docx", body)
    assert result.text == "Price: £52\n\nSeen. Also seen.\n\nLeft."
    assert result.notes == (STRUCK, HIDDEN)


def test_text_that_a_style_hides_is_left_out(tmp_path: Path) -> None:
    from docx.enum.style import WD_STYLE_TYPE

    document = Document()
    document.styles.add_style("Aside", WD_STYLE_TYPE.CHARACTER).font.hidden = True
    document.add_paragraph("Seen.").add_run(" Not seen.", style="Aside")
    document.save(str(tmp_path / "a.docx"))
    assert parse_docx((tmp_path / "a.docx").read_bytes(), DEFAULT_LIMITS).text == "Seen."


def test_raised_and_lowered_numbers_do_not_join_the_number_before(tmp_path: Path) -> None:
    high, low = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
    body = (
        paragraph(run("It holds 10"), marked("6", high), run(" litres."))
        + paragraph(run("20 m"), marked("2", high), run(" of H"), marked("2", low), run("O, the 5"), marked("th", high))
        + paragraph(run("10"), marked("-6", high), run(" m"))
    )
    assert parsed(tmp_path / "a.docx", body).text == "It holds 10^6 litres.\n\n20 m² of H₂O, the 5th\n\n10^-6 m"


def test_symbols_are_the_signs_of_their_font(tmp_path: Path) -> None:
    def symbol(font: str, code: str) -> str:
        return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'

    body = paragraph(
        run("Gas "), symbol("Wingdings", "F0FE"), run(" yes "), symbol("Wingdings", "F0A8"), run(" no, slope 30"),
        symbol("Symbol", "F0B0"), run(" at "), marked("a 5", '<w:rFonts w:ascii="Symbol"/>'),
    )  # fmt: skip
    result = parsed(tmp_path / "a.docx", body + paragraph(symbol("Wingdings", "F030")))
    assert result.text == "Gas ☑ yes ☐ no, slope 30° at α 5\n\n\N{REPLACEMENT CHARACTER}"
    assert result.notes == ("1 symbols are unknown",)


def test_boxes_and_lists_of_forms_have_their_state(tmp_path: Path) -> None:
    def old_field(data: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'

    choices = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="North"/><w:listEntry w:val="South"/></w:ddList>'
    control = "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    prompt = run("Click here to enter text.")
    body = (
        paragraph(old_field('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>'), run(" Damp"))
        + paragraph(old_field('<w:checkBox><w:default w:val="0"/></w:checkBox>'), run(" Mould"))
        + paragraph(run("Side: "), old_field(choices))
        + paragraph(run("Tenant: "), control.format(prompt))
        + paragraph(run("Owner: "), content_control(run("Ada Holm")))
        + control.format(paragraph(prompt))
    )
    assert parsed(tmp_path / "a.docx", body).text.split("\n\n") == [
        *("☒ Damp", "☐ Mould", "Side: South", "Tenant: [not filled in]", "Owner: Ada Holm", "[not filled in]"),
    ]


FRACTION = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>a+b</m:t></m:r></m:den></m:f>"
SQUARE = "<m:sSup><m:e><m:r><m:t>v</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
ROOT = f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e>{SQUARE}</m:e></m:rad>'
SUM = (
    '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t></m:r>'
    "</m:sup><m:e><m:r><m:t>x</m:t></m:r></m:e></m:nary>"
)
BRACKETS = f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{FRACTION}</m:e></m:d>"
LOGARITHM = (
    "<m:func><m:fName><m:sSub><m:e><m:r><m:t>log</m:t></m:r></m:e><m:sub><m:r><m:t>2</m:t></m:r></m:sub></m:sSub></m:fName>"
    "<m:e><m:r><m:t>x</m:t></m:r></m:e></m:func>"
)


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (f"<m:r><m:t>F=m</m:t></m:r>{SQUARE}", "F=mv^2"),
        (FRACTION, "1/(a+b)"),
        (ROOT, "√(v^2)"),
        (SUM, "∑_(i=1)^n x"),
        (BRACKETS, "[1/(a+b)]"),
        (LOGARITHM, "log_2(x)"),
    ],
)
def test_a_formula_is_part_of_its_sentence(tmp_path: Path, formula: str, shown: str) -> None:
    body = paragraph(run("The load is "), f"<m:oMath {MATH}>{formula}</m:oMath>", run("."))
    assert parsed(tmp_path / "a.docx", body).text == f"The load is {shown}."


def test_automatic_numbers_of_clauses_are_read(tmp_path: Path) -> None:
    document = Document()
    texts = {0: "%1.", 1: "%1.%2", 2: "(%3)"}
    levels = "".join(
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{"lowerLetter" if depth == 2 else "decimal"}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for depth, text in texts.items()
    )
    root = document.part.numbering_part.element
    root.insert(0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90">{levels}</w:abstractNum>'))
    root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="90"><w:abstractNumId w:val="90"/></w:num>'))
    clauses = [
        *((0, "Parties"), (1, "The lessor is Ada."), (0, "Payment"), (1, "Invoices are due after 21 days.")),
        *((1, "Late payment costs:"), (2, "a fee, and"), (2, "interest."), (0, "End")),
    ]
    for depth, text in clauses:
        added = document.add_paragraph(text, style="Heading 1" if depth == 0 else None)
        numbering = f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{depth}"/><w:numId w:val="90"/></w:numPr>'
        added._p.get_or_add_pPr().append(parse_xml(numbering))
    document.save(str(tmp_path / "a.docx"))
    result = parse_docx((tmp_path / "a.docx").read_bytes(), DEFAULT_LIMITS)
    assert [result.text[block.start : block.end].strip() for block in result.blocks] == [
        *("1. Parties", "1.1 The lessor is Ada.", "2. Payment", "2.1 Invoices are due after 21 days."),
        *("2.2 Late payment costs:", "(a) a fee, and", "(b) interest.", "3. End"),
    ]
    assert result.blocks[4].path == ("2. Payment",)


def test_headers_and_footers_are_read_once_and_page_numbers_are_not(tmp_path: Path) -> None:
    document = Document()
    document.add_heading("Plan", 1)
    document.add_paragraph("We begin in May.")
    section = document.sections[0]
    section.header.paragraphs[0].text = "Project Heron, reference HX-2291"
    number = '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
    section.footer._element.append(parse_xml(f"<w:p {nsdecls('w')}><w:r><w:t>Page </w:t></w:r>{number}</w:p>"))
    section.footer.paragraphs[0].text = "Approved by Dilan Okoro"
    section.first_page_header.paragraphs[0].text = "Not shown"
    section.different_first_page_header_footer = False
    document.add_section().header.is_linked_to_previous = False
    document.sections[1].header.paragraphs[0].text = "Project Heron, reference HX-2291"
    document.save(str(tmp_path / "a.docx"))
    result = parse_docx((tmp_path / "a.docx").read_bytes(), DEFAULT_LIMITS)
    assert result.text == "Plan\n\nWe begin in May.\n\nProject Heron, reference HX-2291\n\nApproved by Dilan Okoro"
    assert [(block.place, block.path) for block in result.blocks[2:]] == [("page header", ()), ("page footer", ())]


def test_a_deleted_end_of_paragraph_and_a_large_first_letter_join_two(tmp_path: Path) -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1" w:author="a"/></w:rPr></w:pPr>'
    body = paragraph(mark, run("The deposit is ")) + paragraph(run("900 euros.")) + paragraph(mark, run("The end."))
    letter = paragraph('<w:pPr><w:framePr w:dropCap="drop"/></w:pPr>', run("O"))
    heading = paragraph('<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', run("Rent"))
    body = letter + paragraph() + paragraph(run("nce.")) + letter + heading + body
    result = parsed(tmp_path / "a.docx", body)
    assert result.text == "Once.\n\nO\n\nRent\n\nThe deposit is 900 euros.\n\nThe end."


def test_items_of_a_list_in_a_cell_are_told_apart(tmp_path: Path) -> None:
    items = "".join(
        paragraph('<w:pPr><w:pStyle w:val="ListBullet"/></w:pPr>', run(text)) for text in ("oil", "rope", "tar")
    )
    body = table(row(cell(paragraph(run("Bring:")), items), cell(paragraph(run("Monday")))))
    assert rows_of(parsed(tmp_path / "a.docx", body)) == [["Bring: oil; rope; tar", "Monday"]]


def test_a_relationship_to_nothing_harms_nothing(tmp_path: Path) -> None:
    from docx.opc.constants import RELATIONSHIP_TYPE

    path = word_body(tmp_path / "a.docx", paragraph(run("The quarry is run by Ida Holm.")))
    document = Document(str(path))
    document.part.rels.get_or_add_ext_rel(RELATIONSHIP_TYPE.IMAGE, "http://a.example/NULL")
    document.save(str(path))
    rels = "word/_rels/document.xml.rels"
    with zipfile.ZipFile(path) as archive:
        xml = archive.read(rels).decode()
    assert 'TargetMode="External"' in xml
    xml = xml.replace('Target="http://a.example/NULL" TargetMode="External"', 'Target="NULL"')
    result = parse_docx(with_member(path, rels, xml.encode()), DEFAULT_LIMITS)
    assert (result.text, result.notes) == ("The quarry is run by Ida Holm.", ())


def test_the_strict_form_is_read_like_the_usual_one(tmp_path: Path) -> None:
    path = word_body(tmp_path / "a.docx", table(row(cell(paragraph(run("Berth"))), cell(paragraph(run("North"))))))
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            for part in (b"officeDocument", b"wordprocessingml", b"drawingml"):
                data = data.replace(
                    b"http://schemas.openxmlformats.org/%b/2006" % part, b"http://purl.oclc.org/ooxml/%b" % part
                )
            new.writestr(name, data)
    assert b"purl.oclc.org/ooxml/wordprocessingml/main" in out.getvalue()
    assert parse_docx(out.getvalue(), DEFAULT_LIMITS).text == "Berth\tNorth"
