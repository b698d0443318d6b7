"""The replies of a model, one class for each task, and the JSON schemas that are sent.

Fields are in the order in which a model should write them, reasons first: strict decoders keep to it. Fields with a default may
be missing in a reply, but the schema requires them.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from hoptrail.language.chat.lenient import (
    Confidence,
    Enough,
    Numbers,
    OptionalText,
    Supported,
    Text,
    Texts,
    YesNo,
    as_records,
)

UNSURE = 0.5
"""The confidence of a reply that gives none."""
TEXT_LIMITS = {"quote": 240, "reasoning": 400, "summary": 1600, "text": 300, "type": 40}
TEXT_LIMIT = 160
"""Most characters of a text, by field: several times what prompts ask for. Small models do not stop by themselves."""
LIST_LIMITS = {"evidence": 4, "sentence": 4, "steps": 6, "triple": 3}
LIST_LIMIT, RECORDS_LIMIT = 8, 40
"""Most items of a list of texts or numbers, and of a list of records. A reply about one question at all limits still fits the
default room.
"""


class EntityReply(BaseModel):
    """An entity and its type."""

    name: Text
    type: Text = ""


class FactReply(BaseModel):
    """The number of a sentence, a fact that it states, the fact's entities, and its triple."""

    sentence: Numbers = []
    text: Text
    entities: Texts = []
    triple: Texts = []


class ExtractReply(BaseModel):
    """Entities and facts of a text."""

    entities: Annotated[list[EntityReply], BeforeValidator(as_records)]
    facts: list[FactReply]


class SummariseReply(BaseModel):
    """A summary."""

    summary: Text


class DecomposeReply(BaseModel):
    """Which facts lead to the answer, and the sub-questions in the order to ask them."""

    plan: OptionalText = None
    questions: Texts


class NextReply(BaseModel):
    """What is still missing, and the question to ask for it, or none."""

    missing: OptionalText = None
    questions: Texts


class CompleteReply(BaseModel):
    """A question that stands alone."""

    question: Text


class StepReply(BaseModel):
    """A step of reading: what it asks, the numbers of the evidence it rests on, a sentence quoted, what that says."""

    question: Text = ""
    evidence: Numbers = []
    quote: OptionalText = None
    answer: OptionalText = None


class ReadingReply(BaseModel):
    """An answer with its steps, or none."""

    steps: list[StepReply] = []
    answer: OptionalText
    confidence: Confidence = UNSURE


class ConclusionReply(BaseModel):
    """What earlier answers come to, and the answer, or none."""

    reasoning: OptionalText = None
    answer: OptionalText
    confidence: Confidence = UNSURE


class AssessReply(BaseModel):
    """What is missing, and whether the evidence is enough."""

    missing: OptionalText = None
    enough: Enough


class VerifyReply(BaseModel):
    """What the evidence says of an answer, and whether it supports it."""

    reason: OptionalText = None
    supports: Supported


class RecallReply(BaseModel):
    """An answer from memory, or none."""

    answer: OptionalText
    confidence: Confidence = UNSURE


class SampleReply(BaseModel):
    """A thought, and the answer that it leads to, or none."""

    reasoning: OptionalText = None
    answer: OptionalText


class EquateReply(BaseModel):
    """What sets two answers apart, and whether they mean the same."""

    difference: OptionalText = None
    same: YesNo


def schema_of(reply: type[BaseModel]) -> str:
    """The JSON schema of a reply as text: fields in the declared order, every object closed and every field required, as strict
    endpoints demand.
    """
    return json.dumps(_strict(reply.model_json_schema()))


def limited_schema_of(reply: type[BaseModel]) -> str:
    """The schema with limits on texts and lists (`maxLength`, `maxItems`), for servers that decode by it."""
    return json.dumps(_limited(_strict(reply.model_json_schema())))


def _strict(part: Any) -> Any:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    schema = {key: _strict(value) for key, value in part.items() if key not in {"default", "title", "description"}}
    if isinstance(schema.get("properties"), dict):
        schema |= {"additionalProperties": False, "required": list(schema["properties"])}
    return schema


def _limited(part: Any, field: str = "") -> Any:
    """A schema with limits; `field` is the property that contains it."""
    if isinstance(part, list):
        return [_limited(item, field) for item in part]
    if not isinstance(part, dict):
        return part
    schema = {
        key: {name: _limited(item, name) for name, item in value.items()}
        if key in {"properties", "$defs"}
        else _limited(value, field)
        for key, value in part.items()
    }
    if part.get("type") == "string" and "enum" not in part:
        schema["maxLength"] = TEXT_LIMITS.get(field, TEXT_LIMIT)
    if part.get("type") == "array":
        most = RECORDS_LIMIT if "$ref" in part["items"] else LIST_LIMIT
        schema["maxItems"] = LIST_LIMITS.get(field, most)
    return schema
