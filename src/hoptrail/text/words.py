"""Words of a text with exact offsets, stems of English words, and how long a text is in words.

The stemmer cuts regular endings and maps irregular families to one form; it is meant for matching a question with a
sentence, not for display. It does not tag parts of speech.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from hoptrail.text.lexicon import CANONICAL, KIN_WORDS, RELATED_WORDS, STOP_WORDS
from hoptrail.text.normal_forms import SOFT_HYPHEN, composed


def _marks() -> str:
    """Accents and vowel signs as the inside of a class of characters: in ranges, which compile faster than single ones."""
    codes = [code for code in range(0x300, 0x12000) if unicodedata.category(chr(code))[0] == "M"]
    firsts = [code for before, code in pairwise([0, *codes]) if code != before + 1]
    lasts = [code for code, after in pairwise([*codes, 0]) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


_MARKS = _marks()
# Every repeated group starts with a character that the part before it cannot match: linear time on any input. Looking whether
# it is ASCII first makes words of English four times as fast.
LETTERS = rf"[^\W_]+(?:(?![\x00-\x7f])[{_MARKS}{SOFT_HYPHEN}][^\W_]*)*"
"""A pattern of letters and digits, each with the accents, vowel signs and soft hyphens that follow it as characters."""
_WORD = re.compile(rf"#\d{{1,3}}|\d[\d,.]*\d|{LETTERS}(?:(?:[-.&]|['’](?!s\b)){LETTERS})*")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, kana and Han characters."""
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_ENDINGS = ("ations", "ation", "ions", "ion", "ings", "ing", "ors", "or", "ers", "er", "ed", "es", "s", "e")
_SHORTEST_STEM = 3
_NAME_LENGTH = 80
"""Texts up to here are names and come back many times within one task: their words are remembered."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, and where it stands in its text."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def stem(self) -> str:
        return stem(self.text)

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper()


def words(text: str) -> tuple[Word, ...]:
    """The words of `text`; a possessive `'s` is a word of its own (`s`), `#1` is one word."""
    return _words_of_name(text) if len(text) <= _NAME_LENGTH else _words(text)


def _words(text: str) -> tuple[Word, ...]:
    return tuple(Word(match.group(), match.start(), match.end()) for match in _WORD.finditer(text))


def terms(text: str) -> Sequence[Word]:
    """The words of `text`, those of scripts without spaces as pairs of neighbouring characters: which pairs are words there would
    take a dictionary.
    """
    if text.isascii() or not _ANY_UNSPACED.search(text):
        return words(text)
    return [piece for word in words(text) for piece in _pieces(word)]


def _pieces(word: Word) -> Iterator[Word]:
    for run in _RUNS.finditer(word.text):
        start = word.start + run.start()
        if len(run.group()) > 1 and _ANY_UNSPACED.match(run.group()):
            yield from (
                Word(run.group()[at : at + 2], start + at, start + at + 2) for at in range(len(run.group()) - 1)
            )
        else:
            yield Word(run.group(), start, start + len(run.group()))


def unspaced_pieces(word: str) -> list[str]:
    """The terms of one word."""
    return [piece.text for piece in _pieces(Word(word, 0, len(word)))] if _ANY_UNSPACED.search(word) else [word]


_words_of_name = lru_cache(maxsize=16_384)(_words)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A form shared by a word's family: `designer`, `designed` and `designs` all give `design`."""
    lower = composed(word).lower().removesuffix("'s").removesuffix("’s")
    if lower in CANONICAL:
        return CANONICAL[lower]
    for ending in _ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) >= _SHORTEST_STEM:
            lower = lower[: -len(ending)]
            break
    if len(lower) > _SHORTEST_STEM and lower[-1] == lower[-2]:
        lower = lower[:-1]
    if lower.endswith("y") and len(lower) > _SHORTEST_STEM:
        lower = lower[:-1] + "i"
    return lower


def with_stems(words: Iterable[str], stems: Iterable[str]) -> dict[str, str]:
    """Of some words those whose stem is among `stems`, with it. Stems begin as their words do, so that most need no cutting."""
    wanted = frozenset(stems)
    starts = {one[:_SHORTEST_STEM] for one in wanted}
    found = {}
    for word in words:
        lower = word.lower()
        if lower[:_SHORTEST_STEM] in starts or lower in CANONICAL or not word.isascii():
            one = stem(word)
            if one in wanted:
                found[word] = one
    return found


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words of `text` that carry meaning."""
    return _stems_of_name(text) if len(text) <= _NAME_LENGTH else _content_stems(text)


def _content_stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in terms(text) if word.lower not in STOP_WORDS)


_stems_of_name = lru_cache(maxsize=16_384)(_content_stems)


RELATED = {stem(word): frozenset(stem(other) for other in others) for word, others in RELATED_WORDS.items()}
"""`RELATED_WORDS` by stem."""
KIN = frozenset(stem(word) for word in KIN_WORDS)
"""`KIN_WORDS` by stem."""


_COUNTED = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,4}"
    r"|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,24}"
)


def words_in(text: str) -> int:
    """The length of `text` in words: runs without white space, of at most 24 characters.

    In scripts that put no spaces between words, a Chinese or Japanese character counts as one word, and so do four
    characters of Thai, Lao, Khmer or Burmese.
    """
    return sum(1 for _ in _COUNTED.finditer(text))
