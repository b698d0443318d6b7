"""Words, stems and sentences of English text, with exact offsets.

The stemmer cuts regular endings and maps irregular families to one form; it is meant for matching a question with a
sentence, not for display. It does not tag parts of speech.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hoptrail.language.offline.lexicon import ABBREVIATIONS, ARTICLES, CANONICAL, KIN_WORDS, RELATED_WORDS, STOP_WORDS

_SOFT_HYPHEN = "\u00ad"
_MARKS = "".join(chr(code) for code in range(0x300, 0x12000) if unicodedata.category(chr(code))[0] == "M")
# Every repeated group starts with a character that the part before it cannot match: linear time on any input. Looking whether
# it is ASCII first makes words of English four times as fast.
LETTERS = rf"[^\W_]++(?:(?![\x00-\x7f])[{_MARKS}{_SOFT_HYPHEN}][^\W_]*+)*+"
"""A pattern of letters and digits, each with the accents, vowel signs and soft hyphens that follow it as characters."""
_WORD = re.compile(rf"#\d{{1,3}}|\d[\d,.]*\d|{LETTERS}(?:(?:[-.&]|['’](?!s\b)){LETTERS})*")
_END = re.compile(r"[.!?][\"'”’)\]*]*(?=\s)|\n[ \t]*\n")
_LAST_WORD = re.compile(r"[^\s(\"“]+$")
_SPACE = re.compile(r"\s+")
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


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words of `text` that carry meaning."""
    return _stems_of_name(text) if len(text) <= _NAME_LENGTH else _content_stems(text)


def _content_stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if word.lower not in STOP_WORDS)


_stems_of_name = lru_cache(maxsize=16_384)(_content_stems)


def squeeze(text: str) -> str:
    """`text` on one line, with single spaces."""
    return _SPACE.sub(" ", text).strip()


def composed(text: str) -> str:
    """`text` as it is compared: accents are one character with their letter (NFC), and there are no soft hyphens."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).replace(_SOFT_HYPHEN, "")


def folded(name: str) -> str:
    """What names of the same entity have in common: everything but case, white space and how accents are stored."""
    return squeeze(composed(name)).casefold()


def stands_in(answer: str, sentence: str) -> bool:
    """Whether a folded answer stands in a folded sentence, not inside another word or number (12 in 12,000)."""
    if not answer.isascii():  # scripts without spaces have no word edges
        return bool(answer) and answer in sentence
    before = r"(?<!\d[.,])" if answer[:1].isdigit() else ""
    after = r"(?![.,]\d)" if answer[-1:].isdigit() else ""
    return bool(answer) and re.search(rf"(?<!\w){before}{re.escape(answer)}(?!\w){after}", sentence) is not None


def without_article(text: str) -> str:
    """`text` without a leading article."""
    first, _, rest = text.partition(" ")
    return rest if rest and first.lower() in ARTICLES else text


def sentence_spans(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Start and end of the first `limit` sentences, without white space around them."""
    start = 0
    for match in _END.finditer(text):
        if not _ends_sentence(text, start, match):
            continue
        span = _trimmed(text, start, match.end())
        start = match.end()
        if span:
            yield span
            limit -= 1
        if limit <= 0:
            return
    span = _trimmed(text, start, len(text))
    if span:
        yield span


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    if match.group()[0] != ".":
        return True
    before = _LAST_WORD.search(text[max(start, match.start() - 24) : match.start()])
    last = before.group().lower() if before else ""
    following = text[match.end() : match.end() + 8].lstrip()[:1]
    return last not in ABBREVIATIONS and len(last) > 1 and not following.islower()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    body = text[start:end]
    left = start + len(body) - len(body.lstrip())
    right = start + len(body.rstrip())
    return (left, right) if left < right else None


RELATED = {stem(word): frozenset(stem(other) for other in others) for word, others in RELATED_WORDS.items()}
"""`RELATED_WORDS` by stem."""
KIN = frozenset(stem(word) for word in KIN_WORDS)
"""`KIN_WORDS` by stem."""
