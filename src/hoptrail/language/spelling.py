"""Correct typing errors in a question by the words of the evidence: one letter missing, added, changed or swapped.

Only plain words are corrected: in small letters, not in the evidence, not a common word (`reads` is no error for `ready`), and
with exactly one neighbour in the evidence. Names, numbers and identifiers stay: `Lund` may not be `Lunt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hoptrail.language.questions.indirect_questions import direct
from hoptrail.models.minilm import common_words
from hoptrail.text.lexicon import AUXILIARIES, FUNCTION_WORDS, QUESTION_WORDS
from hoptrail.text.words import Word, words
from hoptrail.types import Unit

_SHORTEST = 5
"""Letters of the shortest word that is corrected."""
_UNITS, _CHARACTERS = 20, 4_000
"""Units of the evidence, and characters of each, that are used."""
_SHORTEST_QUESTION_WORD = 4
"""Letters of the shortest question word that is corrected: shorter ones may be other words, like `Hoy`."""


def corrected(question: str, units: Sequence[Unit]) -> str:
    """The plain question, corrected by the words of the units."""
    question = with_question_word(direct(question))
    plain: set[str] = set()
    known = set(FUNCTION_WORDS | QUESTION_WORDS)
    for unit in units[:_UNITS]:
        for word in words(unit.searchable[:_CHARACTERS]):
            known |= {word.lower, word.stem}
            if word.text.islower():
                plain.add(word.text)
    for word in reversed(words(question)):
        if (
            word.text.islower()
            and word.text.isalpha()
            and len(word.text) >= _SHORTEST
            and not {word.text, word.stem} & known
            and word.text not in common_words()
        ):
            question = _replace_word(question, word, _neighbours(word.text, plain))
    return question


def with_question_word(question: str) -> str:
    """The question with a misspelt question word at its start corrected: `wich`, `waht`."""
    first = next(iter(words(question[:40])), None)
    if first is None or first.lower in FUNCTION_WORDS | QUESTION_WORDS or len(first.text) < _SHORTEST_QUESTION_WORD:
        return question
    if not first.text.isalpha() or not first.text[1:].islower():
        return question
    return _replace_word(question, first, _neighbours(first.lower, QUESTION_WORDS - AUXILIARIES))


def _replace_word(question: str, word: Word, neighbours: Sequence[str]) -> str:
    return f"{question[: word.start]}{neighbours[0]}{question[word.end :]}" if len(neighbours) == 1 else question


def _neighbours(word: str, among: Iterable[str]) -> list[str]:
    return [other for other in sorted(among) if other[0] == word[0] and _one_apart(word, other)]


def _one_apart(one: str, other: str) -> bool:
    """Whether two words differ by one typing error (Damerau's four kinds)."""
    if len(one) > len(other):
        one, other = other, one
    if one == other or len(other) - len(one) > 1:
        return False
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(other) > len(one):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return swapped or one[at + 1 :] == other[at + 1 :]
