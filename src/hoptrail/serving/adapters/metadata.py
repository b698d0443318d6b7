"""Metadata of hits and answers, shared by the adapters. Depends on none of their libraries."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.index import contract
from hoptrail.index.index import Index
from hoptrail.language.chat.context import readable_of
from hoptrail.serving.answer_text import written
from hoptrail.types import Answer, Evidence, Hit, Ranking
from hoptrail.types.answer import evidence_json
from hoptrail.types.json_object import JsonObject


def hits_of(index: Index, question: str, recipe: str | None, k: int | None) -> list[tuple[Hit, str, JsonObject]]:
    """What a recipe finds: each hit, its text as a person would read it, and its metadata.
    Raises: UsageError: the question is empty, there is no such recipe, or `k` is less than one.
    """
    ranking = index.search(question, recipe, k)
    return [(hit, readable_of(hit.unit), it) for hit, it in zip(ranking, metadata_of(ranking, index), strict=True)]


def metadata_of(ranking: Ranking, index: Index) -> list[JsonObject]:
    """The place and kind of each hit, and how it was found, as JSON.

    `document`, `start` and `end` are its first source, which is the only one of a passage or sentence; `sources` has all of
    them. `source` is the file, `date` the latest date that applies to a part of it.
    """
    files = index.corpus().sources({hit.unit.document for hit in ranking}) if ranking else {}
    rows = []
    for hit in ranking:
        first, found = hit.unit.sources[0], contract.found_json(hit)
        del found["text"]
        rows.append(found | {"start": first.start, "end": first.end, "source": files.get(first.document, "")})
    return rows


def evidence_of(answer: Answer) -> Sequence[tuple[str, Evidence, JsonObject]]:
    """The evidence of an answer without repeats: id, evidence, and metadata including the answer's confidence."""
    cited = {(one.document, one.start, one.end): one for one in answer.evidence}
    found = []
    for one in cited.values():
        metadata = {**evidence_json(one), "source": one.source, "confidence": answer.confidence}
        found.append((f"{one.document}-{one.start}-{one.end}", one, metadata))
    return found


def text_and_json(answer: Answer) -> tuple[str, JsonObject]:
    """An answer as text and as `hoptrail ask --json` prints it: with `kind`, `items`, `confidence` and `closest`."""
    content = answer.to_dict()
    return written(content).text, content
