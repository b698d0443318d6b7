"""The JSON that scripts rely on: its exact keys, built in one place. Keys are neither dropped nor renamed."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING

from hoptrail.corpus.places import UPLOADED
from hoptrail.text.dates import unit_date
from hoptrail.types import Answer, Cited, Evidence, Guess, Hit, Hop, Ranking, Verdict
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from hoptrail.index.contents import Contents

_LINE = re.compile(r"(?P<path>.*?\.jsonl(\.gz)?)#(?P<line>.*)", re.DOTALL | re.IGNORECASE)
"""Only the sources of JSONL files name a line; any other # is part of a file or folder name."""

UNSETTLED = "Not settled. Closest:"
GUESSED = "Not settled. Perhaps: {}"
NOTHING_FOUND = "Not settled: nothing was found."
FAILED = "No answer: a step failed, so this says nothing about what the documents hold."
"""The messages that every interface shows in place of an answer."""


def to_text(content: JsonObject | list[JsonObject]) -> str:
    """JSON as the command line prints it."""
    return json.dumps(content, ensure_ascii=False, indent=2)


def abstention(answer: JsonObject) -> str:
    """The message in place of an answer; `answer` is the `answer_json` of an abstention."""
    if any(hop["verdict"] == Verdict.FAILED for hop in answer["trail"]):
        return FAILED
    if answer["guess"]:
        return GUESSED.format(answer["guess"]["text"])
    return UNSETTLED if answer["closest"] else NOTHING_FOUND


def answer_json(answer: Answer) -> JsonObject:
    """The object of `ask --json`."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "recipe": answer.recipe,
        "language": answer.language,
        "evidence": [evidence_json(evidence) for evidence in answer.evidence],
        "trail": [hop_json(hop) for hop in answer.trail],
        "usage": asdict(answer.usage),
        "kind": answer.kind.value,
        "items": list(answer.items),
        "confidence": answer.confidence,
        "closest": [_cited_json(statement) | {"said": statement.said} for statement in answer.closest],
        "guess": answer.guess and _guess_json(answer.guess),
        "asked": answer.asked,
        "parts": [answer_json(one) for one in answer.parts],
        "notes": list(answer.notes),
    }


def answer_to_json(answer: Answer) -> str:
    """The text of `ask --json`."""
    return to_text(answer_json(answer))


Answer.to_dict, Answer.to_json = answer_json, answer_to_json


def search_json(question: str, recipe: str, ranking: Ranking) -> JsonObject:
    """The object of `search --json`."""
    return {"question": question, "recipe": recipe, "hits": [found_json(hit) for hit in ranking]}


def found_json(hit: Hit) -> JsonObject:
    """One item of `hits` of `search --json`: as in a trail, with title, headings, place, latest date, text and sources. `said` is
    the text as a person would read it, table rows as `header: value`.
    """
    return _hit_json(hit) | {
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


def evidence_json(evidence: Evidence) -> JsonObject:
    """One item of `evidence`. `text` is exactly its span, `said` its wording as a person would read it."""
    return {
        **_cited_json(evidence),
        "kind": evidence.kind.value,
        "hop": evidence.hop,
        "replaced": evidence.replaced,
        "said": evidence.said,
    }


def _guess_json(guess: Guess) -> JsonObject:
    evidence = [evidence_json(item) for item in guess.evidence]
    return {"text": guess.text, "confidence": guess.confidence, "evidence": evidence}


def file_name(source: str) -> str:
    """The name of a source's file without its folder; of a JSONL file also the line."""
    if uploaded := UPLOADED.fullmatch(source):
        return uploaded["name"]
    if found := _LINE.fullmatch(source):
        return f"{PurePath(found['path']).name}#{found['line']}"
    return PurePath(source).name


def _cited_json(cited: Cited) -> JsonObject:
    """What items of `closest` and `evidence` share. `text` is the document from `start` to `end`; `date` is the ISO date that
    applies, or empty; `file` is the name of the file.
    """
    return {
        "document": cited.document,
        "title": cited.title,
        "heading_path": list(cited.path),
        "file": file_name(cited.source),
        "place": cited.place,
        "date": cited.date,
        "start": cited.start,
        "end": cited.end,
        "text": cited.text,
        "unit": cited.unit,
    }


def hop_json(hop: Hop) -> JsonObject:
    """One item of `trail`."""
    return {
        "question": hop.question,
        "asked": hop.asked,
        "hits": [_hit_json(hit) for hit in hop.hits],
        "answer": hop.answer,
        "verdict": hop.verdict.value,
    }


def _hit_json(hit: Hit) -> JsonObject:
    return {
        "unit": hit.unit.id,
        "kind": hit.unit.kind.value,
        "score": hit.score,
        "channel": hit.channel,
        "document": hit.unit.document,
    }
