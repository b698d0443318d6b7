"""Follow-ups by rules: `and when was she born?` and `what about the Vento?` become questions that stand alone.

A person's pronoun takes a person of the last question or answer, `it` a thing. A fragment replaces the like piece of the question
before, and a question word alone (`since when?`) its question words. What no rule completes well is not completed. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.conversation.references import DEMONSTRATIVE, is_left_open, pointers, replace_pronouns
from hoptrail.language.tasks import Exchange
from hoptrail.text import lexicon
from hoptrail.text.lexicon import COPULAS, OPENERS, PREPOSITIONS, QUESTION_WORDS, word_set
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.phrases import Token, adjacent, tokens_of
from hoptrail.text.questions import Wanted, is_person_noun, type_of_noun, wanted_by
from hoptrail.text.words import words

OPENING = re.compile(r"^(?:(?:and|but|so|then|also|now|or|ok|okay)\b[\s,:-]*)+(?=\w)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:what|how) about (?=\w)", re.IGNORECASE)
_PLACED = re.compile(rf"\b(?:{'|'.join(sorted(OPENERS | PREPOSITIONS))}) its?\b|^its\b", re.IGNORECASE)
"""Where `it` may be a place: as a subject, or after a preposition; not `open it`."""
_PERSONS = word_set("he she him her his")
_DETERMINERS = lexicon.ARTICLES | word_set("my our your his her its their")
_LIVING = word_set("born live lives work works die marry study join")
"""Verbs whose subject is a person."""
_GROUP_ENDS = word_set("last next first just still recently this")
_ADVERBIAL = word_set("when where why how")
_FIGURES = frozenset({Shape.DATE, Shape.NUMBER})
_PLACES = lexicon.PLACE_NOUNS | lexicon.ORGANISATION_NOUNS
_LONGEST_PIECE = 6
"""Words of an answer or a fragment that can stand within a question."""


def stands_alone(message: str) -> bool:
    """Whether a message can be understood without the ones before: it has a clause, and no pronoun that points back."""
    said = OPENING.sub("", message.strip())
    pointed = any(map(_points, DEMONSTRATIVE.finditer(said)))
    return not (pointed or is_left_open(said) or _bare(said) or _is_fragment(message, said))


def complete_follow_up(message: str, before: Sequence[Exchange]) -> str | None:
    """`message` completed from the turns before, the latest last; None: it cannot be completed well. What stands alone only loses
    the word that ties it to the message before: `and where is Tarnwick?` asks `Where is Tarnwick?`.
    """
    said = OPENING.sub("", message.strip())
    if stands_alone(message):
        return message if said == message.strip() else said[:1].upper() + said[1:]
    if not before:
        return None
    last, plain = before[-1], said.rstrip(" ?!.")
    if _bare(said):
        whole = _with_question_words(plain, last.asked.rstrip(" ?!."), last.answer)
    elif _is_fragment(message, said):
        piece = _with_meanings(_ABOUT.sub("", plain), before)
        whole = piece and _with_piece(piece, last.asked.rstrip(" ?!."))
    else:
        whole = _with_meanings(plain, before)
    return f"{whole[:1].upper()}{whole[1:]}?" if whole and not is_left_open(whole) else None


def _bare(said: str) -> bool:
    """Whether a message is question words alone: `since when?`, `in which year?`."""
    tokens = tokens_of(said)
    if len(tokens) > 4 or _ABOUT.match(said) or not any(token.lower in QUESTION_WORDS for token in tokens[:2]):
        return False
    acts = tokens[0].lower in _ADVERBIAL - {"how"} | {"who"} and any(token.content for token in tokens)  # `who runs it`
    return not acts and not any(token.verb or token.name or token.lower in lexicon.PRONOUNS for token in tokens)


def _is_fragment(message: str, said: str) -> bool:
    """Whether a message has no clause, and is tied to the one before: by its first words, or as a short question."""
    tokens = tokens_of(_ABOUT.sub("", said))
    if not tokens or len(tokens) > 2 * _LONGEST_PIECE:
        return False
    if any(token.lower in OPENERS | QUESTION_WORDS for token in tokens):
        return False
    led = tokens[0].name or tokens[0].text[0].isdigit() or tokens[0].lower in PREPOSITIONS | _DETERMINERS
    tied = bool(OPENING.match(message.strip()) or _ABOUT.match(said))
    return tied or (led and len(tokens) <= _LONGEST_PIECE and message.rstrip().endswith("?"))


@dataclass(frozen=True, slots=True)
class _Group:
    """A noun group of a question. `person`: whether it is one, None if that is open; `name`: it has a name."""

    text: str
    start: int
    end: int
    name: bool
    person: bool | None

    @property
    def article(self) -> str:
        """`a`, `the` or empty; a possessive counts as `the`."""
        first = self.text.split()[0].lower()
        return "a" if first in {"a", "an"} else "the" if first in _DETERMINERS else ""


def _groups(question: str) -> Iterator[_Group]:
    """The noun groups of a question: names, what follows an article, and a bare subject (`may guests`)."""
    tokens, at = tokens_of(question), 0
    while at < len(tokens):
        first, asked = at, at > 0 and tokens[at - 1].lower in OPENERS
        at += 1
        if tokens[first].lower in _DETERMINERS:
            while at < len(tokens) and _goes_on(tokens, first, at):
                at += 1
            if asked and at > first + 2 and _is_main_verb(tokens, first, at - 1):
                at -= 1
            if at == first + 1:
                continue
        elif not (tokens[first].name or (asked and tokens[first].content and not tokens[first].verb)):
            continue
        start, end, named = tokens[first].start, tokens[at - 1].end, any(token.name for token in tokens[first:at])
        yield _Group(question[start:end], start, end, named, _is_person(question, tokens, first, at - 1))


def _goes_on(tokens: Sequence[Token], first: int, at: int) -> bool:
    """Whether a noun group with an article goes on with token `at`."""
    token, ahead = tokens[at], tokens[at - 1]
    ends = token.participle or token.lower in _GROUP_ENDS or (ahead.name and token.verb)
    return adjacent(tokens, at) and token.content and not (ends and at > first + 1)


def _is_main_verb(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether the last word of a subject is the verb of the question: `does the boiler | cost`."""
    if tokens[first - 1].lower in COPULAS | {"has", "have", "had"}:
        return False
    return last + 1 == len(tokens) or tokens[last + 1].subject or tokens[last].lower in lexicon.BASE_VERBS


def _is_person(question: str, tokens: Sequence[Token], first: int, last: int) -> bool | None:
    """By the noun, the owner of kin or of an office, and verbs of a life; a name without them may be either."""
    name = tokens[last]
    if not name.name:
        return is_person_noun(name.text)
    placed = first > 0 and tokens[first - 1].lower in {"in", "at", "near"}
    a_place = name.text.split()[-1].lower() in _PLACES or any(map(str.isdigit, name.text))
    if placed or a_place or tokens[first].lower in _DETERMINERS:
        return False
    owned = next((token for token in tokens[last + 1 :] if token.content and len(token.text) > 1), None)
    owns = question[name.end : name.end + 1] in {"'", "’"} and owned is not None and is_person_noun(owned.text)
    return True if owns or any(token.lower in _LIVING for token in tokens) else None


def _with_meanings(text: str, before: Sequence[Exchange]) -> str | None:
    """`text` with what its pronouns mean in their places; None where one of them has no meaning here."""
    text = DEMONSTRATIVE.sub(lambda said: (_points(said) and _meaning(said[1].lower(), before)) or said[0], text)
    meanings = {word: _meaning(word, before, text) for word in pointers(text)}
    if not all(meanings.values()):
        return None
    put: set[str] = set()

    def meant(word: str) -> str | None:
        """Once each: after the name, the pronoun is clear."""
        meaning = meanings.get(word)
        if meaning is None or meaning in put:
            return None
        put.add(meaning)
        return meaning

    return replace_pronouns(text, meant)


def _points(said: re.Match[str]) -> bool:
    """Whether a demonstrative is one, and does not open a clause: `that town`, not `that lies`."""
    return said[0][:4].lower() == "this" or said[1].lower() in lexicon.PERSON_NOUNS | _PLACES


def _meaning(pointer: str, before: Sequence[Exchange], text: str = "") -> str | None:
    """What a pronoun of `text`, or the noun after `that`, means: a person or a thing of the latest turn that has one."""
    for turn in reversed(before):
        if pointer in _PERSONS or is_person_noun(pointer):
            found = _person(turn)
        elif pointer in {"they", "them", "their"}:
            names = _named(turn.answer)
            found = re.sub(r"[,;] (?=[^,;]+$)", " and ", names) if names else _person(turn) or _thing(turn)
        elif pointer in lexicon.PRONOUNS - {"it", "its"}:
            return None
        else:
            place = _named(turn.answer) if type_of_noun(pointer) is Wanted.PLACE else None
            found = place or _thing(turn, placed=bool(_PLACED.search(text)))
        if found:
            return found
    return None


def _named(answer: str | None) -> str | None:
    """An answer that is a name: no date, no number, no sentence."""
    if not answer or len(words(answer)) > _LONGEST_PIECE or answer.rstrip().endswith((".", "!")):
        return None
    first = next(iter(find_mentions(answer)), None)
    return None if first is None or first.shape in _FIGURES else re.sub(r"^(?:in|at|by|to|from) ", "", answer)


def _person(turn: Exchange) -> str | None:
    """The person asked for, by the question or by its latest hop; else the person whom the question names; else what was asked
    for, if it has a name: `Which dog won? Bella`.
    """
    for question, answer in ((turn.asked, turn.answer), *((hop.asked, hop.answer) for hop in reversed(turn.hops))):
        if wanted_by(question) is Wanted.PERSON and (name := _named(answer)):
            return name
    groups = [group for group in _groups(turn.asked) if group.person is not False]
    if groups:
        return min(groups, key=lambda group: (not group.name, group.person is None)).text
    return _named(turn.answer) if wanted_by(turn.asked) is Wanted.THING else None


def _thing(turn: Exchange, *, placed: bool = True) -> str | None:
    """The thing that `which` or `what` asked for, else a thing of the question, else (if `placed`) the answer, as a place."""
    answer = None if wanted_by(turn.asked) is Wanted.PERSON else _named(turn.answer)
    if answer and any(word.lower in {"which", "what"} for word in words(turn.asked)[:3]):
        return answer
    groups = [group for group in _groups(turn.asked) if group.person is not True]
    best = min(groups, key=lambda group: (group.person is None, not group.name), default=None)
    if best is None or (best.person is None and answer and placed):
        return answer if placed else None
    # In `what is the pressure of the boiler`, the question is about the boiler.
    owners = (one.text for one in groups if turn.asked[best.end : one.start].strip() == "of")
    return next(owners, best.text)


def _with_piece(piece: str, question: str) -> str | None:
    """The question with a piece in place of the like one: of the same preposition, a name for a name, a noun for a noun."""
    groups = list(_groups(question))
    dates = [(one.start, one.end) for one in find_mentions(question) if one.shape is Shape.DATE]
    said = tokens_of(piece)
    first = said[0].lower
    if first in PREPOSITIONS:
        same = next((token for token in tokens_of(question)[1:] if token.lower == first), None)
        if same is None:
            placed = first in {"in", "at"} and question.lower().startswith(
                "where"
            )  # `Where … born in Utrecht` asks nothing
            return None if placed else f"{question} {_within(piece)}"
        spans = [*((one.start, one.end) for one in groups), *dates]
        ends = [end for start, end in spans if question[same.end : start].isspace()]
        return f"{question[: same.start]}{_within(piece)}{question[ends[0] :]}" if ends else None
    owner, noun = re.match(r"(.+)['’]s ", piece), said[-1].text
    group = next(iter(_groups(piece)), None)
    name, article = any(token.name for token in said), group.article if group else ""
    like = [(one.start, one.end) for one in groups if one.text.split()[-1] == noun or (owner and one.text == owner[1])]
    like = like or [
        (one.start, one.end) for one in groups if one.name == name and (name or not article or one.article == article)
    ]
    if piece[0].isdigit():
        like = dates
    if not like and owner:  # `Who is head of sales?` and `her deputy`
        is_ = re.match(r"(?:who|what) (?:is|was) ", question, re.IGNORECASE)
        return f"{is_[0]}{piece}" if is_ else None
    if not like:
        return None
    start, end = like[-1]
    the = question[start:end].split(maxsplit=1)[0]
    bare = first not in _DETERMINERS and the.lower() in _DETERMINERS and not owner
    return f"{question[:start]}{f'{the} {piece}' if bare else _within(piece)}{question[end:]}"


def _within(piece: str) -> str:
    """The piece as within a sentence: its first word in lower case, unless it is a name."""
    return piece if tokens_of(piece)[0].name else piece[:1].lower() + piece[1:]


def _with_question_words(asking: str, question: str, answer: str | None) -> str | None:
    """The question before with other question words: `Where was Ada born?` and `when` ask `When was Ada born?`. Where it asked
    for its subject, the answer takes that place, or the verb turns: `Who installed the boiler?` and `when` ask `When was the
    boiler installed?`.
    """
    tokens, said = tokens_of(question), {word.lower for word in words(asking)}
    verb = next((at for at, token in enumerate(tokens) if token.lower in OPENERS), None)
    if not tokens or said.isdisjoint(_ADVERBIAL | PREPOSITIONS) or not said.isdisjoint({"many", "much"}):
        return None
    if verb == 0:
        return f"{asking} {_within(question)}"
    manner = tokens[0].lower in _ADVERBIAL | PREPOSITIONS and not (tokens[1:] and tokens[1].lower in {"many", "much"})
    if verb is not None and manner:
        return f"{asking} {question[tokens[verb].start :]}"
    if tokens[0].lower != "who" or len(tokens) < 3:
        return None
    done, rest, name = tokens[1].lower, question[tokens[1].end :], _named(answer)
    if done in COPULAS:
        return f"{asking} {done} {name}{rest}" if name else None
    if name and done.endswith("s") and done[:-1] in lexicon.BASE_VERBS:
        return f"{asking} does {name} {done[:-1]}{rest}"
    group = next(iter(_groups(rest)), None)
    if group is None or rest[: group.start].strip() or not done.endswith("ed") or group.text.endswith("s"):
        return None
    return f"{asking} was {group.text} {done}{rest[group.end :]}"
