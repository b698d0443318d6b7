"""Birth and death in the parenthesis after a name: `(Oslo, 1 May 1900 – 2 June 1980)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.text.mentions import Mention, Shape

_PARENTHESIS = re.compile(r"(\([^)]*\))\s*")
_NEAR = 120  # where the parenthesis begins, at the latest
_DASH = re.compile(r"\s?[–—-]\s|\s[–—-]|[–—]")
_DIED = re.compile(r"\b(?:died|dead|d\.)", re.IGNORECASE)
_BORN = re.compile(r"\b(?:born|b\.)", re.IGNORECASE)


def life_roles(text: str, mentions: Sequence[Mention]) -> dict[int, str]:
    """Label each mention in the first parenthesis, or the first with a date of those that follow one another there, as `birth`
    or `death`, keyed by its start; empty if neither is told there.
    """
    left = text.find("(", 0, _NEAR)
    dates: list[Mention] = []
    while left >= 0 and not dates and (match := _PARENTHESIS.match(text, left)):
        right = match.end(1)
        inside = [mention for mention in mentions if left < mention.start and mention.end < right]
        dates = [mention for mention in inside if mention.shape is Shape.DATE]
        left = left if dates else match.end()
    if not dates:
        return {}
    body = text[left:right]
    if died := _DIED.search(body):
        turn = left + died.start()
    elif dash := _DASH.search(text, dates[0].end if len(dates) > 1 else left, dates[-1].start + 1):
        turn = dash.start()
    elif _BORN.search(body):
        turn = right
    elif len(dates) == 2 and not (body[1 : dates[0].start - left] + text[dates[0].end : dates[1].start]).strip():
        # the dash between them was lost
        turn = dates[1].start
    else:
        return {}
    return {mention.start: "birth" if mention.start < turn else "death" for mention in inside}
