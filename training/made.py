"""Generates what the training sets lack: questions without an answer, table rows, and questions as people type them.

Every function takes a `random.Random`, so that the same seed makes the same examples.

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
from dataclasses import dataclass

from training.distractors import Distractors
from training.examples import Example, answered_at

_ASKED_KIND = re.compile(r"(?:what|which) (\w{3,}) (?:was|is|are|were|did|does|do|has|had|can|will) ", re.IGNORECASE)
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
_ASKING_BACK = (
    "Which {name} has the {header} {value}?",
    "What {name} has {value} as its {header}?",
    "What is the {name} whose {header} is {value}?",
    "What is the {name} with the {header} {value}?",
)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Values by the kind of thing that questions name, and names that rows can be about."""

    values: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]


def kinds_of(examples: Iterable[Example], names: Sequence[str]) -> Kinds:
    """The kinds that occur in at least five questions, with their answers of at most four words."""
    found: dict[str, list[str]] = defaultdict(list)
    for example in examples:
        kind = _ASKED_KIND.match(example.question)
        if kind and len(example.answer.split()) <= 4:
            found[kind[1].lower()].append(example.answer)
    return Kinds({kind: tuple(values) for kind, values in sorted(found.items()) if len(values) >= 5}, tuple(names))


def row(kinds: Kinds, draw: random.Random, key: str = "") -> Example:
    """A question about the row of `key` in a generated table; in three of ten cases the row is another's or lacks the column."""
    cells = {header: value(header, kinds, draw) for header in headers(kinds, draw.randint(2, 5), draw)}
    key_header = draw.choice([name for name in _KEYS if name not in cells])
    key = key or draw.choice(kinds.names)
    header = draw.choice(list(cells))
    fate = draw.random()
    asked_of = draw.choice(kinds.names) if fate < 0.15 else key
    shown = {name: value for name, value in cells.items() if name != header} if 0.15 <= fate < 0.3 else cells
    text = _laid_out({key_header: key} | shown, kinds, draw)
    own = text.find(f"{key_header}: {key}; ")
    if fate > 0.85:
        question = draw.choice(_ASKING_BACK).format(name=key_header.lower(), header=header.lower(), value=cells[header])
        start = own + len(key_header) + 2 if own >= 0 else text.index(key)
        return answered_at("made.rows", question, text, start, start + len(key))
    question = draw.choice(_ASKING).format(header=header.lower(), key=asked_of)
    if header not in shown or asked_of != key:
        return Example("made.rows", question, text, answered=False, helps=False)
    start = text.index(f"{header}: {cells[header]}", max(0, own)) + len(header) + 2
    return answered_at("made.rows", question, text, start, start + len(cells[header]))


def _laid_out(cells: Mapping[str, str], kinds: Kinds, draw: random.Random) -> str:
    """Cells as a table row, with or without a heading, often among other rows, or as list items under their subject."""
    (key_header, key), *others = cells.items()
    fate = draw.random()
    if fate < 0.5:
        rows = [dict(cells), *(_beside(cells, kinds, draw) for _ in range(draw.randint(1, 5)))]
        draw.shuffle(rows)
        lines = ["; ".join(f"{header}: {value}" for header, value in row.items()) for row in rows]
        return "\n".join([draw.choice(kinds.names), *lines])
    if fate < 0.75:
        return "\n".join([key, *(f"{header}: {value}" for header, value in others)])
    line = "; ".join(f"{header}: {value}" for header, value in ((key_header, key), *others))
    return f"{draw.choice(kinds.names)}\n{line}" if draw.random() < 0.5 else line


def _beside(cells: Mapping[str, str], kinds: Kinds, draw: random.Random) -> dict[str, str]:
    """Another row of the same table. It repeats no value, so that only one row answers."""
    key_header, *headers = cells
    values = {header: value(header, kinds, draw) for header in headers}
    return {key_header: draw.choice(kinds.names)} | {
        header: one for header, one in values.items() if one != cells[header]
    }


def headers(kinds: Kinds, count: int, draw: random.Random) -> list[str]:
    """Headers of this many other, different columns."""
    headers = [kind.capitalize() for kind in draw.sample(sorted(kinds.values), min(count, len(kinds.values)))]
    return draw.sample(headers + draw.sample(list(_COLUMNS), count), count)


def key_header(draw: random.Random) -> str:
    """The header of a column of names."""
    return draw.choice(_KEYS)


def value(header: str, kinds: Kinds, draw: random.Random) -> str:
    """A value of a column."""
    return _COLUMNS[header](draw) if header in _COLUMNS else draw.choice(kinds.values[header.lower()])


def _word(draw: random.Random) -> str:
    return "".join(draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))


def unanswerable(example: Example, distractors: Distractors, draw: random.Random) -> Example:
    """The question with one of the three texts that share the most with it and do not answer it; any other if there is none."""
    near = distractors.near(example)[:3]
    return example.unanswered_by(draw.choice(near or distractors.texts), "made.unanswerable")


def without_answer(example: Example) -> Example | None:
    """The question with its text without the sentences that name the answer; None if too little is left."""
    sentences = re.split(r"(?<=[.!?]) +", example.text)
    remaining = " ".join(sentence for sentence in sentences if example.answer.lower() not in sentence.lower())
    return example.unanswered_by(remaining, "made.without_answer") if len(remaining) >= 80 else None
