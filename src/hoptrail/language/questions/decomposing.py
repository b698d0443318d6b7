"""Decompose nested questions from the inside: `the X of the Y that Z` becomes a chain of plain questions.

Three kinds of description are resolved, innermost first (as in ChainRAG and HiRAG): a possessive (`Marie's father`), a noun with
`of` and a name (`the designer of the Candlerock Lighthouse`), and a noun with a clause (`the town where #1 was born`). Each
becomes `Who is ...?` or `What is ...?` and leaves its number, `#1`, in the rest. Anything else stays one question.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from hoptrail.language.questions.clauses import Description, describing_clauses
from hoptrail.text.lexicon import ARTICLES, BASE_VERBS, KINSHIP, ORGANISATION_NOUNS, PARTITIVES, word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.phrases import CLAUSE_WORDS, Token, adjacent, group_start, tokens_of
from hoptrail.text.questions import Wanted, asking_sentence, is_person_noun, type_of_noun

_POSSESSIVE_ASKED = re.compile(
    r"^(who|what) (?:is|was) (?!the |our |my |your |in |at |on )([^?]{2,80})['’]s ((?-i:[a-z-]+(?: [a-z-]+)?))\?$",
    re.IGNORECASE,
)
_SHORTENED = re.compile(r"^(who|what)['’]s (?=[a-z#A-Z])", re.IGNORECASE)
_ASKED_NAME = re.compile(r"^(who|what) (?:is|was|are|were) the (?:full |first )?names? of (?=the [a-z])", re.IGNORECASE)
_FORMS_OF_BE = word_set("is was are were")
_FRONTED = _FORMS_OF_BE | word_set("did do does")
_SAME = re.compile(r"\bthe same (?=[a-z]+ (?:where|that|who|in which)\b)")
_KIN = re.compile(rf"(?P<start>\bthe |['’]s )(?P<kin>{'|'.join(KINSHIP)})(?P<end> of)?\b", re.IGNORECASE)
"""Relatives two steps away."""
_GOES_ON = re.compile(
    r"(?:(?:when|while|if|before|after|until|unless|because|since) (?:it|he|she|they|we|you|i)"
    r"|[a-z]+ed (?:in|on|at|by|for|from|to|of|since|during|before|after)|and|or)\b",
    re.IGNORECASE,
)
"""Belongs to the description before it: `the error of the meter when it was new`, `the price of X paid in May`."""
_WHEN = re.compile(r"\b(?:before|after|during|since|until) $", re.IGNORECASE)
_EVENTS = word_set("evening morning meeting building showing screening wedding training")
_OWNER = re.compile(r"['’]s\b|(?<=[sz])['’](?= )")
_WHOLE = re.compile(r"(?:who|what|which|where|when)(?: (?P<noun>[a-z]+))? (?:is|was|are|were)$", re.IGNORECASE)


def chain(question: str, most: int, offset: int = 0) -> tuple[str, ...]:
    """At most `most` sub-questions of `question`, the last being its remainder; references count from `offset` + 1."""
    text = squeeze(question)
    asked = asking_sentence(text)
    whole = rest = _simplify(asked)
    steps: list[str] = []
    while len(steps) < most - 1:
        description = _innermost(rest)
        if description is None:
            break
        steps.append(description.question)
        rest = f"{rest[: description.start]}#{offset + len(steps)}{rest[description.end :]}"
    if not steps or not all(map(_has_verb, (*steps, rest))):
        return (f"{text[: len(text) - len(asked)]}{whole}",)
    return (*steps, rest)


def _has_verb(question: str) -> bool:
    """Whether a question kept its verb: `In which city does #1?` lost it."""
    tokens = tokens_of(question)
    at = next((at for at, token in enumerate(tokens) if token.lower in {"do", "does", "did"}), None)
    return at is None or any(token.content and not token.name for token in tokens[at + 1 :])


_EXTRAPOSED = re.compile(
    rf"\b(?P<aux>does|do|did) (?P<noun>the [a-z]+(?: [a-z]+)?) (?P<verb>{'|'.join(sorted(BASE_VERBS))}) "
    r"(?P<clause>(?:who|that|which) [^?]+?)\??$",
    re.IGNORECASE,
)


def _simplify(question: str) -> str:
    """The question in a simpler form: a clause directly after its noun, no `the same`, no `'s` for `is`, no `the name of`, a
    relative two steps away as both steps, and `of` for a possessive.
    """
    question = _EXTRAPOSED.sub(r"\g<aux> \g<noun> \g<clause> \g<verb>?", question)
    question = _SAME.sub("the ", question)
    question = _ASKED_NAME.sub(r"\1 is ", _SHORTENED.sub(r"\1 is ", question))
    question = _KIN.sub(_in_two_steps, question)
    return _POSSESSIVE_ASKED.sub(r"\1 is the \3 of \2?", question)


def _in_two_steps(match: re.Match[str]) -> str:
    """`the stepmother of` becomes `the wife of the father of`, `'s stepmother` becomes `'s father's wife`."""
    first, second = KINSHIP[match["kin"].lower()]
    return f"the {second} of the {first} of" if match["end"] else f"{match['start']}{first}'s {second}"


def _innermost(question: str) -> Description | None:
    tokens = tokens_of(question)
    kinds = (_possessives(question, tokens), _relations(question, tokens), describing_clauses(question, tokens))
    return next((one for one in itertools.chain(*kinds) if not _is_whole(question, one)), None)


def _is_whole(question: str, description: Description) -> bool:
    """Whether resolving the description would leave nothing to ask: `Who is the father of #1?`."""
    before = question[: description.start].strip()
    after = question[description.end :].strip(" ?.!")
    joined = not after or _GOES_ON.match(after) is not None  # `the father of Ada and Karl` is one father
    if not joined or not before:
        return joined
    asked = _WHOLE.match(before)
    if asked is None or asked["noun"] is None:
        return asked is not None
    # `What city is the birthplace of #1?` asks for the birthplace; `What nationality is the author of #1?` does not ask who
    head = description.question.partition(" of ")[0].rpartition(" ")[2]
    return type_of_noun(asked["noun"]) is type_of_noun(head) is Wanted.PLACE


def _possessives(question: str, tokens: Sequence[Token]) -> Iterator[Description]:
    """Descriptions of the form `NAME's noun`."""
    for at, name in enumerate(tokens):
        ending = _OWNER.match(question, name.end)
        before = question[: name.start].strip().lower()
        is_asked = name.text.startswith("#") and _WHOLE.match(before) is not None
        if ending is None or not name.name or is_asked or before.endswith("one of"):
            continue
        first = at + 1 + (tokens[at + 1 : at + 2] != () and tokens[at + 1].lower == "s")
        last = _nouns_behind(question, tokens, first, ending.end() + 1, compound=False)
        if last >= first:
            yield from _description_of(question, (name.start, tokens[last].end), tokens[first : last + 1], name.text)


def _relations(question: str, tokens: Sequence[Token]) -> Iterator[Description]:
    """Descriptions of the form `the noun of (the kind) NAME`, the last one first, because it is the innermost."""
    for at in range(len(tokens) - 1, 1, -1):
        if not tokens[at].name:
            continue
        last = at
        if tokens[at - 1].lower == "the":  # `the NAME project`
            last = _nouns_behind(question, tokens, at + 1, tokens[at].end + 1, compound=True)
        of = _of_before(tokens, at)
        start = group_start(tokens, of - 1) if of else None
        if of is None or start is None or question.startswith(("'", "’"), tokens[last].end):
            continue
        noun = tokens[start + 1 : of]
        plain = tokens[start].lower in ARTICLES and not any(token.name for token in noun)
        if not plain or [token.lower for token in noun].count("of") > 1:
            continue
        in_clause = any(token.lower in CLAUSE_WORDS and before for before, token in enumerate(tokens[:start]))
        role = tokens[of - 1].text
        has_name = type_of_noun(role) is not Wanted.THING or role.lower() in ORGANISATION_NOUNS
        if has_name or not in_clause:  # else `the lens of X` is a part of the clause
            rest = question[tokens[of].end : tokens[last].end].strip()
            yield from _description_of(question, (tokens[start].start, tokens[last].end), noun, rest)


def _of_before(tokens: Sequence[Token], at: int) -> int | None:
    """The place of an `of` before the name at `at`, with only an article and nouns for its kind between them."""
    for place in range(at - 1, max(0, at - 6), -1):
        if tokens[place].lower == "of":
            return place
        if not adjacent(tokens, place + 1) or not (tokens[place].lower in ARTICLES or tokens[place].content):
            return None
        if tokens[place].name:
            return None
    return None


def _nouns_behind(question: str, tokens: Sequence[Token], first: int, start: int, *, compound: bool) -> int:
    """The place of the last of up to three nouns from token `first` on (at `start` in the text); `first` - 1 if none."""
    last = first - 1
    for token in tokens[first : first + 3]:
        going = token.lower.endswith("ing") and token.lower not in _EVENTS
        verbal = (compound or last >= first) and (token.verb or going)
        if token.name or not token.content or token.start - start > 1 or verbal:
            break
        start, last = token.end, last + 1
        if is_person_noun(token.text):
            break
    # the last word of a fronted question is its verb (`Where did X's capital erupt?`), but not of `Who is X's main director?`
    asks_who = tokens[0].lower in {"who", "what"} and tokens[1].lower in _FORMS_OF_BE
    fronted = not asks_who and any(token.lower in _FRONTED for token in tokens[: min(first, 5)])
    return last - (last >= first + (not compound) and fronted and not question[tokens[last].end :].strip(" ?"))


def _description_of(question: str, place: tuple[int, int], noun: Sequence[Token], of: str) -> Iterator[Description]:
    """The description, unless the noun only says which part or when: `a member of the club`, `after the launch of the ship`."""
    head, phrase = noun[-1].text, question[noun[0].start : noun[-1].end]
    when = type_of_noun(head) is Wanted.THING and _WHEN.search(question, 0, place[0])
    if not when and phrase.lower() not in PARTITIVES:
        asker = "Who" if is_person_noun(head) or head.lower() == "member" else "What"
        yield Description(*place, f"{asker} is the {phrase} of {of}?")
