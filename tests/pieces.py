"""Documents and units of a few pieces, with the blocks that a parser would give them."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.documents.blocks import Piece, assemble, ends_within
from hoptrail.documents.splitting import passages
from hoptrail.types import Document, Unit, content_id


def document_of(title: str, pieces: Sequence[Piece]) -> Document:
    """A document read from `/x`."""
    parsed = assemble(title, pieces)
    ends = ends_within(parsed.text, parsed.blocks, 1000)
    return Document(content_id("d", parsed.text), title, parsed.text, ends, ("/x",), blocks=parsed.blocks)


def unit_of(title: str, *pieces: Piece) -> Unit:
    """The only passage of such a document."""
    (unit,) = passages(document_of(title, pieces))
    return unit
