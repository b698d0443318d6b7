"""The JSON that scripts rely on: exact keys, built in one place. Nothing is left out and nothing is renamed lightly."""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from hoptrail.corpus.places import UPLOADED
from hoptrail.text.dates import unit_date
from hoptrail.types import Answer, Cited, Evidence, Hit, Hop, Ranking, Statement, Usage, Verdict

if TYPE_CHECKING:
    from hoptrail.evaluation.answer_scores import AnswerScore
    from hoptrail.evaluation.predictions import ScoreSummary
    from hoptrail.index_contents import Contents

Json = dict[str, Any]

_LINE = re.compile(r"(?P<path>.*?\.jsonl(\.gz)?)#(?P<line>.*)", re.DOTALL | re.IGNORECASE)
"""Files of lines alone have lines in their sources: any other # belongs to the name of a file or of a folder."""

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
    """Hits as in a trail, with the unit's title, headings, place, latest date and text, and the spans it was made from."""
    hits = [
        _hit_json(hit)
        | {
            "title": hit.unit.title,
            "heading_path": list(hit.unit.path),
            "place": hit.unit.blocks[0].place if hit.unit.blocks else "",
            "date": unit_date(hit.unit),
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
        **_cited_json(evidence, evidence.text),
        "kind": evidence.kind.value,
        "hop": evidence.hop,
        "replaced": evidence.replaced,
    }


def statement_json(statement: Statement) -> Json:
    """`text` is how the statement reads (a table row as `header: value`), `start` and `end` are where it stands."""
    return _cited_json(statement, statement.said)


def file_name(source: str) -> str:
    """The name of the file that something was read from, without its folder; with the line where it is a file of lines."""
    if uploaded := UPLOADED.fullmatch(source):
        return uploaded["name"]
    if found := _LINE.fullmatch(source):
        return f"{PurePath(found['path']).name}#{found['line']}"
    return PurePath(source).name


def is_upload(source: str) -> bool:
    return UPLOADED.fullmatch(source) is not None


def _cited_json(cited: Cited, text: str) -> Json:
    """`date` is the ISO date that holds for it, empty where there is none; `file` is the name of the file that it stands in."""
    return {
        "document": cited.document,
        "title": cited.title,
        "heading_path": list(cited.path),
        "file": file_name(cited.source),
        "place": cited.place,
        "date": cited.date,
        "start": cited.start,
        "end": cited.end,
        "text": text,
        "unit": cited.unit,
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
