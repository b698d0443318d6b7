"""Finders of triples in facts: our rules, dependency rules over a spaCy pipeline that the user names, or none.

A fact stated as a triple keeps it in any case. Questions are always read by our rules.

A parse gives each verb with its subjects and objects (CompRAG). The labels are those of English pipelines (ClearNLP: `nsubj`,
`dobj`, `pobj`), like spaCy's own. A small protocol describes the parse, so that spaCy is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Protocol

from hoptrail.errors import UsageError
from hoptrail.language.entity_finders import RULES, pipeline_with
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.types import Fact, Triple
from hoptrail_papers.comprag.sentence_triples import triples_of

STATED = "stated"
_SPACY = "spacy"
_SUBJECTS = word_set("nsubj nsubjpass csubj")
_OBJECTS = word_set("dobj obj attr oprd acomp dative xcomp")
_PREPOSITIONS = word_set("prep agent")
_BEFORE_VERB = word_set("aux auxpass neg")
_PHRASE = word_set("compound amod nummod poss nmod case quantmod flat")
_MOST = 8

TripleFinder = Callable[[Fact, str], tuple[Triple, ...]]
"""From a fact and its passage's title to the fact's triples, in order. Deterministic."""


def check_triple_finder(name: str) -> None:
    """Check the form of a finder's name, without opening it. Raises: UsageError: there is no such finder."""
    kind, _, model = name.partition(":")
    if name not in {RULES, STATED} and not (kind == _SPACY and model):
        raise UsageError(f"there is no triple extractor {name!r}; available: {RULES}, {STATED}, {_SPACY}:MODEL")


def open_triple_finder(name: str) -> TripleFinder:
    """The finder called `name`: `rules`, `stated` (only facts stated as triples) or `spacy:MODEL`.

    Loading a spaCy package runs its code: name only pipelines you trust. Nothing is downloaded.
    Raises: UsageError: there is no such finder, or spaCy or the pipeline is missing or does not parse.
    """
    check_triple_finder(name)
    if name == RULES:
        return triples_of
    if name == STATED:
        return lambda fact, _: (fact.triple,) if fact.triple else ()
    return _finder_by_parse(name.partition(":")[2])


def _finder_by_parse(model: str) -> TripleFinder:
    pipeline = pipeline_with("token.dep", model, "does not parse", "`parser`")
    lock = Lock()

    def find(fact: Fact, title: str) -> tuple[Triple, ...]:
        if fact.triple:
            return (fact.triple,)
        with lock:  # reading changes a pipeline's vocabulary
            return triples_in_parse(pipeline(squeeze(fact.text)), base_title(title))

    return find


class ParsedToken(Protocol):
    """The used part of a parsed token: its place `i`, its part of speech (`VERB`), and its dependency (`nsubj`) on its head.

    A root is its own head. The children depend on the token directly, in the order of the text.
    """

    @property
    def i(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def dep_(self) -> str: ...
    @property
    def pos_(self) -> str: ...
    @property
    def head(self) -> ParsedToken: ...
    @property
    def children(self) -> Iterable[ParsedToken]: ...


def triples_in_parse(tokens: Iterable[ParsedToken], about: str) -> tuple[Triple, ...]:
    """The triples of a parsed text in order, at most 8; `about` (the text's subject) replaces pronouns."""
    found: dict[Triple, None] = {}
    for verb in tokens:
        if verb.pos_ in {"VERB", "AUX"} and verb.dep_ not in _BEFORE_VERB:
            names = (about if subject.pos_ == "PRON" else _phrase(subject) for subject in _subjects(verb))
            subjects = [name for name in names if name]
            for relation, target in _objects(verb):
                phrase = _phrase(target)
                found |= dict.fromkeys(Triple(name, relation, phrase) for name in subjects if name != phrase)
    return tuple(found)[:_MOST]


def _subjects(verb: ParsedToken) -> list[ParsedToken]:
    """The verb's subjects: its own, those of a coordinated verb (`was born in Foss and died there`), or the noun it describes."""
    own = [part for child in verb.children if child.dep_ in _SUBJECTS for part in _coordinated(child)]
    if not own and verb.dep_ == "conj":
        return _subjects(verb.head)
    if verb.dep_ in {"relcl", "acl"} and all(subject.pos_ == "PRON" for subject in own):
        return [verb.head]
    return own


def _objects(verb: ParsedToken) -> Iterator[tuple[str, ParsedToken]]:
    """Relations with their objects; a preposition of the verb or of its complement is a part of the relation."""
    said = " ".join([*(child.text for child in verb.children if child.dep_ in _BEFORE_VERB), verb.text])
    yield from _prepositional_objects(verb, said)
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for part in _coordinated(child):
                yield said, part
            yield from _prepositional_objects(child, f"{said} {_phrase(child)}")


def _prepositional_objects(head: ParsedToken, said: str) -> Iterator[tuple[str, ParsedToken]]:
    for preposition in head.children:
        if preposition.dep_ in _PREPOSITIONS:
            for target in preposition.children:
                if target.dep_ == "pobj":
                    for part in _coordinated(target):
                        yield f"{said} {preposition.text}", part


def _coordinated(token: ParsedToken) -> Iterator[ParsedToken]:
    yield token
    for child in token.children:
        if child.dep_ == "conj" and child.pos_ not in {"VERB", "AUX"}:
            yield from _coordinated(child)


def _phrase(head: ParsedToken) -> str:
    """A noun with its modifiers, in the order of the text."""
    return " ".join(token.text for token in sorted(_parts(head), key=lambda token: token.i))


def _parts(head: ParsedToken) -> Iterator[ParsedToken]:
    yield head
    for child in head.children:
        if child.dep_ in _PHRASE:
            yield from _parts(child)
