"""Parse plain-text replies of models that cannot write JSON: a few words after a mark, lists with one item a line.

    The lighthouse was designed by Ilse Marrow, says passage 2.
    ANSWER: Ilse Marrow

The marks are the names of the required fields in capitals. Text before the first mark is the reason and may quote the evidence.
If a model forgot the mark of its only field, "the answer is …" replaces it, or else its first sentence or its list counts. Text
after a mark must be valid for the field: yes or no, a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from hoptrail.language.chat.reply_parsing import InvalidReply, channels, parse_reply, says_unknown
from hoptrail.models.completion import ChatReply
from hoptrail.models.prompt_text import start_of_loop
from hoptrail.text.normal_forms import stands_in
from hoptrail.text.sentences import sentence_spans
from hoptrail.types.json_object import JsonObject

R = TypeVar("R", bound=BaseModel)

MARKS = {"entities": "NAME", "facts": "FACT", "questions": "QUESTION"}
"""Marks of fields with several items, each on its own line. Other fields are marked by their names."""
WITHOUT_LIMIT = frozenset({"summary"})
"""Fields that may run over several lines."""
LONGEST_WORDS = 60
"""Words of the longest sentence without a mark that is an answer."""

_ANSWER_IS = re.compile(
    r"\b(?:the |my )?(?:(?:final|short|correct) )?answer(?: to (?:the|this|that|your) question)?"
    r"(?: is\b[ \t]*[:：]?|[ \t]*[:：])",
    re.IGNORECASE,
)
"""A mark in a sentence: "The answer to this question is: Paris"."""
_PASSAGE = re.compile(r"passage (?:no\. |number |#)?(\d{1,3})(?!\d)", re.IGNORECASE)


def read_plain(said: ChatReply, reply: type[R]) -> R:
    """The reply in a plain text. Raises: InvalidReply: a required field is missing or invalid."""
    try:
        return parse_reply(said.text, reply)  # some models write JSON after all
    except InvalidReply:
        own, thought = channels(said.text)
    text = own or thought
    loop = start_of_loop(text)
    text = text[:loop]
    if said.finish == "length" and "\n" in text.strip():  # its last line was cut off
        text = text.rpartition("\n")[0]
    if not text.strip():
        raise InvalidReply("it is empty" if loop is None else "it repeats itself without end")
    needed = [name for name, field in reply.model_fields.items() if field.is_required()]
    before, marked = _split_at_marks(text, [_mark(name) for name in needed])
    if not marked:
        if loop is not None or thought:
            raise InvalidReply("all of it is reasoning" if thought else "it repeats itself without end")
        before, marked = _parse_unmarked(text, reply, needed)
    values = {name: _value(reply, name, marked.get(_mark(name), [])) for name in needed}
    if "facts" in values:
        names = values["entities"]
        values["facts"] = [
            {"text": fact, "entities": [name for name in names if stands_in(name.casefold(), fact.casefold())]}
            for fact in values["facts"]
        ]
    try:
        return reply.model_validate({**_reasons(reply, before, values), **values})
    except ValidationError as error:
        faults = "; ".join(f"{_mark(str(one['loc'][0]))}: {one['msg']}" for one in error.errors())
        raise InvalidReply(f"no plain text of the form asked for: {faults}"[:300]) from None


def _mark(field: str) -> str:
    return MARKS.get(field, field.upper())


def _split_at_marks(text: str, marks: list[str]) -> tuple[str, dict[str, list[str]]]:
    """The text before the first mark, and mark -> texts after it, up to the next mark."""
    names = "|".join(marks)
    parts = re.split(rf"^[ \t>*#_`•-]*({names})S?[ \t*_`]*[:：][ \t*_`]*", text, flags=re.MULTILINE | re.IGNORECASE)
    found: dict[str, list[str]] = {}
    for mark, words in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(mark.upper(), []).append(words)
    return parts[0].strip(), found


def _parse_unmarked(text: str, reply: type[BaseModel], needed: list[str]) -> tuple[str, dict[str, list[str]]]:
    """The reason, if it can be separated, and the value of the only required field, from a text without marks."""
    if text.lstrip().startswith(("{", "[", "```", "<")):
        raise InvalidReply("it holds neither a mark nor a reply in JSON")
    if len(needed) != 1:
        raise InvalidReply(f"none of the marks {', '.join(map(_mark, needed))} stands in it")
    name = needed[0]
    if name in WITHOUT_LIMIT:
        return "", {_mark(name): [text]}
    if _is_list(reply, name):
        questions = [line for line in _items(text) if line.endswith(("?", "？"))]
        if not questions and not says_unknown(text.strip(" .")):
            raise InvalidReply("it holds neither a mark nor a question")
        return "", {_mark(name): ["\n".join(questions)]}
    before, said = _split_at_answer(text) if name == "answer" else ("", text)
    if not said:
        return before, {_mark(name): []}
    start, end = next(iter(sentence_spans(said, limit=2)), (0, 0))
    sentence = said[start:end]
    if not sentence or len(sentence.split()) > LONGEST_WORDS:
        raise InvalidReply(f"the mark {_mark(name)} does not stand in it")
    return before, {_mark(name): [sentence]}


def _split_at_answer(text: str) -> tuple[str, str]:
    """The text before and after "the answer is", which some models repeat; without these words, empty and the whole text."""
    first, *others = _ANSWER_IS.split(text)
    if not others:
        return "", text
    return first.strip(), next((part for part in others if part.strip(' \t\n.*_"')), "")


def _value(reply: type[BaseModel], name: str, said: list[str]) -> Any:
    """The value of a field from the texts after its marks: the first text, or the items of all lists."""
    if _is_list(reply, name):
        return [item for words in said for item in _items(words) if not says_unknown(item.strip(" .<>()[]"))]
    words = (said[0] if said else "").strip()
    if name not in WITHOUT_LIMIT:
        words = words.partition("\n")[0]
    return words.strip(' *_<>"“”') or None


def _items(words: str) -> Iterator[str]:
    """The distinct lines of a list, without bullets or numbers."""
    lines = (re.sub(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):])\s+", "", line).strip() for line in words.splitlines())
    yield from dict.fromkeys(filter(None, lines))


def _is_list(reply: type[BaseModel], name: str) -> bool:
    return get_origin(reply.model_fields[name].annotation) is list


def _reasons(reply: type[BaseModel], words: str, values: Mapping[str, Any]) -> JsonObject:
    """The words before the first mark as a step or as the first field, if the reply has an optional one."""
    if not words:
        return {}
    if "steps" in reply.model_fields:
        quoted = max(re.findall(r"[\"“]([^\"“”]+)[\"”]", words), key=len, default="")
        passages = [int(number) for number in _PASSAGE.findall(words)]
        return {"steps": [{"evidence": passages, "quote": quoted or words, "answer": values.get("answer")}]}
    first = next(iter(reply.model_fields))
    return {} if reply.model_fields[first].is_required() else {first: words}
