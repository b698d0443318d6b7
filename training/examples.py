"""Training examples: a question, a block of text, and the correct output for them.

Everything else in this folder makes examples (`sources`, `made`), turns them into arrays (`batches`) or learns from them
(`model`, `reader`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from hoptrail.models.networks import fingerprint


class Verdict(IntEnum):
    """What a text says about a yes/no question or a claim (yes: supported, no: refuted)."""

    YES = 0
    NO = 1
    NEITHER = 2


VERDICTS = {"yes": Verdict.YES, "no": Verdict.NO}
"""By the answer to a yes/no question."""


JUDGED = {"verdict": 1.0, "helps": 0.5}
"""The judgements of a whole text that the reader's heads of these names learn from the fields of an example, with the weights
of their losses."""


@dataclass(frozen=True, slots=True)
class Example:
    """One question and one text. `None` marks an unknown judgement, from which nothing is learned.

    `answered`: whether the text holds the answer, which is then `text[start:end]`. `verdict`: what the text says about a
    yes/no question. `helps`: whether the text contributes to the answer, after `before`, which was read earlier.
    """

    source: str
    question: str
    text: str
    before: str = ""
    answered: bool | None = None
    start: int = 0
    end: int = 0
    verdict: Verdict | None = None
    helps: bool | None = None

    @property
    def answer(self) -> str:
        """The answer's words; empty if the text does not answer."""
        return self.text[self.start : self.end]

    def unanswered_by(self, text: str, source: str) -> Example:
        """The same question with a text that does not answer it."""
        verdict = None if self.verdict is None else Verdict.NEITHER
        answered = None if self.verdict is not None else False
        return Example(source, self.question, text, answered=answered, verdict=verdict, helps=False)


def answered_at(source: str, question: str, text: str, start: int, end: int) -> Example:
    """An example whose answer is `text[start:end]`."""
    return Example(source, question, text, answered=True, start=start, end=end, helps=True)


def under_title(title: str, text: str) -> str:
    """The text as a unit of an index shows it: the title's line, then the text."""
    return f"{title}\n{text}" if title else text


def is_kept_for_validation(text: str) -> bool:
    """Whether questions on this text are for validation: one text in twenty, chosen by its content."""
    return fingerprint(text) % 20 == 0
