"""The full name of a person whom a statement calls by one name, from the rest of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hoptrail.text.lexicon import FUNCTION_WORDS, ORGANISATION_NOUNS, PLACE_NOUNS, word_set
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.words import words

_STYLES = word_set("mr mrs ms miss mx dr prof professor rev sir lord lady judge king queen")
"""What stands before a family name and is no first name."""
_IN_NO_PERSON = (
    FUNCTION_WORDS
    | PLACE_NOUNS
    | ORGANISATION_NOUNS
    | word_set("fort port mount cape lake point castle saint st san santa new old")
)
"""Words that no name of a person has, but names of places and organisations that bear a family name: `Port Adams`."""

_PART = re.compile(r"\b(?:first|second|middle|last|family|given|maiden|birth|nick|sur)[ -]?names?\b", re.IGNORECASE)

_Parts = tuple[str, ...]


def asks_for_part(question: str) -> bool:
    """Whether a question asks for one name of a person, as in `What is her middle name?`."""
    return _PART.search(question) is not None


def in_full(name: str, own: Iterable[str], others: Iterable[str]) -> str:
    """The full name of the person whom a document calls by the family name `name`: `Ada Lunt` for `Lunt`.

    It is the shortest name that ends with the word, in the document's texts (`own`), or else in those of `others`. `name` itself
    if it is no single capitalised word (`AI` is none), or if several people have it. A first name is not completed: what begins
    with one (`Washington Post`) is often no person.
    """
    if len(words(name)) != 1 or not name[:1].isupper() or name.isupper():
        return name
    longer = dict(_longer(name, own)) or dict(_longer(name, others))
    if not longer:
        return name
    shortest = min(longer, key=lambda parts: (len(parts), parts))
    return longer[shortest] if all(set(shortest) <= set(parts) for parts in longer) else name


def _longer(name: str, texts: Iterable[str]) -> Iterator[tuple[_Parts, str]]:
    """The names of people that end with `name`: their words, and as they are written."""
    for text in texts:
        for mention in find_mentions(text) if name in text else ():
            said = [word for word in words(mention.text) if word.lower not in _STYLES]
            parts = tuple(word.text for word in said)
            is_person = mention.shape is Shape.NAME and not any(word.lower in _IN_NO_PERSON for word in said)
            if is_person and len(parts) > 1 and name == parts[-1]:
                yield parts, mention.text
