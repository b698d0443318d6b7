"""Comparison questions: two sides, the question asked of each alone, and what their values say.

The question tagger marks the sides, tells how their values decide, and marks the noun for what leads to these if they are
another's (`Which film has the older director, A or B?`). The reader has learned to read the value of one side from a
question that names it alone (`training/compared.py`): `Which is older, the weir?`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.models.question_tagger import ComparisonRule, Extent, tag_question, tag_values
from hoptrail.text.dates import dates_within
from hoptrail.text.lexicon import FUNCTION_WORDS, PREPOSITIONS, is_person_noun, word_set
from hoptrail.text.values import date_order, read_amount, read_date, same_value
from hoptrail.text.words import words
from hoptrail.types import AnswerKind

_BORDERS = PREPOSITIONS | word_set("who whose whom that which where when")  # what ends a description's first noun
ORDERS = frozenset({ComparisonRule.LESS, ComparisonRule.MORE})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, and the question for each. `searched` are what leads from each to its value (`Who is the director of A?`) if it
    `is_led`, else that question, and after each the question about what is found for it (`#1`), because a side may only lead
    there. `claimed`: yes or no is asked; of an order, whether it holds of the first.
    """

    question: str
    sides: tuple[str, str]
    questions: tuple[str, str]
    searched: tuple[str, ...]
    rule: ComparisonRule
    claimed: bool
    is_led: bool = False

    def verdict(self, first: str | None, second: str | None) -> str | None:
        """The answer from both sides' values, for BOTH from a yes or no of each; None if one is missing or they do not decide."""
        if first is None or second is None:
            return None
        match self.rule:
            case ComparisonRule.BOTH:
                return "yes" if first == second == "yes" else "no"
            case ComparisonRule.SAME:
                return "yes" if same_value(first, second) else "no"
        order = _order(first, second)
        if order is None or (order == 0 and not self.claimed):
            return None
        told = tag_values(self.question, (first, second))
        is_first = order > 0 if (told if told in ORDERS else self.rule) is ComparisonRule.MORE else order < 0
        return ("yes" if is_first else "no") if self.claimed else self.sides[not is_first]


def find_comparison(question: str) -> Comparison | None:
    """The comparison of two sides that `question` makes, or None. Raises: ModelUnavailable: as for `tag_question`."""
    tags = tag_question(question)
    claimed = tags.kind is AnswerKind.YES_NO
    # Nothing is compared without an order or a claim: `What do the weir and the sluice have in common?`
    if len(tags.sides) != 2 or not (claimed or tags.rule in ORDERS):
        return None
    one, other = (question[start:end].strip(" ,") for start, end in tags.sides)
    first, then, second, last = (one_sided(question, tags.sides, side) for side in (one, "#1", other, "#3"))
    noun = question[slice(*tags.lead)] if tags.lead else ""
    noun = noun if noun.endswith("ss") else noun.removesuffix("s")
    leading = [asked_for(f"the {noun} of {side}") for side in (one, other)] if noun else [first, second]
    searched = leading[0], then, leading[1], last
    return Comparison(question, (one, other), (first, second), searched, tags.rule, claimed, bool(noun))


def one_side(question: str) -> str | None:
    """The side of a question about the value of one side alone. Raises: ModelUnavailable: as for `tag_question`."""
    sides = tag_question(question).sides
    return question[slice(*sides[0])].strip(" ,") if len(sides) == 1 else None


def one_sided(question: str, sides: Sequence[Extent], side: str) -> str:
    """The question about one `side` alone: its two sides make room for it, and so do the words that only join them."""
    (first, end), (start, last) = sides
    between = question[end:start]
    if all(word.lower in FUNCTION_WORDS for word in words(between)):
        between = ""
    return question[:first] + side + between.rstrip() + question[last:]


def asked_for(described: str) -> str:
    """The question for a description: with `Who` for that of a person, else `What`."""
    said = [word.lower for word in words(described)]
    border = next((at for at, word in enumerate(said) if at and word in _BORDERS), len(said))
    person = said[border - 1 : border + 1][1:] == ["who"] or is_person_noun(said[border - 1])
    return f"{'Who' if person else 'What'} is {described}?"


def _order(first: str, second: str) -> int | None:
    """-1 if the first value is the earlier date, the smaller number or the shorter time between two dates, 1 if the second is,
    0 for equal ones; None: unknown.
    """
    if (lasted := _years_within(first)) and (other_lasted := _years_within(second)):
        return (lasted > other_lasted) - (lasted < other_lasted)
    dates = read_date(first), read_date(second)
    if dates[0] and dates[1]:
        return date_order(dates[0], dates[1])
    if any(date and date[1] for date in dates):
        return None  # a date with a month is no number
    one, other = read_amount(first), read_amount(second)
    return None if one is None or other is None else (one > other) - (one < other)


def _years_within(text: str) -> float | None:
    """The years from the first to the second of two dates, as of a life."""
    dates = [date for found in dates_within(text) if (date := read_date(found))]
    years = [year + month / 12 + day / 365 for year, month, day in dates]
    return years[1] - years[0] if len(years) == 2 else None
