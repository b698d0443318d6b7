"""Classify a question by the kind of answer it asks for: by its first words and its nouns, in English."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from hoptrail.language.questions.indirect_questions import direct
from hoptrail.text.lexicon import AUXILIARIES, OPENERS, PREPOSITIONS, QUESTION_WORDS, word_set
from hoptrail.text.questions import asking_sentence
from hoptrail.text.words import Word, words
from hoptrail.types import AnswerKind

_DEGREES = word_set(
    "many much tall long old high deep far wide large big heavy fast often few late early soon hot cold thick close strong "
    "accurate expensive"
)
_DOING = word_set("do can should could must to would shall")
_ACTORS = word_set("i we you one to people staff users someone somebody")
_EXPLAINED = re.compile(
    r"^(?:why\b|how come\b|explain\b|describe\b|tell me about\b|what about\b|what happens\b|what happened\b|for what reason\b"
    r"|what (?:is|was|were|are) the (?:reason|cause(?! of death)|purpose|background|difference)s?\b"
    r"|what (?:does|do|did) .+ (?:do|mean)\??$"
    r"|what for\b|.*\bwhat (?:is|was) it (?:for|about)\b)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"^(?:list\b|name (?:all|the|every|every(?:body|one|thing))\b|give me (?:all|a list|the list|every)\b"
    r"|(?:give|tell) me the (?:\w+ )?(?:names|dates|numbers|places|addresses|titles)\b|show (?:me )?(?:all|every)\b|enumerate\b"
    r"|(?:what|which|who) all\b|who (?:are|were) (?!the (?:oldest|youngest))|who attended\b|who took part\b"
    r"|who (?:was|were|is|are) (?:present|attending|invited)\b"
    r"|who (?:was|were) (?:at|there)\b|what (?:has|have) to be done\b|what (?:kinds|types|sorts) of\b"
    r"|what are (?:the|all|our|my|their|its)\b(?!.* of\b))|\ball (?:of )?the\b",
    re.IGNORECASE,
)
_NO_PLURALS = word_set(
    "us this gas bus bias basis status access address process class is was has does business campus series"
)
_AFTER_PLURALS = word_set("and are were do did have can could will would should must may")
_NO_NOUN_BEFORE = PREPOSITIONS | word_set("is was has does the a an it this that")
_DONE = re.compile(r"^what (?:do|should|must|can) (?:i|we|you|one) do\b", re.IGNORECASE)
_COMPARED = word_set(
    "more less earlier later older younger first bigger larger longer shorter higher lower better cheaper or"
)


@lru_cache(256)
def kind_asked(question: str) -> AnswerKind:
    """The kind of answer that a question asks for; `SHORT` by default."""
    line = asking_sentence(" ".join(direct(question).split()))
    tokens = words(line)
    if not tokens:
        return AnswerKind.SHORT
    first = tokens[0].lower
    if _EXPLAINED.match(line):
        return AnswerKind.PASSAGE
    if _LISTED.search(line) and not first.startswith("how"):
        return AnswerKind.LIST
    if first == "how":
        return _how(tokens)
    if first in OPENERS:
        offers = any(token.lower == "or" for token in tokens[1:-1])  # `Is the HR-90 or the TW-7 dearer?`
        return AnswerKind.SHORT if offers else AnswerKind.YES_NO
    if _DONE.match(line):
        return AnswerKind.STEPS
    asking = next((at for at, token in enumerate(tokens[:3]) if token.lower in {"which", "what"}), None)
    if asking is not None:
        return AnswerKind.LIST if _plural(tokens[asking + 1 :], first=asking == 0) else AnswerKind.SHORT
    keywords = all(token.lower not in QUESTION_WORDS for token in tokens)
    return AnswerKind.LIST if keywords and any(map(_is_plural, tokens[:2])) else AnswerKind.SHORT


def _how(tokens: tuple[Word, ...]) -> AnswerKind:
    following = tokens[1].lower if len(tokens) > 1 else ""
    if following in _DEGREES:
        return AnswerKind.SHORT
    actor = tokens[2].lower if len(tokens) > 2 else ""
    if following == "to" or (following in _DOING and actor in _ACTORS):
        return AnswerKind.STEPS
    return AnswerKind.PASSAGE


def _plural(tokens: tuple[Word, ...], *, first: bool) -> bool:
    """Whether the noun after `which` or `what` is plural, without a comparison: `which customers are waiting`. After another noun
    a word in -s may be a verb (`which variable limits the cores`), so a plural verb must follow it.
    """
    if any(token.lower in _COMPARED for token in tokens):
        return False
    for at, (token, following) in enumerate(pairwise(tokens[:4])):
        if token.lower in AUXILIARIES:
            return False
        if _is_plural(token) and (
            following.lower in _AFTER_PLURALS
            or (first and following.lower == "does")
            or (at == 0 and following.lower not in _NO_NOUN_BEFORE)
        ):
            return True
    return False


def _is_plural(token: Word) -> bool:
    lower = token.lower
    ending = len(lower) > 3 and lower.endswith("s") and not lower.endswith(("ss", "'s"))
    return ending and lower not in _NO_PLURALS and token.text[0].islower()
