"""Normal forms for comparing names, titles and answers, and a search for an answer within a sentence."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from hoptrail.text.lexicon import ARTICLES

SOFT_HYPHEN = "\u00ad"
_PARENTHESIS = re.compile(r"\([^()]{0,80}\)\s*$")


def squeeze(text: str) -> str:
    """`text` on one line with single spaces."""
    return " ".join(text.split())


def composed(text: str) -> str:
    """`text` in NFC without soft hyphens, for comparison."""
    return text if text.isascii() else unicodedata.normalize("NFC", text.replace(SOFT_HYPHEN, ""))


def folded(name: str) -> str:
    """`name` without differences of case, white space and accent encoding: one form for all spellings of an entity."""
    return squeeze(composed(name)).casefold()


def stands_in(answer: str, sentence: str) -> bool:
    """Whether a folded answer occurs in a folded sentence, other than inside a word or number (12 in 12,000)."""
    if not answer.isascii():  # scripts without spaces have no word edges
        return bool(answer) and answer in sentence
    before = r"(?<!\d[.,])" if answer[:1].isdigit() else ""
    after = r"(?![.,]\d)" if answer[-1:].isdigit() else ""
    return bool(answer) and re.search(rf"(?<!\w){before}{re.escape(answer)}(?!\w){after}", sentence) is not None


def without_article(text: str) -> str:
    first, _, rest = text.partition(" ")
    return rest if rest and first.lower() in ARTICLES else text


@lru_cache(maxsize=16_384)
def base_title(title: str) -> str:
    """A title without its disambiguating parenthesis: `Mercury (planet)` is `Mercury`."""
    return squeeze(_PARENTHESIS.sub("", title)) or squeeze(title)


def same_words(one: str, other: str) -> bool:
    """Whether two answers are equal apart from case, white space, a leading article and a full stop."""
    return _compared(one) == _compared(other)


@lru_cache(maxsize=16_384)
def _compared(answer: str) -> str:
    return folded(without_article(answer.strip(" .")))
