"""Triples by CompRAG's rules over a dependency parse: each verb with its subjects and objects.

For English pipelines with the ClearNLP labels (`nsubj`, `dobj`, `pobj`), like spaCy's own. A small protocol describes the parse,
so that spaCy is not imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from hoptrail.language.tasks import Triple
from hoptrail.text.lexicon import word_set

_SUBJECTS = word_set("nsubj nsubjpass csubj")
_OBJECTS = word_set("dobj obj attr oprd acomp dative xcomp")
_PREPOSITIONS = word_set("prep agent")
_BEFORE_VERB = word_set("aux auxpass neg")
_PHRASE = word_set("compound amod nummod poss nmod case quantmod flat")
_MOST = 8


class Parsed(Protocol):
    """The used part of a parsed token."""

    @property
    def i(self) -> int:
        """Its place among the tokens of the text, from 0."""

    @property
    def text(self) -> str: ...
    @property
    def dep_(self) -> str:
        """The label of its dependency on `head`, such as `nsubj`."""

    @property
    def pos_(self) -> str:
        """Its part of speech in the universal scheme, such as `VERB`."""

    @property
    def head(self) -> Parsed:
        """The token it depends on; a root is its own head."""

    @property
    def children(self) -> Iterable[Parsed]:
        """The tokens that depend on it directly, in the order of the text."""


def triples_in_parse(tokens: Iterable[Parsed], about: str) -> tuple[Triple, ...]:
    """The triples of a parsed text in order, at most 8; `about` (the text's subject) replaces pronouns."""
    found: dict[Triple, None] = {}
    for verb in tokens:
        if verb.pos_ in {"VERB", "AUX"} and verb.dep_ not in _BEFORE_VERB:
            subjects = [name for subject in _subjects(verb) if (name := _name_of(subject, about))]
            for relation, target in _objects(verb):
                phrase = _phrase(target)
                found |= dict.fromkeys(Triple(name, relation, phrase) for name in subjects if name != phrase)
    return tuple(found)[:_MOST]


def _subjects(verb: Parsed) -> list[Parsed]:
    """The verb's subjects: its own, those of a coordinated verb (`was born in Foss and died there`), or the noun it describes."""
    own = [part for child in verb.children if child.dep_ in _SUBJECTS for part in _coordinated(child)]
    if not own and verb.dep_ == "conj":
        return _subjects(verb.head)
    if verb.dep_ in {"relcl", "acl"} and all(subject.pos_ == "PRON" for subject in own):
        return [verb.head]
    return own


def _objects(verb: Parsed) -> Iterator[tuple[str, Parsed]]:
    """Relations with their objects; a preposition of the verb or of its complement is a part of the relation."""
    said = " ".join([*(child.text for child in verb.children if child.dep_ in _BEFORE_VERB), verb.text])
    yield from _prepositional_objects(verb, said)
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for part in _coordinated(child):
                yield said, part
            yield from _prepositional_objects(child, f"{said} {_phrase(child)}")


def _prepositional_objects(head: Parsed, said: str) -> Iterator[tuple[str, Parsed]]:
    for preposition in head.children:
        if preposition.dep_ in _PREPOSITIONS:
            for target in preposition.children:
                if target.dep_ == "pobj":
                    for part in _coordinated(target):
                        yield f"{said} {preposition.text}", part


def _coordinated(token: Parsed) -> Iterator[Parsed]:
    """A token and the tokens coordinated with it."""
    yield token
    for child in token.children:
        if child.dep_ == "conj" and child.pos_ not in {"VERB", "AUX"}:
            yield from _coordinated(child)


def _phrase(head: Parsed) -> str:
    """A noun with its modifiers, in the order of the text."""
    return " ".join(token.text for token in sorted(_parts(head), key=lambda token: token.i))


def _parts(head: Parsed) -> Iterator[Parsed]:
    yield head
    for child in head.children:
        if child.dep_ in _PHRASE:
            yield from _parts(child)


def _name_of(subject: Parsed, about: str) -> str:
    return about if subject.pos_ == "PRON" else _phrase(subject)
