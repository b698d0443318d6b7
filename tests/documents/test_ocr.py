"""Scans and pictures are read where the extra `ocr` is installed; elsewhere they are left out, with what reads them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from documents.file_makers import Placed, column, placed_pdf
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.child import Parsing
from hoptrail.documents.file_contents import NO_DOCUMENT
from hoptrail.documents.forms import PDF, PICTURE, reads_pictures
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.pdf import ocr, parser
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.errors import DocumentError
from hoptrail.types import Document

with_ocr = pytest.mark.skipif(not reads_pictures(), reason="the extra `ocr` is not installed")
LINES = ["The harbour is closed", "on Sunday morning."]
NOTE = "1 page was read from a picture by OCR: expect mistakes"


def drawn(pages: list[list[Placed]]) -> list[Any]:
    """Each page as a picture of Pillow."""
    import pypdfium2

    document = pypdfium2.PdfDocument(placed_pdf(pages))
    return [page.render(scale=2, grayscale=True).to_pil() for page in document]


def saved(pictures: list[Any], form: str) -> bytes:
    file = BytesIO()
    pictures[0].save(file, form, **({"save_all": True, "append_images": pictures[1:]} if len(pictures) > 1 else {}))
    return file.getvalue()


def parsed(form: str, data: bytes, seconds: int = 100) -> Parsed:
    """In the child process, within its limits of time and memory."""
    with Parsing(ReadingLimits(parsing_seconds=seconds)) as parsing:
        return parsing.parse(form, data)


def test_without_the_extra_a_scan_is_refused_with_what_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (parser, ocr):
        monkeypatch.setattr(module, "reads_pictures", lambda: False)
    with pytest.raises(
        Unreadable, match=r"no text found in 1 pages: probably scanned; `pip install 'hoptrail\[ocr\]'`"
    ):
        parser.parse_pdf(saved(drawn([column(72, 700, LINES, 14)]), "PDF"), DEFAULT_LIMITS)


@pytest.mark.skipif(reads_pictures(), reason="the extra `ocr` is installed")
def test_without_the_extra_a_picture_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "note.png").write_bytes(saved(drawn([column(72, 700, LINES, 14)]), "PNG"))
    findings = Findings()
    assert list(read_sources([tmp_path], findings=findings)) == []
    assert list(findings.left_out.values()) == [NO_DOCUMENT]


@with_ocr
def test_each_page_of_a_scan_is_cited() -> None:
    pages = [column(72, 700, LINES, 14), column(72, 700, ["The ferry sails at 09:45."], 14)]
    found = parsed(PDF, saved(drawn(pages), "PDF"))
    assert found.text == "The harbour is closed on Sunday morning.\n\nThe ferry sails at 09:45."
    assert [block.place for block in found.blocks] == ["page 1", "page 2"]
    assert found.notes == ("2 pages were read from a picture by OCR: expect mistakes",)


@with_ocr
def test_a_turned_page_is_read_upright() -> None:
    (upright,) = drawn([[Placed(72, 740, "Minutes of the harbour", 24), *column(72, 700, LINES * 3, 14)]])
    expected = parsed(PICTURE, saved([upright], "PNG")).text
    assert expected.startswith("Minutes of the harbour")
    for turn in (90, 180, 270):
        assert parsed(PICTURE, saved([upright.rotate(turn, expand=True)], "PNG")).text == expected


@with_ocr
def test_a_scanned_page_among_others_is_read() -> None:
    import pypdfium2

    whole = pypdfium2.PdfDocument(placed_pdf([column(72, 700, ["Typed on a machine."])]))
    whole.import_pages(pypdfium2.PdfDocument(saved(drawn([column(72, 700, LINES, 14)]), "PDF")))
    file = BytesIO()
    whole.save(file)
    found = parsed(PDF, file.getvalue())
    assert [block.place for block in found.blocks] == ["page 1", "page 2"]
    assert found.text == "Typed on a machine.\n\nThe harbour is closed on Sunday morning."


@with_ocr
@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF"])
def test_pictures_are_read_in_reading_order(form: str) -> None:
    """A heading, then two columns side by side."""
    left = column(60, 700, ["The quay was made of wood and it", "burnt down in the war of that year."] * 3)
    right = column(330, 700, ["The new one is made of stone from", "the island and it is still there."] * 3)
    found = parsed(PICTURE, saved(drawn([[Placed(60, 740, "Harbours of the North", 24), *left, *right]]), form))
    assert found.title == "Harbours of the North"
    text = " ".join(found.text.split())
    assert text == " ".join([found.title, *(piece.text for piece in (*left, *right))])
    assert found.notes == (NOTE,)


@with_ocr
def test_a_table_in_a_picture_keeps_its_columns() -> None:
    rows = [("Berth", "Fee", "Holder"), ("North", "280", "Runa Hale"), ("South", "120", "Otto Prem")]
    cells = [
        Placed(x, 700 - 20 * y, text, 12)
        for y, row in enumerate(rows)
        for x, text in zip((60, 160, 260), row, strict=True)
    ]
    found = parsed(PICTURE, saved(drawn([cells]), "PNG"))
    assert [[found.text[cell.start : cell.end] for cell in block.cells] for block in found.blocks] == [*map(list, rows)]


@with_ocr
def test_a_picture_without_text_says_so_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cloud.png").write_bytes(saved(drawn([[]]), "PNG"))
    (tmp_path / "torn.jpg").write_bytes(saved(drawn([column(72, 700, LINES, 14)]), "JPEG")[:300])
    empty, torn = sorted(read_sources([tmp_path]), key=lambda one: isinstance(one, DocumentError))
    assert isinstance(empty, Document)
    assert empty.notes == ("holds no text",)
    assert isinstance(torn, DocumentError)
    assert "is a damaged picture" in torn.reason


@with_ocr
def test_pages_for_which_there_is_no_time_are_counted() -> None:
    pages = [column(72, 700, LINES * 8, 14)] * 40
    found = parsed(PICTURE, saved(drawn(pages), "TIFF"), seconds=20)
    assert found.text.startswith("The harbour is closed")
    assert "were not read: OCR takes longer than the limit `parsing_seconds`" in found.notes[1]
