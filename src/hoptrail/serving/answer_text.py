"""An answer as one text, for programs that show text: citations as [1] with the cited sentences below, or the closest statements.

The text is Markdown. Document text in it is escaped, so that no link, image or markup of a document is rendered and no citation
number is forged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hoptrail.index.contract import FAILED, GUESSED, abstention
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.types import Answer, AnswerKind, Guess
from hoptrail.types.json_object import JsonObject

CITED = ("document", "title", "heading_path", "file", "place", "date", "replaced", "start", "end", "text", "said")
"""The keys of a citation."""

WITHDRAWN = "(What stands above was withdrawn when it was checked.)\n\n"
"""Stands before the answer where a model had written another one, which was sent already."""

_MARKUP = re.compile(r"[\\`*_\[\]<>~|$&@]|(?<=[a-zA-Z]):(?=//)|(?<=www)\.")
"""Characters that Markdown could take for markup, a link or an address."""
_ESCAPED = re.compile(r"\\(.)")
_PART = re.compile(r"(?P<asked>.*?\?|.*?[.!]) (?P<said>.+)")
"""A line for one of several questions; a request ends as a sentence does."""
_CITATION = re.compile(r"\s*(?<!\\)\[\d+\]")
_CITED_LAST = re.compile(r"(?<!\\)\[\d+\]$")
_OPEN = (GUESSED.partition(".")[0], FAILED)
"""What stands at the beginning in place of an answer."""


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as text, and its quotations, each with the offset of its number (a closest statement: of its line's end)."""

    text: str
    quotations: tuple[tuple[int, JsonObject], ...]


def written(answer: JsonObject) -> Written:
    """The answer, an `Answer.to_dict`, with citations as [1] and their sentences below, or why there is none and what is near."""
    if answer["kind"] == "reply":
        return Written(answer["answer"], ())
    notes = "".join(f"{harmless(note)}\n\n" for note in answer["notes"])
    if answer["answer"] is None and answer["closest"] and not answer["parts"]:
        return _with_closest(f"{notes}{harmless(abstention(answer))}\n", [], answer["closest"])
    numbers = {_span(one): one for one in citations_of(answer)}
    head, quotations = notes, list[tuple[int, JsonObject]]()
    for part in answer["parts"] or [answer]:
        text = harmless(abstention(part).removesuffix(" Closest:") if part["answer"] is None else part["answer"])
        head += f"{harmless(part['asked'])} {text}" if answer["parts"] else text
        cited = dict.fromkeys(map(_span, _rests_on(part) if answer["parts"] else part["evidence"]))
        head += " " * bool(cited)
        for span in cited:
            quotations.append((len(head), numbers[span]))
            head += f"[{numbers[span]['number']}]"
        head += "\n"
    lines = [f"\n- [{one['number']}] {_about(one)}: “{harmless(one['said'])}”" for one in numbers.values()]
    if answer["answer"] is None:  # where none of several questions is settled
        closest = {_span(one): one for part in answer["parts"] for one in part["closest"]}
        return _with_closest("".join([head, *lines]), quotations, closest.values())
    return Written("".join([head, *lines] if lines else [head.removesuffix("\n")]), tuple(quotations))


def _with_closest(text: str, quotations: Iterable[tuple[int, JsonObject]], closest: Iterable[JsonObject]) -> Written:
    quotations = [*quotations]
    for one in closest:
        text += f"\n- {_about(one)}: “{harmless(one['said'])}”"
        quotations.append((len(text), one))
    return Written(text.removesuffix("\n"), tuple(quotations))


def _rests_on(part: JsonObject) -> list[JsonObject]:
    """What is cited for the answer to one of several questions; where it is open, for its guess."""
    found: JsonObject = part if part["answer"] is not None else part["guess"] or {"evidence": []}
    return list(found["evidence"])


@dataclass(slots=True)
class SentText:
    """The text of an answer that was sent while a model wrote it: clients append, so that nothing can be taken back. What is
    written on a sub-question is not sent as text.
    """

    question: str = ""
    text: str = ""

    def more(self, content: JsonObject) -> str:
        """What to send for an event `writing`: whole words, as long as they go on from those before."""
        text = harmless(content["text"]).rpartition(" ")[0]
        if content["question"] != self.question or not text.startswith(self.text):
            return ""
        more, self.text = text[len(self.text) :], text
        return more

    def rest(self, text: str) -> str:
        """What to send in the end for an answer that is `text`."""
        if text.startswith(self.text):
            return text[len(self.text) :]
        return f"\n\n{'' if self.text in text else WITHDRAWN}{text}"


def _about(statement: JsonObject) -> str:
    """The title of a statement's document, its date if it has one, and whether a later statement replaces it."""
    details = filter(None, (statement["date"], "replaced" if statement.get("replaced") else ""))
    return harmless(f"{statement['title']} ({', '.join(details)})".removesuffix(" ()"))


def answer_in(question: str, text: str) -> Answer:
    """The answer in a text that `written` made, which a client sends back: its guess, or a part for each of several questions."""
    head = text.partition("\n\n- ")[0].strip().rpartition("\n\n")[2]  # without citations, and without notes before it
    lines = [one for line in head.splitlines() if (one := _PART.fullmatch(line)) and _is_told(one["said"])]
    if 1 < len(lines) == len(head.splitlines()):
        parts = tuple(answer_in(_plain(one["asked"]), one["said"]) for one in lines)
        return Answer(question, _plain(head), "", "", kind=AnswerKind.LIST, parts=parts)
    perhaps = GUESSED.format("")
    if head.startswith(perhaps):
        guess = Guess(_plain(head.removeprefix(perhaps)), confidence=0.0)  # which is not told
        return Answer(question, None, "", "", guess=guess)
    return Answer(question, None if head.startswith(_OPEN) else _plain(head) or None, "", "")


def _is_told(said: str) -> bool:
    """Whether this is said as `written` says it: with citations, or open. Chats may have answers of others, too."""
    return said.startswith(_OPEN) or bool(_CITED_LAST.search(said))


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", _CITATION.sub("", text)).strip()


def answers_in(messages: Iterable[tuple[str, str]]) -> list[Answer]:
    """The earlier answers in the messages (role, text) of a chat, oldest first. What is not answered yet has no text."""
    answers: list[Answer] = []
    for role, text in messages:
        said = text.strip()[:QUESTION_LIMIT]
        if role == "user" and said:
            answers.append(Answer(said, None, "", ""))
        elif role == "assistant" and answers:
            answers[-1] = answer_in(answers[-1].question, said)
    return answers


def citations_of(answer: JsonObject) -> list[JsonObject]:
    """The cited spans of an answer without repeats, numbered from 1 as in its text."""
    cited = [item for part in answer["parts"] for item in _rests_on(part)] if answer["parts"] else answer["evidence"]
    items = {_span(item): item for item in cited}.values()
    return [{"number": number, **{name: one[name] for name in CITED}} for number, one in enumerate(items, start=1)]


def _span(item: JsonObject) -> tuple[str, int, int]:
    return item["document"], item["start"], item["end"]


def harmless(text: str) -> str:
    """`text` on one line, escaped so that Markdown renders it literally."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text))


def one_line(text: str) -> str:
    """`text` on one line, with a space for anything unprintable (escape sequences, line breaks)."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
