"""What a prompt shows: pieces of evidence numbered by us, fenced so that no text can close the fence, measured before sending.

Pieces are taken by rank while they fit into what the context window leaves beside the prompt and the reply. Tokens are
estimated (`models.text`), with a margin; an endpoint that still finds the prompt too long is asked once more with less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.tasks import Finding
from hoptrail.models.chat import MESSAGE_TOKENS, Message
from hoptrail.models.text import estimated_tokens
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Unit

MARGIN = 0.85
"""The share of the window that is planned with: estimates of tokens are off by that much now and then."""
FORMAT_TOKENS = 400
"""What a schema may add to a prompt."""
FENCE_TOKENS = 24
"""What the marks around a piece cost."""
MOST_SENTENCES = 400


@dataclass(frozen=True, slots=True)
class Room:
    """How much a draft may use: `tokens` for prompt and reply together, of which `output` are the reply's; the evidence
    gets what is left, at most `evidence`.
    """

    tokens: int
    output: int
    evidence: int | None = None

    def left_beside(self, messages: Sequence[Message]) -> int:
        """Tokens for evidence beside a prompt whose evidence is still empty."""
        fixed = sum(estimated_tokens(message.text) + MESSAGE_TOKENS for message in messages) + FORMAT_TOKENS
        left = int(self.tokens * MARGIN) - self.output - fixed
        return left if self.evidence is None else min(left, self.evidence)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a unit: characters `start` to `end` of its text."""

    text: str
    start: int
    end: int


def fit(units: Sequence[Unit], tokens: int) -> tuple[Unit, ...]:
    """The best units that fit, in rank order. One that does not fit is passed over; the first is always taken."""
    taken: list[Unit] = []
    for unit in units:
        cost = estimated_tokens(unit.searchable) + FENCE_TOKENS
        if not taken or cost <= tokens:
            taken.append(unit)
            tokens -= cost
    return tuple(taken)


def show_units(units: Sequence[Unit], tokens: int) -> str:
    """The units as numbered pieces; the text of the first is cut where even it does not fit."""
    mark = _mark([unit.searchable for unit in units])
    pieces = []
    for number, unit in enumerate(units, 1):
        text = unit.searchable
        if number == 1 and estimated_tokens(text) > tokens:
            text = cut_to(text, tokens)
        pieces.append(f"[{number}] begin {mark}\n{text}\nend {mark}")
    return "\n\n".join(pieces)


def sentences_of(unit: Unit, tokens: int) -> tuple[Sentence, ...]:
    """The sentences of a unit that fit, in order."""
    taken: list[Sentence] = []
    for start, end in sentence_spans(unit.text, MOST_SENTENCES):
        tokens -= estimated_tokens(unit.text[start:end]) + FENCE_TOKENS // 2
        if tokens < 0 and taken:
            break
        taken.append(Sentence(unit.text[start:end], start, end))
    return tuple(taken)


def show_sentences(sentences: Sequence[Sentence], tokens: int) -> str:
    """Each sentence after its number and a mark that no sentence holds."""
    mark = _mark([sentence.text for sentence in sentences])
    lines = [f"[{number}] {mark} {sentence.text}" for number, sentence in enumerate(sentences, 1)]
    return "\n".join([f"begin {mark}", *(cut_to(line, tokens) for line in lines), f"end {mark}"])


def show_findings(findings: Sequence[Finding]) -> str:
    """One line a finding, numbered as sub-questions refer to them."""
    lines = [
        f"#{number} {one_line(finding.asked)} -> {'(not found)' if finding.answer is None else one_line(finding.answer)}"
        for number, finding in enumerate(findings, 1)
    ]
    return "\n".join(lines) or "(nothing yet)"


def one_line(text: str) -> str:
    return " ".join(text.split())


def cut_to(text: str, tokens: int) -> str:
    """The beginning of `text`, at most about `tokens` tokens."""
    while text and estimated_tokens(text) > max(tokens, 1):
        text = text[: max(1, len(text) * max(tokens, 1) // estimated_tokens(text))]
        if len(text) == 1:
            break
    return text


def _mark(texts: Sequence[str]) -> str:
    """Eight hex digits that stand in none of the texts: the same for the same texts."""
    mark = hashlib.sha256("\x1f".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    while any(mark in text for text in texts):
        mark = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return mark
