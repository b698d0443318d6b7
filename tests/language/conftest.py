"""Units of small worlds, and the sample corpus as units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.documents.read_sources import read_sources
from hoptrail.types import Document, Kind, Span, Unit, content_id

EXAMPLES = Path(__file__).parents[2] / "examples"

MakeUnit = Callable[[str, str], Unit]


@pytest.fixture
def passage() -> MakeUnit:
    """A passage that starts at offset 7 of its document, so that offsets in the unit and in the document differ."""

    def make(title: str, text: str) -> Unit:
        document = content_id("d", title, text)
        return Unit(content_id("u", title, text), Kind.PASSAGE, title, text, (Span(document, 7, 7 + len(text)),))

    return make


@pytest.fixture(scope="session")
def harbour_documents() -> tuple[Document, ...]:
    found = tuple(read_sources([EXAMPLES / "harbour"]))
    documents = tuple(document for document in found if isinstance(document, Document))
    assert len(documents) == len(found) == 18
    return documents


@pytest.fixture(scope="session")
def harbour(harbour_documents: tuple[Document, ...]) -> tuple[Unit, ...]:
    """Every document of the sample corpus as one passage."""
    return tuple(
        Unit(
            content_id("u", document.id),
            Kind.PASSAGE,
            document.title,
            document.text,
            (Span(document.id, 0, len(document.text)),),
        )
        for document in harbour_documents
    )
