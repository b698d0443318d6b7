"""What the retrievers of all libraries tell of a hit beside its text. Knows none of these libraries."""

from __future__ import annotations

from hoptrail.serving.contract import Json
from hoptrail.types import Hit, Kind, Span


def metadata_of(hit: Hit) -> Json:
    """Where a hit's text stands, what it is and how it was found, as JSON.

    `document`, `start` and `end` are its first source; `sources` are all, which for passages and sentences is the same.
    """
    first = hit.unit.sources[0]
    return {
        "document": first.document,
        "title": hit.unit.title,
        "start": first.start,
        "end": first.end,
        "score": hit.score,
        "channel": hit.channel,
        "unit": hit.unit.id,
        "kind": hit.unit.kind.value,
        "sources": [{"document": span.document, "start": span.start, "end": span.end} for span in hit.unit.sources],
    }


def place_of(hit: Hit) -> Span | None:
    """The span whose characters the hit's text is; None where the text was made from its sources."""
    return hit.unit.sources[0] if hit.unit.kind in {Kind.PASSAGE, Kind.SENTENCE} else None
