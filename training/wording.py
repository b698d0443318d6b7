"""Rewords questions: as people type them, as decomposition words them, and as noun phrases."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from training.examples import Example

_FRAME = re.compile(
    r"\b(?:what|which|who|whose|when|where|is|are|was|were|do|does|did|the|a|an|of|that|name)\b", re.IGNORECASE
)
_VERB = (
    r"(?:is|was|were|has|had|can|could|will|won|wrote|led|made|gave|became|began|built|took|ran|sold|left|held|met|sent|"
    r"found|taught|drew|sang|fought|brought|bought|kept|lost|came|went|[a-z]{3,}(?:ed|[^s\W\d]s))"
)
_WHO = re.compile(rf"^[Ww]ho ({_VERB} [^?]{{6,70}}?) ?\?*$")
_WHICH = re.compile(rf"^(?:[Ww]hich|[Ww]hat) ([a-z]{{3,}}(?: [a-z]{{3,}})?) ({_VERB} [^?]{{6,70}}?) ?\?*$")


def as_typed(example: Example, draw: random.Random) -> Example:
    """The example with its question as people type it, or as decomposition words it.

    One in ten is in lower case; one in twenty is terse, one misspelt, and one asks for a description if possible.
    """
    chance = draw.random()
    if example.verdict is None and chance < 0.05:
        return replace(example, question=terse(example.question))
    if chance < 0.10:
        return replace(example, question=misspelt(example.question, draw))
    if chance < 0.20:
        return replace(example, question=example.question.lower().rstrip("?. "))
    if chance < 0.25 and (phrase := phrase_of(example.question)):
        asker = "Who" if phrase.startswith("the person ") else "What"
        return replace(example, question=f"{asker} is {phrase}?")
    return example


def terse(question: str) -> str:
    """The question without its question words; unchanged if fewer than two others are left."""
    words = _FRAME.sub(" ", question).strip(" ?").split()
    return " ".join(words) if len(words) >= 2 else question


def misspelt(question: str, draw: random.Random) -> str:
    """The question with one letter of a longer word doubled, dropped or swapped with its neighbour."""
    places = [found.start() for found in re.finditer(r"(?<=\w{2})[a-z](?=[a-z])", question)]
    if not places:
        return question
    place = draw.choice(places)
    letter, following = question[place], question[place + 1]
    changed = draw.choice((letter + letter + following, following, following + letter))
    return question[:place] + changed + question[place + 2 :]


def phrase_of(question: str) -> str:
    """The question as a noun phrase, `the person who founded Orrin Glass`; empty if its form does not allow it."""
    if found := _WHO.match(question):
        return f"the person who {found[1]}"
    found = _WHICH.match(question)
    return f"the {found[1]} that {found[2]}" if found else ""
