"""Detects text that was probably read wrongly: words that run together, unreadable characters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from hoptrail.types import Block, BlockKind

_GLUED_LETTERS = 25
_GLUED_SHARE = 0.15
"""Words run together if words of at least this many letters have more than this share of all letters."""
_BROKEN_SHARE = 0.1
_WORD = re.compile(r"[^\W\d_]+")
# Scripts that put no space between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LEAST_LETTERS = 200
"""Shorter prose is not judged."""
_SAMPLE = 200_000
"""Characters of prose examined."""


def doubts(text: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield notes on what is doubtful about the prose of a document; code and tables are not examined."""
    known = blocks or (Block(BlockKind.PARAGRAPH, 0, len(text)),)
    prosaic = (text[one.start : one.end] for one in known if one.kind not in {BlockKind.CODE, BlockKind.ROW})
    prose = " ".join(prosaic)[:_SAMPLE]
    if sum(map(str.isalpha, prose)) >= _LEAST_LETTERS and are_glued(prose):
        yield "words run together: spaces are missing in the file"
    if len(prose) >= _LEAST_LETTERS and is_broken(prose):
        yield "many characters cannot be read"


def are_glued(text: str) -> bool:
    """Whether words run together because spaces are missing in the file."""
    words = _WORD.findall(_UNSPACED.sub(" ", text))
    letters = sum(map(len, words))
    return sum(len(word) for word in words if len(word) >= _GLUED_LETTERS) > _GLUED_SHARE * letters


def is_broken(text: str) -> bool:
    """Whether many characters are unassigned, private or replaced, as with a font that does not identify its glyphs."""
    counts = Counter(text)
    odd = (sign for sign in counts if sign == "\ufffd" or unicodedata.category(sign) in {"Co", "Cn"})
    return sum(map(counts.__getitem__, odd)) > _BROKEN_SHARE * len(text)
