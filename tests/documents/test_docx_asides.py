"""Footnotes, endnotes, comments and text boxes of Word files are part of the text, at the place where readers expect them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from docx import Document
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.docx import parse_docx
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.text.sentences import sentence_ends
from hoptrail.types import BlockKind

KINDS = {
    "footnote": (RELATIONSHIP_TYPE.FOOTNOTES, CONTENT_TYPE.WML_FOOTNOTES),
    "endnote": (RELATIONSHIP_TYPE.ENDNOTES, CONTENT_TYPE.WML_ENDNOTES),
}


def with_notes(path: Path, body: str, footnotes: str = "", endnotes: str = "") -> Parsed:
    """A Word file with this body and these notes, parsed."""
    document = Document()
    for element in reversed(parse_xml(f"<w:body {nsdecls('w')}>{body}</w:body>")):
        document.element.body.insert(0, element)
    for kind, notes in (("footnote", footnotes), ("endnote", endnotes)):
        relation, content_type = KINDS[kind]
        separator = f'<w:{kind} w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
        xml = f"<w:{kind}s {nsdecls('w')}>{separator}{notes}</w:{kind}s>"
        part = Part(PackURI(f"/word/{kind}s.xml"), content_type, xml.encode(), document.part.package)
        document.part.relate_to(part, relation)
    out = io.BytesIO()
    document.save(out)
    path.write_bytes(out.getvalue())
    return parse_docx(out.getvalue(), DEFAULT_LIMITS)


def text(words: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{words}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def reference(number: int, kind: str = "footnote", own_mark: str = "") -> str:
    own = f' w:customMarkFollows="1"/><w:t>{own_mark}</w:t>' if own_mark else "/>"
    return f'<w:r><w:{kind}Reference w:id="{number}"{own}</w:r>'


def note(number: int, *paragraphs: str, kind: str = "footnote") -> str:
    inside = "".join(paragraph(f"<w:r><w:{kind}Ref/></w:r>", text(f" {words}")) for words in paragraphs)
    return f'<w:{kind} w:id="{number}">{inside}</w:{kind}>'


def test_a_footnote_follows_its_paragraph_and_an_endnote_ends_the_text(tmp_path: Path) -> None:
    body = (
        paragraph(
            text("The bridge is 40 m long."),
            reference(7),
            text(" It is open"),
            reference(3, "endnote"),
            text(" daily."),
        )
        + paragraph(text("The ferry is slower."), reference(2))
        + paragraph(text("The end."))
    )
    parsed = with_notes(
        tmp_path / "a.docx",
        body,
        note(2, "Since 1990.", "Not in winter.") + note(7, "Measured in 2019."),
        note(3, "Closed at Easter.", kind="endnote"),
    )
    assert parsed.text.split("\n\n") == [
        "The bridge is 40 m long.[1] It is open[i] daily.",
        "[1] Measured in 2019.",
        "The ferry is slower.[2]",
        "[2] Since 1990.",
        "Not in winter.",
        "The end.",
        "[i] Closed at Easter.",
    ]
    assert [block.place for block in parsed.blocks] == [
        *("paragraph 1", "footnote 1", "paragraph 2", "footnote 2", "footnote 2", "paragraph 3", "endnote 1"),
    ]
    first = parsed.text.split("\n\n")[0]
    assert first[: sentence_ends(first)[0]].strip() == "The bridge is 40 m long.[1]"


def test_two_notes_of_a_table_follow_it_in_order(tmp_path: Path) -> None:
    rows = "".join(
        f"<w:tr><w:tc><w:tcPr/>{paragraph(text(name), reference(number))}</w:tc></w:tr>"
        for name, number in (("Ada", 5), ("Ben", 4))
    )
    body = f"<w:tbl><w:tblPr/><w:tblGrid/>{rows}</w:tbl>{paragraph(text('After.'))}"
    parsed = with_notes(tmp_path / "a.docx", body, note(4, "Retired.") + note(5, "On leave."))
    assert parsed.text == "Ada[1]\nBen[2]\n\n[1] On leave.\n\n[2] Retired.\n\nAfter."
    assert [block.kind for block in parsed.blocks] == [BlockKind.ROW] * 2 + [BlockKind.PARAGRAPH] * 3


def test_a_custom_mark_is_kept(tmp_path: Path) -> None:
    body = paragraph(text("Free entry"), reference(1, own_mark="*"), text(" on Sunday."))
    parsed = with_notes(tmp_path / "a.docx", body, note(1, "* Not at Easter."))
    assert parsed.text == "Free entry* on Sunday.\n\n* Not at Easter."


def test_the_title_has_no_note_number(tmp_path: Path) -> None:
    body = paragraph('<w:pPr><w:pStyle w:val="Title"/></w:pPr>', text("Tides"), reference(1)) + paragraph(
        text("They turn.")
    )
    parsed = with_notes(tmp_path / "a.docx", body, note(1, "Second edition."))
    assert parsed.title == "Tides"
    assert "[1] Second edition." in parsed.text


@pytest.mark.parametrize(
    "reference",
    [
        f'<w:del w:id="1" w:author="a">{reference(1)}</w:del>',
        reference(9),
    ],
)
def test_a_note_without_a_reference_is_left_out(tmp_path: Path, reference: str) -> None:
    parsed = with_notes(tmp_path / "a.docx", paragraph(text("Kept."), reference), note(1, "Gone."))
    assert parsed.text == "Kept."


def test_a_note_with_two_references_is_read_once(tmp_path: Path) -> None:
    parsed = with_notes(
        tmp_path / "a.docx", paragraph(text("One"), reference(1), text(" two"), reference(1)), note(1, "Note.")
    )
    assert parsed.text == "One[1] two\n\n[1] Note."


def test_damaged_notes_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with_notes(path, paragraph(text("Kept."), reference(1)), note(1, "Note."))
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            cut = member.filename == "word/footnotes.xml"
            new.writestr(member, old.read(member)[:-20] if cut else old.read(member))
    parsed = parse_docx(out.getvalue(), DEFAULT_LIMITS)
    assert parsed.text == "Kept."
    assert parsed.notes == ("word/footnotes.xml is damaged and was left out",)


DRAWING = """<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
 xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml">
<mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent>{}</w:txbxContent></wps:txbx></w:drawing></mc:Choice>
<mc:Fallback><w:pict><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></w:pict></mc:Fallback>
</mc:AlternateContent></w:r>"""
OLD_SHAPE = """<w:r><w:pict xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox>
</w:pict></w:r>"""


def test_each_text_box_follows_its_paragraph_once(tmp_path: Path) -> None:
    inner = DRAWING.format(*[paragraph(text("Closed at Easter."))] * 2)
    rows = (
        f"<w:tbl><w:tblPr/><w:tblGrid/><w:tr><w:tc><w:tcPr/>{paragraph(text('Mooring 12 EUR'))}</w:tc></w:tr></w:tbl>"
    )
    box = paragraph(text("Call the harbour office."), reference(1), inner) + rows
    body = (
        paragraph(text("Berths are let by the week."), DRAWING.format(box, box), reference(2))
        + paragraph(text("They face south."), OLD_SHAPE.format(paragraph(text("Bring ropes."))))
        + paragraph(f'<w:del w:id="1" w:author="a">{OLD_SHAPE.format(paragraph(text("Gone.")))}</w:del>')
    )
    parsed = with_notes(tmp_path / "a.docx", body, note(1, "Open at nine.") + note(2, "Never in winter."))
    assert parsed.text.split("\n\n") == [
        "Berths are let by the week.[1]",
        "Call the harbour office.[2]",
        "Closed at Easter.",
        "[2] Open at nine.",
        "Mooring 12 EUR",
        "[1] Never in winter.",
        "They face south.",
        "Bring ropes.",
    ]
    assert [block.place for block in parsed.blocks][:3] == ["paragraph 1", "text box 1", "text box 2"]
    assert parsed.blocks[-1].place == "text box 3"


def test_comments_have_author_and_date(tmp_path: Path) -> None:
    document = Document()
    first = document.add_paragraph("The quay is rented until May.")
    listed = [document.add_paragraph(words, style="List Bullet") for words in ("Ropes", "Buoys")]
    comments = (
        document.add_comment(first.runs, "Extended to June?\nAsk the town.", author="Ada Brun"),
        document.add_comment(listed[0].runs, "Twelve of them.", author=""),
    )
    for comment, date in zip(comments, ("2024-03-05T10:00:00Z", "2024-03-06T10:00:00Z"), strict=True):
        comment._comment_elm.set(qn("w:date"), date)
    path = tmp_path / "a.docx"
    document.save(str(path))
    parsed = parse_docx(path.read_bytes(), DEFAULT_LIMITS)
    assert parsed.text == (
        "The quay is rented until May.\n\nComment by Ada Brun on 2024-03-05: Extended to June?\n\nAsk the town.\n\n"
        "Ropes\nBuoys\n\nComment on 2024-03-06: Twelve of them."
    )
    assert [block.place for block in parsed.blocks] == [
        *("paragraph 1", "comment 1", "comment 1", "paragraph 2", "paragraph 3", "comment 2"),
    ]
