"""Parse a question into triples with open slots: `(open, directed, Night Boats)` for `Who directed Night Boats?`.

Open slots have no placeholder: a question mark as text would be compared like a word. The rules use word order and word lists;
English only. Questions are not split into hops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from hoptrail.text.lexicon import ARTICLES, AUXILIARIES, COPULAS, DEMONYMS, PREPOSITIONS, QUESTION_WORDS, word_set
from hoptrail.text.normal_forms import without_article
from hoptrail_papers.comprag.phrases import Token, tokens_of
from hoptrail_papers.comprag.sentence_triples import said, verb_group

_CLAUSE = QUESTION_WORDS | word_set("that and or but")
_INVERTING = AUXILIARIES | COPULAS


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple with at least one known slot; open slots are None."""

    subject: str | None = None
    relation: str | None = None
    object: str | None = None

    @property
    def slots(self) -> tuple[str | None, str | None, str | None]:
        """Subject, relation and object; None where open."""
        return (self.subject, self.relation, self.object)


@dataclass(frozen=True, slots=True)
class QuestionTriples:
    """Patterns of a name and a relation (`whole`), of a name or noun phrase (`partial`), and all relations."""

    whole: tuple[Pattern, ...]
    partial: tuple[Pattern, ...]
    relations: tuple[str, ...]

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return (*self.whole, *self.partial)


def question_triples(question: str, *, noun_phrases: bool = False) -> QuestionTriples:
    """The distinct patterns of a question in order; with `noun_phrases`, phrases of two words or more are partial patterns."""
    tokens = tokens_of(question)
    names = [place for place, token in enumerate(tokens) if token.name and token.text.lower() not in DEMONYMS]
    whole: dict[Pattern, None] = {}
    partial: dict[Pattern, None] = {}
    previous: list[Pattern] = []
    for number, place in enumerate(names):
        before = tokens[names[number - 1] + 1 if number else 0 : place]
        after = tokens[place + 1 : names[number + 1] if number + 1 < len(names) else len(tokens)]
        name = without_article(tokens[place].text.strip('"“”*'))
        apart = bool(before) and tokens[place].start - before[-1].end > 1
        patterns = list(_patterns_of(name, before, after, apart=apart))
        if not patterns and [token.lower for token in before] in (["or"], ["and"]):
            patterns = [
                Pattern(name if one.subject else None, one.relation, name if one.object else None) for one in previous
            ]
        previous = patterns
        whole |= dict.fromkeys(patterns)
        partial |= dict.fromkeys((Pattern(subject=name), Pattern(object=name)))
    if noun_phrases:
        for phrase in _noun_phrases(tokens):
            partial |= dict.fromkeys((Pattern(subject=phrase), Pattern(object=phrase)))
    relations = [pattern.relation for pattern in whole if pattern.relation]
    relations += [relation for segment in _segments(tokens) if (relation := _relation(segment))]
    return QuestionTriples(tuple(whole), tuple(partial), tuple(dict.fromkeys(relations)))


def _patterns_of(name: str, before: Sequence[Token], after: Sequence[Token], *, apart: bool) -> Iterator[Pattern]:
    """The patterns of a name from the words on both sides; `apart`: a comma precedes it, as in `Who died first, X or Y?`."""
    opened = max((place for place, token in enumerate(before) if token.lower in _CLAUSE), default=-1)
    clause = _without_class_noun(before[opened + 1 :])
    if clause and all(token.lower in _INVERTING for token in clause):  # `Where was Orla Finch born`
        relation = said([*(token for token in clause if token.lower in COPULAS), *_first_clause(after)])
        if relation:
            yield Pattern(subject=name, relation=relation)
    elif clause and clause[-1].lower == "of":  # `the mother of X` may be stored in either direction
        relation = _relation(clause)
        yield Pattern(subject=name, relation=relation.removesuffix(" of"))
        yield Pattern(relation=relation, object=name)
    elif relation := _relation(clause):
        yield Pattern(subject=name, relation=relation) if apart else Pattern(relation=relation, object=name)
    if after and after[0].lower == "s":  # `X's mother`
        nouns = said(list(takewhile(lambda token: token.content and not token.verb, _first_clause(after[1:])))[:3])
        if nouns:
            yield Pattern(subject=name, relation=nouns)
            yield Pattern(relation=f"{nouns} of", object=name)
    elif not clause and (own := _first_clause(after)) and verb_group(own[:2]) == 0 and (relation := _relation(own)):
        yield Pattern(subject=name, relation=relation)


def _relation(clause: Sequence[Token]) -> str:
    """The relation of a clause: its verb with following prepositions, or the words before a final `of`; else empty."""
    group = verb_group(clause)
    if clause and clause[-1].lower == "of":
        return said([token for token in clause[group or 0 :] if token.lower not in _INVERTING]) or "of"
    if group is None:
        return ""
    at = group
    while at < len(clause) and (clause[at].verb or clause[at].lower in PREPOSITIONS):
        at += 1
    relation = clause[group:at]
    return "" if all(token.lower in _INVERTING for token in relation) else said(relation)


def _without_class_noun(clause: Sequence[Token]) -> Sequence[Token]:
    """The clause without a final noun for the kind of the name: `the director of the film (Night Boats)`."""
    at = len(clause)
    while at > 0 and len(clause) - at <= 2 and (clause[at - 1].content or clause[at - 1].lower in ARTICLES):
        at -= 1
    return clause[:at] if at > 0 and clause[at - 1].lower == "of" else clause


def _first_clause(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens before the first word that opens a clause."""
    at = next((place for place, token in enumerate(tokens) if token.lower in _CLAUSE), len(tokens))
    return tokens[:at]


def _segments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Runs of tokens without names and words that open a clause."""
    runs = groupby(tokens, lambda token: token.name or token.lower in _CLAUSE)
    return (list(run) for divides, run in runs if not divides)


def _noun_phrases(tokens: Sequence[Token]) -> Iterator[str]:
    """Runs of at least two possible nouns, without names."""

    def is_noun(token: Token) -> bool:
        return token.content and not (token.name or token.verb or token.lower in ARTICLES)

    runs = ([token.text for token in run] for nouns, run in groupby(tokens, is_noun) if nouns)
    return (" ".join(run) for run in runs if len(run) > 1)
