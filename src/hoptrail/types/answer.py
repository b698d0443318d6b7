"""What `ask` returns: an answer with its evidence, its trail and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import ClassVar

from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import file_name
from hoptrail.types.unit import Hit, Kind, Ranking

SURE, LIKELY = 0.8, 0.5  # the lowest confidences that are called sure and likely


class AnswerKind(StrEnum):
    """The kind of an answer; `NONE` is an abstention, `REPLY` what is said to a message that asks nothing of the documents."""

    SHORT = "short"
    YES_NO = "yes-no"
    LIST = "list"
    STEPS = "steps"
    PASSAGE = "passage"
    NONE = "none"
    REPLY = "reply"


class Verdict(StrEnum):
    """How a hop ended. `unsupported`: there is an answer, but the cited text does not support it."""

    ANSWERED = "answered"
    UNSUPPORTED = "unsupported"
    UNANSWERED = "unanswered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: model calls, their tokens, and seconds of wall clock."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of a document: `text` is exactly the characters `start` to `end`; `unit` is the unit it was found through.

    `path` is its heading path, `place` where it begins in the file (`page 3`), `date` its ISO date, `source` the document's.
    `said` is its wording as a person would read it: a table row as `header: value`, as in `Unit.readable`.
    """

    document: str
    title: str
    start: int
    end: int
    text: str
    unit: str
    path: tuple[str, ...] = ()
    place: str = ""
    date: str = ""
    source: str = ""
    said: str = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Cited):
    """What the hop of index `hop` rests on; `kind` is the unit's. `replaced`: a later statement replaces it."""

    kind: Kind
    hop: int
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Guess:
    """The best answer to a question that is not settled, with the probability that it is right and what it rests on."""

    text: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Cited):
    """A sentence, list item or table row that comes close."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step: the sub-question, what was really asked (after completion), the hits, the answer and the verdict."""

    question: str
    asked: str
    hits: Ranking
    answer: str | None
    verdict: Verdict

    def __repr__(self) -> str:
        found = self.verdict.value if self.answer is None else repr(self.answer)
        return f"<Hop {self.asked!r} -> {found}, {len(self.hits)} hits>"


@dataclass(frozen=True, slots=True)
class Trail:
    """The hops of one answer, in order."""

    hops: tuple[Hop, ...] = ()

    def __iter__(self) -> Iterator[Hop]:
        return iter(self.hops)

    def __getitem__(self, at: int) -> Hop:
        return self.hops[at]

    def __len__(self) -> int:
        return len(self.hops)


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` returns: a text, or an abstention (`text` is None); evidence, trail and usage either way.

    `ranking` is what the recipe retrieved over all hops, best first; a recipe may order it by what was read. `confidence` is the
    probability, 0 to 1, that the answer is right (for an abstention: the answer that was held back); None where the recipe does
    not estimate it. `items` are those of a list, or the steps of a procedure. `closest` are the best statements for the question,
    best first. An abstention may have a `guess`. `asked` is the question as completed from a conversation. `parts` are the
    answers to several questions of one message, whose lines are the `items`. `notes` say what else a reader must know.
    """

    question: str
    text: str | None
    recipe: str
    language: str
    evidence: tuple[Evidence, ...] = ()
    trail: Trail = field(default_factory=Trail)
    usage: Usage = field(default_factory=Usage)
    ranking: Ranking = ()
    confidence: float | None = None
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    closest: tuple[Statement, ...] = ()
    guess: Guess | None = None
    asked: str = ""
    parts: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", self.asked or self.question)
        if self.text is None and self.kind is not AnswerKind.NONE:
            object.__setattr__(self, "kind", AnswerKind.NONE)

    @property
    def abstained(self) -> bool:
        return self.text is None

    @property
    def certainty(self) -> str:
        """The confidence in words: sure, likely or unsure; empty where there is none."""
        return "" if self.confidence is None else certainty(self.confidence)

    def __repr__(self) -> str:
        text = "not settled" if self.text is None else repr(self.text)
        certainty = "" if self.confidence is None else f", {self.certainty} ({self.confidence:.2f})"
        hops = "1 hop" if len(self.trail) == 1 else f"{len(self.trail)} hops"
        return f"<Answer {text}{certainty}, {hops}, {len(self.evidence)} citations>"

    def __str__(self) -> str:
        """The answer with the sentences that it rests on; for an abstention, the guess, or the closest statements."""
        if self.parts:
            return "\n\n".join(f"{one.asked}\n{one}" for one in self.parts)
        shown: Sequence[Cited] = [item for item in self.evidence if item.hop == self.evidence[-1].hop]
        head = self.text
        if head is None:
            shown = self.guess.evidence if self.guess else self.closest
            head = f"Not settled. Perhaps: {self.guess.text}" if self.guess else "Not settled."
        elif self.confidence is not None:
            head += f" ({self.certainty}, confidence {self.confidence:.2f})"
        cited = (f"  {one.said} [{', '.join(filter(None, (one.title, one.place, one.date)))}]" for one in shown)
        return "\n".join([*self.notes, head, *dict.fromkeys(cited)])

    _repr_html_: ClassVar[Callable[[Answer], str]]
    """The answer as a notebook shows it: `hoptrail.notebook` sets it, so that records know nothing of HTML."""

    def to_dict(self) -> JsonObject:
        """The object of `ask --json`."""
        return {
            "question": self.question,
            "answer": self.text,
            "abstained": self.abstained,
            "recipe": self.recipe,
            "language": self.language,
            "evidence": [evidence_json(evidence) for evidence in self.evidence],
            "trail": [hop_json(hop) for hop in self.trail],
            "usage": asdict(self.usage),
            "kind": self.kind.value,
            "items": list(self.items),
            "confidence": self.confidence,
            "closest": [_cited_json(statement) | {"said": statement.said} for statement in self.closest],
            "guess": self.guess and _guess_json(self.guess),
            "asked": self.asked,
            "parts": [one.to_dict() for one in self.parts],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The text of `ask --json`."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    @property
    def failed(self) -> bool:
        """Whether it abstains and a language task failed: then the abstention says nothing about the documents."""
        return self.abstained and any(hop.verdict is Verdict.FAILED for hop in self.trail)


def certainty(confidence: float) -> str:
    """A confidence in words."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"


# --- parts of the JSON that scripts rely on, `Answer.to_dict`: its keys are neither dropped nor renamed


def evidence_json(evidence: Evidence) -> JsonObject:
    """One item of `evidence`. `text` is exactly its span, `said` its wording as a person would read it."""
    return {
        **_cited_json(evidence),
        "kind": evidence.kind.value,
        "hop": evidence.hop,
        "replaced": evidence.replaced,
        "said": evidence.said,
    }


def _guess_json(guess: Guess) -> JsonObject:
    evidence = [evidence_json(item) for item in guess.evidence]
    return {"text": guess.text, "confidence": guess.confidence, "evidence": evidence}


def _cited_json(cited: Cited) -> JsonObject:
    """What items of `closest` and `evidence` share. `text` is the document from `start` to `end`; `date` is the ISO date that
    applies, or empty; `file` is the name of the file.
    """
    return {
        "document": cited.document,
        "title": cited.title,
        "heading_path": list(cited.path),
        "file": file_name(cited.source),
        "place": cited.place,
        "date": cited.date,
        "start": cited.start,
        "end": cited.end,
        "text": cited.text,
        "unit": cited.unit,
    }


def hop_json(hop: Hop) -> JsonObject:
    return {
        "question": hop.question,
        "asked": hop.asked,
        "hits": [hit_json(hit) for hit in hop.hits],
        "answer": hop.answer,
        "verdict": hop.verdict.value,
    }


def hit_json(hit: Hit) -> JsonObject:
    return {
        "unit": hit.unit.id,
        "kind": hit.unit.kind.value,
        "score": hit.score,
        "channel": hit.channel,
        "document": hit.unit.document,
    }
