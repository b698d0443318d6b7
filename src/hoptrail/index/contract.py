"""The JSON that scripts rely on: its exact keys, built in one place. Keys are neither dropped nor renamed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from hoptrail.text.dates import unit_date
from hoptrail.types import Hit, Ranking, Verdict
from hoptrail.types.answer import hit_json
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.index.contents import Contents

UNSETTLED = "Not settled. Closest:"
GUESSED = "Not settled. Perhaps: {}"
NOTHING_FOUND = "Not settled: nothing was found."
FAILED = "No answer: a step failed, so this says nothing about what the documents hold."
"""The messages that every interface shows in place of an answer."""


def to_text(content: JsonObject | list[JsonObject]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)


def abstention(answer: JsonObject) -> str:
    """The message in place of an answer; `answer` is the `to_dict` of an abstention."""
    if any(hop["verdict"] == Verdict.FAILED for hop in answer["trail"]):
        return FAILED
    if answer["guess"]:
        return GUESSED.format(answer["guess"]["text"])
    return UNSETTLED if answer["closest"] else NOTHING_FOUND


def search_json(question: str, recipe: str, ranking: Ranking) -> JsonObject:
    return {"question": question, "recipe": recipe, "hits": [found_json(hit) for hit in ranking]}


def found_json(hit: Hit) -> JsonObject:
    """One item of `hits` of `search --json`: as in a trail, with title, headings, place, latest date, text and sources. `said` is
    the text as a person would read it, table rows as `header: value`.
    """
    return hit_json(hit) | {
        "title": hit.unit.title,
        "heading_path": list(hit.unit.path),
        "place": hit.unit.blocks[0].place if hit.unit.blocks else "",
        "date": unit_date(hit.unit),
        "text": hit.unit.text,
        "said": hit.unit.readable,
        "sources": [{"document": span.document, "start": span.start, "end": span.end} for span in hit.unit.sources],
    }


def contents_json(contents: Contents) -> JsonObject:
    """The object of `show --json`. `source` is the first place that a document was read from, `sources` has all of them; they are
    empty for a document that is removed once a stopped run is finished. `unread` are the files that the last run over their
    folder did not read, and folders that it left out (their path ends with a slash).
    """
    return {
        "format": contents.format,
        "encoder": asdict(contents.encoder),
        "documents": [
            {
                "id": document.id,
                "title": document.title,
                "source": next(iter(document.sources), ""),
                "passages": document.passages,
                "sources": list(document.sources),
            }
            for document in contents.documents
        ],
        "units": {kind.value: count for kind, count in contents.units.items()},
        "links": contents.links,
        "structures": list(contents.structures),
        "usage": asdict(contents.usage),
        "unread": [{"path": path, "reason": reason} for path, reason in contents.unread.items()],
    }
