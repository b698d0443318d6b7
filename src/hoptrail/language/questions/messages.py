"""The questions in a message, without the words around them, or the reply to one that asks nothing of the documents.

The question tagger finds them: greetings, labels (`Q:`), wishes about the form of the answer and where to look in general (`based
on the documents`) say nothing that a reader of statements could use. English only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.models.question_tagger import Extent, MessageTags, WantedReply, tag_message
from hoptrail.text.lexicon import OPENERS, QUESTION_WORDS, word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_ends
from hoptrail.text.words import words

MOST_QUESTIONS = 6  # questions of one message that are answered; the others are named

HELP = (
    "Ask a question about the documents, for instance “Who signed the lease, and when?”. The answer comes with the sentences "
    "that say it. You can go on from it: “and where?”, “what about the other one?”."
)
WRITING = "That asks for a text to be written, which takes a chat model. Without one, ask what the documents say."
_WRITTEN = word_set("summarise summarize translate rewrite paraphrase draft")
_REQUESTS = word_set("list name show give tell explain describe find compare count")
_REPLIES = {
    WantedReply.THANKS: "You are welcome.",
    WantedReply.GREETING: f"Hello. {HELP}",
    WantedReply.HELP: HELP,
    WantedReply.OTHER: f"All right. {HELP}",
}
_USER = re.compile(r"^\s*(?:user|human):\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r"[\"'“„«](?P<said>[^\"“”„«»]+)[\"'”“»]")
_LONGEST_TITLE = 60  # characters: one line beside a chat window


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a message asks: its questions in order; or nothing of the documents, and what to reply. `introduced`: the first
    question has a sentence before it that it needs, so that no earlier message is meant.
    """

    questions: tuple[str, ...]
    reply: str = ""
    introduced: bool = False


def read_message(text: str, *, writes: bool = False) -> UserMessage:
    """The questions of a message, without the words around them. `writes`: whether a model can write what is asked for.
    Raises: ModelUnavailable: as for `QuestionTagger`.
    """
    if text.lstrip().startswith("### Task:"):
        return UserMessage((), _title(text))
    if quoted := _QUOTED.fullmatch(text.strip()):
        text = quoted["said"]
    tags = tag_message(text) if _is_latin(text) else MessageTags((), WantedReply.QUESTION)
    found = dict.fromkeys(_question(text[start:end], text) for start, end in _whole_questions(tags.asked, text))
    questions = tuple(one for one in found if words(one))
    if words(text[:40]) and words(text[:40])[0].lower in _WRITTEN:
        return UserMessage((squeeze(text),)) if writes else UserMessage((), WRITING)
    reply = _REPLIES.get(tags.reply)
    if reply and (tags.reply is WantedReply.HELP or "?" not in text):
        return UserMessage((), reply)
    questions = questions or (squeeze(text),)
    return UserMessage(questions, introduced=len(list(sentence_ends(questions[0]))) > 1)


def _whole_questions(places: Sequence[Extent], text: str) -> list[Extent]:
    """The places of whole questions: one that neither ends nor begins as a question belongs to its neighbour (`Brio 3: what does
    a tyre change cost?`), and so does one that nothing parts from the one before.
    """
    whole: list[Extent] = []
    for start, end in places:
        before = whole[-1] if whole else None
        between = text[before[1] : start] if before else ""
        apart = before and (text[: before[1]].endswith(("?", ".", "!")) or "\n" in between or not between.isspace())
        if before and not (apart and asks(text[slice(*before)]) and asks(text[start:end])):
            whole[-1] = (before[0], end)
        else:
            whole.append((start, end))
    return whole


def _is_latin(text: str) -> bool:
    """Whether most letters are those of English; the tagger knows no others."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(map(str.isascii, letters)) >= len(letters)


def asks(text: str) -> bool:
    """Whether a text ends with a question mark or begins as a question does."""
    first, second = ([word.lower for word in words(text[:60])] + ["", ""])[:2]
    opens = first in QUESTION_WORDS | OPENERS | _REQUESTS
    return text.rstrip().endswith("?") or opens or second in QUESTION_WORDS


def _question(asked: str, message: str) -> str:
    """A question found in a message: with a capital letter and a question mark if it does not stand there alone."""
    line = squeeze(asked).rstrip(" ,;:")
    if line == squeeze(message):
        return line
    mark = "?" if line[-1:].isalnum() and asks(line) and words(line)[0].lower not in _REQUESTS else ""
    return f"{line[:1].upper()}{line[1:]}{mark}"


def _title(task: str) -> str:
    """What a chat window asks for beside the conversation: a title is the user's first line; other things are left empty."""
    line = _USER.search(task)
    title = squeeze(line[1])[:_LONGEST_TITLE] if line else "Documents"
    wanted = next((name for name in ("title", "tags", "follow_ups", "queries") if f'"{name}"' in task), None)
    if wanted is None:
        return title
    return json.dumps({wanted: title if wanted == "title" else []}, ensure_ascii=False)
