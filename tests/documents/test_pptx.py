"""Hostile PowerPoint files, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.file_makers import with_member
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.pptx import parse_pptx

PLAN = Path(__file__).parent / "blocks" / "office" / "plan.pptx"


def refusal(data: bytes, limits: ReadingLimits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Unreadable) as raised:
        parse_pptx(data, limits)
    return str(raised.value)


def test_files_that_are_no_presentation() -> None:
    assert "is not a PowerPoint file" in refusal(b"not a zip at all")
    assert "save it as .pptx without a password" in refusal(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 100)
    assert "damaged" in refusal(PLAN.read_bytes()[:-100])
    assert "is not a PowerPoint file" in refusal((PLAN.parent / "report.docx").read_bytes())


def test_bombs_and_document_types_are_refused() -> None:
    assert "zip bomb" in refusal(with_member(PLAN, "ppt/media/a.xml", b" " * 40_000_000))
    entity = b'<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a "ha">]><p/>'
    assert "document type" in refusal(with_member(PLAN, "ppt/slides/slide1.xml", entity))


def test_more_slides_than_the_limit() -> None:
    assert "has 5 slides, more than the limit of 4" in refusal(PLAN.read_bytes(), ReadingLimits(pages=4))
