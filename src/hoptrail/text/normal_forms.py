"""Normal forms: what two spellings of one name, title or answer have in common, and whether one text stands in another."""

from __future__ import annotations

import re
import unicodedata

from hoptrail.text.lexicon import ARTICLES

SOFT_HYPHEN = "\u00ad"
_SPACE = re.compile(r"\s+")
_PARENTHESIS = re.compile(r"\s*\([^()]{0,80}\)\s*$")


def squeeze(text: str) -> str:
    """`text` on one line, with single spaces."""
    return _SPACE.sub(" ", text).strip()


def composed(text: str) -> str:
    """`text` as it is compared: accents are one character with their letter (NFC), and there are no soft hyphens."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).replace(SOFT_HYPHEN, "")


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


def base_title(title: str) -> str:
    """A title without the parenthesis that tells it from its namesakes."""
    return squeeze(_PARENTHESIS.sub("", title)) or squeeze(title)


def same_words(one: str, other: str) -> bool:
    """Whether two answers are equal but for case, white space, a leading article and a full stop."""
    return _bare(one) == _bare(other)


def _bare(answer: str) -> str:
    return folded(without_article(answer.strip(" .")))
