"""Word, PowerPoint and Excel files: hostile archives and XML are refused before they are unpacked, and so are other files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from documents.file_makers import with_member
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable

OFFICE = Path(__file__).parent / "blocks" / "office"
FILES = {"docx": OFFICE / "report.docx", "pptx": OFFICE / "plan.pptx", "xlsx": OFFICE / "shop.xlsx"}
REFUSALS = {"docx": "is not a Word file", "pptx": "is not a PowerPoint file", "xlsx": "is not an Excel file"}

BOMB = b"""<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w>&b;</w>"""
REMOTE = b"""<?xml version="1.0"?><!DOCTYPE w SYSTEM "http://127.0.0.1:9/never.dtd"><w/>"""
FILE = b"""<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a SYSTEM "file:///etc/passwd">]><w>&a;</w>"""
WIDE = BOMB.decode().replace("?>", ' encoding="UTF-16"?>').encode("utf-16")

every_form = pytest.mark.parametrize("form", FILES)


def refusal(form: str, data: bytes, limits: ReadingLimits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Unreadable) as raised:
        parser_of(form)(data, limits)
    return str(raised.value)


@every_form
def test_c7_files_of_another_kind(form: str) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "a")
    others = [path.read_bytes() for other, path in FILES.items() if other != form]
    for data in (b"", b"PK\x03\x04", b"not a zip at all", out.getvalue(), *others):
        assert REFUSALS[form] in refusal(form, data)


@every_form
def test_c7_old_and_damaged_files(form: str) -> None:
    assert f"save it as .{form} without a password" in refusal(form, bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 100)
    assert "damaged" in refusal(form, FILES[form].read_bytes()[:-100])


@every_form
@pytest.mark.parametrize("xml", [BOMB, REMOTE, FILE, WIDE], ids=["bomb", "remote", "file", "UTF-16"])
def test_c6_document_types_are_refused_in_any_member_that_is_read(form: str, xml: bytes) -> None:
    for member in ("docProps/core.xml", "_rels/.rels"):
        assert f"document type in {member}" in refusal(form, with_member(FILES[form], member, xml))


@every_form
def test_c5_archives_beyond_a_limit(form: str) -> None:
    assert "zip bomb" in refusal(form, with_member(FILES[form], "media/a.xml", b" " * 20_000_000))
    data = FILES[form].read_bytes()
    assert "unpacks to" in refusal(form, data, ReadingLimits(unpacked=1000))
    assert "more than the limit of 3" in refusal(form, data, ReadingLimits(members=3))


def test_more_slides_than_the_limit() -> None:
    limits = ReadingLimits(pages=4)
    assert "has 5 slides, more than the limit of 4" in refusal("pptx", FILES["pptx"].read_bytes(), limits)
