"""What a prompt shows: passages and sentences in numbered tags that no text can close, measured before sending.

Passages are taken by rank while they fit into what the context window leaves beside the prompt and the reply; what is left out
of them is marked. Tokens are estimated (`models.prompt_text`), with a margin; an endpoint that still finds the prompt too long is
asked once more with less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from hoptrail.language.tasks import Finding
from hoptrail.models.chat import MESSAGE_TOKENS, Message
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.text.sentences import unit_sentences
from hoptrail.types import Kind, Unit

MARGIN = 0.85
"""The share of the window that is planned with: estimates of tokens are off by that much now and then."""
FORMAT_TOKENS = 400
"""What a schema may add to a prompt."""
TAG_TOKENS = 24
"""What the tags around a passage cost."""
MOST_SENTENCES = 400
SMALL_WINDOW = 4000
"""Windows of fewer tokens get the short forms of prompts: their rules would fill what evidence needs."""
GAP = "[…]"
"""Stands where text was left out."""
YES_NO = frozenset({"yes", "no", "true", "false", "same", "different"})
"""Answers that no text says."""
NEAR = 2
"""Characters between two sentences that follow each other, at most: white space."""

_OUR_TAG = re.compile(r"<(?=\s*/?\s*(?:passage|title|before|s)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Room:
    """How much a draft may use: `tokens` for prompt and reply together, of which `output` are the reply's; the evidence
    gets what is left, at most `evidence`.
    """

    tokens: int
    output: int
    evidence: int | None = None

    @property
    def small(self) -> bool:
        """Whether prompts take their short form."""
        return self.tokens < SMALL_WINDOW

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


def cost_of(unit: Unit) -> int:
    """About how many tokens a unit takes as a passage."""
    return estimated_tokens(unit.searchable) + TAG_TOKENS


def fit(units: Sequence[Unit], tokens: int) -> tuple[Unit, ...]:
    """The best units that fit, in rank order. One that does not fit is passed over; the first is always taken."""
    taken: list[Unit] = []
    for unit in units:
        cost = cost_of(unit)
        if not taken or cost <= tokens:
            taken.append(unit)
            tokens -= cost
    return tuple(taken)


def show_units(units: Sequence[Unit], tokens: int, left_out: int = 0) -> str:
    """The units as numbered passages, and how many were left out; the first is cut if even it does not fit."""
    shown = []
    for number, unit in enumerate(units, 1):
        text = escaped(_with_gaps(unit))
        if number == 1 and estimated_tokens(text) > tokens:
            text = f"{cut_to(text, tokens).rstrip()} {GAP}"
        title = f"<title>{escaped(one_line(unit.title))}</title>" if unit.title else ""
        shown.append(f'<passage n="{number}">{title}\n{text}\n</passage>')
    if left_out:
        shown.append(f"{GAP} {left_out} more do not fit.")
    return "\n".join(shown)


def escaped(text: str) -> str:
    """`text` with the brackets of what looks like one of our tags as `&lt;`, so that it can neither close nor open one."""
    return _OUR_TAG.sub("&lt;", text)


def _with_gaps(unit: Unit) -> str:
    """The text of a unit; between two of its lines that stand apart in one document, a mark."""
    lines = unit.text.split("\n")
    if unit.kind is not Kind.AGGREGATE or len(lines) != len(unit.sources):
        return unit.text
    apart = (
        before.document == after.document and after.start > before.end + NEAR
        for before, after in pairwise(unit.sources)
    )
    return lines[0] + "".join(
        f"\n{GAP}\n{line}" if gap else f"\n{line}" for gap, line in zip(apart, lines[1:], strict=True)
    )


def sentences_of(unit: Unit, tokens: int) -> tuple[Sentence, ...]:
    """The sentences of a unit that fit, in order."""
    taken: list[Sentence] = []
    for start, end in islice(unit_sentences(unit), MOST_SENTENCES):
        tokens -= estimated_tokens(unit.text[start:end]) + TAG_TOKENS // 2
        if tokens < 0 and taken:
            break
        taken.append(Sentence(unit.text[start:end], start, end))
    return tuple(taken)


def show_sentences(sentences: Sequence[Sentence], tokens: int) -> str:
    """Each sentence in a numbered tag; one that is longer than `tokens` by itself is cut."""
    texts = (escaped(one_line(sentence.text)) for sentence in sentences)
    return "\n".join(f'<s n="{number}">{cut_to(text, tokens)}</s>' for number, text in enumerate(texts, 1))


def show_before(unit: Unit, tokens: int) -> str:
    """The last sentences of a passage that fit, as what stands before another; nothing where none does."""
    shown: list[str] = []
    for start, end in reversed(tuple(islice(unit_sentences(unit), MOST_SENTENCES))):
        text = one_line(unit.text[start:end])
        tokens -= estimated_tokens(text)
        if tokens < 0:
            break
        shown.insert(0, text)
    return f"Before it stands: <before>{escaped(' '.join(shown))}</before>\n" if shown else ""


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


def whole_sentences(unit: Unit) -> list[Sentence]:
    """The sentences of a unit, in order, as far as they are looked at."""
    return [Sentence(unit.text[start:end], start, end) for start, end in islice(unit_sentences(unit), MOST_SENTENCES)]


def folded(text: str) -> str:
    """The form in which words are compared."""
    return one_line(text).strip("\"'“”‘’").casefold()
