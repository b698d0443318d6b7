"""Pairs written by hand: `worlds/NAME.jsonl`, a row for each question.

A row has the number of its `pair`, the `contrast` that it shows, a `question`, the `text` as the reader sees it (a line for the
title, one for headings, then a statement or a few; a row of a table as `header: value; header: value`), the `kind` (`span`,
`yes`, `no`, `neither`, `none`) and, for `span`, the `answer` as it stands in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training.examples import VERDICTS, Example, Verdict, answered_at
from training.sources import read_lines

FOLDER = Path(__file__).parent / "worlds"
SOURCE = "contrast worlds"
KEPT = ("kept-1", "kept-2")
"""Worlds that judge, and are not learned from."""


@dataclass(frozen=True, slots=True)
class Row:
    """One question about one text."""

    pair: int
    contrast: str
    question: str
    text: str
    kind: str
    answer: str

    @property
    def example(self) -> Example:
        """As an example. Raises: ValueError: the answer is not in the text."""
        if self.kind in VERDICTS:
            return Example(SOURCE, self.question, self.text, verdict=VERDICTS[self.kind], helps=True)
        if self.kind == "neither":
            return Example(SOURCE, self.question, self.text, verdict=Verdict.NEITHER, helps=False)
        if self.kind == "none":
            return Example(SOURCE, self.question, self.text, answered=False, helps=False)
        start = self.text.rindex(self.answer)
        return answered_at(SOURCE, self.question, self.text, start, start + len(self.answer))


def rows(name: str) -> list[Row]:
    return [Row(**row) for row in read_lines(FOLDER / f"{name}.jsonl")]


def learned_names() -> list[str]:
    """The names of all worlds but those kept for judging."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem not in KEPT)


def learned() -> Iterator[Example]:
    """The examples of these worlds."""
    return (row.example for name in learned_names() for row in rows(name))
