"""Word files give paragraphs, tables and a title; archives that lie about their contents harm nothing."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from documents.block_lines import lines_of
from documents.file_makers import with_member, word_body, word_file
from documents.test_sheet_rows import rows_of
from hoptrail.documents.child import Parsing
from hoptrail.documents.docx import parse_docx
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return word_file(tmp_path / "plain.docx", [("Heading 1", "Ports"), ("Normal", "It opened in 1850. It closed.")])


def test_bold_paragraphs_are_headings_whether_by_their_runs_or_their_style(tmp_path: Path) -> None:
    from docx import Document
    from docx.enum.style import WD_STYLE_TYPE

    document = Document()
    document.styles.add_style("Shouted", WD_STYLE_TYPE.PARAGRAPH).font.bold = True
    document.add_paragraph().add_run("Mooring").bold = True
    document.add_paragraph("The berth costs forty crowns a month and is paid in advance to the harbour office.")
    document.add_paragraph("Guests", style="Shouted")
    document.add_paragraph("Two nights are free for members of other clubs, if the keeper has been told before.")
    half = document.add_paragraph("Keys, ", style="Shouted").add_run("both")
    half.bold = False
    document.add_paragraph("They hang in the office.")
    document.styles.add_style("Loud", WD_STYLE_TYPE.CHARACTER).font.bold = True
    document.add_paragraph().add_run("Dues", style="Loud")
    document.add_paragraph("They rise by two crowns.")
    document.add_paragraph().add_run("Fees of the harbour\t12").bold = True  # of a table of contents
    document.add_paragraph("They are paid in May.")
    document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("Dues\t4", style="toc 1")
    document.save(str(tmp_path / "a.docx"))
    blocks = parse_docx((tmp_path / "a.docx").read_bytes(), DEFAULT_LIMITS).blocks
    assert [block.path for block in blocks] == [
        (),
        ("Mooring",),
        (),
        ("Guests",),
        ("Guests",),
        ("Guests",),
        (),
        *[("Dues",)] * 3,
    ]


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def cell(*blocks: str, merge: str = "", span: int = 1) -> str:
    merged = {"": "", "restart": '<w:vMerge w:val="restart"/>', "continue": "<w:vMerge/>"}[merge]
    return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/>{merged}</w:tcPr>{"".join(blocks) or paragraph()}</w:tc>'


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(cells)}</w:tr>"


def content_control(content: str) -> str:
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{content}</w:sdtContent></w:sdt>"


@pytest.mark.parametrize(
    "wrapped",
    [
        paragraph(f'<w:ins w:id="1" w:author="a">{run("kept")}</w:ins>'),
        paragraph(f'<w:moveTo w:id="1" w:author="a">{run("kept")}</w:moveTo>'),
        paragraph(f'<w:fldSimple w:instr="REF x">{run("kept")}</w:fldSimple>'),
        paragraph(f'<w:smartTag w:element="City">{run("kept")}</w:smartTag>'),
        paragraph(f'<w:customXml w:element="x">{run("kept")}</w:customXml>'),
        paragraph(f"<w:hyperlink>{content_control(run('kept'))}</w:hyperlink>"),
        paragraph(f"<w:r><w:ruby><w:rt>{run('said')}</w:rt><w:rubyBase>{run('kept')}</w:rubyBase></w:ruby></w:r>"),
        paragraph(content_control(f'<w:ins w:id="1" w:author="a">{run("kept")}</w:ins>')),
        content_control(paragraph(run("kept"))),
        content_control(f'<w:customXml w:element="x">{paragraph(run("kept"))}</w:customXml>'),
        content_control(table(row(cell(paragraph(run("kept")))))),
        table(content_control(row(content_control(cell(content_control(paragraph(run("kept")))))))),
    ],
)
def test_text_in_wrapper_elements_is_read(tmp_path: Path, wrapped: str) -> None:
    gone = f'<w:del w:id="1" w:author="a">{run("no")}</w:del><w:moveFrom w:id="2" w:author="a">{run("no")}</w:moveFrom>'
    body = paragraph(run("before")) + wrapped + paragraph(run("after"), gone)
    assert (
        parse_docx(word_body(tmp_path / "a.docx", body).read_bytes(), DEFAULT_LIMITS).text == "before\n\nkept\n\nafter"
    )


def styled(style: str, *runs: str) -> str:
    return paragraph(f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>', *runs)


PAGE, COLUMN, LINE = (f'<w:r><w:br w:type="{kind}"/></w:r>' for kind in ("page", "column", "textWrapping"))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (paragraph(run("It sails."), PAGE, run("Two ports")), ["paragraph |  | paragraph 1 | It sails.\\nTwo ports"]),
        (paragraph(run("a"), COLUMN, run("b"), LINE, run("c")), ["paragraph |  | paragraph 1 | a\\nb\\nc"]),
        (paragraph(PAGE) + paragraph(PAGE, run("x"), PAGE), ["paragraph |  | paragraph 1 | x"]),
        (table(row(cell(paragraph(run("a"), PAGE, run("b"))), cell())), ["row |  | table 1, row 1 | a b"]),
        (
            styled("Heading1", run("A"), PAGE)
            + styled("Heading4", run("D"))
            + styled("Heading2", run("B"))
            + paragraph(run("x")),
            [
                "heading 1 |  | paragraph 1 | A",
                "heading 4 | A | paragraph 2 | D",
                "heading 2 | A | paragraph 3 | B",
                "paragraph | A > B | paragraph 4 | x",
            ],
        ),
        (
            styled("ListBullet", run("rope")) + styled("ListBullet2", run("thin")) + styled("ListNumber", run("first")),
            [
                "item 1 |  | paragraph 1 | rope",
                "item 2 |  | paragraph 2 | thin <- rope",
                "item 1 ordered |  | paragraph 3 | first",
            ],
        ),
        (paragraph("<w:pPr><w:bidi/></w:pPr>", run("שלום "), run("עולם")), ["paragraph |  | paragraph 1 | שלום עולם"]),
        (styled("Heading1") + table(row(cell(), cell())) + paragraph(run("x")), ["paragraph |  | paragraph 1 | x"]),
        (paragraph(run("word " * 2000)), [f"paragraph |  | paragraph 1 | {('word ' * 2000).strip()}"]),
    ],
    ids=["page", "column", "only pages", "page in a cell", "levels", "lists", "from right to left", "nothing", "long"],
)
def test_odd_paragraphs_are_read_as_they_are_seen(tmp_path: Path, body: str, lines: list[str]) -> None:
    assert lines_of("docx", word_body(tmp_path / "a.docx", body).read_bytes()) == lines


def test_a_title_may_stand_in_a_content_control(tmp_path: Path) -> None:
    styled = content_control(paragraph('<w:pPr><w:pStyle w:val="Title"/></w:pPr>', content_control(run("In the text"))))
    assert parse_docx(word_body(tmp_path / "a.docx", styled).read_bytes(), DEFAULT_LIMITS).title == "In the text"


def test_a_table_in_a_cell_follows_the_row_with_its_name(tmp_path: Path) -> None:
    inner = table(
        row(cell(paragraph(run("Defect"))), cell(paragraph(run("Cost")))),
        row(cell(paragraph(run("Damp wall"))), cell(paragraph(run("1,250")))),
    )
    outer = table(
        row(cell(paragraph(run("Room"))), cell(paragraph(run("Findings")))),
        row(cell(paragraph(run("Cellar"))), cell(paragraph(run("two pages")), inner, paragraph())),
        row(cell(paragraph(run("Loft"))), cell(paragraph(run("dry")))),
    )
    parsed = parse_docx(word_body(tmp_path / "a.docx", outer).read_bytes(), DEFAULT_LIMITS)
    assert rows_of(parsed) == [
        ["Room", "Findings"],
        {"Room": "Cellar", "Findings": "two pages"},
        ["Defect", "Cost"],
        {"": "Cellar", "Defect": "Damp wall", "Cost": "1,250"},
        {"Room": "Loft", "Findings": "dry"},
    ]
    assert parsed.blocks[3].place == "table 1, row 2, table 1, row 2"


def test_a_merged_cell_is_repeated_in_every_row(tmp_path: Path) -> None:
    def start_cell(text: str, merge: str = "", span: int = 1) -> str:
        return cell(paragraph(run(text)), merge=merge, span=span)

    rows = [
        row(start_cell("wide", span=2), start_cell("tall", "restart")),
        row(start_cell("one"), start_cell("two"), cell(merge="continue")),
        row(start_cell("both", span=2), cell(merge="continue")),
        row(start_cell("short")),
        row(start_cell("a"), start_cell("b"), cell(merge="continue")),
    ]
    parsed = parse_docx(word_body(tmp_path / "a.docx", table(*rows)).read_bytes(), DEFAULT_LIMITS)
    assert parsed.text == "wide\ttall\none\ttwo\ttall\nboth\ttall\nshort\na\tb"


def test_a_cell_merged_over_very_many_rows(tmp_path: Path) -> None:
    rows = [row(cell(paragraph(run("group")), merge="restart"), cell(paragraph(run("0"))))]
    rows += [row(cell(merge="continue"), cell(paragraph(run(f"{number}")))) for number in range(1, 1000)]
    data = word_body(tmp_path / "a.docx", table(*rows)).read_bytes()
    assert parse_docx(data, DEFAULT_LIMITS).text.split("\n") == [f"group\t{number}" for number in range(1000)]
    with Parsing(ReadingLimits(text=5000)) as parsing, pytest.raises(Unreadable, match="more than 5000 characters"):
        parsing.parse("docx", data)


def test_the_title_comes_from_properties_or_style(tmp_path: Path) -> None:
    named = word_file(tmp_path / "a.docx", [("Title", "In the text"), ("Normal", "x")], "In the properties")
    styled = word_file(tmp_path / "b.docx", [("Normal", "x"), ("Title", "In the text")])
    neither = word_file(tmp_path / "c.docx", [("Normal", "x")])
    titles = [parse_docx(path.read_bytes(), DEFAULT_LIMITS).title for path in (named, styled, neither)]
    assert titles == ["In the properties", "In the text", ""]


def test_c1_a_word_file_without_text(tmp_path: Path) -> None:
    assert parse_docx(word_file(tmp_path / "a.docx", []).read_bytes(), DEFAULT_LIMITS).text == ""


def test_c5_a_member_with_a_false_size(plain: Path) -> None:
    data = bytearray(with_member(plain, "word/document.xml", b"<w>" + b" " * 100_000 + b"</w>"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        place = archive.start_dir
    while data[place + 46 : place + 63] != b"word/document.xml":
        place = data.index(b"PK\x01\x02", place + 4)
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="damaged"):
        parse_docx(bytes(data), DEFAULT_LIMITS)


def test_c5_member_names_with_parent_folders_write_nothing(plain: Path, tmp_path: Path) -> None:
    data = with_member(plain, "../../escaped.txt", b"out")
    before = sorted(tmp_path.rglob("*"))
    assert parse_docx(data, DEFAULT_LIMITS).text.startswith("Ports")
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "escaped.txt").exists()
