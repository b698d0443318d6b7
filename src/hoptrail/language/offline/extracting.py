"""Extract the entities that a finder finds, and every sentence as a fact.

A pronoun at the start of a sentence becomes the unit's title, on the assumption that a text is about its title.
"""

from __future__ import annotations

import re

from hoptrail.language.entity_finders import EntityFinder
from hoptrail.language.offline.evidence import Page
from hoptrail.language.tasks import Extraction, Fact
from hoptrail.text.lexicon import DEMONYMS
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.statements import UnitStatement
from hoptrail.text.words import words

_LEADING_PRONOUN = re.compile(r"(?:(?P<owner>his|her|its|their)|he|she|it|they)\b(?=\s+[a-z])", re.IGNORECASE)


def extract(page: Page, finder: EntityFinder) -> Extraction:
    """Entities: the unit's title, then the names, quoted titles, dates and digits that `finder` finds. Facts: the sentences."""
    heading = [word.lower for word in words(page.title)]
    lines = [line for line in page.lines if not page.title or [word.lower for word in words(line.alone)] != heading]
    texts = [line.said if line.block and line.block.cells else line.text for line in lines]
    named = [tuple(mention.text for mention in finder.find(text) if _is_entity(mention)) for text in texts]
    title = (page.title,) if page.title else ()
    entities = dict.fromkeys((*title, *(name for names in named for name in names)))
    facts = tuple(_fact(line, page.title, names) for line, names in zip(lines, named, strict=True))
    return Extraction(tuple(entities), facts)


def _is_entity(mention: Mention) -> bool:
    """No number in words, and no nationality alone: everything from a country would be about it."""
    if mention.shape is Shape.NUMBER:
        return mention.text[0].isdigit()
    return mention.text.lower() not in DEMONYMS


def standing_alone(sentence: str, title: str) -> str:
    """The sentence on one line, with a pronoun at its start replaced by the title."""
    text = squeeze(sentence)
    pronoun = _LEADING_PRONOUN.match(text) if title else None
    if pronoun is None:
        return text
    return (f"{title}'s" if pronoun["owner"] else title) + text[pronoun.end() :]


def _fact(line: UnitStatement, title: str, named: tuple[str, ...]) -> Fact:
    text = standing_alone(line.alone, title)
    if text != line.alone:
        named = (title, *named)
    return Fact(text, tuple(dict.fromkeys(named)), line.support[0])
