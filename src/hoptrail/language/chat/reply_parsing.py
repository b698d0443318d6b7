"""Parse a model's text into a checked reply, whatever wraps it: prose, code fences, reasoning, tool syntax, sloppy JSON.

Of several whole objects the last one counts: those before it are drafts. Nothing is evaluated or invented: an object that is cut
off, ambiguous (two values for one key) or of the wrong form is refused with a reason, which the repair quotes. Only the reply's
own wrapping is stripped: `<think>` inside a quoted sentence stays. Reasoning is read only where it is all there is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from hoptrail.language.chat.schemas import ReplyForm
from hoptrail.models.prompt_text import start_of_loop
from hoptrail.types.json_object import JsonObject

R = TypeVar("R", bound=ReplyForm)

LONGEST = 200_000  # characters of a reply that are parsed
LONGEST_REPAIRED = 10_000  # characters of an object whose syntax is repaired; of a longer one the model did not stop
TRIES = 40  # possible beginnings of a reply that are tried
SHOWN = 300  # characters of an error message that are kept


class InvalidReply(Exception):
    """A reply does not have the required form; the message says why, for the model and for people."""


def parse_reply(text: str, reply: type[R]) -> R:
    """The last valid reply in `text`; in its reasoning, if it has nothing else.
    Raises: InvalidReply: there is none; has the reason for the most promising object.
    """
    own, thought = channels(text)
    said = (own or thought)[:LONGEST]
    with suppress(ValueError, RecursionError):
        said = str(json.loads(said)) if said.startswith('"') else said  # JSON in JSON
    found = _from_bare_list(said, reply)
    fault = (
        "it holds no JSON object" if own else "all of it is reasoning, without a reply" if thought else "it is empty"
    )
    for content in [] if found else _objects(said):
        if isinstance(content, str):
            fault = content
            continue
        try:
            found = _checked(content, reply)
        except InvalidReply as error:
            fault = str(error)
    if found is not None:
        return found
    if start_of_loop(said) is not None:
        fault = "it repeats itself without end"
    raise InvalidReply(fault[:SHOWN])


def _checked(content: JsonObject, reply: type[R]) -> R:
    try:
        return reply.model_validate(_unwrapped(content, reply))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise InvalidReply(f"wrong form: {'; '.join(faults)}") from None


def parse_cut_off(text: str, reply: type[R], *, open_lists: bool) -> R:
    """The complete part of a reply whose end is missing: all that is there, else what stands before the last comma between its
    fields; with `open_lists` also before one in a list. Raises: InvalidReply: a required field is not complete.
    """
    text = text[max(text.find("{"), 0) :].strip()
    depth, deepest = 0, 2 if open_lists else 1
    commas: dict[int, int] = {}
    for mark in _MARK.finditer(text):
        depth += (mark[0] in "{[") - (mark[0] in "]}")
        if depth < 1:
            commas.clear()  # of a draft, which was not cut off
        if mark[0] == ",":
            commas[depth] = mark.start()
    ends = [(end, level) for level, end in commas.items()]
    if text[-1:] not in "[0123456789":  # more digits may follow, or a first item
        ends.append((len(text), depth))
    for end, level in sorted(ends, reverse=True):
        with suppress(ValueError, RecursionError):
            if level <= deepest:
                return _checked(_DECODER.decode(text[:end] + "]" * (level - 1) + "}"), reply)
    raise InvalidReply("it was cut off before its first field was complete")


_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{},]', re.DOTALL)


def answer_so_far(text: str) -> str:
    """The answer in the beginning of a reply, as far as it is written; empty where it has not begun."""
    own = channels(text)[0]
    if "{" not in own:
        return own.partition("ANSWER:")[2].strip()
    with suppress(ValueError):
        begun = from_json(own[own.index("{") :], allow_partial="trailing-strings", allow_inf_nan=False)
        return answer if isinstance(answer := begun.get("answer"), str) else ""
    return ""


_NAMES = "think|thinking|thought|reasoning|seed:think"
_THOUGHT = re.compile(
    rf"(?:<(?:{_NAMES})>|\[think\]|◁think▷|<\|channel>thought)(.*?)(</(?:{_NAMES})>|\[/think\]|◁/think▷|<channel\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT_END = re.compile(rf"^[^{{]*?</(?:{_NAMES})>|\A.*?(?:</think>|\[/think\])\s*(?=\{{)", re.DOTALL | re.IGNORECASE)
# Matches consecutive tags at once: an endless row of <unk> would otherwise take quadratic time.
_TOOL = re.compile(rf"\A(?:\s*(?:<(?!(?i:{_NAMES})>)\|?[\w./-]+\|?>|\[/?(?!(?i:think)\])[A-Z_]{{3,}}\]))++")
_FINAL = re.compile(
    r"(?:<\|channel\|>\s*final\b(?:(?!<\|message).){0,40}<\|message\|>|\Aanalysis.*assistantfinal)(.*?)"
    r"(?:<\|(?:end|return|call|start)\|>|\Z)",
    re.DOTALL,
)


def channels(text: str) -> tuple[str, str]:
    """`text` without leading reasoning and tool syntax; or, if all of it is reasoning, nothing and the reasoning. A text that
    begins with `{` is unchanged. Of the channels of `gpt-oss`, marked or not, the final one is the text.
    """
    if not text.lstrip().startswith("{"):
        if finals := _FINAL.findall(text):
            text = finals[-1]
        elif text.lstrip().startswith(("<|channel|>", "<|start|>")):
            return "", text
    while True:
        text = text.strip()
        if text.startswith("{"):
            return text, ""
        matched = _THOUGHT.match(text)
        if matched and not matched[2]:
            return "", matched[1].strip() or text
        matched = matched or _THOUGHT_END.match(text) or _TOOL.match(text)
        if not matched:
            return text, ""
        text = text[matched.end() :]


_REFUSAL = re.compile(
    r"\W*(?:i['’]?m (?:very )?sorry|sorry|apologies|as an ai|i (?:cannot|can['’]?t|can not|won['’]?t|am (?:not able|unable))|"
    r"i['’]m (?:not able|unable)|unfortunately,? i)\b",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"(?:(?:the )?(?:answer|it|this)(?: is|['’]s)? )?"
    r"(?:un(?:known|answerable|clear|determined|specified)|null|none|nil|n/?a|"
    r"not (?:available|stated|mentioned|specified|provided|known|given|found|clear|enough (?:information|evidence))|"
    r"no (?:answer|information|evidence)(?: (?:available|found|given))?|insufficient (?:information|evidence|context|data)|"
    r"(?:cannot|can['’]?t|could not) be (?:determined|answered|known|inferred|found).*|"
    r"(?:i|we) (?:do not|don['’]?t|cannot|can['’]?t) (?:know|tell|say|determine|answer|help).*|"
    r"(?:the |this )?(?:evidence|context|texts?|documents?|passages?|information) (?:provided |given )?"
    r"(?:does|do|did) ?n(?:o|['’])t .*|"
    r"(?:(?:the |this )?(?:evidence|context|texts?|documents?|passages?)(?: n=\d+| \d+)? (?:has|have|gives?|contains?) no|"
    r"no (?:text|document|passage) (?:has|gives|contains) (?:the|an)) (?:answers?|information|evidence)\b.*)",
    re.IGNORECASE | re.DOTALL,
)


def is_refusal(text: str) -> bool:
    return bool(_REFUSAL.match(channels(text)[0]))


def says_unknown(words: str) -> bool:
    return bool(_UNKNOWN.fullmatch(words))


def _objects(text: str) -> Iterator[JsonObject | str]:
    """The outermost objects in `text`, parsed strictly or repaired; for an invalid object, the fault as text."""
    at = text.find("{")
    for _ in range(TRIES):
        if at < 0:
            return
        closing = _closing(text, at)
        end = closing or len(text)
        try:
            content, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            yield "too deeply nested"
            return
        except ValueError as error:
            repaired = _repaired(text[at:end]) if closing else None
            content = f"not valid JSON: {error}" if repaired is None else repaired
        yield content
        at = text.find("{", end)


def _repaired(text: str) -> JsonObject | None:
    """An object with faults only in its syntax (commas, quotes, comments, Python literals); else None. Two values for one field
    are no such fault: to choose one would be a guess.
    """
    if len(text) > LONGEST_REPAIRED or "NaN" in text or "Infinity" in text:
        return None
    import json_repair

    try:
        content = json_repair.loads(text, skip_json_loads=True, strict=True)
    except (ValueError, RecursionError):
        return None
    written = Counter(key.strip() for key in _KEY.findall(text))
    kept = Counter(re.findall(r'"([^"\\]+)": ', json.dumps(content, ensure_ascii=False)))
    return content if isinstance(content, dict) and all(written[key] <= kept[key] for key in kept) else None


_KEY = re.compile(r"[{,]\s*+[\"'“”]?+([^\s\"'“”:{},][^\"'“”:{},]*+)[\"'“”]?+\s*+:")
_BRACE = re.compile(r"[{}]")


def _closing(text: str, start: int) -> int:
    """The end of the braces that `text` opens at `start`, ignoring strings; 0 if they are never closed."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    return 0


def _from_bare_list(text: str, reply: type[R]) -> R | None:
    """A reply from a bare list, which can only belong to one of its fields; else None."""
    try:
        content = _DECODER.decode(_FENCE.sub("", text).strip())
    except (ValueError, RecursionError):
        return None
    found: list[R] = []
    empty: JsonObject = {name: [] for name in reply.lists() if isinstance(content, list)}
    for name in empty:
        with suppress(ValidationError):
            found.append(reply.model_validate(empty | {name: content}))
    return found[0] if len(found) == 1 else None


_FENCE = re.compile(r"^```\w*\s*$", re.MULTILINE)


def _without_contradiction(pairs: list[tuple[str, Any]]) -> JsonObject:
    content: JsonObject = {}
    for key, value in pairs:
        if content.setdefault(key, value) != value:
            raise ValueError(f"two different values for {key[:40]!r}")
    return content


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_contradiction, parse_constant=_no_number, strict=False)


def _unwrapped(content: JsonObject, reply: type[ReplyForm]) -> JsonObject:
    """Unwrap a reply inside a tool call or under a single key."""
    if set(content) & set(reply.model_fields):
        return content
    inner = content.get("arguments", content.get("parameters"))
    if inner is None and len(content) == 1:
        inner = next(iter(content.values()))
    with suppress(ValueError, RecursionError):
        inner = json.loads(inner) if isinstance(inner, str) else inner
    return inner if isinstance(inner, dict) else content
