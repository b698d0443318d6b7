"""Words of a text with exact offsets, stems of English words, and word counts.

The stemmer cuts regular endings and maps irregular families to one form. Its stems match questions with sentences; they are not
for display.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hoptrail.text.lexicon import CANONICAL, RELATED_WORDS, STOP_WORDS
from hoptrail.text.normal_forms import SOFT_HYPHEN, composed


def _mark_ranges() -> str:
    """Combining marks as the inside of a character class, in ranges because these compile faster than single characters."""
    codes = [code for code in range(0x300, 0x12000) if unicodedata.category(chr(code))[0] == "M"]
    firsts = [code for before, code in pairwise([0, *codes]) if code != before + 1]
    lasts = [code for code, after in pairwise([*codes, 0]) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


_MARKS = _mark_ranges()
# Every repeated group starts with a character that the part before it cannot match, so time is linear on any input. Testing for
# ASCII first makes English four times as fast.
LETTERS = rf"[^\W_]+(?:(?![\x00-\x7f])[{_MARKS}{SOFT_HYPHEN}][^\W_]*)*"
"""A pattern of letters and digits, with the combining marks and soft hyphens that follow them."""
_WORD = re.compile(rf"#\d{{1,3}}|\d[\d,.]*\d|{LETTERS}(?:(?:[-.&]|['’](?!s\b)){LETTERS})*")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Lao, Burmese and Khmer, too
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # and kana
_UNSPACED = _THAI + _HAN
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_ENDINGS = ("ations", "ation", "ions", "ion", "ings", "ing", "ors", "or", "ers", "er", "ed", "es", "s", "e")
_SHORTEST_STEM = 3


class Word(NamedTuple):
    """A word as written, with its offsets, and in lower case."""

    text: str
    start: int
    end: int
    lower: str

    @property
    def stem(self) -> str:
        return stem(self.text)

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper()


def words(text: str) -> tuple[Word, ...]:
    """The words of `text`. A possessive `'s` is a separate word (`s`); `#1` is one word."""
    return tuple([Word(word := match.group(), *match.span(), word.lower()) for match in _WORD.finditer(text)])


def lower_words(text: str) -> frozenset[str]:
    return frozenset(word.lower for word in words(text))


def terms(text: str) -> Sequence[Word]:
    """The words of `text`; in scripts without spaces, where word borders need a dictionary, pairs of adjacent characters."""
    if text.isascii() or not _ANY_UNSPACED.search(text):
        return words(text)
    return [piece for word in words(text) for piece in _pieces(word.text, word.start)]


def _pieces(word: str, start: int) -> Iterator[Word]:
    for run in _RUNS.finditer(word):
        first, last = run.span()
        pairs = last - first > 1 and _ANY_UNSPACED.match(word, first)
        for at in range(first, last - 1) if pairs else (first,):
            piece = word[at : at + 2] if pairs else run.group()
            yield Word(piece, start + at, start + at + len(piece), piece.lower())


def unspaced_pieces(word: str) -> list[str]:
    """The terms of one word."""
    return [piece.text for piece in _pieces(word, 0)] if _ANY_UNSPACED.search(word) else [word]


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


def places_of_stems(lower: str, stems: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The words of a composed text in lower case whose stem is among `stems`: where each begins, and its stem. Looks
    only at words that begin like a stem: a third of the time of splitting the text into words.
    """
    wanted = frozenset(stems)
    irregular = {word for word, family in CANONICAL.items() if family in wanted}
    for beginning in irregular.union(one[:_SHORTEST_STEM] for one in wanted):
        at = lower.find(beginning)
        while at >= 0:
            word = _ALPHANUMERIC.match(lower, at)
            if word and not lower[at - 1 : at].isalnum() and stem(word[0]) in wanted:
                yield at, stem(word[0])
            at = lower.find(beginning, at + 1)


@lru_cache(maxsize=4096)
def content_stems(text: str) -> frozenset[str]:
    """Stems of the words of `text` that are no stop words."""
    said = _WORD.findall(text)
    if not text.isascii() and _ANY_UNSPACED.search(text):
        said = [piece for word in said for piece in unspaced_pieces(word)]
    return frozenset(map(_content_stem, said)) - {""}


@lru_cache(maxsize=65_536)
def _content_stem(word: str) -> str:
    """Its stem; empty for a stop word."""
    return "" if word.lower() in STOP_WORDS else stem(word)


RELATED = {stem(word): frozenset(stem(other) for other in others) for word, others in RELATED_WORDS.items()}
"""`RELATED_WORDS` by stem."""


_COUNTED = re.compile(rf"[{_HAN}]|[{_THAI}]{{1,4}}|[^\s{_UNSPACED}]{{1,24}}")


def words_in(text: str) -> int:
    """The number of words in `text`: runs without white space, of at most 24 characters each. In scripts without spaces, a
    Chinese or Japanese character is a word, and so are up to four characters of Thai, Lao, Khmer or Burmese.
    """
    return sum(1 for _ in _COUNTED.finditer(text))
