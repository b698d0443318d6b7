"""How replies are read leniently: a number as text, one item for a list, `[2]` for 2, a field under a name that means the same.

Never where it would have to be guessed: a field that two others could stand for stays missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from hoptrail.language.tasks import Relation as Relations
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
    "relation": ("relationship", "label", "verdict"),
    "same": ("equivalent", "same meaning"),
    "sentence": ("sentence number", "sentences", "source"),
    "summary": ("summarized text", "summarised text"),
    "supports": ("supported", "support", "verdict"),
    "text": ("fact", "statement", "proposition"),
}
"""What models call a field instead of its name, in lower case and with spaces between words."""


def by_their_names(content: Any, reply: type[BaseModel]) -> Any:
    """`content` with the fields of `reply` under their own names, in its parts too; what is no field is left out."""
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
            found[field] = [by_their_names(one, part) for one in value]
    return found


def _words(key: str) -> str:
    """`finalAnswer`, `final_answer` and `Final-Answer` as `final answer`."""
    return " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", key).split()).lower()


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


def as_named(value: Any) -> Any:
    """A list of things with a name each, where some may be nothing but their names."""
    return [one if isinstance(one, dict | BaseModel) else {"name": one} for one in _list(value)]


def _numbers(value: Any) -> Any:
    """Whole numbers out of 1, "1", "[1]", "1, 2", [1, "2"]."""
    found: list[int] = []
    for item in _list(value):
        if isinstance(item, str):
            found += [int(digits) for digits in re.findall(r"\d{1,6}", item)]
        elif isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
            found.append(int(item))
    return found


@dataclass(frozen=True)
class Scale:
    """Words that a model says in place of a probability, and the number that each stands for. Words, because small models repeat
    whatever number they are shown.
    """

    words: Mapping[str, float]

    @property
    def schema(self) -> WithJsonSchema:
        return WithJsonSchema({"type": "string", "enum": list(self.words)})

    @property
    def of_word(self) -> BeforeValidator:
        """Takes the first word of a text: "Yes, it does." is a yes."""
        return BeforeValidator(lambda value: self.words[_first_word(value, self.words)])


CONFIDENCES = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""How sure a model says it is."""
ENOUGH = {"yes": 1.0, "no": 0.0}
"""Whether evidence is enough."""
SUPPORTS = {"yes": 1.0, "partly": 0.25, "no": 0.0}
"""Whether evidence supports an answer: what is borne out in part alone does not stand by itself."""
CONFIDENCE_SCALE, ENOUGH_SCALE, SUPPORT_SCALE = Scale(CONFIDENCES), Scale(ENOUGH), Scale(SUPPORTS)


def _confidence(value: Any) -> Any:
    """One of the words, or a number from 0 to 1 out of 0.8, "0.8", "80%" and 80."""
    if isinstance(value, str) and value.strip().lower() in CONFIDENCES:
        return CONFIDENCES[value.strip().lower()]
    if isinstance(value, str) and (matched := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", value)):
        value = float(matched[1]) / (100 if matched[2] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"must be {', '.join(CONFIDENCES)} or a number from 0 to 1")
    return value / 100 if value > 1 else float(value)


def _first_word(value: Any, words: Iterable[str]) -> str:
    """The first word of a text, where it is one of `words`."""
    said = _text(value)
    opening = re.match(r"\W*(\w+)", said) if isinstance(said, str) else None
    if opening is None or opening[1].lower() not in words:
        raise ValueError(f"must be {' or '.join(words)}")
    return opening[1].lower()


def _relation(value: Any) -> Any:
    """`Entails`, `entailed` and the like by their first letters."""
    word = str(value).strip().lower()
    return next((relation for relation in Relations if word[:6] == relation[:6]), value)


Text = Annotated[str, BeforeValidator(_text)]
OptionalText = Annotated[str | None, BeforeValidator(_optional_text)]
Texts = Annotated[list[Text], BeforeValidator(_list)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Confidence = Annotated[float, CONFIDENCE_SCALE, BeforeValidator(_confidence), CONFIDENCE_SCALE.schema]
Enough = Annotated[float, ENOUGH_SCALE, ENOUGH_SCALE.of_word, ENOUGH_SCALE.schema]
Supported = Annotated[float, SUPPORT_SCALE, SUPPORT_SCALE.of_word, SUPPORT_SCALE.schema]
YesNo = Annotated[Literal["yes", "no"], BeforeValidator(lambda value: _first_word(value, ("yes", "no")))]
Relation = Annotated[Relations, BeforeValidator(_relation)]
