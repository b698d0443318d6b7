"""The questions in a message, without the words around them; and the reply to a message that asks nothing of the documents.

Greetings, labels (`Q:`), wishes about the form of the answer and where to look in general (`based on the documents`) say nothing
that a reader of statements could use. A sentence before a question stays with it if the question needs it: `We have two dogs. Is
that allowed?`. English only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.language.conversation.follow_ups import OPENING, stands_alone
from hoptrail.language.questions.indirect_questions import direct
from hoptrail.text.lexicon import FUNCTION_WORDS, OPENERS, PREPOSITIONS, QUESTION_WORDS, word_set
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.phrases import tokens_of
from hoptrail.text.sentences import sentence_ends
from hoptrail.text.words import words

MOST_QUESTIONS = 6
"""Questions of one message that are answered."""

HELP = (
    "Ask a question about the documents, for instance “Who signed the lease, and when?”. The answer comes with the sentences "
    "that say it. You can go on from it: “and where?”, “what about the other one?”."
)
WRITING = "That asks for a text to be written, which takes a chat model. Without one, ask what the documents say."
_THANKS, _WELCOME, _HELLO = word_set("thanks thank thx cheers great perfect"), "You are welcome.", "Hello. " + HELP
_SMALL_TALK = _THANKS | word_set(
    "hi hello hey good morning afternoon evening day bye goodbye ok okay cool nice lot help very much"
)
_AROUND = _SMALL_TALK | word_set(
    "dear team everyone quick quickly question questions q query please advance answer answers reply respond briefly brief short "
    "shortly word words sentence sentences line only using given based according documents document docs files notes context "
    "text sources information german english french spanish following below above cite"
)
_REQUESTS = word_set("list name show give tell explain describe find compare count")
_WRITTEN = word_set("summarise summarize translate rewrite paraphrase draft")
_ADDRESS = re.compile(r"^(?:[/@]\w+\s+)+")
_BORDER = re.compile(r"[,:;!.]\s+|\s+[-–—]\s+")
_LOOKING = re.compile(r"(?:based on|according to|judging by)\b", re.IGNORECASE)
_JOINT = re.compile(rf",? and (?=(?:[a-z]+ )?(?:{'|'.join(sorted(QUESTION_WORDS | OPENERS))})\b)")
_PAIR = re.compile(
    rf"({'|'.join(sorted(QUESTION_WORDS))}),? and ({'|'.join(sorted(QUESTION_WORDS))}) (.+)", re.IGNORECASE
)
_USER = re.compile(r"^\s*(?:user|human):\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_LONGEST_TITLE, _LONGEST_LEAD, _LONGEST_PARTED = 60, 200, 600
"""Characters of a title, of the words before a question, and of a question that is taken apart."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a message asks: its questions in order; or nothing of the documents, and what to reply. `introduced`: the first
    question has a sentence before it that it needs, so that no earlier message is meant.
    """

    questions: tuple[str, ...]
    reply: str = ""
    introduced: bool = False


def read_message(text: str, *, writes: bool = False) -> UserMessage:
    """The questions of a message, without the words around them. `writes`: whether a model can write what is asked for."""
    if reply := _reply(text, writes=writes):
        return UserMessage((), reply)
    lines = [line for line in text.splitlines() if line.strip()]
    sentences = [squeeze(one) for line in lines for one in _sentences(line)]
    cores = [_core(sentence) for sentence in sentences]
    asked = [at for at, core in enumerate(cores) if core.endswith("?")] or [
        at for at, core in enumerate(cores) if _asks(core)
    ]
    if not asked:
        return UserMessage((squeeze(text),))
    first = asked[0]
    before = [sentence for sentence, core in zip(sentences[:first], cores, strict=False) if core]
    introduced = bool(before) and not stands_alone(cores[first])
    questions = [part for at in asked for part in _parts(cores[at])]
    if introduced:
        questions[0] = " ".join([*before, questions[0]])
    return UserMessage(tuple(dict.fromkeys(questions)), introduced=introduced)


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in sentence_ends(line):
        if sentence := line[start:end].strip():
            yield sentence
        start = end


def _core(sentence: str) -> str:
    """A sentence without the words around its question; empty if there are only such words."""
    core = _ADDRESS.sub("", sentence.strip("\"'“”„` "))
    if _is_around(core) and not (core.endswith("?") and _asks(core)):
        return ""
    for border in reversed(list(_BORDER.finditer(core, 0, _LONGEST_LEAD))):
        ahead, rest = core[: border.start()], core[border.end() :]
        if (_is_around(ahead) or _is_where_to_look(ahead)) and _asks(rest):
            core = rest
            break
    end = core[-1:] if core[-1:] in "?!." else ""
    while (at := core.rfind(",")) > 0 and _is_around(core[at:]) and _asks(core[:at]):
        core = core[:at] + end
    bare = re.sub(r"^please,? |,? please(?=[?.!]*$)", "", core, flags=re.IGNORECASE)
    return f"{bare[:1].upper()}{bare[1:]}" if bare != sentence else sentence


def _is_around(text: str) -> bool:
    said = {word.lower for word in words(text)}
    return not said.isdisjoint(_AROUND) and said <= _AROUND | FUNCTION_WORDS and said.isdisjoint(QUESTION_WORDS)


def _is_where_to_look(text: str) -> bool:
    """`According to the staff list`; not with a name or a year, which says which of several."""
    looking = _LOOKING.match(text)
    return looking is not None and not find_mentions(text[looking.end() :])


def _asks(text: str) -> bool:
    """Whether a text begins as a question or a request does, after `and`."""
    first, second = ([word.lower for word in words(OPENING.sub("", text[:80]))] + ["", ""])[:2]
    opens = first in QUESTION_WORDS | OPENERS | _REQUESTS or direct(text) != text
    return opens or (first in PREPOSITIONS and second in QUESTION_WORDS)


def _parts(question: str) -> Iterator[str]:
    """The questions that `and` joins: `Who leads the team and what does PR stand for?`, `When and where was Ada born?`."""
    if pair := _PAIR.fullmatch(question):
        yield from (f"{one.capitalize()} {pair[3]}" for one in pair.group(1, 2))
        return
    for joint in _JOINT.finditer(question) if len(question) <= _LONGEST_PARTED else ():
        ahead, rest = question[: joint.start()], question[joint.end() :]
        if _is_whole(ahead) and _is_clause(ahead, rest):
            yield f"{ahead}?"
            yield from _parts(f"{rest[:1].upper()}{rest[1:]}")
            return
    yield question


def _is_whole(ahead: str) -> bool:
    """Whether what stands before `and` is one question without a clause that the rest could go on with."""
    tokens = tokens_of(ahead)
    asking = [at for at, token in enumerate(tokens) if token.lower in QUESTION_WORDS | {"that"}]
    verbs = any(token.verb or token.content for token in tokens[1:])
    opens = bool(tokens) and (tokens[0].lower in OPENERS or asking[:1] in ([0], [1]))
    return opens and verbs and len(asking) <= 1


def _is_clause(ahead: str, rest: str) -> bool:
    """Whether what follows `and` is a question of its own: a question word and a verb, or after a question for yes or no another
    verb in front of a subject.
    """
    tokens = tokens_of(rest)
    if tokens[0].lower in OPENERS:
        return len(tokens) > 2 and words(ahead)[0].lower in OPENERS and (tokens[1].subject or tokens[1].content)
    at = next((place for place, token in enumerate(tokens[:2]) if token.lower in QUESTION_WORDS), None)
    if at is None or len(tokens) < at + 3:
        return False
    if tokens[at].lower == "which" and tokens[at + 1].lower in OPENERS:  # `which city is larger and which is older`
        return False
    acts = tokens[at].lower in {"who", "what", "which"} and not tokens[at + 1].subject
    return acts or any(token.lower in OPENERS for token in tokens[at + 1 : at + 4])


def _reply(text: str, *, writes: bool) -> str:
    """The reply to thanks, greetings, a call for help, a chat window's request for a title, and for a text without a model."""
    if text.lstrip().startswith("### Task:"):
        return _title(text)
    said = [word.lower for word in words(text[:200])]
    if said in (["help"], ["what", "can", "you", "do"], ["how", "does", "this", "work"]):
        return HELP
    if said and said[0] in _WRITTEN and not writes:
        return WRITING
    if not said or len(text) > 200 or not set(said) <= _SMALL_TALK | FUNCTION_WORDS or _SMALL_TALK.isdisjoint(said):
        return ""
    if not QUESTION_WORDS.isdisjoint(said):
        return ""
    if not _THANKS.isdisjoint(said):
        return _WELCOME
    return _HELLO if said[0] in {"hi", "hello", "hey", "good"} else "All right."


def _title(task: str) -> str:
    """What a chat window asks for beside the conversation: a title is the user's first line; other things are left empty."""
    line = _USER.search(task)
    title = squeeze(line[1])[:_LONGEST_TITLE] if line else "Documents"
    wanted = next((name for name in ("title", "tags", "follow_ups", "queries") if f'"{name}"' in task), None)
    if wanted is None:
        return title
    return json.dumps({wanted: title if wanted == "title" else []}, ensure_ascii=False)
