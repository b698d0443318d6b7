"""Whether what a model says stands in what it cites: by rules, in the sentences themselves, the one before each, and the title.

Rules see words and numbers. What follows from several facts (a yes or a no, a count, a difference, a choice between two that the
question names) they cannot tell, and then hold nothing against the model. Other words for the same thing count as unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.chat.context import YES_NO, folded, whole_sentences
from hoptrail.text.normal_forms import stands_in, without_article
from hoptrail.text.words import content_stems
from hoptrail.types import Kind, Span, Unit

NAME_STEMS = 3
"""Words of an answer up to which all must be said: a name, a date."""
SHARE = 2 / 3
"""How many of its words must be said of a longer one."""

_RECKONED = re.compile(r"(?!1\d{3}$|20\d{2}$)\W*\d[\d.,]*(?:\s[\w%]+)?")
"""A bare figure that is no year: it may be the sum of others, or what lies between them."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def is_supported(question: str, answer: str, support: Sequence[Span], units: Sequence[Unit]) -> bool:
    """Whether the answer to a question may stand on `support`, which lies in `units`; False only where it cannot."""
    said = folded(without_article(answer).strip(" .!?"))
    if said in YES_NO or stands_in(said, folded(question)):
        return True
    said_there = [text for span in support for text in _said_at(span, units)]
    text = folded("\n".join(said_there))
    if stands_in(said, text):
        return True
    numbers = set(_NUMBER.findall(said))
    if not numbers <= set(_NUMBER.findall(text)):
        return _RECKONED.fullmatch(said) is not None and len(set(_NUMBER.findall("\n".join(said_there[1::2])))) > 1
    wanted = content_stems(said)
    shared = len(wanted & content_stems(text))
    return bool(wanted) and shared >= (len(wanted) if len(wanted) <= NAME_STEMS else SHARE * len(wanted))


def _said_at(span: Span, units: Sequence[Unit]) -> list[str]:
    """The titles of the units that hold a span, each with what it says there."""
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
