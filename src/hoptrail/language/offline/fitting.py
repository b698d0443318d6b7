"""How well a candidate's form and surroundings fit the type of answer a question wants: a number between 0 and 1.

Judges by the words around the candidate, by its own words, and by what the evidence's own page about it says it is.
"""

from __future__ import annotations

from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.language.offline.questions import Question, Wanted, is_person_noun
from hoptrail.text.lexicon import DEMONYMS, ORGANISATION_NOUNS, PLACE_NOUNS, word_set
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import folded
from hoptrail.text.values import country_of
from hoptrail.text.words import Word, stem, words

_NAMES = frozenset({Shape.NAME, Shape.QUOTED})
SHAPES = {
    Wanted.PERSON: _NAMES,
    Wanted.PLACE: _NAMES,
    Wanted.THING: _NAMES,
    Wanted.COUNTRY: _NAMES,
    Wanted.NATIONALITY: _NAMES,
    Wanted.DATE: frozenset({Shape.DATE}),
    Wanted.YEAR: frozenset({Shape.DATE}),
    Wanted.NUMBER: frozenset({Shape.NUMBER}),
}
_PLACE_PREPOSITIONS = word_set("in at near from on to")
_NOT_PERSON_WORDS = (
    PLACE_NOUNS | ORGANISATION_NOUNS | word_set("river mount lake sea street award prize film war battle act orchestra")
)


def fit(candidate: Mention, question: Question, line: Line, evidence: EvidencePages) -> float:
    """How well `candidate`, found in `line`, suits what `question` wants."""
    page = evidence.by_name.get(folded(candidate.text))
    before = _before(candidate, line)
    if question.wanted is Wanted.PERSON:
        score = _person(candidate, before, page)
    elif question.wanted is Wanted.PLACE:
        score = _place(before, page)
    elif question.wanted in {Wanted.COUNTRY, Wanted.NATIONALITY}:
        score = _country(candidate, question, before)
    elif question.wanted in {Wanted.DATE, Wanted.YEAR}:
        score = 0.7 + 0.2 * (" " in candidate.text) - 0.3 * candidate.text.endswith("s")
    elif question.wanted is Wanted.NUMBER:
        score = _number(candidate, question, line)
    else:
        score = 0.5
    return max(0.0, min(1.0, score + _of_class(candidate, question, line, page)))


def in_place(candidate: Mention, line: Line) -> bool:
    """Whether a preposition of place leads to the candidate."""
    before = _before(candidate, line)
    return before is not None and before.lower in _PLACE_PREPOSITIONS


def _before(candidate: Mention, line: Line) -> Word | None:
    """The word right before the candidate, an article skipped."""
    earlier = [word for word in line.words if word.end <= candidate.start]
    while earlier and earlier[-1].lower in {"the", "a", "an"}:
        earlier.pop()
    return earlier[-1] if earlier else None


def _person(candidate: Mention, before: Word | None, page: Page | None) -> float:
    count = len(words(candidate.text))
    score = 0.7 if 2 <= count <= 5 else 0.5
    if page is not None and page.is_person is not None:
        score = 0.9 if page.is_person else 0.1
    if any(word.lower in _NOT_PERSON_WORDS for word in words(candidate.text)) or country_of(candidate.text):
        score -= 0.4
    if before is None:
        return score
    if before.lower in _PLACE_PREPOSITIONS:
        return score - 0.3
    return score + 0.2 * (before.lower == "by" or (before.text[0].islower() and is_person_noun(before.text)))


def _place(before: Word | None, page: Page | None) -> float:
    if page is not None and page.is_person:
        return 0.1
    if before is None:
        return 0.2
    return 0.9 if before.lower in _PLACE_PREPOSITIONS else 0.5 if before.lower == "of" else 0.35


def _country(candidate: Mention, question: Question, before: Word | None) -> float:
    if candidate.text.lower() in DEMONYMS or country_of(candidate.text):
        return 1.0
    if question.wanted is Wanted.NATIONALITY:
        return 0.0
    return 0.5 if before is not None and before.lower in _PLACE_PREPOSITIONS else 0.2


def _number(candidate: Mention, question: Question, line: Line) -> float:
    after = next((word for word in line.words if word.start >= candidate.end), None)
    asked = {word.stem for word in words(question.text)}
    return 0.9 if after is not None and after.stem in asked else 0.6


def _of_class(candidate: Mention, question: Question, line: Line, page: Page | None) -> float:
    """What being of the class asked for adds: `river` in the candidate, in what its page says it is, or beside it."""
    if not question.noun:
        return 0.0
    noun = stem(question.noun)
    if any(word.stem == noun for word in words(candidate.text)):
        return 0.4
    if page is not None and any(word.stem == noun for word in page.definition):
        return 0.4
    near = [
        word
        for word in line.words
        if -24 <= word.start - candidate.end <= 16 and not candidate.start <= word.start < candidate.end
    ]
    return 0.25 if any(word.stem == noun for word in near) else 0.0
