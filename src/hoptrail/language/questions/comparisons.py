"""Comparison questions: what to ask of each side, and the verdict on the values.

Understands `Which/Who ..., A or B?` with an ordering word (earlier, older, longer ...), yes/no questions about such an order
(`Was A born before B?`, `Is A longer than B?`) and about `A and B` (the same place, the same person, both of a kind). A relation
of the sides may be compared, and is resolved first: `Which film has the director who was born later, A or B?`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from hoptrail.text import lexicon
from hoptrail.text.mentions import Mention, find_names
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.values import date_order, read_date, read_number, same_value
from hoptrail.text.words import content_stems, lower_words, stem, words


class ComparisonRule(StrEnum):
    """How the values of the two sides decide the question."""

    EARLIER = "earlier"
    LATER = "later"
    LESS = "less"
    MORE = "more"
    LONGER_LIFE = "longer life"
    SHORTER_LIFE = "shorter life"
    SAME = "same"
    BOTH = "both"


YES_OR_NO = frozenset({ComparisonRule.SAME, ComparisonRule.BOTH})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, and the questions for each in order, with `{side}` for its name and `{found}` for the answer to its first
    question. Its values are the answers from `values_from` on.
    """

    sides: tuple[str, str]
    questions: tuple[str, ...]
    values_from: int
    by: ComparisonRule
    claimed: bool = False  # whether the question asks yes or no about the first side: `Is A longer than B?`

    def asked(self) -> tuple[str, ...]:
        """All sub-questions, first one side's, then the other's, with `#n` for the answers they need."""
        result: list[str] = []
        for side in self.sides:
            described = 0
            for question in self.questions:
                result.append(question.replace("{side}", side).replace("{found}", f"#{described}"))
                described = described or len(result)
        return tuple(result)

    def verdict(self, answers: Sequence[str | None]) -> str | None:
        """The verdict from the answers to `asked()`; None if one is missing or they do not decide."""
        count = len(self.questions)
        answers_of = [answers[at * count + self.values_from : (at + 1) * count] for at in range(2)]
        first, second = ([answer for answer in side if answer is not None] for side in answers_of)
        if not len(first) == len(second) == count - self.values_from:
            return None
        if self.by is ComparisonRule.SAME:
            return "yes" if same_value(first[0], second[0]) else "no"
        if self.by is ComparisonRule.BOTH:
            return "yes" if first[0] == second[0] == "yes" else "no"
        order = _order(self.by, first, second)
        if self.claimed:
            return None if order is None else "yes" if order < 0 else "no"
        return self.sides[order > 0] if order else None


_COMPARATIVES = "|".join(sorted(lexicon.ORDERINGS))
_NAME = r"(?:the )?[A-Z][\w'’.-]*(?: (?:of )?(?:the )?[A-Z0-9][\w'’.-]*)*"
_OFFERED = re.compile(
    rf"(?P<auxiliary>(?i:is|are|was|were|has|have)) (?P<sides>{_NAME} or {_NAME}) "
    rf"(?P<ask>(?:[a-z]+(?:ed|n|t) )?(?:{_COMPARATIVES}))"
)
"""Two names with `or` between them, and what they are compared by."""


def find_comparison(question: str) -> Comparison | None:
    """The comparison that `question` makes, or None."""
    text = squeeze(question).rstrip(" ?.!")
    first = next((word.lower for word in words(text)), "")
    if first in {"which", "who", "what", "whose", "of", "in"}:
        return _choice(text)
    if offered := _OFFERED.fullmatch(text):  # `Was A or B born first?` is `Which was born first, A or B?`
        return _choice(f"Which {offered['auxiliary'].lower()} {offered['ask']}, {offered['sides']}")
    return (_claim(text) or _pair(text)) if first in lexicon.AUXILIARIES else None


_CHOSEN_BY = lexicon.ORDERINGS - {"before", "recently", "recent", "after"}
_MARK = re.compile(r"[,:]| between ")
_CLAUSE = re.compile(r"[,:] (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a question asks of two sides, the sides as written, and its ordering word (empty: it has none)."""

    ask: str
    sides: tuple[str, str]
    ordering: str


def find_choice(question: str) -> Choice | None:
    """The two sides that a question offers: `..., A or B`, `... between A and B`, or two names with `or` between them. No capital
    letters are needed: `Which takes longer, the quiz or the workshop?`.
    """
    text = squeeze(question).rstrip(" ?.!")
    ordering = next((word.lower for word in words(text) if word.lower in _CHOSEN_BY), "")
    if not ordering:
        return _names_offered(text)
    lead, between, _ = text.partition(" between ")
    is_between = " or " not in text and between and ordering in lead.lower().split()
    left, joined, other = text.rpartition(" and " if is_between else " or ")
    if not joined or not left.strip() or re.search(rf"\b{ordering} than (?!the other\b)", text.lower()):
        return None
    start, ask = _first_side(left, other, ordering), ""
    if all(word.lower != ordering for word in words(left)):  # `A or B, which is older?`
        if mark := _MARK.search(other):
            start, other, ask = left.rfind(",") + 1, other[: mark.start()], other[mark.end() :].strip()
        elif named := _names_offered(text):
            return replace(named, ordering=ordering)
        elif left.rstrip().endswith(","):
            return None  # a clause about the first side: `Is the Tern, built in 1901, or the Gull older?`
    sides = _trim(left[start:], ordering), _trim(_CLAUSE.split(other)[0], ordering)
    ask = ask or left[:start].rstrip(" ,:").removesuffix(" between")
    return Choice(ask, sides, ordering) if all(sides) else None


def _names_offered(text: str) -> Choice | None:
    """The first two names with only `or` between them."""
    for one, other in pairwise(find_names(text)):
        if text[one.end : other.start].lower().replace("the ", "").strip(' ,".') == "or":
            return Choice(text[: one.start] + text[other.end :].lstrip(), (one.text, other.text), "")
    return None


def _first_side(left: str, other: str, ordering: str) -> int:
    """Where the first side begins: after a mark, at the word that also opens the other side, or after the ordering word."""
    said = words(left)
    ordered = next((word.end for word in reversed(said) if word.lower == ordering), 0)
    if mark := _MARK.search(left, ordered) or _MARK.search(left):
        return mark.end()
    opening = words(other)[0].lower if words(other) else ""
    same = [word.start for word in said if word.lower == opening]
    if same and opening in lexicon.FUNCTION_WORDS:
        return same[-1]
    if ordered:
        return ordered
    return len(left.rstrip()) - len(left.rsplit(maxsplit=1)[-1])


def _trim(side: str, ordering: str) -> str:
    """A side without prepositions before it and without the ordering word before or after it."""
    rest = words(side)
    while rest and (rest[0].text in lexicon.PREPOSITIONS or rest[0].text == ordering):
        rest = rest[1:]
    if not rest:
        return ""
    return side[rest[0].start : rest[-2].end if rest[-1].text == ordering and rest[1:] else None].strip(" ,")


_ROLE = re.compile(
    r"\bwhose (?P<whose>[a-z]+) |"
    r"\b(?:has|have|had|with) (?:the |an? )?(?P<had>[a-z]+) (?:(?:who|that|which|whose)\b|[a-z]+ (?:later|first|earlier|last)\b)"
)
"""The noun that leads from a side to the compared thing: `whose director was born first`."""


def _choice(text: str) -> Comparison | None:
    choice = find_choice(text)
    if choice is None or choice.ordering not in lower_words(choice.ask):
        return None
    match = _ROLE.search(choice.ask.lower())
    role = match["whose"] or match["had"] if match else ""
    role = "" if role in lexicon.ORDERINGS else role
    side = "{found}" if role else "{side}"
    asked, by = _attribute(choice.ask, choice.ordering, side, person=lexicon.is_person_noun(role))
    return _comparison(choice.sides, role, asked, by)


def _comparison(
    sides: tuple[str, str], role: str, asked: Sequence[str], by: ComparisonRule, *, claimed: bool = False
) -> Comparison | None:
    """The comparison that first resolves the `role` of each side, if any; None if nothing is `asked`."""
    leading = (f"{'Who' if lexicon.is_person_noun(role) else 'What'} is the {role} of {{side}}?",) if role else ()
    return Comparison(sides, (*leading, *asked), len(leading), by, claimed) if asked else None


_BEEN = re.compile(r"\bha(?:s|ve) been (?P<rest>.+)$")
_LONGER = frozenset({"longer", "longest"})


def _attribute(ask: str, ordering: str, side: str, *, person: bool) -> tuple[tuple[str, ...], ComparisonRule]:
    """The questions that give a side's value (none if the words name no value), and how the values decide."""
    stems = {word.stem for word in words(ask)}
    if "live" in stems and ordering in {"longer", "longest", "shorter", "shortest"}:
        by = ComparisonRule.LONGER_LIFE if ordering.startswith("long") else ComparisonRule.SHORTER_LIFE
        return (f"When was {side} born?", f"When did {side} die?"), by
    if ordering in _LONGER and (been := _BEEN.search(ask)):
        rest = " ".join(word.text for word in words(been["rest"]) if word.lower not in _LONGER)
        return (f"Since when has {side} been {rest}?",), ComparisonRule.EARLIER
    recent = ordering in lexicon.LATER or (ordering in {"more", "most"} and "recent" in ask)
    if recent or ordering in lexicon.EARLIER:
        by = ComparisonRule.LATER if recent else ComparisonRule.EARLIER
        return (_date_question(ask, stems, ordering, side, person=person),), by
    number = _number_question(ask, ordering, side)
    return ((number,) if number else ()), ComparisonRule.MORE if ordering in lexicon.MORE else ComparisonRule.LESS


def _date_question(ask: str, stems: Set[str], ordering: str, side: str, *, person: bool) -> str:
    person = (
        person or ask.lower().startswith("who") or any(lexicon.is_person_noun(word.text) for word in words(ask)[1:3])
    )
    if "birth" in stems or (ordering in lexicon.AGES and person):
        return f"When was {side} born?"
    if "death" in stems:
        return f"When did {side} die?"
    event = "founded" if ordering in lexicon.AGES else _event(ask)
    if event:
        return f"When was {side} {event}?"
    did = _past_of(ask)
    return f"When did {side} come out?" if did in {"", "came out"} else f"When was it that {side} {did}?"


def _past_of(ask: str) -> str:
    """What the sides did, without the ordering word: `joined the club` in `Who joined the club first`."""
    said = [word for word in words(ask) if word.lower not in lexicon.ORDERINGS]
    pasts = (at for at, word in enumerate(said) if word.lower.endswith("ed") or word.lower in lexicon.IRREGULAR_PASTS)
    at = next(pasts, len(said))
    passive = at > 0 and said[at - 1].lower in {"was", "were"}
    return " ".join(("been", *(word.text for word in said[at:])) if passive else (word.text for word in said[at:]))


def _event(ask: str) -> str:
    """The event in `... was published earlier`: the words after the auxiliary, without the ordering word."""
    event = re.split(r"\b(?:was|were|is|been) ", ask)[1:]
    return " ".join(word.text for word in words(" ".join(event[-1:])) if word.lower not in lexicon.ORDERINGS)


_PRICED = lexicon.word_set("expensive cheap costly dear")
_LISTED_NOUN = "(?P<noun>(?:[a-z-]+ ){0,2}[a-z-]+)$"


def _number_question(ask: str, ordering: str, side: str) -> str:
    """The question for a side's number; empty if the words name no number."""
    lowered = ask.lower()
    if ordering in lexicon.POSITIVES:
        noun = re.search(rf"\b{ordering} {_LISTED_NOUN}", lowered)
        if noun is None and any(word.stem == "tak" for word in words(ask)):
            return f"How {lexicon.POSITIVES[ordering]} does {side} take?"
        return f"What is the {noun['noun']} of {side}?" if noun else f"How {lexicon.POSITIVES[ordering]} is {side}?"
    counted = lowered.partition(f" {ordering} ")[2].strip()
    if counted in _PRICED:
        return f"What is the price of {side}?"
    if not counted:
        return f"How large is {side}?"
    if not _counts(counted):
        return ""
    did = _past_of(lowered.partition(f" {ordering} ")[0])
    return f"How many {counted} has {side} {did}?" if did else f"How many {counted} does {side} have?"


def _counts(counted: str) -> bool:
    """Whether the words name countable things: `seats`, not `accurate with gpsd`."""
    counted = re.split(rf" (?:{'|'.join(sorted(lexicon.PREPOSITIONS))}) ", counted)[0]
    return any(word.endswith("s") or word in {"people", "men", "women", "children"} for word in counted.split()[:3])


_NOW_OR_THEN = "is|are|was|were|do|does|did|has|have|had"
_CLAIM = re.compile(
    rf"(?P<auxiliary>(?i:{_NOW_OR_THEN})) (?P<first>[a-z ]*)# (?:(?P<said>[a-z ]+?) )?"
    rf"(?:(?P<order>before|after)|(?P<more>{_COMPARATIVES})(?: (?P<noun>[a-z]+))? than) "
    rf"(?P<second>[a-z ]*)#(?: (?:{_NOW_OR_THEN}))?"
)
_EVENT = re.compile(r"(?:first )?[a-z]+(?: (?:out|up|away|place))?")
_BARE_LEAD = re.compile(r"(?:the )?(?:[a-z]+ )?")


def _claim(text: str) -> Comparison | None:
    """`Was A born before B?`, `Is A longer than B?`: two names with only ordering words between them."""
    names = find_names(text)
    if len(names) != 2:
        return None
    one, other = names
    masked = f"{text[: one.start]}#{text[one.end : other.start]}#{text[other.end :]}"
    match = _CLAIM.fullmatch(re.sub('["“”]', "", masked))
    if match is None:
        return None
    leads = [lexicon.NAMED_AFTER_OF.sub("", match[side]) for side in ("first", "second")]
    roles = {_pair_role(lead, "") for lead in leads}
    role = roles.pop()
    if roles or not (role or all(map(_BARE_LEAD.fullmatch, leads))):
        return None
    sides = tuple(f"the {name.text}" if lead == "the " else name.text for lead, name in zip(leads, names, strict=True))
    asked, by = _claimed_attribute(match, "{found}" if role else "{side}", person=_are_persons(role, leads, sides))
    return _comparison((sides[0], sides[1]), role, asked, by, claimed=True)


def _claimed_attribute(match: re.Match[str], side: str, *, person: bool) -> tuple[tuple[str, ...], ComparisonRule]:
    """The questions that give a side's value (none if the claim is not about one value), and how the values decide."""
    said, more, noun = match["said"] or "", match["more"] or "", match["noun"] or ""
    recently = (more, noun) == ("more", "recently")
    if match["order"] or recently or (more in lexicon.EARLIER | lexicon.LATER and said and not noun):
        later = match["order"] == "after" or recently or more in lexicon.LATER
        plain = _EVENT.fullmatch(said) and not (later and said == "named")
        asked = (f"When {match['auxiliary'].lower()} {side} {said}?",)
        return asked if plain else (), ComparisonRule.LATER if later else ComparisonRule.EARLIER
    known = {"": not noun and more in lexicon.AGES | lexicon.POSITIVES.keys(), "live": more in {"longer", "shorter"}}
    if not known.get(said, said in {"have", "have a"} and noun):
        return (), ComparisonRule.SAME
    return _attribute(f"{said} {more} {noun}".strip(), more, side, person=person)


def _are_persons(role: str, leads: Sequence[str], sides: Sequence[str]) -> bool:
    """Whether the sides are persons: by their noun, else unless a name has an article."""
    noun = role or next((lead.split()[-1] for lead in leads if lead not in {"", "the "}), "")
    if noun:
        return lexicon.is_person_noun(noun)
    return not any(word.lower in lexicon.ARTICLES for side in sides for word in words(side))


_SAME = re.compile(r"\bsame ([a-z]+)", re.IGNORECASE)


def _pair(text: str) -> Comparison | None:
    """A question about `A and B`: the same place or person, or both of a kind."""
    sides = _two_names(text)
    if sides is None:
        return None
    first, second = sides
    between, lead = text[first.end : second.start], text[: first.start]
    rest = squeeze(between if _SAME.search(between) else text[second.end :])
    same = _SAME.search(f"{lead} {rest}")
    role = _pair_role(lead, rest)
    side = "{found}" if role else "{side}"
    names = (first.text, second.text)
    if same is not None:
        return _comparison(names, role, [_same_question(same.group(1).lower(), rest, side)], ComparisonRule.SAME)
    kind = re.sub(r"^(?:both|all|each)\s+|\s+(?:both|too|alike)$", "", rest.lstrip(" ,"))
    one_of = "one of the " if words(lead)[0].lower in lexicon.COPULAS and _are_many(kind) else ""
    asked = [f"Is {side} {one_of}{kind}?"] if content_stems(kind) - {"both"} else []
    return _comparison(names, role, asked, ComparisonRule.BOTH)


def _two_names(text: str) -> tuple[Mention, Mention] | None:
    """The two names joined by `and` or `the same ... as`, each perhaps after a description (`the director of film A`)."""
    for one, other in pairwise(find_names(text)):
        between = text[one.end : other.start].lower().strip(' ".').split()
        joined = between[:1] == ["and"] and len(between) <= 5
        if joined or (between[-1:] == ["as"] and "same" in between):
            return one, other
    return None


_OF = re.compile(r"\b([a-z]+) of (?:the |both )?(?:[a-z]+ )?(?:the )?[\"“]?$")
_HAVE = re.compile(
    r"^(?:[a-z]+ )?(?:both )?(?:have|share|has) (?:the |a )?([a-z]+?)s? (?:from|who|that|of|born|with)\b"
)


def _pair_role(lead: str, rest: str) -> str:
    match = _OF.search(lead.lower() if lead.endswith(" ") else f"{lead.lower()} ") or _HAVE.search(rest.lower())
    if match is None or match.group(1) == "same":
        return ""
    role = match.group(1)
    return role.removesuffix("s") if not role.endswith("ss") else role


def _same_question(same: str, rest: str, side: str) -> str:
    known = {"birth", "build", "make", "write", "found"}
    verb = next((word.text for word in words(rest) if word.lower.endswith("ed") or stem(word.text) in known), "")
    by = any(word.lower == "by" for word in words(rest))
    if stem(verb) == "birth":
        return f"Where was {side} born?"
    if by and verb:
        return f"Who was {side} {verb} by?"
    if same in {"country", "nation", "nationality"} and not verb:
        return f"What is the nationality of {side}?"
    if verb:
        return f"In which {same} {'is' if verb == 'located' else 'was'} {side} {verb}?"
    return f"What is the {same} of {side}?"


def _are_many(kind: str) -> bool:
    """Whether a kind is a plural noun, perhaps after words that describe it: `football clubs`."""
    if kind.startswith(("types of ", "kinds of ", "sorts of ")):
        return True
    plain = not any(word.lower in lexicon.FUNCTION_WORDS for word in words(kind))
    return plain and kind.endswith("s") and not kind.endswith("ss")


def _order(by: ComparisonRule, first: Sequence[str], second: Sequence[str]) -> int | None:
    """Negative if the first side is the answer, positive if the second is, 0 for a tie; None if a value cannot be read."""
    order: int | None = None
    if by in {ComparisonRule.EARLIER, ComparisonRule.LATER}:
        dates = read_date(first[0]), read_date(second[0])
        if dates[0] and dates[1]:
            order = date_order(dates[0], dates[1])
    else:
        lives = by in {ComparisonRule.LONGER_LIFE, ComparisonRule.SHORTER_LIFE}
        one, other = (_years(*values) if lives else read_number(values[0]) for values in (first, second))
        if one is not None and other is not None:
            order = (one > other) - (one < other)
    if order is None:
        return None
    return -order if by in {ComparisonRule.LATER, ComparisonRule.MORE, ComparisonRule.LONGER_LIFE} else order


def _years(birth: str, death: str) -> float | None:
    start, end = read_date(birth), read_date(death)
    if start is None or end is None:
        return None
    return (end[0] - start[0]) + (end[1] - start[1]) / 12 + (end[2] - start[2]) / 365
