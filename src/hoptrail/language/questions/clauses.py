"""Find clauses in a question that describe a thing instead of naming it, and where they end.

There are relative clauses (`the town where Ada was born`) and participial ones (`the town founded by Ada`). The hard part is the
end: in `When did the man who built Foss Bridge die?` the last word belongs to the question. The search runs from the right, so
that the innermost clause comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.text import lexicon
from hoptrail.text.lexicon import ARTICLES, AUXILIARIES, COPULAS, PREPOSITIONS, word_set
from hoptrail.text.phrases import CLAUSE_WORDS, Token, group_start, own_verb
from hoptrail.text.questions import is_person_noun

_TIMES = lexicon.DATE_NOUNS | word_set(
    "night evening morning afternoon weekend season summer winter spring autumn event occasion period era"
)
_WITH_COMMA = 2
"""Characters between two words with a comma."""
_DO = word_set("did do does")
_BE = word_set("is was are were")
_HAVE = word_set("has have had")
_NO_PREDICATE_AFTER = ARTICLES | CLAUSE_WORDS | AUXILIARIES | COPULAS
_NO_PREDICATE_AFTER |= word_set("to by as and or would will can could s not")
_STRANDABLE = word_set("in from of for on at with to after under by into through about")
_LED_BY_PARTICIPLES = PREPOSITIONS - {"to"}
_NOT_PARTICIPLES = word_set(
    "building king ring sibling spring wing string thing morning evening wedding seed bed shed red during "
    "exceed proceed succeed speed feed need indeed"
)


@dataclass(frozen=True, slots=True)
class Description:
    """The stretch of a question that describes a thing without naming it, and the question that finds the thing."""

    start: int
    end: int
    question: str


@dataclass(frozen=True, slots=True)
class _Opening:
    """A noun group (tokens from `start` to `head`) whose clause opens at token `at`; `own` is the clause's own verb."""

    start: int
    head: int
    at: int
    own: int


def describing_clauses(question: str, tokens: Sequence[Token]) -> Iterator[Description]:
    """The descriptions by a clause, the last one first."""
    for at in range(len(tokens) - 1, 0, -1):
        opening = _relative(tokens, at) or _participial(tokens, at)
        if opening is None or question[tokens[opening.at].start - 2] in ":;":
            continue
        end = _clause_end(question, tokens, opening)
        first, head = tokens[opening.start], tokens[opening.head]
        if end > tokens[opening.at].end:
            phrase = question[first.start].lower() + question[first.start + 1 : end]
            yield Description(first.start, end, f"{'Who' if is_person_noun(head.text) else 'What'} is {phrase}?")


def _is_relative(tokens: Sequence[Token], at: int) -> bool:
    """Whether the clause word at `at` opens a clause and is no question word, as in `the leader of which revolution`."""
    word = tokens[at].lower
    if word not in CLAUSE_WORDS or at == 0 or _asks(tokens, at):
        return False
    if word == "when" and tokens[at - 1].lower not in _TIMES:  # `the gauge when it was new`
        return False
    if tokens[at - 1].lower in PREPOSITIONS:
        return at >= 2 and tokens[at - 2].content and at + 1 < len(tokens) and tokens[at + 1].subject
    return tokens[at - 1].content


def _asks(tokens: Sequence[Token], at: int) -> bool:
    """Whether the question starts here: `in the list of people, which room has Ada?`."""
    fronted = tokens[0].lower in PREPOSITIONS and not any(
        token.lower in lexicon.QUESTION_WORDS for token in tokens[:at]
    )
    return fronted and tokens[at].start - tokens[at - 1].end == _WITH_COMMA


def _relative(tokens: Sequence[Token], at: int) -> _Opening | None:
    if not _is_relative(tokens, at):
        return None
    head = at - 2 if tokens[at - 1].lower in PREPOSITIONS else at - 1
    start = group_start(tokens, head)
    return _Opening(start, head, at, own_verb(tokens, at)) if start is not None else None


def _participial(tokens: Sequence[Token], at: int) -> _Opening | None:
    """`the college attended by Ada Lunt`, `the team having Ada Lunt`."""
    word = tokens[at]
    going = word.lower.endswith("ing") and len(word.lower) > 5
    if not (word.participle or going) or word.lower in _NOT_PARTICIPLES or at + 1 >= len(tokens):
        return None
    head = at - 2 if tokens[at - 1].lower.endswith("ly") else at - 1
    start = group_start(tokens, head)
    if start is None or tokens[start].lower != "the":
        return None
    if _is_predicate(tokens, at):
        return None
    following = tokens[at + 1]
    leads = following.name or following.lower in ARTICLES or (not going and following.lower in _LED_BY_PARTICIPLES)
    return _Opening(start, head, at, at) if leads else None


def _is_predicate(tokens: Sequence[Token], at: int) -> bool:
    """Whether the participle at `at` is the question's own: `has the man who keeps the keys | worked here`."""
    start = group_start(tokens, at - 1)
    if start and start > 1 and tokens[start - 1].lower in _BE and tokens[0].lower not in {"what", "who"}:
        return not any(token.participle for token in tokens[at + 1 :])
    for opener in range(1, at):
        outer = _relative(tokens, opener)
        frame = _frame(tokens, outer.start) if outer is not None else None
        if outer is not None and frame and _predicate(tokens, frame, outer.own) == at:
            return True
    return False


def _frame(tokens: Sequence[Token], start: int) -> frozenset[str]:
    """The kind of auxiliary that fronts the question, if the group at `start` is within its subject and a predicate follows."""
    at = next((at for at, token in enumerate(tokens[:8]) if token.lower in _DO | _BE | _HAVE), start)
    asks_what = at == 1 and tokens[0].lower in {"what", "who"} and tokens[1].lower in _BE
    if at >= start or asks_what:
        return frozenset()
    kind = next(kind for kind in (_DO, _BE, _HAVE) if tokens[at].lower in kind)
    between = range(at + 2, start)
    within = start == at + 1 or tokens[start - 1].lower == "of" or any(_is_relative(tokens, place) for place in between)
    return kind if within else frozenset()


def _clause_end(question: str, tokens: Sequence[Token], opening: _Opening) -> int:
    """The end of the clause as an offset: before the question proper or the verb of an outer clause, else the question's end."""
    asking = _question_after(tokens, opening)
    if asking is not None:
        return len(question[: tokens[asking].start].rstrip(" ,"))
    frame = _frame(tokens, opening.start)
    verb = _verb_of_outer_clause(tokens, opening)
    if verb is None and frame:
        verb = _predicate(tokens, frame, opening.own)
    end = tokens[verb].start if verb is not None else len(question)
    return len(question[:end].rstrip(" ,?.!"))


def _question_after(tokens: Sequence[Token], opening: _Opening) -> int | None:
    """Where the question proper starts if it follows the description: `the town Ada left is | in which county`."""
    asked = any(token.lower in _DO | _BE for token in tokens[: opening.start])
    for at in range(opening.at + 1, len(tokens)):
        if tokens[at].lower in {"what", "which", "how"} and not _is_relative(tokens, at):
            return _with_leading(tokens, at, opening.at + 1)
        is_inverted = at + 1 < len(tokens) and tokens[at].lower in _DO | _BE and tokens[at + 1].subject
        if not asked and at > opening.own and is_inverted:  # `did the harbour`
            return at
    return None


def _with_leading(tokens: Sequence[Token], at: int, least: int) -> int:
    """The place of the first of the prepositions and auxiliaries directly before `at`: `is in | which`."""
    while at > least and tokens[at - 1].lower in PREPOSITIONS | AUXILIARIES:
        at -= 1
    return at


def _predicate(tokens: Sequence[Token], frame: frozenset[str], own: int) -> int | None:
    """Where the question's own verb starts after the clause's verb: `did` takes a plain form, `was` and `has` a participle."""
    for at in range(own + 1, len(tokens)):
        token, before = tokens[at], tokens[at - 1]
        has_object = token.content and at + 1 < len(tokens) and tokens[at + 1].subject  # `reinstate the toll`
        if frame is _DO and at == own + 2 and before.lower in _STRANDABLE and has_object:
            return at
        fits = token.lower in lexicon.BASE_VERBS | {"do", "have"} if frame is _DO else token.participle
        if not fits or before.lower in _NO_PREDICATE_AFTER:
            continue
        # A preposition is stranded if its noun is in front: `the team Ada played for`, `the union Foss is part of`.
        is_stranded = at == own + 2 or tokens[at - 2].lower in {"part", "member", "citizen"}
        if is_stranded or before.lower not in PREPOSITIONS:
            return at
    return None


def _verb_of_outer_clause(tokens: Sequence[Token], opening: _Opening) -> int | None:
    """Where the verb of an enclosing clause starts: `the town where the man who won X was born`."""
    if not any(_is_relative(tokens, at) for at in range(1, opening.start)):
        return None
    verbs = [at for at in range(opening.own + 1, len(tokens)) if tokens[at].lower in AUXILIARIES]
    if verbs:
        return verbs[-1]
    last = len(tokens) - 1
    return last if last > opening.own and tokens[last].verb else None
