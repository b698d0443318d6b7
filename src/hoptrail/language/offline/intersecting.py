"""Questions whose answer must satisfy two conditions: a plain question for each, and the answer that they share.

Two forms: `both A and B` (`Which tram stops at both Foss and Arden?`), and what two have in common (`Which trade do A and B
share?`). Each condition must have a name. `A and B` without `both` is left alone, as it may be one title. Comparisons of two
sides (`Are both A and B ...?`) are in `comparisons`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.text.enumerations import parts_of
from hoptrail.text.lexicon import AUXILIARIES, word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.phrases import Token, tokens_of
from hoptrail.text.questions import is_person_noun
from hoptrail.text.values import same_value

_MOST_ANALYSED = 600
_ASKING = word_set("who what which where when whose")
_COMMON = re.compile(
    r"^(?:what|which) (?P<noun>[a-z]+(?: [a-z]+)?) (?:do|did|does) (?P<sides>.+?) (?:both )?(?:share|have in common)$",
    re.IGNORECASE,
)
_IN_COMMON = re.compile(
    r"^what is the (?:common|shared) (?P<noun>[a-z]+(?: [a-z]+){0,2}?) (?:of|between) (?P<sides>(?-i:[A-Z\"“]).+)$",
    re.IGNORECASE,
)
_EACH_DOES = re.compile(
    r"^(?P<ask>(?:[a-z]+ )?(?:what|which) [a-z]+(?: [a-z]+)?) (?P<aux>do|did|were|are) (?P<sides>.+?) both (?P<rest>[a-z].*)$",
    re.IGNORECASE,
)
_SINGULAR = {"do": "does", "did": "did", "were": "was", "are": "is"}
_SYMMETRIC = word_set(
    "between among connects connected connect links linked link joins joined join separates separated"
)


def find_conditions(question: str) -> tuple[str, ...]:
    """The plain questions, at least two, that the answer to `question` must answer; none if it is no intersection."""
    text = squeeze(question).rstrip(" ?.!")
    if not text or len(text) > _MOST_ANALYSED:
        return ()
    tokens = tokens_of(text)
    if not any(token.lower in _ASKING for token in tokens) or tokens[0].lower in AUXILIARIES:
        return ()
    conditions = _in_common(text) or _each_of_both(text, tokens)
    return tuple(f"{condition[0].upper()}{condition[1:]}?" for condition in conditions)


def agreed(answers: Sequence[str | None]) -> str | None:
    """The answer that all `answers` give; of lists (`A, B and C`), the first entry in all of them."""
    if not answers or any(answer is None for answer in answers):
        return None
    first, *others = [answer for answer in answers if answer is not None]
    if all(same_value(first, other) for other in others):
        return first
    lists = [parts_of(other) for other in others]
    shared = (one for one in parts_of(first) if all(any(same_value(one, part) for part in parts) for parts in lists))
    return next(shared, None)


def _in_common(text: str) -> tuple[str, ...]:
    """`Which trade do A and B share?`, `In which town were A and B both born?`"""
    if match := _COMMON.match(text) or _IN_COMMON.match(text):
        sides = _two_sides(match["sides"])
        noun = match["noun"].removesuffix("s") if not match["noun"].endswith(("ss", "us", "is")) else match["noun"]
        asker = "Who" if is_person_noun(noun) else "What"
        return tuple(f"{asker} is the {noun} of {side}" for side in sides)
    if match := _EACH_DOES.match(text):
        auxiliary = _SINGULAR[match["aux"].lower()]
        return tuple(f"{match['ask']} {auxiliary} {side} {match['rest']}" for side in _two_sides(match["sides"]))
    return ()


def _two_sides(text: str) -> tuple[str, ...]:
    """Both parts of `A and B`, each with a name; none otherwise."""
    tokens = tokens_of(text)
    pair = _joined_names(tokens, -1)
    if pair is None:
        return ()
    return text[: tokens[pair[0]].end].removeprefix("both "), text[tokens[pair[0] + 1].end :].strip()


def _each_of_both(text: str, tokens: Sequence[Token]) -> tuple[str, ...]:
    """`... both A and B ...`, once with A and once with B."""
    for at, token in enumerate(tokens):
        is_both = token.lower == "both" and at > 0 and tokens[at - 1].lower not in _SYMMETRIC
        pair = _joined_names(tokens, at) if is_both else None
        if pair is None:
            continue
        first, second = pair
        lead, tail = text[: token.start], text[tokens[second].end :]
        one = text[token.end : tokens[first].end].strip()
        other = text[tokens[first + 1].end : tokens[second].end].strip()
        return f"{lead}{one}{tail}", f"{lead}{other}{tail}"
    return ()


def _joined_names(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """The places of the names around the `and` that follows place `at`: the last name before, the first name after."""
    for place in range(at + 2, len(tokens) - 1):
        if tokens[place].lower == "and" and tokens[place - 1].name:
            second = next((after for after in range(place + 1, len(tokens)) if tokens[after].name), None)
            if second is None or any(token.verb for token in tokens[place + 1 : second]):
                return None
            return (place - 1, second)
    return None
