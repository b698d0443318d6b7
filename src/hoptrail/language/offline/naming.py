"""Names that a question says in small letters: `grep` in `under which licence is grep distributed`.

A document that never says such a name is about something else, and its statements answer nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from hoptrail.models.vocabulary import common_words
from hoptrail.text.lexicon import ARTICLES, STOP_WORDS
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title
from hoptrail.text.words import stem, words

_NO_NOUN = re.compile(r"\w{4}(?:ed|ing|ly)$")
"""What is done, and how, another may say in other words: `calibrated`."""


def names_in_small_letters(
    question: str, titles: Collection[str], documents: Collection[frozenset[str]]
) -> frozenset[str]:
    """Stems of the question's words that name something: the whole title of a document, or, where nothing is written in
    capitals, a word that is no common one.

    At least one of the `documents` (the stems of what they say), and at most half of them say a name: what all say tells
    nothing apart.
    """
    titled = {base_title(title).lower() for title in titles}
    common = frozenset[str]() if find_names(question) else _common_stems()
    found = set()
    before = ""
    for word in words(question):
        is_title = word.text in titled and before not in ARTICLES
        is_rare = bool(common) and word.stem not in common and word.text.isalnum() and not _NO_NOUN.search(word.text)
        if word.text.islower() and word.text not in STOP_WORDS and (is_title or is_rare):
            found.add(word.stem)
        before = word.lower
    return frozenset(one for one in found if 0 < 2 * sum(one in said for said in documents) <= len(documents))


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(map(stem, common_words()))
