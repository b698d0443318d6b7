"""Read the reply to a request: its content, the model's refusal, or the reason why it is neither.

Models that cannot write JSON reply in plain text: a few words after a mark, lists with one item a line.

    The lighthouse was designed by Ilse Marrow, says passage 2.
    ANSWER: Ilse Marrow

The marks are the names of the required fields in capitals. Text before the first mark is the reason and may quote the evidence.
If a model forgot the mark of its only field, "the answer is …" replaces it, or else its first sentence or its list counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from hoptrail.language.chat.reply_parsing import (
    InvalidReply,
    channels,
    is_refusal,
    parse_cut_off,
    parse_reply,
    says_unknown,
)
from hoptrail.language.chat.schemas import ReplyForm
from hoptrail.models.chat import TOO_LONG, ChatReply, ChatRequest, Rung
from hoptrail.models.prompt_text import start_of_loop
from hoptrail.text.normal_forms import stands_in
from hoptrail.text.sentences import sentence_spans
from hoptrail.types.json_object import JsonObject

R = TypeVar("R", bound=ReplyForm)

MARKS = {"entities": "NAME", "facts": "FACT", "questions": "QUESTION"}
"""Marks of fields with several items, each on its own line. Other fields are marked by their names."""
WITHOUT_LIMIT = frozenset({"summary"})  # fields that may run over several lines
LONGEST_WORDS = 60  # words of the longest sentence without a mark that is an answer

_ANSWER_IS = re.compile(
    r"\b(?:the |my )?(?:(?:final|short|correct) )?answer(?: to (?:the|this|that|your) question)?"
    r"(?: is\b[ \t]*[:：]?|[ \t]*[:：])",
    re.IGNORECASE,
)
"""A mark in a sentence: "The answer to this question is: Paris"."""
_PASSAGE = re.compile(r"passage (?:no\. |number |#)?(\d{1,3})(?!\d)", re.IGNORECASE)


@dataclass(eq=False)
class OutOfRoom(Exception):
    """The prompt (`less` is True) or the reply had too little room; `kept` is the complete part of the reply. `reasoned`: all of
    the room went into reasoning. `window`: the tokens to which the server cut the prompt.
    """

    reason: str
    less: bool = False
    kept: Any = None
    reasoned: bool = False
    window: int = 0


class Repeated(InvalidReply):
    """The reply repeats the examples of its prompt. Quoting it would be no use: small models repeat them again."""


def read_reply(reply: ChatReply, request: ChatRequest, form: type[R]) -> R | None:
    """The content of the reply to a request; None if the model declined.
    Raises: OutOfRoom: the prompt did not fit, or the reply was cut off. InvalidReply: it does not have the required form.
    """
    if reply.finish == TOO_LONG:
        raise OutOfRoom(f"the prompt is too long for the model {reply.refusal}".strip(), less=True)
    if reply.refusal or reply.finish == "content_filter":
        return None
    if reply.estimated or not 0 < reply.prompt_tokens < request.fewest_tokens:
        return _content(reply, request, form)
    kept = None
    with suppress(InvalidReply, OutOfRoom):
        kept = _content(reply, request, form)
    raise OutOfRoom(
        f"the server cut the prompt to {reply.prompt_tokens:,} tokens, about {request.prompt_tokens:,} were sent: set "
        "context_window under [chat] to what it takes, or give it more (Ollama: num_ctx, or OLLAMA_CONTEXT_LENGTH)",
        kept=kept,
        window=reply.prompt_tokens,
    )


def _content(reply: ChatReply, request: ChatRequest, form: type[R]) -> R | None:
    own, _ = channels(reply.text)
    if not own and (reply.finish == "length" or reply.completion_tokens >= request.max_output_tokens):
        raise OutOfRoom(
            f"the model used all {request.max_output_tokens:,} tokens before it said anything, for reasoning if it is a model "
            "that reasons: raise max_output_tokens under [chat], or switch its thinking off",
            reasoned=True,
        )
    try:
        found = read_plain(reply, form) if request.rung is Rung.PLAIN else parse_reply(reply.text, form)
    except InvalidReply as fault:
        if is_refusal(own):
            return None
        if request.rung is Rung.PLAIN or reply.finish != "length":
            raise
        found = _cut_off(own, form, fault)
    return _without_examples(found, request)


def _cut_off(text: str, form: type[R], fault: InvalidReply) -> R:
    """The complete part of a reply that was cut off, if that is enough. A reply cut off inside a list may say more with more
    room, one that repeats itself will not.
    Raises: OutOfRoom, InvalidReply: the complete part is not enough.
    """
    endless = start_of_loop(text) is not None
    with suppress(InvalidReply):
        return parse_cut_off(text, form, open_lists=endless)
    if endless:
        raise fault
    kept = None
    with suppress(InvalidReply):
        kept = parse_cut_off(text, form, open_lists=True)
    raise OutOfRoom("the reply was cut off at its limit", kept=kept)


def _without_examples(reply: R, request: ChatRequest) -> R:
    """The reply without list items that repeat the prompt's examples. Raises: Repeated: no required field has anything else."""
    said = {name: getattr(reply, name) for name in reply.needed()}
    lists = {name: value for name, value in said.items() if isinstance(value, list)}
    kept = {name: [one for one in value if not _is_example(one, request)] for name, value in lists.items()}
    words = [value for name, value in said.items() if name not in lists]
    if any(kept.values()) or not (words or any(lists.values())) or not all(_is_example(one, request) for one in words):
        return reply.model_copy(update=kept)
    raise Repeated("it repeats the words that show the form in place of an answer")


def _is_example(text: object, request: ChatRequest) -> bool:
    """Whether a text is dots, or several words of the prompt's example: there in quotes, or after a mark in plain text."""
    said = text.casefold() if isinstance(text, str) else ""
    if " " not in said or not said.strip(". …"):
        return bool(said.strip()) and not said.strip(". …")
    if request.rung is Rung.PLAIN:  # the last paragraph of the prompt shows the lines to write
        lines = request.messages[-1].text.casefold().rpartition("\n\n")[2].splitlines()
        return said in {line.partition(": ")[2] for line in lines}
    return f'"{said}"' in request.messages[0].text.casefold()


def read_plain(said: ChatReply, reply: type[R]) -> R:
    """The reply in a plain text. Raises: InvalidReply: a required field is missing or invalid."""
    try:
        return parse_reply(said.text, reply)  # some models write JSON after all
    except InvalidReply:
        own, thought = channels(said.text)
    loop = start_of_loop(own or thought)
    text = (own or thought)[:loop]
    if said.finish == "length" and "\n" in text.strip():  # its last line was cut off
        text = text.rpartition("\n")[0]
    if not text.strip():
        raise InvalidReply("it is empty" if loop is None else "it repeats itself without end")
    needed = reply.needed()
    before, marked = _split_at_marks(text, needed)
    if not marked:
        if loop is not None or thought:
            raise InvalidReply("all of it is reasoning" if thought else "it repeats itself without end")
        before, marked = _parse_unmarked(text, reply, needed)
    values = {name: _value(reply, name, marked.get(name, [])) for name in needed}
    if "facts" in values:
        values["facts"] = [
            {
                "text": fact,
                "entities": [name for name in values["entities"] if stands_in(name.casefold(), fact.casefold())],
            }
            for fact in values["facts"]
        ]
    try:
        return reply.model_validate({**_reasons(reply, before, values), **values})
    except ValidationError as error:
        faults = "; ".join(f"{_mark(str(one['loc'][0]))}: {one['msg']}" for one in error.errors())
        raise InvalidReply(f"no plain text of the form asked for: {faults}"[:300]) from None


def _mark(field: str) -> str:
    return MARKS.get(field, field.upper())


def _split_at_marks(text: str, fields: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """The text before the first mark, and field -> texts after its marks, up to the next mark."""
    by_mark = {_mark(field): field for field in fields}
    names = "|".join(by_mark)
    parts = re.split(rf"^[ \t>*#_`•-]*({names})S?[ \t*_`]*[:：][ \t*_`]*", text, flags=re.MULTILINE | re.IGNORECASE)
    found: dict[str, list[str]] = {}
    for mark, words in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(by_mark[mark.upper()], []).append(words)
    return parts[0].strip(), found


def _parse_unmarked(text: str, reply: type[ReplyForm], needed: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """The reason, if it can be separated, and the value of the only required field, from a text without marks."""
    if text.lstrip().startswith(("{", "[", "```", "<")):
        raise InvalidReply("it holds neither a mark nor a reply in JSON")
    if len(needed) != 1:
        raise InvalidReply(f"none of the marks {', '.join(map(_mark, needed))} stands in it")
    (name,) = needed
    if name in WITHOUT_LIMIT:
        return "", {name: [text]}
    if name in reply.lists():
        questions = [line for line in _items(text) if line.endswith(("?", "？"))]
        if not questions and not says_unknown(text.strip(" .")):
            raise InvalidReply("it holds neither a mark nor a question")
        return "", {name: ["\n".join(questions)]}
    before, *after = _ANSWER_IS.split(text) if name == "answer" else ["", text]
    before, after = (before.strip(), after) if after else ("", [text])
    said = next((part for part in after if part.strip(' \t\n.*_"')), "")  # some models repeat the words
    if not said:
        return before, {name: []}
    start, end = next(iter(sentence_spans(said, limit=2)), (0, 0))
    if start == end or len(said[start:end].split()) > LONGEST_WORDS:
        raise InvalidReply(f"the mark {_mark(name)} does not stand in it")
    return before, {name: [said[start:end]]}


def _value(reply: type[ReplyForm], name: str, said: Sequence[str]) -> Any:
    """The value of a field from the texts after its marks: the first text, or the items of all lists."""
    if name in reply.lists():
        return [item for words in said for item in _items(words) if not says_unknown(item.strip(" .<>()[]"))]
    words = (said[0] if said else "").strip()
    if name not in WITHOUT_LIMIT:
        words = words.partition("\n")[0]
    return words.strip(' *_<>"“”') or None


def _items(words: str) -> Iterator[str]:
    """The distinct lines of a list, without bullets or numbers."""
    lines = (re.sub(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):])\s+", "", line).strip() for line in words.splitlines())
    yield from dict.fromkeys(filter(None, lines))


def _reasons(reply: type[ReplyForm], words: str, values: Mapping[str, Any]) -> JsonObject:
    """The words before the first mark as a step or as the first field, if the reply has an optional one."""
    first, field = next(iter(reply.model_fields.items()))
    if not words or field.is_required():
        return {}
    if first != "steps":
        return {first: words}
    quoted = max(re.findall(r"[\"“]([^\"“”]+)[\"”]", words), key=len, default="")
    passages = [int(number) for number in _PASSAGE.findall(words)]
    return {"steps": [{"evidence": passages, "quote": quoted or words, "answer": values.get("answer")}]}
