"""Questions that need two statements: one that a description fits, and one with what is asked of whoever or whatever it fits.

    25.04. Ida B. signed the lease.
    name: Ida Berg; room: B204; extension: 311
    extension of the person who signed the lease        311, read in the second statement after the first

The same question with statements of somebody else, without the first, or with a first one that denies it, has no answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from training.contrast.words import ACTS, PLACES, TITLES, VALUES, day, denials, form_of, people
from training.examples import Example, answered_at, under_title

SOURCE = "paths"
Read = tuple[str, str]  # the statement that was read before (empty: none), and the one that is read


@dataclass(frozen=True, slots=True)
class Described:
    """A description as a part of a question, the statement that it fits, and near ones that it does not fit."""

    phrase: str
    fits: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A question, the statements that answer it together, the answer at `start` in the second, and pairs that do not answer."""

    question: str
    right: Read
    start: int
    answer: str
    wrong: tuple[Read, ...]

    @property
    def examples(self) -> list[Example]:
        """The right pair as an example, and the others."""
        before, text = self.right
        right = answered_at(SOURCE, self.question, text, self.start, self.start + len(self.answer))
        unanswered = (
            Example(SOURCE, self.question, text, before, answered=False, helps=False) for before, text in self.wrong
        )
        return [replace(right, before=before), *unanswered]


def _short(name: str, draw: random.Random) -> str:
    """A name as people write it of somebody whom all know: `Ida`, `Berg`, `I. Berg`, `Ida B.`."""
    first, _, family = name.partition(" ")
    if not family:
        return name
    return draw.choice(
        (name, name, name, first, first, family, f"{first[0]}. {family}", f"{first} {family[0]}", f"Ms {family}")
    )


def _acting(one: str, other: str, draw: random.Random) -> Described:
    act = draw.choice(ACTS)
    rest = draw.choice([another for another in ACTS if another != act])
    when = form_of(draw, "| on {0}| yesterday| in March| at {1}", day(draw), draw.choice(PLACES))
    denial = draw.choice(denials(act))
    said = draw.choice(
        ("{0} {1}{2}.", "{0} {1}{2}, at last.", "{3}: {0} {1}.", "{0} ({1}{2})", "Nobody but {0} {1}{2}.")
    )
    forms = (
        "the person who {0}|the one who {0}|whoever {0}|the colleague who {0}|the man who {0}|the member that {0}|"
        "the guy who {0}|the woman who {0}"
    )
    phrase = form_of(draw, forms, act.past)
    fits = said.format(_short(one, draw), act.past, when, day(draw))
    denied = denial.format(who=_short(other, draw), past=act.past, plain=act.plain, going=act.going)
    return Described(phrase, fits, (denied, said.format(_short(other, draw), rest.past, when, day(draw))))


ROLES = (
    "treasurer|secretary|safety officer|head of the kitchen|chair of the bylaws committee|night porter|first aider|team leader|"
    "caretaker|librarian|webmaster|auditor|deputy manager|tour guide|stage manager|skipper|fire warden|choir leader|lab manager|"
    "data protection officer|union representative|head gardener|bookkeeper|press officer|coach|minute taker|key holder"
).split("|")


def _role(one: str, other: str, draw: random.Random) -> Described:
    role, another = draw.sample(ROLES, 2)
    form = draw.choice(
        ("{1} is the {0}.", "{0}: {1}", "{1}, {0}", "role: {0}; name: {1}", "{1} ({0})", "The {0} is {1}.", "name: {1}; job: {0}",
         "{1} has been our {0} since May.", "We elected {1} as {0}.")
    )  # fmt: skip
    phrase = form_of(draw, "the {}|our {}|the person who is {}|whoever is {}|the present {}", role)
    return Described(phrase, form.format(role, _short(one, draw)), (form.format(another, _short(other, draw)),))


def _rota(one: str, other: str, draw: random.Random) -> Described:
    number, later = draw.sample(range(1, 53), 2)
    unit = draw.choice(("week", "week", "shift", "table", "day"))
    duties = draw.sample(
        ("kitchen", "reception", "yard_morning", "gate", "evening", "phone duty", "laundry", "bar", "lab", "desk"), 3
    )
    at = draw.randrange(3)

    def row(when: int, on_duty: str, others: Sequence[str]) -> str:
        names = [*others[:at], on_duty, *others[at:]]
        cells = "; ".join(f"{duty}: {name}" for duty, name in zip(duties, names, strict=True))
        return f"{unit}: {when}; {cells}"

    third, fourth = (name.split()[0] for name in people(draw, 2))
    duty = duties[at].replace("_", " ")
    forms = (
        "the person who does the {0} in {1} {2}|whoever is on {0} in {1} {2}|the one on {0} in {1} {2}|"
        "the colleague with {0} in {1} {2}"
    )
    phrase = form_of(draw, forms, duty, unit, str(number))
    mine, theirs = _short(one, draw), _short(other, draw)
    others = (row(later, theirs, (third, mine)), row(later, theirs, (third, fourth)))
    return Described(phrase, row(number, mine, (third, theirs)), others)


THINGS = (
    "portable radio|master key|blue van|projector|spare laptop|company phone|petty cash|red canoe|label printer|storage room key|"
    "camera|fuel card|trailer|first aid bag|tablet|drill|ladder|credit card|dog|old piano"
).split("|")


def _holder(one: str, other: str, draw: random.Random) -> Described:
    thing, another = draw.sample(THINGS, 2)
    if draw.random() < 0.4:
        thing, another = (f"{thing} {draw.randint(1, 20)}" for _ in range(2))
        if thing == another:
            another += "b"
    form = draw.choice(
        ("{1} has the {0}.", "item: {0}; holder: {1}", "The {0} is with {1}.", "{0}: {1}", "{1} took the {0} home.",
         "item: {0}; with: {1}")
    )  # fmt: skip
    phrase = form_of(
        draw, "the person who has the {}|the one with the {}|the holder of the {}|whoever carries the {}", thing
    )
    return Described(phrase, form.format(thing, _short(one, draw)), (form.format(another, _short(other, draw)),))


def _relative(one: str, other: str, draw: random.Random) -> Described:
    whose, another = people(draw, 2)
    tie = draw.choice(
        "brother sister mentor assistant landlord deputy wife supervisor trainer successor neighbour".split()
    )
    form = draw.choice(
        ("{1} is {0}'s {2}.", "name: {0}; {2}: {1}", "{0} ({2}: {1})", "{1}, the {2} of {0}, was there too.")
    )
    phrase = draw.choice((f"{whose}'s {tie}", f"the {tie} of {whose}"))
    fits = form.format(whose, _short(one, draw), tie)
    return Described(phrase, fits, (form.format(another, _short(other, draw), tie), form.format(other, whose, tie)))


TROUBLES = (
    "mice|a leak|no heating|a broken pane|a noisy fan|damp in the bedroom|a blocked drain|a burst pipe|wasps|a stuck gate|"
    "a smell of gas|a cracked window|a dead smoke alarm|a bent needle|a flat tyre|an oil spill|a power cut|a lost key"
).split("|")


def _trouble(one: str, other: str, draw: random.Random) -> Described:
    trouble, another = draw.sample(TROUBLES, 2)
    kind = draw.choice(("place", "house", "machine", "site", "room", "vehicle", "property"))
    form = draw.choice(
        ("{0}: {1}", "{2}; {0}; {1}; done", "date: {2}; where: {0}; problem: {1}", "{2} {1} at {0}.", "We found {1} at {0}.",
         "{0} has {1} again.", "number: 4{3}; {4}: {0}; trouble: {1}")
    )  # fmt: skip
    number = draw.randint(100, 999)
    forms = "the {0} with {1}|the {0} that had {1}|the {0} where there was {1}|the {0} with the report of {1}"
    phrase = form_of(draw, forms, kind, trouble)
    fits = form.format(one, trouble, day(draw), number, kind)
    return Described(phrase, fits, (form.format(other, another, day(draw), number + 1, kind),))


_OF_PEOPLE = (_acting, _acting, _role, _rota, _holder, _relative)
_PERSONAL = "phone number|extension|email address|mobile number|room|date of birth|password|account number".split("|")
_OF_THINGS = tuple(sorted(set(VALUES) - {"date of birth", "extension", "email address"}))


def _named_thing(draw: random.Random) -> tuple[str, str]:
    """Two things of one kind, by address, code or name."""
    one, other = draw.sample(PLACES, 2)
    first, second = draw.sample(range(1, 99), 2)
    street = draw.choice(("Road", "Lane", "Street", "Close"))
    return draw.choice(
        (
            (f"{first} {one} {street}", f"{second} {other} {street}"),
            (f"{one[:2].upper()}{first}", f"{one[:2].upper()}{second}"),
            (f"{one[0]}-{300 + first}", f"{one[0]}-{300 + second}"),
            (one, other),
            (f"{one} Hall", f"{other} Hall"),
        )
    )


def path(draw: random.Random) -> Path:
    """A question that needs two statements, with those that answer it and near ones that do not."""
    if draw.random() < 0.65:
        one, other = _full(draw)
        described, headers = draw.choice(_OF_PEOPLE)(one, other, draw), _PERSONAL
        key = draw.choice(("name", "name", "who", "member"))
    else:
        one, other = _named_thing(draw)
        described, headers = _trouble(one, other, draw), list(_OF_THINGS)
        key = draw.choice(("name", "address", "code", "item", "no"))
    asked, *beside = draw.sample(headers, draw.randint(2, min(5, len(headers))))
    makers: dict[str, Callable[[random.Random], str]] = {header: VALUES[header] for header in (asked, *beside)}
    if draw.random() < 0.25:  # another person is asked for
        asked = draw.choice(("manager", "deputy", "owner", "contact", "doctor", "insurer"))
        makers = {asked: lambda draw: people(draw, 1)[0], **{header: VALUES[header] for header in beside}}
    told = _statements(key, (one, other), asked, makers, draw)
    before = tuple(under_title(draw.choice(TITLES), said) for said in (described.fits, *described.others))
    (mine, answer), (others, _), lacking = told
    text = under_title(draw.choice(TITLES), mine)
    neighbour, without = under_title(draw.choice(TITLES), others), under_title(draw.choice(TITLES), lacking)
    wrong = [(before[0], neighbour), (before[1], neighbour), (before[1], text), ("", text), ("", before[0])]
    chosen = draw.sample([*wrong, (before[0], without), (text, before[0])], 4)
    start = len(text) - len(mine) + mine.rindex(answer)
    return Path(_asked(asked, described.phrase, draw), (before[0], text), start, answer, tuple(chosen))


def _full(draw: random.Random) -> tuple[str, str]:
    while True:
        one, other = people(draw, 2)
        if " " in one:
            return one, other


def _statements(
    key: str, names: tuple[str, str], asked: str, makers: dict[str, Callable[[random.Random], str]], draw: random.Random
) -> tuple[tuple[str, str], tuple[str, str], str]:
    """What is asked of each of two names, with its value; and what else is said of the first."""
    listed = draw.sample(sorted(makers), len(makers))
    as_row = draw.random() < 0.7
    form = draw.choice(
        ("{0}'s {1} is {2}.", "The {1} of {0} is {2}.", "{0}: {1} {2}", "{0} has the {1} {2}.", "{0}, {1} {2}")
    )
    told: list[tuple[str, str]] = []
    lacking = ""
    for name in names:
        values = {header: makers[header](draw) for header in listed}
        cells = [(key, name), *values.items()]
        row = "; ".join(f"{header}: {value}" for header, value in cells)
        told.append((row if as_row else form.format(name, asked, values[asked]), values[asked]))
        lacking = lacking or "; ".join(f"{header}: {value}" for header, value in cells if header != asked)
    return told[0], told[1], lacking


def _asked(header: str, phrase: str, draw: random.Random) -> str:
    """The question for a value of whatever a phrase describes, in one of the ways people ask."""
    forms = ["What is the {0} of {1}?", "{0} of {1}", "What {0} does {1} have?", "{0} for {1}", "Which {0} does {1} have?",
             "what's the {0} of {1}", "I need the {0} of {1}", "can you give me the {0} of {1}?"]  # fmt: skip
    if header in {"room", "extension"}:
        forms += ["in which {0} is {1}", "On which {0} can I find {1}?"]
    if header == "date of birth":
        forms += ["When was {1} born?", "birthday of {1}"]
    if header in {"phone number", "mobile number"}:
        forms += ["phone of {1}", "How can I call {1}?", "number to ring {1}"]
    if header in {"manager", "owner", "deputy"}:
        forms += [f"Who is the {header} of {{1}}?", "who is {0} of {1}"]
    if header == "owner":
        forms += ["Who owns {1}?"]
    if header == "manager":
        forms += ["Who manages {1}?", "who looks after {1}"]
    return draw.choice(forms).format(header, phrase)
