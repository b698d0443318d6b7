"""The tokenisation of the keyword index, of documents and questions alike.

Words are runs of letters and digits, lower-cased, with accents and ligatures folded, without STOP_WORDS and words of more than 40
characters. There is no stemming: it gained nothing on the development questions, and works for English only. Scripts without
spaces between words are cut into pairs of neighbouring characters, because finding words there would require a dictionary.
"""

from __future__ import annotations

import re
import unicodedata

from hoptrail.text.words import LETTERS, unspaced_pieces

LONGEST = 40

STOP_WORDS = frozenset(
    (  # noqa: SIM905 - a list of eighty quoted words reads worse
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "
        "was will with who whom whose what which when where why how do does did were been being has have had i you he she we us "
        "our his her him its from s"
    ).split()
)
"""Lucene's English list, question words, auxiliaries and pronouns: words of questions that do not distinguish passages."""

_PLAIN = re.compile(r"[a-z0-9]+")
_WORD = re.compile(LETTERS)
_FOLDED = str.maketrans("øđðłħıŋŧ", "oddlhint", "\u00ad") | str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that Unicode does not decompose and an English keyboard lacks."""


def keyword_words(text: str) -> list[str]:
    """The words of a text in order, with repeats."""
    lower = text.lower()
    if text.isascii():
        return [word for word in _PLAIN.findall(lower) if word not in STOP_WORDS and len(word) <= LONGEST]
    cut = (piece for word in _WORD.findall(lower) for piece in unspaced_pieces(word))
    # Folding comes after stop words: `à` becomes `a`, but is not a stop word.
    words = [word for word in cut if word not in STOP_WORDS and len(word) <= LONGEST]
    return [word if word.isascii() else _folded(word) for word in words]


def _folded(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).translate(_FOLDED)
