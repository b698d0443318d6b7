"""An answer as the JSON that scripts rely on: its exact keys. Keys are neither dropped nor renamed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import file_name

if TYPE_CHECKING:
    from hoptrail.types.answer import Answer, Cited, Evidence, Guess, Hop
    from hoptrail.types.unit import Hit


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
        "hits": [hit_json(hit) for hit in hop.hits],
        "answer": hop.answer,
        "verdict": hop.verdict.value,
    }


def hit_json(hit: Hit) -> JsonObject:
    """One item of `hits`."""
    return {
        "unit": hit.unit.id,
        "kind": hit.unit.kind.value,
        "score": hit.score,
        "channel": hit.channel,
        "document": hit.unit.document,
    }
