"""Composes questions that need two texts from questions that need one: a description from another text replaces a name.

`When did the person who founded Orrin Glass retire?` is made from `When did Ida Berg retire?` and a sentence, or a table row,
that says who founded Orrin Glass. The reader gets that statement as read before, and answers from the other text. It also
sees statements about somebody else, and texts without the answer, so that it learns to follow the link and not only the
words. (Composition of single-hop questions through a shared entity: Trivedi et al. 2022, MuSiQue, section 4.)
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from training import made
from training.examples import Example
from training.made import Distractors, Kinds, phrase_of

_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w.-]*\w(?: (?:(?:of|the|de|van) )?[A-Z][\w.-]*\w)*(?![\w'’-]| ['’])")
_PERSONS = ("the person who", "the one who", "the man who", "the woman who", "whoever")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST_STATEMENT = 240  # characters
_REAL = 0.6  # probability that a name is described by a sentence, if there is one; otherwise by a table row
_ROWS = 0.3  # probability that the second text is a table
_OTHER_STATEMENT, _OTHER_TEXT = 0.2, 0.2  # that the statement, or the text, is another's


@dataclass(frozen=True, slots=True)
class Description:
    """A description of a name by a statement, in words that can replace it: `the person who founded Orrin Glass`."""

    name: str
    phrase: str
    statement: str


@dataclass(frozen=True, slots=True)
class Named:
    """A question with a name in it, at `start` to `end`."""

    example: Example
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.example.question[self.start : self.end]

    def asked_of(self, phrase: str) -> str:
        """The question with the phrase in place of the name and any article before it."""
        before = self.example.question[: self.start].removesuffix("the ").removesuffix("The ")
        return f"{before}{phrase}{self.example.question[self.end :]}"


@dataclass(frozen=True, slots=True)
class Links:
    """Descriptions by name, and questions that can take a description; in those of `bridged`, the name is described. `names` are
    the described names in order.
    """

    described: Mapping[str, tuple[Description, ...]]
    named: tuple[Named, ...]
    bridged: tuple[Named, ...]
    names: tuple[str, ...]


def links_of(examples: Iterable[Example]) -> Links:
    described = defaultdict[str, list[Description]](list)
    named: list[Named] = []
    for example in examples:
        if found := _describe(example):
            described[found.name].append(found)
        named += _names_in(example)
    descriptions = {name: tuple(found) for name, found in described.items()}
    bridged = tuple(one for one in named if one.name in descriptions)
    return Links(descriptions, tuple(named), bridged, tuple(sorted(descriptions)))


def linked(links: Links, kinds: Kinds, distractors: Distractors, draw: random.Random) -> Example:
    """A question that needs a statement, read before, and a text; in two of five cases one of them belongs to another name."""
    linked = _about_a_row(links, kinds, draw) if draw.random() < _ROWS else _about_a_text(links, draw)
    known = links.described.get(linked.name)
    described = draw.choice(known) if known and draw.random() < _REAL else described_by_row(linked.name, kinds, draw)
    question = linked.asked_of(_worded(described.phrase, draw))
    example = replace(linked.example, source="made.linked", question=question, before=described.statement)
    unanswered = replace(example, answered=False, start=0, end=0, helps=False)
    fate = draw.random()
    if fate < _OTHER_STATEMENT:
        other = draw.choice(links.described[draw.choice(links.names)]).statement
        if linked.name not in other:
            return replace(unanswered, before=other, helps=None)
    elif fate < _OTHER_STATEMENT + _OTHER_TEXT:
        near = distractors.near(linked.example)[:3]
        return replace(unanswered, text=draw.choice(near or distractors.texts))
    return example


def _about_a_text(links: Links, draw: random.Random) -> Named:
    return draw.choice(links.bridged if draw.random() < _REAL else links.named)


def _about_a_row(links: Links, kinds: Kinds, draw: random.Random) -> Named:
    """A question about a generated row whose key is a name with a description."""
    name = draw.choice(links.names)
    example = made.row(kinds, draw, key=name)
    start = example.question.find(name)
    if not example.answered or start < 0:
        return _about_a_text(links, draw)
    return Named(example, start, start + len(name))


def described_by_row(name: str, kinds: Kinds, draw: random.Random) -> Description:
    """A generated table row with the name in a cell: `the owner of Heron`, `the project whose owner is Heron`."""
    key_header, key = made.key_header(draw), draw.choice(kinds.names)
    header, other = made.headers(kinds, 2, draw)
    if draw.random() < 0.5:
        cells = [(key_header, key), (header, name), (other, made.value(other, kinds, draw))]
        phrase = draw.choice((f"the {header.lower()} of {key}", f"{key}'s {header.lower()}"))
    else:
        value = made.value(header, kinds, draw)
        cells = [(key_header, name), (header, value), (other, made.value(other, kinds, draw))]
        form = draw.choice(("the {} whose {} is {}", "the {} with the {} {}"))
        phrase = form.format(key_header.lower(), header.lower(), value)
    line = "; ".join(f"{one}: {value}" for one, value in cells)
    return Description(name, phrase, f"{draw.choice(kinds.names)}\n{line}" if draw.random() < 0.5 else line)


def _describe(example: Example) -> Description | None:
    """The description by the sentence with the answer, if the question can become a noun phrase."""
    name = example.answer
    found = phrase_of(example.question)
    if not found or not name[:1].isupper() or not 4 <= len(name) <= 60 or "\n" in name:
        return None
    start = end = 0
    for sentence in _SENTENCE.split(example.text):
        start = example.text.index(sentence, end)
        end = start + len(sentence)
        if start <= example.start < end:
            break
    statement = example.text[start:end]
    return Description(name, found, statement) if len(statement) <= _LONGEST_STATEMENT else None


def _names_in(example: Example) -> Iterator[Named]:
    for found in _NAME.finditer(example.question):
        if found[0] != example.answer and len(found[0]) >= 4 and found[0] in example.text:
            yield Named(example, found.start(), found.end())


def _worded(phrase: str, draw: random.Random) -> str:
    """Persons are described in several ways."""
    rest = phrase.removeprefix(_PERSONS[0])
    return draw.choice(_PERSONS) + rest if rest != phrase else phrase
