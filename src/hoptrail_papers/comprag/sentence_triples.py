"""Extract triples from a sentence by rules: mentions are subjects and objects, the words between them relations.

Verbs are recognised by form (`phrases.Token.verb`) without a parser, so relations are rough: `was born in`, `son of`. The title
replaces a subject that refers to it (`It`, `The film`), and birth and death stand in the parenthesis after a name: `(Oslo, 1 May
1900 – 2 June 1980)`. English only: in other languages most sentences give no triples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from hoptrail.text.lexicon import (
    ARTICLES,
    AUXILIARIES,
    COPULAS,
    DEMONYMS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    QUESTION_WORDS,
    word_set,
)
from hoptrail.text.mentions import Mention, Shape, find_mentions
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.types import Fact, Triple
from hoptrail_papers.comprag.lemmas import IRREGULAR_PASTS
from hoptrail_papers.comprag.phrases import Token, tokens_around

_PARENTHESIS = re.compile(r"(\([^)]*\))\s*")
_NEAR = 120  # where the parenthesis begins, at the latest
_DASH = re.compile(r"\s?[–—-]\s|\s[–—-]|[–—]")
_DIED = re.compile(r"\b(?:died|dead|d\.)", re.IGNORECASE)
_BORN = re.compile(r"\b(?:born|b\.)", re.IGNORECASE)


def life_roles(text: str, mentions: Sequence[Mention]) -> dict[int, str]:
    """Label each mention in the first parenthesis, or the first with a date of those that follow one another there, as `birth`
    or `death`, keyed by its start; empty if neither is told there.
    """
    left = text.find("(", 0, _NEAR)
    dates: list[Mention] = []
    while left >= 0 and not dates and (match := _PARENTHESIS.match(text, left)):
        right = match.end(1)
        inside = [mention for mention in mentions if left < mention.start and mention.end < right]
        dates = [mention for mention in inside if mention.shape is Shape.DATE]
        left = left if dates else match.end()
    if not dates:
        return {}
    body = text[left:right]
    if died := _DIED.search(body):
        turn = left + died.start()
    elif dash := _DASH.search(text, dates[0].end if len(dates) > 1 else left, dates[-1].start + 1):
        turn = dash.start()
    elif _BORN.search(body):
        turn = right
    elif len(dates) == 2 and not (body[1 : dates[0].start - left] + text[dates[0].end : dates[1].start]).strip():
        # the dash between them was lost
        turn = dates[1].start
    else:
        return {}
    return {mention.start: "birth" if mention.start < turn else "death" for mention in inside}


MOST = 8  # most triples of one sentence: a list of thirty names says little about each

LONGEST_RELATION, LONGEST_PHRASE = 6, 6  # most words of a relation, and of a noun phrase that is not a mention

_POINTING = word_set("the this that these those his her its their he she it they")
_RELATIVE = word_set("who which that whom whose where")
_ENDS = word_set("and or but")
_SKIPPED = ARTICLES | _ENDS | word_set("s t also then later not")
_NAMED = frozenset({Shape.NAME, Shape.QUOTED})
_LIVES = {"birth": "born", "death": "died"}


def triples_of(fact: Fact, title: str) -> tuple[Triple, ...]:
    """The stated triple of a fact, else the triples in its text."""
    if fact.triple is not None:
        return (fact.triple,)
    text = squeeze(fact.text)
    return triples_in(text, (base_title(title), *fact.entities) if title else fact.entities)


def triples_in(text: str, names: Sequence[str]) -> tuple[Triple, ...]:
    """The triples of one sentence; `names` are known entities, the first being the text's subject."""
    mentions = [mention for mention in find_mentions(text, tuple(names)) if _is_argument(mention)]
    about = names[0] if names else ""
    walk = _Walk(about, life_roles(text, find_mentions(text)))
    triples = (triple for triple in walk.along(text, mentions) if folded(triple.subject) != folded(triple.object))
    return tuple(dict.fromkeys(triples))[:MOST]


def _is_argument(mention: Mention) -> bool:
    """Whether a mention can be a slot: no nationality, no number in words, no word that is capitalised only as the first one."""
    lower = mention.text.lower()
    opener = mention.start == 0 and (lower.endswith("ly") or lower in IRREGULAR_PASTS)
    spelt = mention.shape is Shape.NUMBER and not mention.text[0].isdigit()
    return not (opener or spelt or lower in DEMONYMS)


@dataclass
class _Walk:
    """The state while reading a sentence from left to right."""

    about: str
    lives: dict[int, str]
    subject: str = ""
    last: str = ""
    verb: str = ""
    relation: str = ""
    between: list[Token] = field(default_factory=list)

    def along(self, text: str, mentions: Sequence[Mention]) -> Iterator[Triple]:
        """The triples of a sentence with these mentions."""
        shapes = {mention.start: mention.shape for mention in mentions}
        for token in tokens_around(text, [(mention.start, mention.end) for mention in mentions]):
            if not token.name:
                self.between.append(token)
                continue
            shape = shapes[token.start]
            yield from self._reach(token, shape)
            self.last = token.text if shape in _NAMED else ""
            self.between = []
        yield from self._phrase(self.between)

    def _reach(self, token: Token, shape: Shape) -> Iterator[Triple]:
        """The triples when a mention is reached, as a subject or as the object of the words before it."""
        if token.start in self.lives and self.subject:
            yield Triple(self.subject, _LIVES[self.lives[token.start]], token.text)
            return
        group = verb_group(self.between)
        if not self.subject:
            if group is None:
                aside = self.between and self.between[-1].lower in PREPOSITIONS  # `In 1780 ...`, `After Dunmere ...`
                if shape in _NAMED and not aside:
                    parts, whole = token.text.casefold().split(), self.about.casefold().split()
                    # `Finch` in a text about Orla Finch
                    self.subject = self.last = self.about if set(parts) < set(whole) else token.text
                return
            self.subject = self._own_subject(group)
        yield from self._phrase(self.between, before_object=True)
        subject, relation = self._relation(group)
        if subject and relation:
            self.relation = relation
            yield Triple(subject, relation, token.text)

    def _relation(self, group: int | None) -> tuple[str, str]:
        """Subject and relation for the next mention, from the words since the last one."""
        if group is not None:
            relation = self.between[group:]
            self.verb = said([token for token in relation if token.verb])
            clause = self.between[:group]
            subject = self.last if clause and self.last and clause[-1].lower in _RELATIVE else self.subject
            return subject, said(relation)
        nouns = [token for token in self.between if token.content]
        if nouns and self.last and self.between[-1].lower in PREPOSITIONS:
            return self.last, said(self.between)
        if self.between and self.between[-1].lower in PREPOSITIONS:
            return self.subject, f"{self.verb} {said(self.between)}".strip()
        return self.subject, self.relation

    def _own_subject(self, group: int) -> str:
        """The subject of a sentence that does not begin with a mention: its noun phrase, or the text's subject."""
        phrase = [token.text for token in self.between[:group] if token.lower not in ARTICLES]
        first = self.between[0].lower if self.between else ""
        if self.about and ((first in _POINTING and len(phrase) <= 2) or group == 0 or len(phrase) > LONGEST_PHRASE):
            return self.about
        return " ".join(phrase[:LONGEST_PHRASE]) if phrase and first not in FUNCTION_WORDS - _POINTING else self.about

    def _phrase(self, tokens: Sequence[Token], *, before_object: bool = False) -> Iterator[Triple]:
        """The triple of a noun phrase without a name: `is a market town`; at the end of a sentence also `plays the flute`."""
        group = verb_group(tokens)
        subject = self.subject or (self._own_subject(group) if group is not None else "")
        if group is None or not subject:
            return
        at = group
        while at < len(tokens) and (tokens[at].verb or tokens[at].lower in PREPOSITIONS or _is_adverb(tokens[at])):
            at += 1
        relation = tokens[group:at]
        if before_object and relation[-1].lower not in COPULAS:
            return
        phrase = _noun_phrase(tokens[at:])
        if phrase and relation:
            yield Triple(subject, said(relation), phrase)


def verb_group(tokens: Sequence[Token]) -> int | None:
    """Where the last verb among `tokens` begins, including auxiliaries: `has been built`; None without a verb."""
    at = next((place for place in reversed(range(len(tokens))) if tokens[place].verb), None)
    while at is not None and at > 0 and (tokens[at - 1].verb or _is_adverb(tokens[at - 1])):
        at -= 1
    return at


def _is_adverb(token: Token) -> bool:
    return token.lower.endswith("ly")


def said(tokens: Sequence[Token]) -> str:
    """The words of a relation, without articles, conjunctions and the like."""
    relation = [token.text for token in tokens if token.lower not in _SKIPPED | _RELATIVE]
    return " ".join(relation[-LONGEST_RELATION:])


def _noun_phrase(tokens: Sequence[Token]) -> str:
    """The noun phrase at the start of `tokens`, without its article."""
    start = 1 if tokens and tokens[0].lower in ARTICLES else 0
    stops = PREPOSITIONS | QUESTION_WORDS | _RELATIVE | _ENDS | ARTICLES | AUXILIARIES
    near = tokens[start : start + LONGEST_PHRASE]
    phrase = takewhile(lambda token: token.lower not in stops and not token.participle, near)
    return " ".join(token.text for token in phrase)
