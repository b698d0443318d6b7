"""Answers of every kind over a folder of documents in many formats, as the server returns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from documents.file_makers import text_pdf
from hoptrail import Index
from hoptrail.text.statements import wording_of
from hoptrail.types import (
    Answer,
    AnswerKind,
    Document,
    Evidence,
    Guess,
    Hop,
    Kind,
    Span,
    Statement,
    Trail,
    Usage,
    Verdict,
)

NOTES = b"""# The ferry

The *Gannet* sails **twice a day**. Her skipper is Petra Hollis.

## Before sailing

1. Open the sea cocks.
2. Start the blowers.
3. Cast off the stern line.

## On board

- lifejackets
- flares

| month | sailings |
|---|---|
| May | 62 |
| June | 60 |

> Never in a south-easterly.

```
VHF 12
```
"""
MAIL = b"""From: Ewan <ewan@example.org>
To: Hamish <hamish@example.org>
Date: Fri, 30 Aug 2024 17:42:00 +0100
Subject: Oil in the bilge
Content-Type: text/plain; charset=utf-8

The oil comes from the gearbox, not from the engine.
"""
TABLE = b"boat,year,length\nGannet,1934,19 m\nTern,1951,12 m\n"


def make_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "ferry.md").write_bytes(NOTES)
    (folder / "oil.eml").write_bytes(MAIL)
    (folder / "boats.csv").write_bytes(TABLE)
    pages = [["The boiler quote.", "It was made on 2 August."], ["The boiler costs 6,150 pounds.", "VAT comes on top."]]
    (folder / "quote.pdf").write_bytes(text_pdf(pages, "Boiler quote"))


@dataclass(frozen=True)
class Citations:
    """The cited statements of an index, by the words of the document."""

    index: Index

    @cached_property
    def _documents(self) -> dict[str, Document]:
        found = self.index.corpus().documents({one.id for one in self.index.contents().documents})
        return {one.title: one for one in found.values()}

    def evidence(self, title: str, words: str, hop: int = 0) -> Evidence:
        document = self._documents[title]
        start = document.text.index(words)
        cited = (document.id, title, start, start + len(words), words, "u1")
        said = wording_of(document, Span(document.id, start, start + len(words)))
        return Evidence(*cited, said=said, kind=Kind.SENTENCE, hop=hop)

    def closest(self, title: str, words: str) -> Statement:
        found = self.evidence(title, words)
        return Statement(found.document, title, found.start, found.end, words, "u1", place="line 3", said=words)


def hop(asked: str, answer: str | None, question: str = "") -> Hop:
    return Hop(question or asked, asked, (), answer, Verdict.UNANSWERED if answer is None else Verdict.ANSWERED)


def answer(
    question: str, text: str | None, evidence: Sequence[Evidence] = (), hops: Sequence[Hop] = (), **more: Any
) -> dict[str, Any]:
    trail = Trail(tuple(hops) or (hop(question, text),))
    fields = {"confidence": 0.9, "usage": Usage(seconds=0.4), **more}
    return Answer(question, text, "trail", "offline", tuple(evidence), trail, **fields).to_dict()


def answers(citations: Citations) -> dict[str, dict[str, Any]]:
    """One of each kind, by the name of its state."""
    skipper = citations.evidence("The ferry", "Her skipper is Petra Hollis.")
    steps = ("Open the sea cocks.", "Start the blowers.", "Cast off the stern line.")
    boat = citations.evidence("Boiler quote", "The boiler costs 6,150 pounds.", 1)
    return {
        "short": answer("Who is the skipper of the Gannet?", "Petra Hollis", [skipper]),
        "unsure": answer("Who is the skipper?", "Petra Hollis", [skipper], confidence=0.47),
        "row": answer("How long is the Gannet?", "19 m", [citations.evidence("boats", "Gannet\t1934\t19 m")]),
        "yes-no": answer(
            "Does the oil come from the engine?",
            "no",
            [citations.evidence("Oil in the bilge", "The oil comes from the gearbox, not from the engine.")],
            kind=AnswerKind.YES_NO,
        ),
        "list": answer(
            "What is on board?",
            "lifejackets, flares",
            [citations.evidence("The ferry", "lifejackets"), citations.evidence("The ferry", "flares")],
            kind=AnswerKind.LIST,
            items=("lifejackets", "flares"),
        ),
        "steps": answer(
            "What has to be done before sailing?",
            " ".join(steps),
            [citations.evidence("The ferry", step) for step in steps],
            kind=AnswerKind.STEPS,
            items=steps,
        ),
        "passage": answer(
            "Why is the bilge wet?",
            "The oil comes from the gearbox, not from the engine. " * 4,
            [citations.evidence("Oil in the bilge", "The oil comes from the gearbox, not from the engine.")],
            kind=AnswerKind.PASSAGE,
        ),
        "several hops": answer(
            "What does the boiler of the boat cost that Petra Hollis sails?",
            "6,150 pounds",
            [skipper, boat],
            [
                hop("Which boat does Petra Hollis sail?", "Gannet"),
                hop(
                    "What does the boiler of the Gannet cost?",
                    "6,150 pounds",
                    "What does the boiler of that boat cost?",
                ),
            ],
            confidence=0.6,
        ),
        "not settled": answer(
            "Who painted the ceiling?",
            None,
            closest=(
                citations.closest("The ferry", "Her skipper is Petra Hollis."),
                citations.closest("boats", "Tern"),
                citations.closest("Boiler quote", "VAT comes on top."),
            ),
            confidence=0.1,
        ),
        "guessed": answer(
            "Who sails the Gannet?",
            None,
            closest=(
                citations.closest("The ferry", "Her skipper is Petra Hollis."),
                citations.closest("boats", "Tern"),
                citations.closest("Boiler quote", "VAT comes on top."),
            ),
            guess=Guess("Petra Hollis", 0.31, (skipper, replace(citations.evidence("boats", "Tern"), replaced=True))),
        ),
        "step failed": answer("Who?", None, hops=[Hop("Who?", "Who?", (), None, Verdict.FAILED)]),
    }
