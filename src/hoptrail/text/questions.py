"""What kind of thing a question asks for, by its question word or the noun after it. English questions only."""

from __future__ import annotations

import re
from enum import StrEnum

from hoptrail.text import lexicon
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import Word, words


class Wanted(StrEnum):
    """What is asked for."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    NUMBER = "number"
    THING = "thing"


_ADVERBS = {"where": Wanted.PLACE, "when": Wanted.DATE, **dict.fromkeys(("who", "whom", "whose"), Wanted.PERSON)}


def is_person_noun(word: str) -> bool:
    """Whether `word` names people by kinship, office or trade (`mother`, `king`, `designer`)."""
    lower, singular = word.lower(), word.lower().removesuffix("s")
    if lower in lexicon.PERSON_NOUNS or singular in lexicon.PERSON_NOUNS:
        return True
    return len(singular) > 4 and singular.endswith(lexicon.PERSON_ENDINGS) and singular not in lexicon.NOT_PERSONS


def type_of_noun(noun: str) -> Wanted:
    """What a noun names."""
    if is_person_noun(noun):
        return Wanted.PERSON
    if noun.lower() in lexicon.PLACE_NOUNS:
        return Wanted.PLACE
    return Wanted.DATE if noun.lower() in lexicon.DATE_NOUNS else Wanted.THING


def asking_sentence(text: str) -> str:
    """The last sentence of a text that ends with a question mark: `We have two dogs. Is that allowed?`; else the text."""
    return re.split(r"(?<=[a-z\d)][.!?]) +(?=[A-Z])", text)[-1] if text.rstrip().endswith("?") else text


def wanted_by(question: str) -> Wanted | None:
    """What a question asks for; None if it asks for yes or no, or is not English as far as its function words tell.

    Key words without a question word (`price of a berth`) are read as `what is …`.
    """
    question = squeeze(question)
    named = find_mentions(question, question=True)
    free = [word for word in words(question) if not any(name.start <= word.start < name.end for name in named)]
    leading = words(asking_sentence(question)[:40])
    if leading and leading[0].lower in lexicon.OPENERS:
        return None
    place = _question_word(free)
    if place is None:
        foreign = question.endswith("?") and not any(word.lower in lexicon.FUNCTION_WORDS for word in free)
        return None if foreign else _by_noun(free, 0, described=True)
    asking, following = free[place].lower, free[place + 1].lower if place + 1 < len(free) else ""
    if asking in {"which", "what"}:
        described = following in lexicon.AUXILIARIES
        return (
            Wanted.THING
            if described and asking == "which"
            else _by_noun(free, place + 1 + described, described=described)
        )
    if asking == "how" and following and following not in lexicon.FUNCTION_WORDS:  # how many, how tall
        return Wanted.NUMBER
    return _ADVERBS.get(asking, Wanted.THING)


def _question_word(free: list[Word]) -> int | None:
    """Index of the question word: the one that opens the text, else the first `what` or `which`, else the first of any."""
    places = [at for at, word in enumerate(free) if word.lower in lexicon.QUESTION_WORDS]
    if places and free[places[0]].start > 0:
        return next((at for at in places if free[at].lower in {"what", "which"}), places[0])
    return places[0] if places else None


def _by_noun(free: list[Word], at: int, *, described: bool) -> Wanted:
    """What the last noun of the group from word `at` on names. `described`: it may be a plural, as in `what are the N of X`."""
    while at < len(free) and free[at].lower in lexicon.ARTICLES:
        at += 1
    first = at
    while at < len(free) and at - first < 4 and free[at].lower not in lexicon.STOP_WORDS:
        if at > first and free[at].start - free[at - 1].end > 1:
            break  # a gap
        if at > first and free[at].lower.endswith(("ed", "s")) and not described and not free[at].lower.endswith("ss"):
            break
        at += 1
    compound = at - first > 1 and free[at - 1].lower in {"time", "times"}  # `lead time`, `opening times`
    return Wanted.THING if at == first or compound else type_of_noun(free[at - 1].lower)
