"""What the adapters of all libraries tell of hits and answers beside their texts. Knows none of these libraries."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.index import Index
from hoptrail.serving import contract
from hoptrail.serving.answer_text import text_of
from hoptrail.serving.contract import Json
from hoptrail.text.dates import unit_date
from hoptrail.types import Answer, Evidence, Hit, Kind, Ranking, Span


def metadata_of(ranking: Ranking, index: Index) -> list[Json]:
    """Where the text of each hit stands, what it is and how it was found, as JSON.

    `document`, `start` and `end` are its first source; `sources` are all, which of passages and sentences is the same. `source`
    is the file, `date` the latest date that holds for something in it.
    """
    files = index.corpus().sources({hit.unit.document for hit in ranking}) if ranking else {}
    return [_of_hit(hit, files.get(hit.unit.document, "")) for hit in ranking]


def _of_hit(hit: Hit, source: str) -> Json:
    first = hit.unit.sources[0]
    return {
        "document": first.document,
        "title": hit.unit.title,
        "heading_path": list(hit.unit.path),
        "source": source,
        "place": hit.unit.blocks[0].place if hit.unit.blocks else "",
        "date": unit_date(hit.unit),
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


def evidence_of(answer: Answer) -> Sequence[tuple[str, Evidence, Json]]:
    """What an answer rests on, each once: an id, the evidence, and its metadata, with the answer's confidence."""
    cited = {(one.document, one.start, one.end): one for one in answer.evidence}
    return [
        (
            f"{one.document}-{one.start}-{one.end}",
            one,
            {**contract.evidence_json(one), "source": one.source, "confidence": answer.confidence},
        )
        for one in cited.values()
    ]


def told(answer: Answer) -> tuple[str, Json]:
    """An answer as text and as `hoptrail ask --json` prints it: with `kind`, `items`, `confidence` and `closest`."""
    content = contract.answer_json(answer)
    return text_of(content), content
