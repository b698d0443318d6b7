"""A document over HTTP: its text, and the structure that the page renders."""

from __future__ import annotations

from hoptrail.serving.server.wire import document_json
from hoptrail.types import Block, BlockKind, Cell, Document


def test_a_document_has_its_structure_with_the_cells_of_rows() -> None:
    text = "Fees\n\n2024 | 3\n"
    blocks = (
        Block(BlockKind.HEADING, 0, 6, level=1, place="page 1"),
        Block(BlockKind.ROW, 6, 15, cells=(Cell("year", 6, 10), Cell("fee", 13, 14))),
    )
    found = document_json(Document("d", "Fees", text, (6, 15), ("/home/ada/fees.pdf",), blocks=blocks))
    assert found["sources"] == ["fees.pdf"]
    heading, row = found["blocks"]
    assert (heading["kind"], heading["level"], heading["place"]) == ("heading", 1, "page 1")
    assert [text[cell["start"] : cell["end"]] for cell in row["cells"]] == ["2024", "3"]
