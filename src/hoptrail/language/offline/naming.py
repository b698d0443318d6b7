"""Names that a question says in small letters: `grep` in `under which licence is grep distributed`.

A document that never says such a name is about something else, and its statements answer nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from hoptrail.models.vocabulary import common_words
from hoptrail.text.lexicon import ARTICLES, STOP_WORDS
from hoptrail.text.normal_forms import base_title
from hoptrail.text.words import stem, words

_VERBAL = re.compile(r"\w{4}(?:ed|ing)$")
"""A verb's form says what is done, and another may say the same: `calibrated`."""


def names_in_small_letters(
    question: str, titles: Collection[str], documents: Collection[frozenset[str]]
) -> frozenset[str]:
    """Stems of the question's words that name something: one that is no common word, or the whole title of a document.

    At least one of the `documents` (the stems of what they say), and at most half of them say a name: what all say tells
    nothing apart.
    """
    titled, common = {base_title(title).lower() for title in titles}, _common_stems()
    found = set()
    before = ""
    for word in words(question):
        is_title = word.text in titled and before not in ARTICLES
        is_rare = bool(common) and word.stem not in common and not _VERBAL.search(word.text)
        if word.text.islower() and word.text not in STOP_WORDS and (is_title or is_rare):
            found.add(word.stem)
        before = word.lower
    return frozenset(one for one in found if 0 < 2 * sum(one in said for said in documents) <= len(documents))


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(map(stem, common_words()))
