"""C4: valid PDFs give their text; hostile ones are stopped in the child process and reported, and affect no other file."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from documents.file_makers import content_stream, pdf_of, pdf_with_contents, stream, text_pdf
from hoptrail.documents.child import Parsing
from hoptrail.documents.forms import reads_pictures
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.pdf.ocr import INSTALL

ADVICE = "run OCR first" if reads_pictures() else INSTALL
REFUSED = Path(__file__).parent / "refused"
BROKEN = b"<< /Length 9 /Filter /NoSuchFilter >>\nstream\nxxxxxxxxx\nendstream"


@pytest.fixture(scope="module")
def parsing() -> Iterator[Parsing]:
    """One child process for all tests here, as for all files of a folder."""
    with Parsing(DEFAULT_LIMITS) as running:
        yield running


def refusal(parsing: Parsing, data: bytes) -> str:
    with pytest.raises(Unreadable) as raised:
        parsing.parse("pdf", data)
    return str(raised.value)


def test_text_and_title_of_several_pages(parsing: Parsing) -> None:
    data = text_pdf([["The harbour (old) opened.", "It was in 1850."], ["It closed — café."]], "Harbours of the North")
    parsed = parsing.parse("pdf", data)
    assert parsed.title == "Harbours of the North"
    assert parsed.text == "The harbour (old) opened. It was in 1850.\n\nIt closed — café."
    assert parsed.notes == ()


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - draft.docx", "report_final.pdf", "Document1"])
def test_meaningless_titles_are_left_out(parsing: Parsing, title: str) -> None:
    assert parsing.parse("pdf", text_pdf([["Text."]], title)).title == ""


def test_c4_encrypted(parsing: Parsing) -> None:
    assert "encrypted and needs a password" in refusal(parsing, (REFUSED / "password.pdf").read_bytes())


def test_c4_truncated(parsing: Parsing) -> None:
    data = text_pdf([["Text."]] * 3)
    for cut in (9, 20, 200, len(data) // 2):
        assert "damaged" in refusal(parsing, data[:cut]) or "no text found" in refusal(parsing, data[:cut])


def test_c4_not_a_pdf(parsing: Parsing) -> None:
    assert "is not a PDF" in refusal(parsing, b"<html>404 not found</html>")
    assert "is not a PDF" in refusal(parsing, b"")


def test_c4_circular_cross_references(parsing: Parsing) -> None:
    data = text_pdf([["Text."]])
    start = int(data.split(b"startxref\n")[1].split(b"\n")[0])
    circular = data.replace(b"/Info 4 0 R", b"/Prev %d /Info 4 0 R" % start)
    assert parsing.parse("pdf", circular).text == "Text."


def test_c4_circular_page_tree(parsing: Parsing) -> None:
    assert refusal(
        parsing, pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"])
    )


def test_c4_circular_form(parsing: Parsing) -> None:
    """A page that draws a form that draws itself."""
    form = b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 4 0 R >> >> /Length 6 >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R /Resources << /XObject << /X 4 0 R >> >> >>",
        form + b"\nstream\n/X Do \nendstream",
        stream(b"/X Do"),
    ]
    assert refusal(parsing, pdf_of(objects))


def test_c4_stream_bomb() -> None:
    """Some 600 KB that unpack to 600 MB, which exceeds the child's memory."""
    bomb = stream(b" " * 60_000_000, packed=True)
    with Parsing(ReadingLimits(parsing_memory=200 * 1024 * 1024, parsing_seconds=5)) as parsing:
        assert refusal(parsing, pdf_with_contents([bomb] * 10))
        assert parsing.parse("pdf", text_pdf([["The next one."]])).text == "The next one."


def test_c4_endless_drawing_is_stopped_by_the_clock() -> None:
    endless = stream(content_stream(["Over and over."]) * 200_000, packed=True)
    with Parsing(ReadingLimits(parsing_seconds=2)) as parsing:
        assert "took longer than 2 seconds" in refusal(parsing, pdf_with_contents([endless]))
        assert parsing.parse("pdf", text_pdf([["The next one."]])).text == "The next one."


def test_c4_too_many_pages(parsing: Parsing) -> None:
    claimed = pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 100000 >>"])
    assert "has 100000 pages, more than the limit of 5000" in refusal(parsing, claimed)


def test_c4_no_text_layer(parsing: Parsing) -> None:
    assert "no text found in 2 pages: probably scanned; " in refusal(parsing, text_pdf([[], []]))


def test_c4_huge_page(parsing: Parsing) -> None:
    data = text_pdf([["A small text."]], box=b"0 0 99999999999 99999999999")
    assert parsing.parse("pdf", data).text == "A small text."


def test_c4_more_text_than_allowed() -> None:
    with Parsing(ReadingLimits(text=100)) as parsing:
        assert "more than 100 characters" in refusal(parsing, text_pdf([["Twenty characters or so."] * 10]))


def without_page(data: bytes, number: int) -> bytes:
    """The PDF with one of its page objects replaced by a number."""
    page = rb"(?<!\d)%d 0 R" % (3 + 2 * number)
    assert re.search(page, data)
    return re.sub(page, b"1 0 R", data, count=1)


def test_one_broken_page_is_noted_and_the_others_are_read(parsing: Parsing) -> None:
    parsed = parsing.parse("pdf", without_page(text_pdf([["Whole."], ["Lost."]]), 2))
    assert parsed.text == "Whole."
    assert "page 2 could not be read" in parsed.notes[0]


def test_a_page_whose_content_cannot_be_unpacked_is_counted(parsing: Parsing) -> None:
    parsed = parsing.parse("pdf", pdf_with_contents([stream(content_stream(["Whole."])), BROKEN]))
    assert parsed.text == "Whole."
    assert parsed.notes == (f"1 of 2 pages hold no text: if they are scanned, {ADVICE}",)


def test_pages_without_text_among_others_are_counted(parsing: Parsing) -> None:
    parsed = parsing.parse("pdf", text_pdf([["The cover."], [], ["The end."], []]))
    assert parsed.text.split() == ["The", "cover.", "The", "end."]
    assert parsed.notes == (f"2 of 4 pages hold no text: if they are scanned, {ADVICE}",)


def test_many_notes_are_counted(parsing: Parsing) -> None:
    data = text_pdf([["Whole."], *[["Lost."]] * 30])
    for number in range(2, 32):
        data = without_page(data, number)
    parsed = parsing.parse("pdf", data)
    assert "page 21 could not be read" in parsed.notes[19]
    assert parsed.notes[20:] == ("and 10 more notes like these",)


def test_one_child_reads_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    popen, started = subprocess.Popen, list[int]()

    def counted(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        child = popen(command, **options)
        started.append(child.pid)
        return child

    monkeypatch.setattr(subprocess, "Popen", counted)
    with Parsing(DEFAULT_LIMITS) as parsing:
        for number in range(20):
            assert parsing.parse("pdf", text_pdf([[f"Number {number}."]])).text == f"Number {number}."
    assert len(started) == 1
