"""Check by rules whether a model's answer is in the sentences that it cites, the ones before them, or the title.

Rules compare words and numbers. Conclusions from several facts (a yes or no, a count, a difference, a choice between two names in
the question) cannot be checked and count as supported. Synonyms count as unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.chat.context import YES_NO, folded, whole_sentences
from hoptrail.text.normal_forms import stands_in, without_article
from hoptrail.text.words import content_stems
from hoptrail.types import Kind, Span, Unit

NAME_STEMS = 3
"""Answers up to this many words (names, dates) need all of them in the cited text."""
SHARE = 2 / 3
"""Share of a longer answer's words that must be in the cited text."""

_RECKONED = re.compile(r"(?!1\d{3}$|20\d{2}$)\W*\d[\d.,]*(?:\s[\w%]+)?")
"""A bare figure that is no year: it may be the sum or the difference of others."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def is_supported(question: str, answer: str, support: Sequence[Span], units: Sequence[Unit]) -> bool:
    """Whether `support`, which lies in `units`, may support the answer; False only if it cannot."""
    said = folded(without_article(answer).strip(" .!?"))
    if said in YES_NO or stands_in(said, folded(question)):
        return True
    said_there = [text for span in support for text in _texts_at(span, units)]
    text = folded("\n".join(said_there))
    if stands_in(said, text):
        return True
    numbers = set(_NUMBER.findall(said))
    if not numbers <= set(_NUMBER.findall(text)):
        return _RECKONED.fullmatch(said) is not None and len(set(_NUMBER.findall("\n".join(said_there[1::2])))) > 1
    stems = content_stems(said)
    shared = len(stems & content_stems(text))
    return bool(stems) and shared >= (len(stems) if len(stems) <= NAME_STEMS else SHARE * len(stems))


def _texts_at(span: Span, units: Sequence[Unit]) -> list[str]:
    """For each unit that contains a span: its title, and its text there with the sentence before."""
    texts: list[str] = []
    for unit in units:
        place = next((source for source in unit.sources if source.covers(span)), None)
        if place is None:
            continue
        exact = unit.kind in {Kind.PASSAGE, Kind.SENTENCE} and place.end - place.start == len(unit.text)
        start, end = (span.start - place.start, span.end - place.start) if exact else (0, len(unit.text))
        before = max((one.start for one in whole_sentences(unit) if one.end <= start), default=start)
        texts += [unit.title, unit.text[before:end]]
    return texts
