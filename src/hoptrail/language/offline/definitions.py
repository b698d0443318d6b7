"""Answers from entries: what a thing is or does, by its term; which option, variable or person fits a description.

`bare repository: A bare repository is normally …` answers `What is a bare repository?`, and `--prune=<date>: Prune loose …` on
the page `git-gc(1)` answers `What does git gc --prune do?`. The entries are those of `text.entries`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.offline.listing import confidence_of
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.entries import Entry, entries_of
from hoptrail.text.mentions import find_names
from hoptrail.text.statements import support_of
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import AnswerKind, BlockKind, Unit

_CLASS = r"(?:option|flag|switch|variable|parameter|setting|directive|command|sub-?command|keyword|key|attribute)"
_DEFINED = re.compile(
    r"(?:what (?:is|are|was|were) (?!(?:the|my|our|your|his|her|its|their|this|that)\b)(?:an? )?(?P<thing>[^?]+?)"
    r"|what (?:does|do|did) (?:the |an? )?(?P<doing>[^?]+?) (?:do|mean|stand for|hold|contain|set|control|specify)(?: in [^?]+)?"
    r"|(?:define|what is meant by) (?:the |an? )?(?P<term>[^?]+?))\s*[?.]*",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?:which|what|the|an?)?\s*(?:[\w-]+ ){{0,2}}?{_CLASS}s?\b (?P<doing>(?:of|to|for|that|which|in|[a-z]+s?)\b[^?]+?)\s*[?.]*",
    re.IGNORECASE,
)
_PERSON = re.compile(r"who (?:is|was|has|are|can|does) (?P<doing>[^?]+?)\s*[?.]*", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|de|van|von|of)){0,3}")
_LIGHT = content_stems(
    "environment variable option flag switch parameter setting directive command field type key value attribute argument word "
    "term set make let do use tell control specify say give turn have"
)
"""Words of a question that only name the class of a term, or say that it does something."""
_FEWEST = 3  # words of a definition; a shorter text is a value, which the reader reads
_LONGEST_TERM = 3  # words of an option, a variable or a command
_CONFIDENCE = 0.8  # in an entry whose term is the name asked about
_LEAST, _LEAD = 0.7, 0.1
"""Least share of the question's words in a description, and least lead over the description of any other term."""


def define(question: str, units: Sequence[Unit]) -> Reading:
    """The first sentence of the entry of the thing asked about, citing all of it; an abstention without an entry."""
    match = _DEFINED.fullmatch(" ".join(question.split()))
    thing = next(filter(None, match.groups()), "") if match else ""
    for unit in units if thing else ():
        for entry in entries_of(unit):
            if _defines(entry, thing):
                step = Step(question, entry.first_sentence, support_of(unit, entry.start, entry.end))
                return Reading(step.answer, (step,), _CONFIDENCE, AnswerKind.PASSAGE)
    return Reading(None)


def _defines(entry: Entry, thing: str) -> bool:
    """Whether a term names the thing. Words of the title, headings, headers and description may surround it in the question."""
    if len(words(entry.description)) < _FEWEST:
        return False
    unit = entry.said.unit
    above = content_stems(" ".join((unit.title, *entry.said.path, *entry.headers, entry.description))) | _LIGHT
    for term in entry.terms:
        if term.startswith("-"):
            if term in thing.split() and content_stems(thing.replace(term, "")) <= above:
                return True
        elif (stems := content_stems(term)) and stems <= content_stems(thing) <= stems | above:
            return True
    return False


def _is_of_a_person(entry: Entry) -> bool:
    """Whether this is an item under a person's name that mentions no other name."""
    is_item = entry.said.block is not None and entry.said.block.kind is BlockKind.ITEM
    return is_item and _NAME.fullmatch(entry.terms[0]) is not None and not find_names(entry.description)


def _is_of_an_option(entry: Entry) -> bool:
    """Whether the term can be an option, a variable or a command rather than a sentence."""
    is_paragraph = entry.said.block is None or entry.said.block.kind is BlockKind.PARAGRAPH
    return not is_paragraph and len(words(entry.terms[-1])) <= _LONGEST_TERM


def named_by_description(question: str, units: Sequence[Unit]) -> Reading:
    """The option, variable, command or person whose description fits the question; an abstention if none does, or several do."""
    line = " ".join(question.split())
    person = _PERSON.fullmatch(line)
    match = person or _NAMED.fullmatch(line)
    asked = content_stems(match["doing"]) - _LIGHT if match else frozenset[str]()
    if len(asked) <= 1:
        return Reading(None)
    found: dict[str, tuple[float, Entry]] = {}
    for unit in units:
        above = content_stems(unit.title)
        for entry in entries_of(unit):
            if not (_is_of_a_person(entry) if person else _is_of_an_option(entry)):
                continue
            said = content_stems(entry.description)
            met = [word for word in asked if word in said or RELATED.get(word, frozenset()) & said]
            left = asked - above or asked
            share = len(left.intersection(met)) / len(left)
            if share > found.get(entry.terms[0], (0.0, entry))[0]:
                found[entry.terms[0]] = share, entry
    ranked = sorted(found.values(), key=lambda one: -one[0])
    if not ranked or ranked[0][0] < _LEAST or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _LEAD):
        return Reading(None)
    share, entry = ranked[0]
    step = Step(question, entry.terms[-1], support_of(entry.said.unit, entry.start, entry.end))
    return Reading(step.answer, (step,), confidence_of(share))
