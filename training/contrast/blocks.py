"""Near misses by hand: `blocks/NAME.txt` has blocks of statements that are close to one another, and questions about them.

    T Minutes 14.11.2023 > Item 4: Summer fair      title and headings of the statements below
    S Henrik fetches the tables from the parish hall.
    S Ngozi will write to the bakeries.
    Q who's picking up the tables?
    = 1 Henrik                                      statement 1 answers, read alone under its headings: its words, `yes` or `no`
    Q Who fetches the benches?
    = -                                             no statement of the block answers

An empty line ends a block. What has no line answers nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoptrail.language.closeness import below_headings
from hoptrail.text.lexicon import OPENERS
from training.examples import VERDICTS, Example, Verdict, answered_at

FOLDER = Path(__file__).parent / "blocks"
SOURCE = "contrast blocks"
_OTHERS, _RANKED = 2, 6  # statements without an answer, drawn of a question's to be read, and to be ranked


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the statements of its block as they are read, and the answers by their places."""

    question: str
    texts: tuple[str, ...]
    answers: dict[int, str]

    @property
    def is_yes_no(self) -> bool:
        if self.answers:
            return not VERDICTS.keys().isdisjoint(self.answers.values())
        return self.question.lower().split()[0] in OPENERS

    @property
    def others(self) -> list[int]:
        """The places of the statements that do not answer."""
        return [place for place in range(len(self.texts)) if place not in self.answers]

    def example(self, place: int) -> Example:
        """The question and one statement."""
        text, answer = self.texts[place], self.answers.get(place)
        if answer is None and self.is_yes_no:
            return Example(SOURCE, self.question, text, verdict=Verdict.NEITHER, helps=False)
        if answer is None:
            return Example(SOURCE, self.question, text, answered=False, helps=False)
        if answer in VERDICTS:
            return Example(SOURCE, self.question, text, verdict=VERDICTS[answer], helps=True)
        start = text.rindex(answer)
        return answered_at(SOURCE, self.question, text, start, start + len(answer))

    def examples(self, draw: random.Random) -> list[Example]:
        """The statements that answer, and some that do not."""
        others = draw.sample(self.others, min(len(self.others), _OTHERS))
        return [self.example(place) for place in (*self.answers, *others)]

    def ranked(self, draw: random.Random) -> list[str]:
        """One statement that answers, if there is one, and before all others some that do not."""
        right = [draw.choice(list(self.answers))] if self.answers else []
        others = draw.sample(self.others, min(len(self.others), _RANKED))
        return [self.texts[place] for place in (*right, *others)]


def asked(name: str) -> Iterator[Asked]:
    """The questions of a file. Raises: ValueError: an answer stands in no such statement."""
    for block in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n\n"):
        title, texts, answers = "", list[str](), dict[int, str]()
        questions: list[tuple[str, dict[int, str]]] = []
        for line in filter(None, block.splitlines()):
            mark, _, said = line.partition(" ")
            if mark == "T":
                title = said
            elif mark == "S":
                above, _, headings = title.partition(" > ")
                texts.append(below_headings(above, [headings] if headings else [], said))
            elif mark == "Q":
                questions.append((said, answers := {}))
            elif said != "-":
                number, _, words = said.partition(" ")
                if words not in VERDICTS and words not in texts[int(number) - 1]:
                    raise ValueError(f"{name}: {words!r} does not stand in {texts[int(number) - 1]!r}")
                answers[int(number) - 1] = words
        yield from (Asked(question, tuple(texts), found) for question, found in questions)


def learned() -> list[Asked]:
    """The questions of all files."""
    return [one for path in sorted(FOLDER.glob("*.txt")) for one in asked(path.stem)]
