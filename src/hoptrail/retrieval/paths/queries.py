"""A question as several queries: the whole question, its steps, and stretches of its wording.

Steps come from a decomposition, given or made by rule; `#1` in a step stands for the answer of step 1. Stretches are the parts
between punctuation and conjunctions: they find evidence for parallel facts and need no grammar. A bridged query is a step with a
name in place of its reference. The rules read English; in other languages only the whole question remains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hoptrail.corpus.keywords import keyword_words
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.questions.plans import make_plan

MOST_STEPS = 6
MOST_STRETCHES = 6
LEAST_WORDS = 3
"""Content words that a stretch needs; a shorter one is joined to the next."""

_REFERENCE = re.compile(r"#(\d{1,2})\b")
_BORDER = re.compile(r"[,;:.?!]\s|\s(?:and|while|that|which|who|whose|where|when|as)\s")


@dataclass(frozen=True, slots=True)
class PathQueries:
    """`texts`: the question, its steps without references, its stretches; at least the question.

    `steps` keep their references. `edges` are pairs (i, j) where step j refers to step i; steps count from 1, which is also
    their place in `texts`. A question of one step has no steps.
    """

    question: str
    steps: tuple[str, ...]
    stretches: tuple[str, ...]
    words: tuple[str, ...]
    """The content words of the question, without repeats."""

    @classmethod
    def of(cls, question: str, steps: Sequence[str] | None = None) -> PathQueries:
        """The queries of a question; without `steps` rules decompose it."""
        if steps is None:
            steps = make_plan(question, MOST_STEPS, OfflineSettings().question_characters).questions
        several = tuple(steps[:MOST_STEPS]) if len(steps) > 1 else ()
        return cls(question, several, stretches(question), tuple(dict.fromkeys(_words(question))))

    @property
    def texts(self) -> tuple[str, ...]:
        steps = (self.filled(step, {}) for step in range(1, len(self.steps) + 1))
        return (self.question, *steps, *self.stretches)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """A pair for each reference, without those to a step that does not exist or to the step itself."""
        pairs = ((int(number), at) for at, step in enumerate(self.steps, 1) for number in _REFERENCE.findall(step))
        return tuple(pair for pair in pairs if 1 <= pair[0] <= len(self.steps) and pair[0] != pair[1])

    @property
    def self_contained(self) -> tuple[int, ...]:
        """Places in `texts` of stretches and of steps without a reference."""
        steps = [at for at, step in enumerate(self.steps, 1) if not _REFERENCE.search(step)]
        return (*steps, *range(len(self.steps) + 1, len(self.texts)))

    @property
    def referring(self) -> tuple[int, ...]:
        """Places in `texts` of steps with a reference."""
        return tuple(at for at, step in enumerate(self.steps, 1) if _REFERENCE.search(step))

    def filled(self, step: int, names: Mapping[int, str], other: str = " ") -> str:
        """Step `step` with names for its references to the steps in `names`, and `other` for its other references."""
        return " ".join(_REFERENCE.sub(lambda found: names.get(int(found[1]), other), self.steps[step - 1]).split())

    def bridged(self, step: int, name: str) -> str:
        """Step `step` with `name` for its reference; step 0 is the question with the name appended."""
        if step == 0:
            return f"{self.question} {name}"
        return self.filled(step, {}, name)


def stretches(question: str) -> tuple[str, ...]:
    """The stretches of a question; none if the question is a single stretch."""
    parts = [part.strip(" ,;:.?!") for part in _BORDER.split(question)]
    counts = [len(_words(part)) for part in parts]
    complete: list[str] = []
    open_part, open_words = "", 0
    for part, count in zip(parts, counts, strict=True):
        open_part, open_words = f"{open_part} {part}".strip(), open_words + count
        if open_words >= LEAST_WORDS:
            complete.append(open_part)
            open_part, open_words = "", 0
    if complete and open_part:
        complete[-1] = f"{complete[-1]} {open_part}"
    return tuple(complete[:MOST_STRETCHES]) if len(complete) > 1 else ()


def _words(text: str) -> list[str]:
    """Content words: no stop words and no single letters."""
    return [word for word in keyword_words(text) if len(word) > 1]
