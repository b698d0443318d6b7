"""Makes what the training sets lack: questions without an answer, table rows, and questions as people type them.

Every function takes its own `random.Random`, so that the same seed makes the same examples.

Rows are read as an index shows them: `header: value; header: value`, under the table's title. Their headers and values come
from questions of the training sets that ask for a kind of thing ("What river …?": the answer is a river), and from columns
that such questions lack: prices, telephone numbers, times.
"""

from __future__ import annotations

import random
import re
from calendar import month_name
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from training.examples import Example, answered_at

_ASKED_KIND = re.compile(r"(?:what|which) (\w{3,}) (?:was|is|are|were|did|does|do|has|had|can|will) ", re.IGNORECASE)
_FRAME = re.compile(
    r"\b(?:what|which|who|whose|when|where|is|are|was|were|do|does|did|the|a|an|of|that|name)\b", re.IGNORECASE
)
_KEYS = ("Name", "Item", "Title", "Entry", "Subject", "Project", "Member", "Part", "Course", "Site")
_MONTHS = month_name[1:]

Cell = Callable[[random.Random], str]

_COLUMNS: Mapping[str, Cell] = {
    "Price": lambda draw: f"{draw.choice('€$£')}{draw.randint(1, 900)}.{draw.randint(0, 99):02}",
    "Phone": lambda draw: f"{draw.randint(200, 999)}-{draw.randint(1000, 9999)}",
    "Date": lambda draw: f"{draw.randint(1, 28)} {draw.choice(_MONTHS)} {draw.randint(1950, 2030)}",
    "Due": lambda draw: f"{draw.randint(1990, 2030)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
    "Time": lambda draw: f"{draw.randint(0, 23)}:{draw.choice(('00', '15', '30', '45'))}",
    "Room": lambda draw: f"{draw.choice('ABCDEF')}{draw.randint(1, 420)}",
    "Quantity": lambda draw: str(draw.randint(1, 5000)),
    "Weight": lambda draw: f"{draw.randint(1, 950)} {draw.choice(('g', 'kg', 'lb'))}",
    "Email": lambda draw: f"{_word(draw)}@{_word(draw)}.org",
    "Code": lambda draw: f"{_word(draw)[:3].upper()}-{draw.randint(10, 9999)}",
    "Status": lambda draw: draw.choice(("open", "closed", "planned", "late", "done", "cancelled", "waiting")),
}
_ASKING = (
    "What is the {header} of {key}?",
    "What {header} does {key} have?",
    "{key} {header}",
    "{header} of {key}?",
    "{key} >> {header}",
    "What is {key}'s {header}?",
)
_ASKING_BACK = ("Which {name} has the {header} {value}?", "What {name} has {value} as its {header}?")


@dataclass(frozen=True, slots=True)
class Kinds:
    """Values by the kind of thing they are, as questions name it, and names that rows can be about."""

    values: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]


def kinds_of(examples: Iterable[Example], names: Sequence[str]) -> Kinds:
    """The kinds that at least five questions ask for, with their answers of at most four words."""
    found: dict[str, list[str]] = defaultdict(list)
    for example in examples:
        kind = _ASKED_KIND.match(example.question)
        if kind and len(example.answer.split()) <= 4:
            found[kind[1].lower()].append(example.answer)
    return Kinds({kind: tuple(values) for kind, values in sorted(found.items()) if len(values) >= 5}, tuple(names))


def row(kinds: Kinds, draw: random.Random) -> Example:
    """A question about one row of a made table; in three of ten the row is another's or lacks the column."""
    key_header, key = draw.choice(_KEYS), draw.choice(kinds.names)
    cells = {header: _value(header, kinds, draw) for header in _headers(kinds, draw.randint(2, 5), draw)}
    header = draw.choice(list(cells))
    fate = draw.random()
    asked_of = draw.choice(kinds.names) if fate < 0.15 else key
    shown = {name: value for name, value in cells.items() if name != header} if 0.15 <= fate < 0.3 else cells
    line = "; ".join(f"{name}: {value}" for name, value in ({key_header: key} | shown).items())
    text = f"{draw.choice(kinds.names)}\n{line}" if draw.random() < 0.5 else line
    if fate > 0.85:
        question = draw.choice(_ASKING_BACK).format(name=key_header.lower(), header=header.lower(), value=cells[header])
        start = text.rindex(f"{key_header}: {key}") + len(key_header) + 2
        return answered_at("made.rows", question, text, start, start + len(key))
    question = draw.choice(_ASKING).format(header=header.lower(), key=asked_of)
    if header not in shown or asked_of != key:
        return Example("made.rows", question, text, answered=False, helps=False)
    start = text.rindex(f"{header}: {cells[header]}") + len(header) + 2
    return answered_at("made.rows", question, text, start, start + len(cells[header]))


def _headers(kinds: Kinds, count: int, draw: random.Random) -> list[str]:
    asked = [kind.capitalize() for kind in draw.sample(sorted(kinds.values), min(count, len(kinds.values)))]
    return draw.sample(asked + draw.sample(list(_COLUMNS), count), count)


def _value(header: str, kinds: Kinds, draw: random.Random) -> str:
    return _COLUMNS[header](draw) if header in _COLUMNS else draw.choice(kinds.values[header.lower()])


def _word(draw: random.Random) -> str:
    return "".join(draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))


def unanswerable(example: Example, others: Sequence[Example], draw: random.Random) -> Example:
    """The question beside another text: of eight drawn ones that which shares most words with it and lacks its answer."""
    asked = set(re.findall(r"\w{4,}", example.question.lower()))
    lacking = [other.text for other in draw.sample(others, min(8, len(others))) if not _names_answer(example, other)]
    if not lacking:
        return replace(example, source="made.unanswerable")
    nearest = max(lacking, key=lambda text: len(asked.intersection(re.findall(r"\w{4,}", text.lower()))))
    return example.unanswered_by(nearest, "made.unanswerable")


def _names_answer(example: Example, other: Example) -> bool:
    if example.verdict is not None:
        return other.text == example.text
    return example.answer.lower() in other.text.lower()


def without_answer(example: Example) -> Example | None:
    """The question beside its own text without the sentences that name the answer; None where too little is left."""
    sentences = re.split(r"(?<=[.!?]) +", example.text)
    left = " ".join(sentence for sentence in sentences if example.answer.lower() not in sentence.lower())
    return example.unanswered_by(left, "made.without_answer") if len(left) >= 80 else None


def as_typed(example: Example, draw: random.Random) -> Example:
    """The example with its question as people type: one in ten in small letters, one in twenty terse, one in twenty misspelt."""
    chance = draw.random()
    if example.verdict is None and chance < 0.05:
        return replace(example, question=terse(example.question))
    if chance < 0.10:
        return replace(example, question=misspelt(example.question, draw))
    if chance < 0.20:
        return replace(example, question=example.question.lower().rstrip("?. "))
    return example


def terse(question: str) -> str:
    """The question without the words that make it one; as it is where fewer than two others are left."""
    words = _FRAME.sub(" ", question).strip(" ?").split()
    return " ".join(words) if len(words) >= 2 else question


def misspelt(question: str, draw: random.Random) -> str:
    """The question with one letter of a longer word doubled, dropped or exchanged with its neighbour."""
    places = [found.start() for found in re.finditer(r"(?<=\w{2})[a-z](?=[a-z])", question)]
    if not places:
        return question
    place = draw.choice(places)
    letter, following = question[place], question[place + 1]
    changed = draw.choice((letter + letter + following, following, following + letter))
    return question[:place] + changed + question[place + 2 :]
