"""Generates what the training sets lack: questions without an answer, table rows, questions about facts stated in a fixed form
(dates of lives, who directed or founded what), and questions as people type them, as decomposition words them, as noun phrases.

Every function takes a `random.Random`, so that the same seed makes the same examples.

Rows are read as an index shows them: `header: value; header: value`, under the table's title. Their headers and values come
from questions of the training sets that ask for a kind of thing ("What river …?": the answer is a river), and from columns
that such questions lack: prices, telephone numbers, times.
"""

from __future__ import annotations

import math
import random
import re
from calendar import month_name
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from training.examples import Example, answered_at
from training.sources import MultiHop

_LONGER_WORD = re.compile(r"\w{3,}")
_COMMON = 0.02  # words in more than this share of the texts are ignored
_TRIED = 12  # texts that share most with a question


@dataclass(frozen=True, slots=True)
class Distractors:
    """An index of texts by their rarer words."""

    texts: Sequence[str]
    places: dict[str, list[int]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Distractors:
        once = list(dict.fromkeys(texts))
        places = defaultdict[str, list[int]](list)
        for place, text in enumerate(once):
            for word in sorted(words_of(text)):
                places[word].append(place)
        most = max(3.0, _COMMON * len(once))
        return cls(once, {word: found for word, found in places.items() if len(found) <= most})

    def near(self, example: Example) -> list[str]:
        """Texts that share the most with the question, best first, without its own text and those that name its answer."""
        shared = defaultdict[int, float](float)
        for word in sorted(words_of(example.question)):
            found = self.places.get(word, ())
            weight = math.log(len(self.texts) / max(1, len(found)))
            for place in found:
                shared[place] += weight
        best = [self.texts[place] for place in sorted(shared, key=lambda place: (-shared[place], place))[:_TRIED]]
        answer = example.answer.lower()
        return [
            text
            for text in best
            if text != example.text and (example.verdict is not None or answer not in text.lower())
        ]


def words_of(text: str) -> set[str]:
    return set(_LONGER_WORD.findall(text.lower()))


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
    "What is the {header} of {key}?|What {header} does {key} have?|{key} {header}|{header} of {key}?|{key} >> {header}|"
    "What is {key}'s {header}?"
).split("|")
_ASKING_BACK = (
    "Which {name} has the {header} {value}?|What {name} has {value} as its {header}?|"
    "What is the {name} whose {header} is {value}?|What is the {name} with the {header} {value}?"
).split("|")


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
    others = {header: one for header, one in values.items() if one != cells[header]}
    return {key_header: draw.choice(kinds.names)} | others


def headers(kinds: Kinds, count: int, draw: random.Random) -> list[str]:
    """Headers of so many different columns beside that of names."""
    headers = [kind.capitalize() for kind in draw.sample(sorted(kinds.values), min(count, len(kinds.values)))]
    return draw.sample(headers + draw.sample(list(_COLUMNS), count), count)


def key_header(draw: random.Random) -> str:
    return draw.choice(_KEYS)


def value(header: str, kinds: Kinds, draw: random.Random) -> str:
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


_DATE = r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{3,4}"
LIFE = re.compile(
    rf"^[^(\n]{{2,80}}\([^()\d]*?(?P<born>{_DATE})[^()\d]*?(?:[–—-]+ ?[^()\d]*?(?P<died>{_DATE})[^()\d]*)?\)"
)
_WORD = r"(?:[A-Z]\.|[A-Z][\w'’-]+)"
_NAME = rf"{_WORD}(?: (?:{_WORD}|de|van|von|da|di|la|le|du|der))*"
MAKERS = {
    "directed": "director", "written": "writer", "produced": "producer", "composed": "composer", "founded": "founder",
    "published": "publisher", "designed": "designer", "built": "builder", "painted": "painter", "edited": "editor",
    "recorded": "performer", "created": "creator",
}  # fmt: skip
MADE_BY = re.compile(rf"\b(?P<verb>{'|'.join(MAKERS)}) by (?P<who>{_NAME})")
_PAST = {"written": "wrote"}
_BORN = ("When was {} born?", "What is the date of birth of {}?", "{} date of birth", "In what year was {} born?")
_DIED = ("When did {} die?", "What is the date of death of {}?", "{} date of death", "In what year did {} die?")
_MADE = ("Who {past} {title}?", "Who is the {maker} of {title}?", "{title} {maker}", "Who was {title} {verb} by?")
_BARE = re.compile(r" \(.*\)$")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a text's title at `text[start:end]`; `forms` are questions for it, with `{}` for a name."""

    title: str
    text: str
    start: int
    end: int
    forms: tuple[str, ...]


def facts(data: MultiHop) -> Iterator[Fact]:
    for identifier, passage in data.passages.items():
        title, text, shown = _BARE.sub("", str(passage["title"])), str(passage["text"]), data.shown(identifier)
        at = len(shown) - len(text)
        if life := LIFE.match(text):
            yield Fact(title, shown, at + life.start("born"), at + life.end("born"), _BORN)
            if life["died"]:
                yield Fact(title, shown, at + life.start("died"), at + life.end("died"), _DIED)
        creation = MADE_BY.search(text)
        if creation and creation.start() < 200:
            verb = creation["verb"]
            words = {"past": _PAST.get(verb, verb), "maker": MAKERS[verb], "verb": verb, "title": "{}"}
            forms = tuple(form.format(**words) for form in _MADE)
            yield Fact(title, shown, at + creation.start("who"), at + creation.end("who"), forms)


def stated(fact: Fact, others: Sequence[Fact], draw: random.Random) -> Example:
    """A question about a fact; in a quarter of all cases about another title, or about something that its text does not state."""
    form = draw.choice(fact.forms)
    fate = draw.random()
    if fate < 0.13:
        other = draw.choice(others)
        if other.title not in fact.text:
            return Example("made.stated", form.format(other.title), fact.text, answered=False, helps=False)
    if fate > 0.88:
        maker = draw.choice([maker for verb, maker in MAKERS.items() if verb not in fact.text])
        if maker not in fact.text:
            question = f"Who is the {maker} of {fact.title}?"
            return Example("made.stated", question, fact.text, answered=False, helps=False)
    return answered_at("made.stated", form.format(fact.title), fact.text, fact.start, fact.end)


_FRAME = re.compile(
    r"\b(?:what|which|who|whose|when|where|is|are|was|were|do|does|did|the|a|an|of|that|name)\b", re.IGNORECASE
)
_VERB = (
    r"(?:is|was|were|has|had|can|could|will|won|wrote|led|made|gave|became|began|built|took|ran|sold|left|held|met|sent|"
    r"found|taught|drew|sang|fought|brought|bought|kept|lost|came|went|[a-z]{3,}(?:ed|[^s\W\d]s))"
)
_WHO = re.compile(rf"^[Ww]ho ({_VERB} [^?]{{6,70}}?) ?\?*$")
_WHICH = re.compile(rf"^(?:[Ww]hich|[Ww]hat) ([a-z]{{3,}}(?: [a-z]{{3,}})?) ({_VERB} [^?]{{6,70}}?) ?\?*$")


def as_typed(example: Example, draw: random.Random) -> Example:
    """The example with its question as people type it, or as decomposition words it.

    One in ten is in lower case; one in twenty is terse, one misspelt, and one asks for a description if possible.
    """
    chance = draw.random()
    if example.verdict is None and chance < 0.05:
        return replace(example, question=terse(example.question))
    if chance < 0.10:
        return replace(example, question=misspelt(example.question, draw))
    if chance < 0.20:
        return replace(example, question=example.question.lower().rstrip("?. "))
    if chance < 0.25 and (phrase := phrase_of(example.question)):
        asker = "Who" if phrase.startswith("the person ") else "What"
        return replace(example, question=f"{asker} is {phrase}?")
    return example


def terse(question: str) -> str:
    """The question without its question words; unchanged if fewer than two others are left."""
    words = _FRAME.sub(" ", question).strip(" ?").split()
    return " ".join(words) if len(words) >= 2 else question


def misspelt(question: str, draw: random.Random) -> str:
    """The question with one letter of a longer word doubled, dropped or swapped with its neighbour."""
    places = [found.start() for found in re.finditer(r"(?<=\w{2})[a-z](?=[a-z])", question)]
    if not places:
        return question
    place = draw.choice(places)
    letter, following = question[place], question[place + 1]
    changed = draw.choice((letter + letter + following, following, following + letter))
    return question[:place] + changed + question[place + 2 :]


def phrase_of(question: str) -> str:
    """The question as a noun phrase, `the person who founded Orrin Glass`; empty if its form does not allow it."""
    if found := _WHO.match(question):
        return f"the person who {found[1]}"
    found = _WHICH.match(question)
    return f"the {found[1]} that {found[2]}" if found else ""
