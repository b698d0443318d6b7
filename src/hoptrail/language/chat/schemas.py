"""The replies of a model, one class for each task, and the JSON schemas that are sent.

Fields are in the order in which a model should write them, reasons first: strict decoders keep to it. Fields with a default may
be missing in a reply, but the schema requires them. Types are lenient: a number as text, a single item for a list, `[2]` for 2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_origin

from pydantic import BaseModel, BeforeValidator, WithJsonSchema, create_model, model_validator

from hoptrail.models.prompt_text import whole_text

UNSTATED = 0.5  # the confidence of a reply that gives none
TEXT_LIMITS = {"quote": 240, "reasoning": 400, "summary": 1600, "text": 300, "type": 40}
TEXT_LIMIT = 160
"""Most characters of a text, by field: several times what prompts ask for. Small models do not stop by themselves."""
LIST_LIMITS = {"evidence": 4, "sentence": 4, "steps": 6, "triple": 3}
LIST_LIMIT, RECORDS_LIMIT = 8, 40
"""Most items of a list of texts or numbers, and of a list of records. A reply about one question at all limits still fits the
default room.
"""


def _text(value: Any) -> Any:
    """Numbers and booleans as text; the only item of a list."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return whole_text(value)  # escapes in the JSON can contain half a surrogate pair
    return str(value) if isinstance(value, int | float) else value


def _list(value: Any) -> Any:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _as_records(value: Any) -> Any:
    """A list of records; a bare text becomes a record with that name."""
    return [one if isinstance(one, dict | BaseModel) else {"name": one} for one in _list(value)]


def _numbers(value: Any) -> Any:
    """The integers in 1, "1", "[1]", "1, 2" or [1, "2"]."""
    found: list[int] = []
    for item in _list(value):
        if isinstance(item, str):
            found += [int(digits) for digits in re.findall(r"\d{1,6}", item)]
        elif isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
            found.append(int(item))
    return found


CONFIDENCES = {"high": 0.9, "medium": 0.7, "low": 0.3}
"""The confidence that a model states, in words: small models repeat whatever number they are shown. Medium is enough for an
answer by `trail`."""
ENOUGH = {"yes": 1.0, "no": 0.0}  # whether evidence is enough
SUPPORTS = {"yes": 1.0, "partly": 0.25, "no": 0.0}
"""Whether evidence supports an answer; partial support is not enough by itself."""


def _words_for(numbers: Mapping[str, float]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(numbers)})


def _by_word(numbers: Mapping[str, float]) -> BeforeValidator:
    """Reads the first word of a text: "Yes, it does." is a yes."""
    return BeforeValidator(lambda value: numbers[_first_word(value, numbers)])


def _confidence(value: Any) -> Any:
    """The number of one of the words, or of 0.8, "0.8", "80%" or 80."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in CONFIDENCES:
            return CONFIDENCES[word]
        if matched := re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", word):
            value = float(matched[1]) / (100 if matched[2] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"must be {', '.join(CONFIDENCES)} or a number from 0 to 1")
    return value / 100 if value > 1 else float(value)


def _first_word(value: Any, words: Iterable[str]) -> str:
    """The first word of a text, which must be one of `words`."""
    said = _text(value)
    opening = re.match(r"\W*(\w+)", said) if isinstance(said, str) else None
    if opening is None or opening[1].lower() not in words:
        raise ValueError(f"must be {' or '.join(words)}")
    return opening[1].lower()


Text = Annotated[str, BeforeValidator(_text)]
OptionalText = Annotated[str | None, BeforeValidator(lambda value: None if value in (None, [], {}) else _text(value))]
Texts = Annotated[list[Text], BeforeValidator(_list)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Confidence = Annotated[float, BeforeValidator(_confidence), _words_for(CONFIDENCES)]
Enough = Annotated[float, _by_word(ENOUGH), _words_for(ENOUGH)]
Supported = Annotated[float, _by_word(SUPPORTS), _words_for(SUPPORTS)]
YesNo = Annotated[Literal["yes", "no"], BeforeValidator(lambda value: _first_word(value, ("yes", "no")))]


SYNONYMS = {
    "answer": ("final answer", "short answer", "result", "response"),
    "confidence": ("certainty", "probability", "score"),
    "enough": ("sufficient", "is enough"),
    "entities": ("entity", "named entities", "names"),
    "evidence": ("evidence numbers", "sources", "source", "citations", "passages", "passage"),
    "facts": ("fact", "propositions", "statements"),
    "name": ("entity", "entity name"),
    "missing": ("what is missing", "reason"),
    "question": ("rewritten question", "standalone question", "sub question", "query"),
    "questions": ("question", "sub questions", "next question", "queries"),
    "quote": ("quotation", "quoted sentence"),
    "reason": ("reasoning", "rationale", "explanation"),
    "reasoning": ("reason", "reasons", "rationale", "thought", "thoughts", "explanation"),
    "sentence": ("sentence number", "sentences", "source"),
    "summary": ("summarized text", "summarised text"),
    "supports": ("supported", "support", "verdict"),
    "text": ("fact", "statement", "proposition"),
}
"""Field -> names that models use instead, in lower case with spaces between words."""


class ReplyForm(BaseModel):
    """The form of a reply. Fields may have other names (one with two candidates stays missing); unknown ones are dropped."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        found = {key: value for key, value in content.items() if key in cls.model_fields}
        named = {_words(key): value for key, value in content.items() if isinstance(key, str) and key not in found}
        for field in cls.model_fields.keys() - found.keys():
            meant = [named[name] for name in (_words(field), *SYNONYMS.get(field, ())) if name in named]
            if len(meant) == 1:
                found[field] = meant[0]
        return found

    @classmethod
    def needed(cls) -> list[str]:
        return [name for name, field in cls.model_fields.items() if field.is_required()]

    @classmethod
    def lists(cls) -> list[str]:
        return [name for name, field in cls.model_fields.items() if get_origin(field.annotation) is list]


def _words(key: str) -> str:
    """`finalAnswer`, `final_answer` and `Final-Answer` become `final answer`."""
    return " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", key).split()).lower()


class EntityReply(ReplyForm):
    name: Text
    type: Text = ""


class FactReply(ReplyForm):
    """The number of a sentence, a fact that it states, the fact's entities, and its triple."""

    sentence: Numbers = []
    text: Text
    entities: Texts = []
    triple: Texts = []


class ExtractReply(ReplyForm):
    entities: Annotated[list[EntityReply], BeforeValidator(_as_records)]
    facts: list[FactReply]


class SummariseReply(ReplyForm):
    summary: Text


@cache
def summary_in(words: int) -> type[SummariseReply]:
    """The form of a summary in at most `words` words: several times as long, as for other texts."""
    summary = Annotated[Text, WithJsonSchema({"type": "string", "maxLength": 16 * words})]
    return create_model(SummariseReply.__name__, __base__=SummariseReply, summary=(summary, ...))


class DecomposeReply(ReplyForm):
    """Which facts lead to the answer, and the sub-questions in the order to ask them."""

    plan: OptionalText = None
    questions: Texts


class NextReply(ReplyForm):
    """What is still missing, and the question to ask for it, or none."""

    missing: OptionalText = None
    questions: Texts


class CompleteReply(ReplyForm):
    question: Text


class StepReply(ReplyForm):
    """A step of reading: what it asks, the numbers of the evidence it rests on, a sentence quoted, what that says."""

    question: Text = ""
    evidence: Numbers = []
    quote: OptionalText = None
    answer: OptionalText = None


class ReadingReply(ReplyForm):
    steps: list[StepReply] = []
    answer: OptionalText
    confidence: Confidence = UNSTATED


class SampleReply(ReplyForm):
    """A thought, and the answer that it leads to, or none."""

    reasoning: OptionalText = None
    answer: OptionalText


class ConclusionReply(SampleReply):
    """What earlier answers come to, and the answer, or none."""

    confidence: Confidence = UNSTATED


class AssessReply(ReplyForm):
    missing: OptionalText = None
    enough: Enough


class VerifyReply(ReplyForm):
    """What the evidence says of an answer, and whether it supports it."""

    reason: OptionalText = None
    supports: Supported


class RecallReply(ReplyForm):
    answer: OptionalText
    confidence: Confidence = UNSTATED


class EquateReply(ReplyForm):
    difference: OptionalText = None
    same: YesNo


@cache
def schema_of(reply: type[BaseModel], *, limited: bool = False, answered: bool = False) -> str:
    """The JSON schema as strict endpoints demand it; `limited`: with `maxLength` and `maxItems` for servers that decode by it;
    `answered`: the answer is no null (one that comes nevertheless is read: asking again would cost more than it is worth).
    """
    schema = _strict(reply.model_json_schema(), limited=limited)
    if answered:
        schema["properties"]["answer"] = schema["properties"]["answer"]["anyOf"][0]
    return json.dumps(schema)


def _strict(part: Any, field: str = "", *, limited: bool) -> Any:
    """A part of a strict schema; `field` is the property that contains it."""
    if isinstance(part, list):
        return [_strict(item, field, limited=limited) for item in part]
    if not isinstance(part, dict):
        return part
    schema = {
        key: {name: _strict(item, name, limited=limited) for name, item in value.items()}
        if key in {"properties", "$defs"}
        else _strict(value, field, limited=limited)
        for key, value in part.items()
        if key not in {"default", "title", "description"}
    }
    if "properties" in schema:
        schema |= {"additionalProperties": False, "required": list(schema["properties"])}
    if limited and part.get("type") == "string" and "enum" not in part:
        schema["maxLength"] = schema.pop("maxLength", TEXT_LIMITS.get(field, TEXT_LIMIT))
    if limited and part.get("type") == "array":
        schema["maxItems"] = LIST_LIMITS.get(field, RECORDS_LIMIT if "$ref" in part["items"] else LIST_LIMIT)
    return schema
