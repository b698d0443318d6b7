"""Follow-ups by rules: `and when was she born?` and `what about the Vento?` become questions that stand alone.

A person's pronoun takes a person of the last question or answer, `it` a thing. A fragment replaces the like piece of the question
before, and a question word alone (`since when?`) its question words. What no rule completes well is not completed. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.conversation.references import DEMONSTRATIVE, is_left_open, pointers, replace_pronouns
from hoptrail.language.tasks import Turn
from hoptrail.text.lexicon import (
    ARTICLES,
    BASE_VERBS,
    COPULAS,
    OPENERS,
    ORGANISATION_NOUNS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    word_set,
)
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.phrases import Token, adjacent, tokens_of
from hoptrail.text.questions import Wanted, analyse, is_person_noun, type_of_noun
from hoptrail.text.words import words

_OPENING = re.compile(r"^(?:(?:and|but|so|then|also|now|or|ok|okay)\b[\s,:-]*)+(?=\w)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:what|how) about (?=\w)", re.IGNORECASE)
_PLACED = re.compile(rf"\b(?:{'|'.join(sorted(OPENERS | PREPOSITIONS))}) its?\b|^its\b", re.IGNORECASE)
"""Where `it` may be a place: as a subject, or after a preposition; not `open it`."""
_PERSONS = word_set("he she him her his")
_POSSESSIVES = word_set("my our your his her its their")
_DETERMINERS = ARTICLES | _POSSESSIVES
_LIVING = word_set("born live work die marry study join")
"""Verbs whose subject is a person."""
_BE = COPULAS | word_set("has have had")
_GROUP_ENDS = word_set("last next first just still recently this")
_ACTING = word_set("who when where why")
_ADVERBIAL = word_set("when where why how")
_PLACES = frozenset({Wanted.PLACE, Wanted.COUNTRY})
_LONGEST_PIECE = 6
"""Words of an answer or a fragment that can stand within a question."""


def stands_alone(message: str) -> bool:
    """Whether a message can be understood without the ones before: it has a clause, and no pronoun that points back."""
    said = _OPENING.sub("", message.strip())
    pointed = any(map(_points, DEMONSTRATIVE.finditer(said)))
    return not (pointed or _ABOUT.match(said) or is_left_open(said) or _bare(said) or _is_fragment(message, said))


def complete_follow_up(message: str, before: Sequence[Turn]) -> str | None:
    """`message` completed from the turns before, the latest last; None: it cannot be completed well. What stands alone only loses
    the word that ties it to the message before: `and where is Tarnwick?` asks `Where is Tarnwick?`.
    """
    said = _OPENING.sub("", message.strip())
    if stands_alone(message):
        return message if said == message.strip() else f"{said[:1].upper()}{said[1:]}"
    if not before:
        return None
    last = before[-1].asked
    if _bare(said):
        whole = _with_question_words(said.rstrip(" ?!."), before[-1])
    elif _ABOUT.match(said) or _is_fragment(message, said):
        piece = _with_meanings(_ABOUT.sub("", said).rstrip(" ?!."), before)
        whole = piece and _with_piece(piece, last)
    else:
        whole = _with_meanings(said, before)
    if not whole or is_left_open(whole):
        return None
    return f"{whole[:1].upper()}{whole[1:].rstrip(' ?!.')}?"


def _bare(said: str) -> bool:
    """Whether a message is question words alone: `since when?`, `in which year?`."""
    tokens = tokens_of(said)
    if len(tokens) > 4 or not any(token.lower in QUESTION_WORDS for token in tokens[:2]):
        return False
    acts = tokens[0].lower in _ACTING and any(token.content for token in tokens)  # `who runs it`
    return not acts and not any(token.verb or token.name or token.lower in OPENERS | PRONOUNS for token in tokens)


def _is_fragment(message: str, said: str) -> bool:
    """Whether a message has no clause, and is tied to the one before: by its first word, or as a short question."""
    tokens = tokens_of(said)
    if len(tokens) > 2 * _LONGEST_PIECE or any(token.lower in OPENERS | QUESTION_WORDS for token in tokens):
        return False
    first = tokens[0] if tokens else None
    led = first is not None and (first.name or first.text[0].isdigit() or first.lower in PREPOSITIONS | _DETERMINERS)
    tied = _OPENING.match(message.strip()) is not None
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
    """The noun groups of a question: names, and what follows an article."""
    tokens, at = tokens_of(question), 0
    while at < len(tokens):
        first = at
        at += tokens[at].lower in _DETERMINERS
        while at < len(tokens) and (at == first or adjacent(tokens, at)) and _goes_on(tokens, first, at):
            at += 1
        if at > first + 1 and _is_main_verb(tokens, first, at - 1):
            at -= 1
        group = tokens[first:at]
        if group and (group[-1].content or len(group) > 1):
            text = question[group[0].start : group[-1].end]
            named = any(token.name for token in group)
            yield _Group(text, group[0].start, group[-1].end, named, _is_person(question, tokens, first, at))
        at = max(at, first + 1)


def _goes_on(tokens: Sequence[Token], first: int, at: int) -> bool:
    token = tokens[at]
    if first == at or tokens[first].lower not in _DETERMINERS:  # without an article a name, or a subject: `may guests`
        asked = at > 0 and tokens[at - 1].lower in OPENERS
        return at == first and (token.name or (asked and token.content and not token.verb))
    if at == first + 1:
        return token.content
    ends = token.participle or token.lower in _GROUP_ENDS or (tokens[at - 1].name and token.verb)
    return token.content and not ends


def _is_main_verb(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether the last word of a group is the verb of the question: `does the boiler | cost`."""
    if last < first + 2 or first == 0 or tokens[first - 1].lower not in OPENERS - _BE:
        return False
    following = tokens[last + 1] if last + 1 < len(tokens) else None
    return following is None or following.subject or tokens[last].lower in BASE_VERBS


def _is_person(question: str, tokens: Sequence[Token], first: int, end: int) -> bool | None:
    """By the noun, the owner of kin or of an office, and verbs of a life; a name without them may be either."""
    last = tokens[end - 1]
    if not last.name:
        return is_person_noun(last.text)
    noun = last.text.split()[-1].lower()
    ahead = tokens[first - 1].lower if first else ""
    if (
        tokens[first].lower in _DETERMINERS
        or ahead in {"in", "at", "near"}
        or noun in PLACE_NOUNS | ORGANISATION_NOUNS
        or any(character.isdigit() for character in last.text)
    ):
        return False
    owned = next((token for token in tokens[end:] if token.content and len(token.text) > 1), None)
    owns = question[last.end : last.end + 1] in {"'", "’"} and owned is not None and is_person_noun(owned.text)
    lives = any(not _LIVING.isdisjoint({token.lower, token.lower.rstrip("s"), token.lower[:-1]}) for token in tokens)
    return True if owns or lives else None


def _with_meanings(text: str, before: Sequence[Turn]) -> str | None:
    """`text` with what its pronouns mean in their places; None where one of them has no meaning here."""
    text = DEMONSTRATIVE.sub(lambda said: (_points(said) and _meaning(said[1].lower(), before)) or said[0], text)
    meanings = {word: _meaning(word, before, text) for word in pointers(text)}
    if not all(meanings.values()):
        return None
    once = set(filter(None, meanings.values()))

    def meant(word: str) -> str | None:
        """Once each: after the name, the pronoun is clear."""
        meaning = meanings.get(word)
        if meaning not in once:
            return None
        once.discard(meaning)
        return meaning

    return replace_pronouns(text, meant)


def _points(said: re.Match[str]) -> bool:
    """Whether a demonstrative is one, and does not open a clause: `that town`, not `that lies`."""
    return said[0][:4].lower() == "this" or said[1].lower() in PERSON_NOUNS | PLACE_NOUNS | ORGANISATION_NOUNS


def _meaning(pointer: str, before: Sequence[Turn], text: str = "") -> str | None:
    """What a pronoun of `text`, or the noun after `that`, means: a person or a thing of the latest turn that has one."""
    for turn in reversed(before):
        if pointer in _PERSONS or is_person_noun(pointer):
            found = _person(turn)
        elif pointer in {"they", "them", "their"}:
            names = _named(turn.answer)
            found = re.sub(r"[,;] (?=[^,;]+$)", " and ", names) if names else _person(turn) or _thing(turn)
        elif pointer in PRONOUNS - {"it", "its"}:
            return None
        else:
            placed = type_of_noun(pointer) in _PLACES
            found = (placed and _named(turn.answer)) or _thing(turn, placed=bool(_PLACED.search(text)))
        if found:
            return found
    return None


def _named(answer: str | None) -> str | None:
    """An answer that is a name: no date, no number, no sentence."""
    if not answer or len(words(answer)) > _LONGEST_PIECE or answer.rstrip().endswith((".", "!")):
        return None
    first = next(iter(find_mentions(answer)), None)
    named = first is not None and first.shape in {Shape.NAME, Shape.QUOTED}
    return re.sub(r"^(?:in|at|by|to|from) ", "", answer) if named else None


def _asks_person(question: str) -> bool:
    asked = analyse(question)
    return asked is not None and asked.wanted is Wanted.PERSON


def _person(turn: Turn) -> str | None:
    """The person asked for, by the question or by its latest hop; else the person whom the question names."""
    for question, answer in ((turn.asked, turn.answer), *((hop.asked, hop.answer) for hop in reversed(turn.hops))):
        if _asks_person(question) and (name := _named(answer)):
            return name
    groups = [group for group in _groups(turn.asked) if group.person is not False]
    groups.sort(key=lambda group: (not group.name, group.person is None))
    if groups:
        return groups[0].text
    asked = analyse(turn.asked)
    return _named(turn.answer) if asked is not None and asked.wanted is Wanted.THING else None  # `Which dog …? Bella`


def _thing(turn: Turn, *, placed: bool = True) -> str | None:
    """The thing that `which` or `what` asked for, else a thing of the question, else (if `placed`) the answer, as a place."""
    answer = None if _asks_person(turn.asked) else _named(turn.answer)
    if answer and any(word.lower in {"which", "what"} for word in words(turn.asked)[:3]):
        return answer
    groups = [group for group in _groups(turn.asked) if group.person is not True]
    groups.sort(key=lambda group: (group.person is None, not group.name))
    if groups and groups[0].person is False:
        return _owner(turn.asked, groups[0], groups)
    return (answer if placed else None) or (groups[0].text if groups else None)


def _owner(question: str, group: _Group, groups: Sequence[_Group]) -> str:
    """In `what is the pressure of the boiler` the boiler, which is what the question is about."""
    owner = next((one for one in groups if question[group.end : one.start].strip() == "of"), None)
    return owner.text if owner else group.text


def _with_piece(piece: str, question: str) -> str | None:
    """The question with a piece in place of the like one: of the same preposition, a name for a name, a noun for a noun."""
    said = tokens_of(piece)
    if not said or len(said) > 2 * _LONGEST_PIECE:
        return None
    groups = list(_groups(question))
    ahead = said[0].lower
    if ahead in PREPOSITIONS:
        same = next((token for token in tokens_of(question)[1:] if token.lower == ahead), None)
        if same is None:
            return f"{question.rstrip(' ?!.')} {_lower_first(piece)}"
        within = [*groups, *(one for one in find_mentions(question) if one.shape is Shape.DATE)]
        group = next(
            (one for one in within if not question[same.end : one.start].strip() and one.start > same.start), None
        )
        return _put(question, same.start, group.end, piece) if group else None
    if figures := [
        one for one in find_mentions(piece) if one.text == piece and one.shape in {Shape.DATE, Shape.NUMBER}
    ]:
        alike = [one for one in find_mentions(question) if one.shape is figures[0].shape]
        return _put(question, alike[-1].start, alike[-1].end, piece) if alike else None
    given = next(iter(_groups(piece)), None)
    name = any(token.name for token in said)
    article = given.article if given else ""
    owner = re.match(r"(.+)['’]s ", piece)
    same = [
        one
        for one in groups
        if (owner and one.text == owner[1]) or one.text.split()[-1] == piece.rsplit(maxsplit=1)[-1]
    ]
    alike = same or [one for one in groups if one.name == name and (name or one.article == (article or one.article))]
    if not alike:
        return None
    group = alike[-1]
    bare = said[0].lower not in _DETERMINERS and group.article
    return _put(question, group.start, group.end, f"{group.text.split()[0]} {piece}" if bare and not owner else piece)


def _put(question: str, start: int, end: int, piece: str) -> str:
    return question[:start] + _lower_first(piece) + question[end:]


def _lower_first(text: str) -> str:
    """The text as within a sentence: its first word in lower case, unless it is a name."""
    first = tokens_of(text)[:1]
    return text if first and first[0].name else text[:1].lower() + text[1:]


def _with_question_words(asking: str, turn: Turn) -> str | None:
    """The question before with other question words: `Where was Ada born?` and `when` ask `When was Ada born?`."""
    question = turn.asked.rstrip(" ?!.")
    tokens = tokens_of(question)
    verb = next((at for at, token in enumerate(tokens) if token.lower in OPENERS), None)
    heads = [token.lower for token in tokens[:verb] if token.lower in QUESTION_WORDS]
    said = [word.lower for word in words(asking)]
    adverbial = said[0] in PREPOSITIONS or (not _ADVERBIAL.isdisjoint(said) and {"many", "much"}.isdisjoint(said))
    if verb == 0:
        return f"{asking} {_lower_first(question)}" if adverbial else None
    if not heads:
        return None
    if verb is None:
        return _of_action(asking, tokens, turn) if adverbial else None
    rest = question[tokens[verb].start :]
    if tokens[0].lower in PREPOSITIONS or (heads[0] in _ADVERBIAL and tokens[1].lower not in {"many", "much"}):
        return f"{asking} {rest}" if adverbial else None
    return _of_subject(asking, tokens, verb, turn) if adverbial else None


def _of_subject(asking: str, tokens: Sequence[Token], verb: int, turn: Turn) -> str | None:
    """`Who is the head of sales?`, answered by a name: `Since when is Nadia Fell the head of sales?`."""
    name, question = _named(turn.answer), turn.asked.rstrip(" ?!.")
    if name is None or tokens[verb].lower not in COPULAS or tokens[0].lower != "who":
        return None
    return f"{asking} {tokens[verb].text} {name}{question[tokens[verb].end :]}"


def _of_action(asking: str, tokens: Sequence[Token], turn: Turn) -> str | None:
    """`Who installed the boiler?` with `when`: `When was the boiler installed?`; `Who leads the team?`, answered by a name, with
    `since when`: `Since when does Omar Quist lead the team?`. Only for regular verbs.
    """
    if len(tokens) < 3 or tokens[0].lower != "who":
        return None
    done, rest = tokens[1].lower, turn.asked.rstrip(" ?!.")[tokens[1].end :]
    base = next((one for one in (done[:-1], done[:-2]) if one in BASE_VERBS and done.startswith(f"{one}")), "")
    if done.endswith("s") and base and (name := _named(turn.answer)):
        return f"{asking} does {name} {base}{rest}"
    group = next(iter(_groups(rest)), None)
    if group is None or not done.endswith("ed") or rest[: group.start].strip() or group.text.endswith("s"):
        return None
    return f"{asking} was {group.text} {done}{rest[group.end :]}"
