"""Plan a question's hops: those of a comparison, else of a chain of nested questions, else the question itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hoptrail.language.questions.comparisons import Comparison, find_comparison
from hoptrail.language.questions.decomposing import chain
from hoptrail.language.questions.indirect_questions import direct
from hoptrail.text.lexicon import QUESTION_WORDS

_STAND_IN = "Xq"


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions of a question, concluded by a comparison or by the last answer."""

    questions: tuple[str, ...]
    comparison: Comparison | None = None

    def conclude(self, answers: Sequence[str | None]) -> str | None:
        """The answer from the answers to `questions`; None if one is missing or they do not conclude."""
        if len(answers) < len(self.questions):
            return None
        return self.comparison.verdict(answers) if self.comparison else answers[-1]


def make_plan(question: str, most_hops: int, longest: int, names: Sequence[str] = ()) -> Plan:
    """The hops of `question`: at most `most_hops`; one for a question of more than `longest` characters.

    `names`, for instance titles of passages found for it, are never cut: `Accident on Hill Road`, `The Man Who Knew Too Much`.
    """
    if len(question) > longest:
        return Plan((question,))
    question, stand_ins = _with_stand_ins(direct(question), names)
    comparison = find_comparison(question)
    if comparison is not None and len(comparison.asked()) <= most_hops:
        sides, questions = _restored(comparison.sides, stand_ins), _restored(comparison.questions, stand_ins)
        comparison = replace(comparison, sides=(sides[0], sides[1]), questions=questions)
        return Plan(comparison.asked(), comparison)
    return Plan(_restored(chain(question, most_hops), stand_ins))


def _with_stand_ins(question: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The question with single words in place of its names of several, longest first, and the name of each such word."""
    stand_ins: dict[str, str] = {}
    if _STAND_IN in question:
        return question, stand_ins
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        if name not in question or not _may_be_cut(name):
            continue
        # The last letter says how its possessive is written: `the Fortress' designer`, `the Goose's author`.
        word = f"{_STAND_IN}{'a' * len(stand_ins)}{name[-1] if name[-1] in 'sz' else 'k'}"
        question, times = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", word, question)
        if times:
            stand_ins[word] = name
    return question, stand_ins


def _may_be_cut(name: str) -> bool:
    """Whether it has several words, begins like a name, and is no question of its own (`Who Is She`)."""
    first, *others = name.split(" ")
    return bool(others) and first[:1].isupper() and first.lower() not in QUESTION_WORDS


def _restored(texts: Sequence[str], stand_ins: Mapping[str, str]) -> tuple[str, ...]:
    """The texts with the names back in their places."""
    for word, name in stand_ins.items():
        texts = [text.replace(word, name) for text in texts]
    return tuple(texts)
