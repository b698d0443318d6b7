"""What a model may reply, one class a task, and the JSON schema sent for it.

Reading is lenient where the meaning is clear (a number as text, one item for a list, `[2]` for 2), never where it would have
to be guessed. Fields with a default may be missing in a reply; the schema sent asks for all of them.
"""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from hoptrail.language.tasks import Relation as Relations
from hoptrail.models.text import whole_text


def _text(value: Any) -> Any:
    """Numbers and truth values in words; the only item of a list."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return whole_text(value)  # an escape inside the reply's JSON can bring in half a character
    return str(value) if isinstance(value, int | float) else value


def _optional_text(value: Any) -> Any:
    return None if value in (None, [], {}) else _text(value)


def _list(value: Any) -> Any:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _numbers(value: Any) -> Any:
    """Whole numbers out of 1, "1", "[1]", "1, 2", [1, "2"]."""
    found: list[int] = []
    for item in _list(value):
        if isinstance(item, str):
            found += [int(digits) for digits in re.findall(r"\d{1,6}", item)]
        elif isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
            found.append(int(item))
    return found


def _share(value: Any) -> Any:
    """A number from 0 to 1 out of 0.8, "0.8", "80%" and 80."""
    if isinstance(value, str) and (matched := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", value)):
        value = float(matched[1]) / (100 if matched[2] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError("must be a number from 0 to 1")
    return value / 100 if value > 1 else float(value)


def _relation(value: Any) -> Any:
    """`Entails`, `entailed` and the like by their first letters."""
    word = str(value).strip().lower()
    return next((relation for relation in Relations if word[:6] == relation[:6]), value)


Text = Annotated[str, BeforeValidator(_text)]
OptionalText = Annotated[str | None, BeforeValidator(_optional_text)]
Texts = Annotated[list[Text], BeforeValidator(_list)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Share = Annotated[float, BeforeValidator(_share)]
Relation = Annotated[Relations, BeforeValidator(_relation)]

UNSURE = 0.5
"""The confidence of a reply that gives none."""


class FactReply(BaseModel):
    """A fact, the entities it is about, the number of its sentence."""

    text: Text
    entities: Texts = []
    sentence: Numbers = []


class ExtractReply(BaseModel):
    """Entities and facts of a text."""

    entities: Texts
    facts: list[FactReply]


class SummariseReply(BaseModel):
    """A summary."""

    summary: Text


class DecomposeReply(BaseModel):
    """Sub-questions in the order to ask them."""

    questions: Texts


class CompleteReply(BaseModel):
    """A question that stands alone."""

    question: Text


class StepReply(BaseModel):
    """A step of reading: what it asks, what it found, the numbers of the evidence it rests on, a sentence quoted."""

    question: Text = ""
    answer: OptionalText = None
    evidence: Numbers = []
    quote: OptionalText = None


class ReadingReply(BaseModel):
    """An answer with its steps, or none."""

    steps: list[StepReply] = []
    answer: OptionalText
    confidence: Share = UNSURE


class AssessReply(BaseModel):
    """A probability."""

    probability: Share


class RecallReply(BaseModel):
    """An answer from memory, or none."""

    answer: OptionalText
    confidence: Share = UNSURE


class SampleReply(BaseModel):
    """An answer, or none, with the thought before it."""

    reasoning: OptionalText = None
    answer: OptionalText


class EntailReply(BaseModel):
    """What one answer says about another."""

    relation: Relation


def schema_of(reply: type[BaseModel]) -> str:
    """The JSON schema of a reply, as text: every object closed and every field asked for, which strict endpoints insist on."""
    return json.dumps(_strict(reply.model_json_schema()), sort_keys=True)


def _strict(part: Any) -> Any:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    made = {key: _strict(value) for key, value in part.items() if key not in {"default", "title", "description"}}
    if isinstance(made.get("properties"), dict):
        made |= {"additionalProperties": False, "required": sorted(made["properties"])}
    return made
