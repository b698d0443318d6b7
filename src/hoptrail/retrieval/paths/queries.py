"""A question as several queries: the whole, the steps it can be taken apart into, and stretches of its wording.

Steps are those of a decomposition, given or made by rule; `#1` in a step stands for what step 1 finds. Stretches are what lies
between punctuation and conjunctions: they find evidence that stands side by side, and need no grammar. A bridged query is a
step with a name in place of its reference. Rules read English; in other languages the whole question is left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.corpus.words import keyword_words
from hoptrail.language.offline.settings import OfflineSettings

MOST_STEPS = 6
MOST_STRETCHES = 6
LEAST_WORDS = 3
"""Words with meaning that a stretch needs to stand alone; a shorter one is joined to the next."""

_REFERENCE = re.compile(r"#(\d{1,2})\b")
_BORDER = re.compile(r"[,;:.?!]\s|\s(?:and|while|that|which|who|whose|where|when|as)\s")


@dataclass(frozen=True, slots=True)
class PathQueries:
    """`texts`: the question, then its steps without their references, then its stretches: at least the question.

    `steps` are the steps as they were; `edges` the pairs (i, j) in which step j refers to step i, counted from 1, as are the
    steps in `texts`. A question of one step has none.
    """

    question: str
    steps: tuple[str, ...]
    stretches: tuple[str, ...]
    words: tuple[str, ...]
    """The words of the question that carry meaning, without repeats."""

    @classmethod
    def of(cls, question: str, steps: Sequence[str] | None = None) -> PathQueries:
        """`steps` None: by rule."""
        if steps is None:
            from hoptrail.language.offline.hops import make_plan

            steps = make_plan(question, OfflineSettings(most_hops=MOST_STEPS)).questions
        several = tuple(steps[:MOST_STEPS]) if len(steps) > 1 else ()
        return cls(question, several, stretches(question), tuple(dict.fromkeys(_words(question))))

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.question, *(without_references(step) for step in self.steps), *self.stretches)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        pairs = ((int(found), at) for at, step in enumerate(self.steps, 1) for found in _REFERENCE.findall(step))
        return tuple(pair for pair in pairs if 1 <= pair[0] <= len(self.steps) and pair[0] != pair[1])

    @property
    def standing(self) -> tuple[int, ...]:
        """Places in `texts` of steps without a reference and of stretches: what can be searched as it is."""
        after = len(self.steps) + 1
        free = [at for at, step in enumerate(self.steps, 1) if not _REFERENCE.search(step)]
        return (*free, *range(after, after + len(self.stretches)))

    @property
    def referring(self) -> tuple[int, ...]:
        """Places in `texts` of steps with a reference."""
        return tuple(at for at, step in enumerate(self.steps, 1) if _REFERENCE.search(step))

    def bridged(self, step: int, name: str) -> str:
        """Step `step` asked of `name`; step 0 is the question, to which the name is added."""
        if step == 0:
            return f"{self.question} {name}"
        return " ".join(_REFERENCE.sub(name, self.steps[step - 1]).split())


def stretches(question: str) -> tuple[str, ...]:
    """The stretches of a question, none where it is one stretch itself."""
    parts = [part.strip(" ,;:.?!") for part in _BORDER.split(question)]
    counts = [len(_words(part)) for part in parts]
    found: list[str] = []
    open_part, open_words = "", 0
    for part, count in zip(parts, counts, strict=True):
        open_part, open_words = f"{open_part} {part}".strip(), open_words + count
        if open_words >= LEAST_WORDS:
            found.append(open_part)
            open_part, open_words = "", 0
    if found and open_part:
        found[-1] = f"{found[-1]} {open_part}"
    return tuple(found[:MOST_STRETCHES]) if len(found) > 1 else ()


def _words(text: str) -> list[str]:
    """Those with meaning: no stop words, and none of a single letter."""
    return [word for word in keyword_words(text) if len(word) > 1]


def without_references(step: str) -> str:
    return " ".join(_REFERENCE.sub(" ", step).split())
