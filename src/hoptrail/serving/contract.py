"""The JSON that scripts rely on: exact keys, built in one place. Nothing is left out and nothing is renamed lightly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hoptrail.types import Answer, Evidence, Hit, Hop, Ranking, Statement, Usage, Verdict

if TYPE_CHECKING:
    from hoptrail.contents import Contents
    from hoptrail.evaluation.predictions import ScoreSummary
    from hoptrail.evaluation.scoring import AnswerScore

Json = dict[str, Any]

UNSETTLED = "Not settled. Closest:"
NOTHING_FOUND = "Not settled: nothing was found."
FAILED = "No answer: a step failed, so this says nothing of what the documents hold."
"""What every door says in place of an answer."""


def to_text(content: Json | list[Json]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)


def abstention(answer: Json) -> str:
    """What is said in place of an answer; `answer` as `answer_json` gives it, without an answer."""
    if any(hop["verdict"] == Verdict.FAILED for hop in answer["trail"]):
        return FAILED
    return UNSETTLED if answer["closest"] else NOTHING_FOUND


def answer_json(answer: Answer) -> Json:
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "recipe": answer.recipe,
        "language": answer.language,
        "evidence": [evidence_json(evidence) for evidence in answer.evidence],
        "trail": [hop_json(hop) for hop in answer.trail],
        "usage": _usage_json(answer.usage),
        "kind": answer.kind.value,
        "items": list(answer.items),
        "confidence": answer.confidence,
        "closest": [statement_json(statement) for statement in answer.closest],
    }


def search_json(question: str, recipe: str, ranking: Ranking) -> Json:
    """Hits as in a trail, with the unit's text and the spans it was made from."""
    hits = [
        _hit_json(hit)
        | {
            "text": hit.unit.text,
            "sources": [{"document": span.document, "start": span.start, "end": span.end} for span in hit.unit.sources],
        }
        for hit in ranking
    ]
    return {"question": question, "recipe": recipe, "hits": hits}


def contents_json(contents: Contents) -> Json:
    """`source` is the first place a document was read from, `sources` all of them; empty for one that goes when a run
    that was stopped ends.
    """
    return {
        "format": contents.format,
        "encoder": {
            "name": contents.encoder.name,
            "digest": contents.encoder.digest,
            "dimension": contents.encoder.dimension,
        },
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
        "usage": _usage_json(contents.usage),
    }


def score_json(score: AnswerScore) -> Json:
    return {"em": score.em, "f1": score.f1, "precision": score.precision, "recall": score.recall}


def summary_json(rule: str, summary: ScoreSummary) -> Json:
    return {
        "rule": rule,
        "n": summary.n,
        "em": summary.em,
        "f1": summary.f1,
        "precision": summary.precision,
        "recall": summary.recall,
    }


def evidence_json(evidence: Evidence) -> Json:
    return {
        "document": evidence.document,
        "title": evidence.title,
        "start": evidence.start,
        "end": evidence.end,
        "text": evidence.text,
        "unit": evidence.unit,
        "kind": evidence.kind.value,
        "hop": evidence.hop,
    }


def statement_json(statement: Statement) -> Json:
    """`text` is how the statement reads (a table row as `header: value`), `start` and `end` are where it stands."""
    return {
        "document": statement.document,
        "title": statement.title,
        "heading_path": list(statement.path),
        "place": statement.place,
        "date": statement.date,
        "start": statement.start,
        "end": statement.end,
        "text": statement.said,
        "unit": statement.unit,
    }


def hop_json(hop: Hop) -> Json:
    return {
        "question": hop.question,
        "asked": hop.asked,
        "hits": [_hit_json(hit) for hit in hop.hits],
        "answer": hop.answer,
        "verdict": hop.verdict.value,
    }


def _hit_json(hit: Hit) -> Json:
    return {
        "unit": hit.unit.id,
        "kind": hit.unit.kind.value,
        "score": hit.score,
        "channel": hit.channel,
        "document": hit.unit.document,
    }


def _usage_json(usage: Usage) -> Json:
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": usage.seconds,
    }
