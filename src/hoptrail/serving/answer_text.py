"""An answer as one text for programs that show text: citations as [1] with the cited sentences below, or the closest statements.

It is Markdown, in which what comes from documents stays text: no link, image or markup of a document is rendered, and citation
numbers are ours alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.serving.contract import Json, abstention

CITED = ("document", "title", "heading_path", "file", "place", "date", "replaced", "start", "end", "text")
"""What is told of a citation."""

_MARKUP = re.compile(r"[\\`*_\[\]<>~|$&@]|(?<=[a-zA-Z]):(?=//)|(?<=www)\.")
"""What Markdown could take for markup, a link or an address."""


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as text, and what it quotes: each with where in the text its number stands (the line of a closest one ends)."""

    text: str
    quoted: tuple[tuple[int, Json], ...]


def written(answer: Json) -> Written:
    """The answer with its citations as [1] and the cited sentences below, or why there is none and the closest statements.

    `answer` is as `contract.answer_json` gives it.
    """
    if answer["answer"] is None and answer["closest"]:
        return _unsettled(abstention(answer), answer["closest"])
    head = abstention(answer) if answer["answer"] is None else harmless(answer["answer"])
    citations = citations_of(answer)
    head += " " * bool(citations)
    quoted: list[tuple[int, Json]] = []
    for one in citations:
        quoted.append((len(head), one))
        head += f"[{one['number']}]"
    lines = [f"- [{one['number']}] {_about(one)}: “{harmless(one['text'])}”" for one in citations]
    return Written("\n".join([head, *([""] if lines else []), *lines]), tuple(quoted))


def text_of(answer: Json) -> str:
    return written(answer).text


def _unsettled(text: str, closest: Sequence[Json]) -> Written:
    quoted: list[tuple[int, Json]] = []
    text += "\n"
    for one in closest:
        text += f"\n- {_about(one)}: “{harmless(one['text'])}”"
        quoted.append((len(text), one))
    return Written(text, tuple(quoted))


def _about(statement: Json) -> str:
    """The title of a statement's document, its date where it has one, and whether a later one replaces it."""
    told = filter(None, (statement["date"], "replaced" if statement.get("replaced") else ""))
    return harmless(f"{statement['title']} ({', '.join(told)})".removesuffix(" ()"))


def citations_of(answer: Json) -> list[Json]:
    """The cited spans of an answer, each once, numbered from 1 as in its text."""
    spans = {(item["document"], item["start"], item["end"]): item for item in answer["evidence"]}
    return [
        {"number": number, **{name: item[name] for name in CITED}}
        for number, item in enumerate(spans.values(), start=1)
    ]


def harmless(text: str) -> str:
    """One line of Markdown that reads as `text` and renders as nothing else."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return _MARKUP.sub(r"\\\g<0>", " ".join(printable.split()))
