"""Question analysis: the type of the answer, the names a question mentions, and the relation it asks about.

Reads one English question at a time, by function words and word order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from hoptrail.text import lexicon
from hoptrail.text.mentions import Mention, Shape, find_mentions
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import Word, stem, words


class Wanted(StrEnum):
    """The type of an answer."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    YEAR = "year"
    NUMBER = "number"
    COUNTRY = "country"
    NATIONALITY = "nationality"
    THING = "thing"
    YES_NO = "yes or no"


@dataclass(frozen=True, slots=True)
class AnalysedQuestion:
    """An analysed question. `noun` is the word for the answer's class (`river` in `which river`) or empty; `anchors` are the
    names it mentions, `relations` the stems of its other content words.
    """

    text: str
    wanted: Wanted
    noun: str
    anchors: tuple[Mention, ...]
    relations: frozenset[str]


_ADVERBS = {"where": Wanted.PLACE, "when": Wanted.DATE, **dict.fromkeys(("who", "whom", "whose"), Wanted.PERSON)}
_DEGREES = lexicon.word_set("many much tall long old high deep far wide large big heavy fast often few")
_MEASURING = lexicon.word_set("cost weigh measure")
"""Verbs whose object is a number: `what does it cost`."""
_SIZES = lexicon.word_set("many much large big often few")


def is_person_noun(word: str) -> bool:
    """Whether `word` names people by kinship, office or trade (`mother`, `king`, `designer`)."""
    lower, singular = word.lower(), word.lower().removesuffix("s")
    if lower in lexicon.PERSON_NOUNS or singular in lexicon.PERSON_NOUNS:
        return True
    return len(singular) > 4 and singular.endswith(lexicon.PERSON_ENDINGS) and singular not in lexicon.NOT_PERSONS


_NOUNS = {
    Wanted.COUNTRY: {"country", "nation"},
    Wanted.NATIONALITY: {"nationality", "citizenship"},
    Wanted.YEAR: {"year"},
    Wanted.DATE: lexicon.DATE_NOUNS,
    Wanted.NUMBER: lexicon.NUMBER_NOUNS,
    Wanted.PLACE: lexicon.PLACE_NOUNS,
}


def type_of_noun(noun: str) -> Wanted:
    """The answer type of a class noun."""
    other = Wanted.PERSON if is_person_noun(noun) else Wanted.THING
    return next((wanted for wanted, nouns in _NOUNS.items() if noun.lower() in nouns), other)


def asking_sentence(text: str) -> str:
    """The last sentence of a text that ends with a question mark: `We have two dogs. Is that allowed?`; else the text."""
    return re.split(r"(?<=[a-z\d)][.!?]) +(?=[A-Z])", text)[-1] if text.rstrip().endswith("?") else text


def analyse(text: str, titles: tuple[str, ...] = ()) -> AnalysedQuestion | None:
    """Analyse a question; None if it is not English as far as the rules can tell.

    Key words without a question word (`price of a berth`) are read as `what is …`.
    """
    text = squeeze(text)
    anchors = find_mentions(text, titles, question=True)
    free = [word for word in words(text) if not any(mention.start <= word.start < mention.end for mention in anchors)]
    position = _question_word(free)
    leading = words(asking_sentence(text)[:40])
    fronted = bool(leading) and leading[0].lower in lexicon.OPENERS
    # Key words, which end without a question mark. A question in another language has no English function word.
    if (
        position is None
        and not fronted
        and text.endswith("?")
        and not any(w.lower in lexicon.FUNCTION_WORDS for w in free)
    ):
        return None
    wanted, noun, used = _answer_type(free, position, fronted=fronted)
    relations = frozenset(
        word.stem for at, word in enumerate(free) if at not in used and word.lower not in lexicon.STOP_WORDS
    )
    named = tuple(mention for mention in anchors if mention.shape is not Shape.NUMBER)
    return AnalysedQuestion(text, wanted, noun, named, relations)


_EXTREMES = lexicon.word_set("max maximum min minimum")


def _answer_type(free: list[Word], position: int | None, *, fronted: bool) -> tuple[Wanted, str, frozenset[int]]:
    """Answer type, class noun, and the indices in `free` of words that express only these two."""
    if fronted:
        return Wanted.YES_NO, "", frozenset()
    if position is not None:
        return _type_by_question_word(free, position)
    if any(word.lower in _EXTREMES for word in free[:3]):
        return Wanted.NUMBER, "", frozenset()
    wanted, noun, _ = _class_noun(free, 0, described=True)
    return wanted, noun, frozenset()


def _question_word(free: list[Word]) -> int | None:
    """Index of the question word: the one that opens the text, else the first `what` or `which`, else the first of any."""
    places = [at for at, word in enumerate(free) if word.lower in lexicon.QUESTION_WORDS]
    if places and free[places[0]].start > 0:
        return next((at for at in places if free[at].lower in {"what", "which"}), places[0])
    return places[0] if places else None


def _type_by_question_word(free: list[Word], position: int) -> tuple[Wanted, str, frozenset[int]]:
    head = free[position].lower
    following = free[position + 1].lower if position + 1 < len(free) else ""
    if head in _ADVERBS:
        return _ADVERBS[head], "", frozenset()
    if head == "how" and following in _DEGREES:
        used = frozenset({position + 1}) if following in _SIZES else frozenset()
        return Wanted.NUMBER, "", used
    if head in {"which", "what"} and following not in lexicon.AUXILIARIES:
        return _class_noun(free, position + 1)
    if head == "what":
        if any(word.lower in _MEASURING for word in free[position + 2 :]):
            return Wanted.NUMBER, "", frozenset()
        return _class_noun(free, position + 2, described=True)
    return Wanted.THING, "", frozenset()


def _class_noun(free: list[Word], start: int, *, described: bool = False) -> tuple[Wanted, str, frozenset[int]]:
    """The last noun of the group from `start` on. In `what is the N of X` (`described`) it stays among the relations."""
    at = start
    while at < len(free) and free[at].lower in {"the", "a", "an"}:
        at += 1
    first = at
    while at < len(free) and at - first < 4 and free[at].lower not in lexicon.STOP_WORDS:
        if at > first and free[at].start - free[at - 1].end > 1:
            break  # a gap
        if at > first and free[at].lower.endswith(("ed", "s")) and not described and not free[at].lower.endswith("ss"):
            break
        at += 1
    if at == first:
        return Wanted.THING, "", frozenset()
    noun = free[at - 1].lower
    if noun in {"time", "times"} and at - first > 1:
        return Wanted.THING, "" if described else noun, frozenset()  # `lead time`, `opening times`
    following = free[at].lower if at < len(free) else ""
    if described and following == "of":
        place = noun == "place" or stem(noun) == "birth"
        used = {at - 1} if noun in {"place", "date", "year"} else ()
        return Wanted.PLACE if place else type_of_noun(noun), "", frozenset(used)
    return type_of_noun(noun), noun, frozenset({at - 1})
