"""Lenient parsing of replies: a number as text, a single item for a list, `[2]` for 2, a field under a synonym.

Nothing is guessed: a field with two candidates stays missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from hoptrail.models.prompt_text import whole_text

SYNONYMS = {
    "answer": ("final answer", "short answer", "result", "response"),
    "confidence": ("certainty", "probability", "score"),
    "difference": ("differences", "reason"),
    "enough": ("sufficient", "is enough"),
    "entities": ("entity", "named entities", "names"),
    "evidence": ("evidence numbers", "sources", "source", "citations", "passages", "passage"),
    "facts": ("fact", "propositions", "statements"),
    "name": ("entity", "entity name"),
    "missing": ("what is missing", "reason"),
    "plan": ("reasoning", "thought"),
    "question": ("rewritten question", "standalone question", "sub question", "query"),
    "questions": ("question", "sub questions", "next question", "queries"),
    "quote": ("quotation", "quoted sentence"),
    "reason": ("reasoning", "rationale", "explanation"),
    "reasoning": ("reason", "reasons", "rationale", "thought", "thoughts", "explanation"),
    "same": ("equivalent", "same meaning"),
    "sentence": ("sentence number", "sentences", "source"),
    "summary": ("summarized text", "summarised text"),
    "supports": ("supported", "support", "verdict"),
    "text": ("fact", "statement", "proposition"),
}
"""Field -> names that models use instead, in lower case with spaces between words."""


def rename_fields(content: Any, reply: type[BaseModel]) -> Any:
    """`content` with its fields under the names of `reply`, recursively; unknown fields are dropped."""
    if not isinstance(content, dict):
        return content
    fields = reply.model_fields
    named = {_words(key): value for key, value in content.items() if isinstance(key, str) and key not in fields}
    found = {key: value for key, value in content.items() if key in fields}
    for field in fields.keys() - found.keys():
        meant = [named[name] for name in (_words(field), *SYNONYMS.get(field, ())) if name in named]
        if len(meant) == 1:
            found[field] = meant[0]
    for field, value in found.items():
        part = next((kind for kind in get_args(fields[field].annotation) if isinstance(kind, type)), None)
        if part is not None and issubclass(part, BaseModel) and isinstance(value, list):
            found[field] = [rename_fields(one, part) for one in value]
    return found


def _words(key: str) -> str:
    """`finalAnswer`, `final_answer` and `Final-Answer` become `final answer`."""
    return " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", key).split()).lower()


def _text(value: Any) -> Any:
    """Numbers and booleans as text; the only item of a list."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return whole_text(value)  # escapes in the JSON can contain half a surrogate pair
    return str(value) if isinstance(value, int | float) else value


def _optional_text(value: Any) -> Any:
    return None if value in (None, [], {}) else _text(value)


def _list(value: Any) -> Any:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def as_records(value: Any) -> Any:
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


@dataclass(frozen=True)
class Scale:
    """Words that a model uses for probabilities, with their numbers. Small models repeat whatever number they are shown, so they
    get words.
    """

    words: Mapping[str, float]

    @property
    def schema(self) -> WithJsonSchema:
        """The JSON schema of a reply: one of the words, never a number."""
        return WithJsonSchema({"type": "string", "enum": list(self.words)})

    @property
    def of_word(self) -> BeforeValidator:
        """Reads the first word of a text: "Yes, it does." is a yes."""
        return BeforeValidator(lambda value: self.words[_first_word(value, self.words)])


CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""The confidence that a model states."""
ENOUGH = {"yes": 1.0, "no": 0.0}
"""Whether evidence is enough."""
SUPPORTS = {"yes": 1.0, "partly": 0.25, "no": 0.0}
"""Whether evidence supports an answer; partial support is not enough by itself."""
CONFIDENCE_SCALE, ENOUGH_SCALE, SUPPORT_SCALE = Scale(CONFIDENCES), Scale(ENOUGH), Scale(SUPPORTS)


def _confidence(value: Any) -> Any:
    """The number of one of the words, or of 0.8, "0.8", "80%" or 80."""
    if isinstance(value, str) and value.strip().lower() in CONFIDENCES:
        return CONFIDENCES[value.strip().lower()]
    if isinstance(value, str) and (matched := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", value)):
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
OptionalText = Annotated[str | None, BeforeValidator(_optional_text)]
Texts = Annotated[list[Text], BeforeValidator(_list)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Confidence = Annotated[float, CONFIDENCE_SCALE, BeforeValidator(_confidence), CONFIDENCE_SCALE.schema]
Enough = Annotated[float, ENOUGH_SCALE, ENOUGH_SCALE.of_word, ENOUGH_SCALE.schema]
Supported = Annotated[float, SUPPORT_SCALE, SUPPORT_SCALE.of_word, SUPPORT_SCALE.schema]
YesNo = Annotated[Literal["yes", "no"], BeforeValidator(lambda value: _first_word(value, ("yes", "no")))]
