"""Triples of a sentence, by rules: its mentions as subject and objects, the words between them as relations.

A verb is told by its form (`phrases.Token.verb`), not by a parse, so relations are rough: `was born in`, `son of`. The title
stands in for a subject that points back to it (`It`, `The film`). English only: elsewhere a sentence mostly yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hoptrail.language.tasks import Fact, Triple
from hoptrail.text.lexicon import (
    ARTICLES,
    AUXILIARIES,
    COPULAS,
    DEMONYMS,
    FUNCTION_WORDS,
    IRREGULAR_PASTS,
    PREPOSITIONS,
    QUESTION_WORDS,
    word_set,
)
from hoptrail.text.lives import life_roles
from hoptrail.text.mentions import Mention, Shape, find_mentions
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.phrases import Token
from hoptrail.text.words import words

MOST = 8
"""Triples of one sentence: a list of thirty names says little about each."""

LONGEST_RELATION = 6
LONGEST_PHRASE = 6
"""Words of a relation, and of a noun phrase that is no mention."""

_POINTING = word_set("the this that these those his her its their he she it they")
_RELATIVE = word_set("who which that whom whose where")
_ENDS = word_set("and or but")
_SKIPPED = ARTICLES | _ENDS | word_set("s t also then later not")
_NAMED = frozenset({Shape.NAME, Shape.QUOTED})
_LIVES = {"birth": "born", "death": "died"}


def triples_of(fact: Fact, title: str) -> tuple[Triple, ...]:
    """The triple that a fact was stated as, or those that stand in its text; none where the rules see no relation."""
    if fact.triple is not None:
        return (fact.triple,)
    text = squeeze(fact.text)
    return triples_in(text, (base_title(title), *fact.entities) if title else fact.entities)


def triples_in(text: str, names: Sequence[str]) -> tuple[Triple, ...]:
    """The triples of one sentence; `names` are known entities, the first of them what the text is about."""
    mentions = [mention for mention in find_mentions(text, names) if _is_argument(mention)]
    about = names[0] if names else ""
    walk = _Walk(about, life_roles(text, find_mentions(text)))
    found: dict[Triple, None] = {}
    for triple in walk.along(text, mentions):
        if folded(triple.subject) != folded(triple.object):
            found[triple] = None
    return tuple(found)[:MOST]


def _is_argument(mention: Mention) -> bool:
    """Not a nationality, a number in words, or a word that only opens its sentence with a capital."""
    lower = mention.text.lower()
    opener = mention.start == 0 and (lower.endswith("ly") or lower in IRREGULAR_PASTS)
    spelt = mention.shape is Shape.NUMBER and not mention.text[0].isdigit()
    return not (opener or spelt or lower in DEMONYMS)


def tokens_between(text: str, mentions: Sequence[Mention]) -> tuple[Token, ...]:
    """Mentions and the words beside them, in order."""
    named = [Token(mention.text, mention.start, mention.end, name=True) for mention in mentions]
    plain = (
        Token(word.text, word.start, word.end, name=False)
        for word in words(text)
        if not any(mention.start <= word.start < mention.end for mention in mentions)
    )
    return tuple(sorted((*named, *plain), key=lambda token: token.start))


@dataclass
class _Walk:
    """What is known while a sentence is read from left to right."""

    about: str
    lives: dict[int, str]
    subject: str = ""
    last: str = ""
    verb: str = ""
    relation: str = ""
    between: list[Token] = field(default_factory=list)

    def along(self, text: str, mentions: Sequence[Mention]) -> Iterator[Triple]:
        shapes = {mention.start: mention.shape for mention in mentions}
        for token in tokens_between(text, mentions):
            if not token.name:
                self.between.append(token)
                continue
            shape = shapes[token.start]
            yield from self._reach(token, shape)
            self.last = token.text if shape in _NAMED else ""
            self.between = []
        yield from self._phrase(self.between)

    def _reach(self, token: Token, shape: Shape) -> Iterator[Triple]:
        """A mention comes: as a subject, or as the object of what stands before it."""
        if token.start in self.lives and self.subject:
            yield Triple(self.subject, _LIVES[self.lives[token.start]], token.text)
            return
        group = verb_group(self.between)
        if not self.subject:
            if group is None:
                if shape in _NAMED and not _is_aside(self.between):
                    self.subject = self.last = _in_full(token.text, self.about)
                return
            self.subject = self._own_subject(group)
        yield from self._phrase(self.between, before_object=True)
        subject, relation = self._relation(group)
        if subject and relation:
            self.relation = relation
            yield Triple(subject, relation, token.text)

    def _relation(self, group: int | None) -> tuple[str, str]:
        """Who has a relation with what comes, and which: read from the words since the last mention."""
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
        """The subject of a sentence that opens with no mention: its noun phrase, or what the text is about."""
        phrase = [token.text for token in self.between[:group] if token.lower not in ARTICLES]
        first = self.between[0].lower if self.between else ""
        if self.about and ((first in _POINTING and len(phrase) <= 2) or group == 0 or len(phrase) > LONGEST_PHRASE):
            return self.about
        return " ".join(phrase[:LONGEST_PHRASE]) if phrase and first not in FUNCTION_WORDS - _POINTING else self.about

    def _phrase(self, tokens: Sequence[Token], *, before_object: bool = False) -> Iterator[Triple]:
        """What a noun phrase without a name says: `is a market town`; at the end of a sentence also `plays the flute`."""
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


def _in_full(name: str, about: str) -> str:
    """What the text is about, where the name is a part of its name: `Finch` in a text about Orla Finch."""
    parts, whole = name.casefold().split(), about.casefold().split()
    return about if set(parts) < set(whole) else name


def verb_group(tokens: Sequence[Token]) -> int | None:
    """Where the last verb among `tokens` begins, its auxiliaries included: `has been built`; None without one."""
    at = next((place for place in reversed(range(len(tokens))) if tokens[place].verb), None)
    while at is not None and at > 0 and (tokens[at - 1].verb or _is_adverb(tokens[at - 1])):
        at -= 1
    return at


def _is_adverb(token: Token) -> bool:
    return token.lower.endswith("ly")


def said(tokens: Sequence[Token]) -> str:
    """A relation in words, without what says nothing."""
    kept = [token.text for token in tokens if token.lower not in _SKIPPED | _RELATIVE]
    return " ".join(kept[-LONGEST_RELATION:])


def _noun_phrase(tokens: Sequence[Token]) -> str:
    """The words of a noun phrase that `tokens` begin with, without its article."""
    start = 1 if tokens and tokens[0].lower in ARTICLES else 0
    kept: list[str] = []
    for token in tokens[start : start + LONGEST_PHRASE]:
        if (
            token.lower in PREPOSITIONS | QUESTION_WORDS | _RELATIVE | _ENDS | ARTICLES | AUXILIARIES
            or token.participle
        ):
            break
        kept.append(token.text)
    return " ".join(kept)


def _is_aside(before: Sequence[Token]) -> bool:
    """Whether a mention stands apart from the sentence: `In 1780 ...`, `After Dunmere ...`."""
    return bool(before) and before[-1].lower in PREPOSITIONS
