"""Entities and facts of a unit, without a model: mentions by their shape, and every sentence as a fact.

A sentence that opens with a pronoun gets the unit's title in its place, on the assumption that a text is about its title.
"""

from __future__ import annotations

import re

from hoptrail.language.offline.entities import Mention, Shape
from hoptrail.language.offline.evidence import Line, Page
from hoptrail.language.offline.text import squeeze, words
from hoptrail.language.tasks import Extraction, Fact

_LEADING_PRONOUN = re.compile(r"(?:(?P<owner>his|her|its|their)|he|she|it|they)\b(?=\s+[a-z])", re.IGNORECASE)


def extract(page: Page) -> Extraction:
    """The unit's title, names, quoted titles, dates and digits, in order of appearance; its sentences as facts."""
    lines = [line for line in page.lines if not _is_heading(line, page.title)]
    title = (page.title,) if page.title else ()
    entities = dict.fromkeys(
        (*title, *(mention.text for line in lines for mention in line.mentions if _is_entity(mention)))
    )
    return Extraction(tuple(entities), tuple(_fact(line, page.title) for line in lines))


def _is_heading(line: Line, title: str) -> bool:
    return bool(title) and [word.lower for word in line.words] == [word.lower for word in words(title)]


def _is_entity(mention: Mention) -> bool:
    return mention.shape is not Shape.NUMBER or mention.text[0].isdigit()


def _fact(line: Line, title: str) -> Fact:
    text = squeeze(line.text)
    named = tuple(mention.text for mention in line.mentions if _is_entity(mention))
    pronoun = _LEADING_PRONOUN.match(text) if title else None
    if pronoun:
        subject = f"{title}'s" if pronoun["owner"] else title
        text = subject + text[pronoun.end() :]
        named = (title, *named)
    return Fact(text, tuple(dict.fromkeys(named)), line.support[0])
