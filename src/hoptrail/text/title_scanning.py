"""Finding titles of documents in texts.

Spellings of a name may differ in case, accents and punctuation. A title matches where its words occur in a row and the first
begins with a capital or a digit; the case and the accents of the rest are ignored. Of overlapping titles the longest matches. A
parenthesis (`The Game (1997 film)`) is not part of a name. This works only for languages with spaces between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.normal_forms import base_title, composed
from hoptrail.text.words import LETTERS
from hoptrail.types import Span, Unit

MOST_WORDS = 12  # longer titles, in words, are not searched for
MOST_NAMESAKES = 20  # A title of more documents is a heading, not a name

_WORD = re.compile(LETTERS)


def names_in(text: str, is_name: Callable[[str], bool]) -> tuple[str, ...]:
    """The keys of the names in `text`, in order and without repeats; none overlaps another. `is_name` is asked for each key."""
    matches = list(_WORD.finditer(text))
    words = [_plain(match.group()) for match in matches]
    found: dict[str, None] = {}
    at = 0
    while at < len(words):
        first = text[matches[at].start()]
        most = min(MOST_WORDS, len(words) - at) if first.isupper() or first.isdigit() else 0
        keys = (" ".join(words[at : at + size]) for size in range(most, 0, -1))
        if key := next(filter(is_name, keys), ""):
            found[key] = None
        at += key.count(" ") + 1
    return tuple(found)


def can_be_found(key: str) -> bool:
    """Whether texts are searched for a name: not if it is very long, or a single function word such as `the`."""
    return key.count(" ") < MOST_WORDS and key not in FUNCTION_WORDS


def name_key(name: str) -> str:
    """The common form of the spellings of a name: its words in lower case without accents, joined by spaces."""
    if name.isascii():
        return " ".join(_WORD.findall(name.lower()))
    return " ".join(_plain(match) for match in _WORD.findall(name))


Place = tuple[Span, str, str]  # the first source of a passage, its id and its title


def place_of(passage: Unit) -> Place:
    return passage.sources[0], passage.id, passage.title


def first_passages(places: Iterable[Place]) -> dict[str, list[str]]:
    """The first passages of the documents with each title, by its key without a parenthesis; sorted by id."""
    first: dict[str, Place] = {}
    for place in places:
        document = place[0].document
        first[document] = min(place, first.get(document, place))
    passages: defaultdict[str, list[str]] = defaultdict(list)
    for id_, title in sorted((id_, title) for _, id_, title in first.values()):
        if key := title_key(title):
            passages[key].append(id_)
    return dict(passages)


def without_headings(passages: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The titles that are names: not those of more than MOST_NAMESAKES documents, which are headings."""
    return {key: ids for key, ids in passages.items() if 0 < len(ids) <= MOST_NAMESAKES}


def title_key(title: str) -> str:
    """The key of a title without its parenthesis; empty where it is not a name."""
    key = name_key(base_title(title))
    # A number of up to four digits is more likely a year than a title.
    return key if any(character.isalpha() for character in key) or len(key) > 4 else ""


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", composed(word))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
