"""Minimal pairs by program: each kind is a function that draws some examples which differ in one thing.

Half of all texts are one statement by itself under its title and headings; the others have its neighbours, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from training.contrast.words import (
    ACTS,
    CONTENTS,
    DISHES,
    GROUPS,
    IRREGULAR,
    PLACES,
    TITLES,
    VALUES,
    Act,
    day,
    denials,
    people,
    person,
)
from training.examples import Example, Verdict, answered_at, under_title

SOURCE = "contrast"
Pair = Sequence[Example]
_ALONE = 0.5
"""Share of texts that are one statement by itself."""


@dataclass(frozen=True, slots=True)
class Told:
    """A statement with others beside it, under a title."""

    title: str
    said: str
    beside: tuple[str, ...]
    place: int
    """Of the statement among the others."""

    @classmethod
    def draw(cls, said: str, beside: Sequence[str], draw: random.Random) -> Told:
        """The statement by itself, or with others in any order."""
        others = () if draw.random() < _ALONE else tuple(draw.sample(beside, len(beside)))
        title = draw.choice(TITLES)
        if draw.random() < 0.3:
            title += f" {draw.choice(('of', 'for', 'from'))} the {draw.choice(PLACES)} {draw.choice(('site', 'group'))}"
        return cls(title, said, others, draw.randint(0, len(others)))

    @property
    def text(self) -> str:
        """Title and statements, a line each."""
        return under_title(self.title, "\n".join((*self.beside[: self.place], self.said, *self.beside[self.place :])))

    def answers(self, question: str, answer: str) -> Example:
        """The question, answered by these words of the statement."""
        before = under_title(self.title, "".join(f"{line}\n" for line in self.beside[: self.place]))
        start = len(before) + self.said.index(answer)
        return answered_at(SOURCE, question, self.text, start, start + len(answer))

    def leaves_open(self, question: str) -> Example:
        """The question, which nothing here answers."""
        return Example(SOURCE, question, self.text, answered=False, helps=False)

    def decides(self, question: str, verdict: Verdict) -> Example:
        """A yes/no question and what is said of it."""
        return Example(SOURCE, question, self.text, verdict=verdict, helps=verdict is not Verdict.NEITHER)


def _whether(act: Act, who: str, draw: random.Random) -> str:
    forms = [f"Did {who} {act.plain}?", f"did {who} {act.plain}", f"Is it true that {who} {act.past}?"]
    if not act.past.startswith(IRREGULAR):
        forms += [f"Has {who} {act.past}?", f"Has {who} {act.past} yet?"]
    return draw.choice(forms)


def _denied(act: Act, who: str, draw: random.Random) -> str:
    return draw.choice(denials(act)).format(who=who, past=act.past, plain=act.plain, going=act.going)


def _done(act: Act, who: str, draw: random.Random) -> str:
    when = draw.choice(("", f" on {day(draw)}", " last week", " in March", f" in {draw.choice(PLACES)}"))
    forms = (
        f"{who} {act.past}{when}.",
        f"{who} {act.past}{when}, as agreed.",
        f"{who}: {act.past}{when}.",
        f"Yes, {who} {act.past}{when}.",
    )
    return draw.choices(forms, (6, 2, 1, 1))[0]


def acts(draw: random.Random) -> Pair:
    """Somebody did something, a neighbour did not: yes of one, no of the other, nothing of the one who is not named."""
    act, (doer, other, stranger) = draw.choice(ACTS), people(draw, 3)
    done, denied = _done(act, doer, draw), _denied(act, other, draw)
    yes, no = Told.draw(done, [denied], draw), Told.draw(denied, [done], draw)
    return (
        yes.decides(_whether(act, doer, draw), Verdict.YES),
        no.decides(_whether(act, other, draw), Verdict.NO),
        yes.decides(_whether(act, stranger, draw), Verdict.NEITHER),
        replace(yes, beside=(), place=0).decides(_whether(act, other, draw), Verdict.NEITHER),
    )


def doers(draw: random.Random) -> Pair:
    """Who did it: the doer of a statement that affirms it, nobody of one that denies it."""
    act, (doer, other) = draw.choice(ACTS), people(draw, 2)
    asked = draw.choice(
        (f"Who {act.past}?", f"who {act.past}", f"Which person {act.past}?", f"Who was it that {act.past}?")
    )
    done, denied = _done(act, doer, draw), _denied(act, other, draw)
    left = (
        draw.choice((f"Who has not {act.past}?", f"Who did not {act.plain}?"))
        if not act.past.startswith(IRREGULAR)
        else f"Who did not {act.plain}?"
    )
    yes, no = Told.draw(done, [denied], draw), Told.draw(denied, [], draw)
    return (
        yes.answers(asked, doer),
        no.leaves_open(asked),
        replace(no, beside=(done,), place=draw.randint(0, 1)).answers(left, other),
        Told.draw(done, [], draw).leaves_open(left),
    )


def dated(draw: random.Random) -> Pair:
    """When somebody did something, beside one who did it on another day, or did not."""
    act, (doer, other, idle), (first, second) = draw.choice(ACTS), people(draw, 3), (day(draw), day(draw))
    own, others, denied = f"{doer} {act.past} on {first}.", f"{other} {act.past} on {second}.", _denied(act, idle, draw)
    told = Told.draw(own, [others, denied], draw)
    forms = ("When did {} {}?", "On what date did {} {}?", "date when {} {}", "when did {} {}")
    form = draw.choice(forms)
    verb = act.past if form.startswith("date") else act.plain
    return (
        told.answers(form.format(doer, verb), first),
        told.leaves_open(form.format(idle, verb)),
        Told.draw(others, [denied], draw).leaves_open(form.format(doer, verb)),
    )


def contents(draw: random.Random) -> Pair:
    """What a dish contains, and what it is said not to contain."""
    has, lacks, other = draw.sample(DISHES, 3)
    thing, another = draw.sample(CONTENTS, 2)
    with_it = draw.choice(
        ("The {} contains {}.", "There is {1} in the {0}.", "{}: with {}", "The {} is made with {}.")
    ).format(has, thing)
    without = draw.choice(
        (
            "The {} contains no {}.",
            "The {} is free of {}.",
            "{}: without {}",
            "We leave the {1} out of the {0}.",
            "The {} does not contain any {}.",
        )
    ).format(lacks, thing)
    asked = draw.choice(
        (f"Which dish contains {thing}?", f"which dish has {thing} in it", f"What is made with {thing}?")
    )
    lacking = draw.choice(
        (f"Which dish contains no {thing}?", f"Which dish is without {thing}?", f"what can I eat that has no {thing}")
    )
    yes, no = Told.draw(with_it, [without], draw), Told.draw(without, [with_it], draw)
    return (
        yes.answers(asked, has),
        Told.draw(without, [], draw).leaves_open(asked),
        no.answers(lacking, lacks),
        Told.draw(with_it, [], draw).leaves_open(lacking),
        yes.decides(f"Does the {has} contain {thing}?", Verdict.YES),
        no.decides(f"Is there {thing} in the {lacks}?", Verdict.NO),
        no.decides(f"Does the {other} contain {thing}?", Verdict.NEITHER),
        yes.decides(f"Does the {has} contain {another}?", Verdict.NEITHER),
    )


def permissions(draw: random.Random) -> Pair:
    """Who may do what: a group that may, one that may not, and one of whom nothing is said."""
    may, barred, unnamed = draw.sample(GROUPS, 3)
    thing = draw.choice(
        (
            "use the gym",
            "borrow books",
            "park in the yard",
            "bring dogs",
            "enter the lab",
            "vote at the meeting",
            "use the lift",
            "swim in the evening",
            "see the accounts",
        )
    )
    allowed = draw.choice(
        ("{} may {}.", "{} are allowed to {}.", "{} can {} at any time.", "It is fine for {} to {}.")
    ).format(may, thing)
    forbidden = draw.choice(
        (
            "{} may not {}.",
            "{} are not allowed to {}.",
            "{} must never {}.",
            "It is forbidden for {} to {}.",
            "{} are kept from coming here to {}.",
        )
    ).format(barred, thing)
    allowed, forbidden = allowed[0].upper() + allowed[1:], forbidden[0].upper() + forbidden[1:]
    yes, no = Told.draw(allowed, [forbidden], draw), Told.draw(forbidden, [allowed], draw)
    who = next(form for form in (may, may.capitalize()) if form in allowed)
    whom = next(form for form in (barred, barred.capitalize()) if form in forbidden)
    return (
        yes.decides(
            draw.choice((f"May {may} {thing}?", f"can {may} {thing}?", f"Are {may} allowed to {thing}?")), Verdict.YES
        ),
        no.decides(
            draw.choice((f"May {barred} {thing}?", f"can {barred} {thing}", f"Are {barred} allowed to {thing}?")),
            Verdict.NO,
        ),
        yes.decides(f"May {unnamed} {thing}?", Verdict.NEITHER),
        yes.answers(f"Who may {thing}?", who),
        Told.draw(forbidden, [], draw).leaves_open(f"Who may {thing}?"),
        no.answers(f"Who may not {thing}?", whom),
    )


def exceptions(draw: random.Random) -> Pair:
    """Everybody except one; nobody except one."""
    act, (one, other) = draw.choice(ACTS), people(draw, 2)
    rest = draw.choice(("Everybody", "Everyone in the team", "All of us", "Each of the volunteers"))
    all_but = Told.draw(f"{rest} except {one} {act.past}.", [f"{other} was on leave."], draw)
    none_but = Told.draw(
        draw.choice((f"Nobody except {one} {act.past}.", f"No one but {one} {act.past}.", f"Only {one} {act.past}.")),
        [],
        draw,
    )
    return (
        all_but.decides(_whether(act, one, draw), Verdict.NO),
        none_but.decides(_whether(act, one, draw), Verdict.YES),
        all_but.answers(f"Who did not {act.plain}?", one),
        none_but.answers(f"Who {act.past}?", one),
        none_but.leaves_open(f"Who did not {act.plain}?"),
    )


def plain_facts(draw: random.Random) -> Pair:
    """What is the X: said outright, or only of a near kind; and of a thing of another name."""
    (asked, near), place, elsewhere = draw.sample(sorted(VALUES), 2), *draw.sample(PLACES, 2)
    value, other = VALUES[asked](draw), VALUES[near](draw)
    of = draw.choice(("", f" of {place}", f" for {place}", f" at {place}"))
    forms = (
        f"The {asked}{of} is {{}}.",
        f"{asked.capitalize()}{of}: {{}}",
        f"Our {asked}{of} is {{}}.",
        f"For the {asked}{of}, use {{}}.",
        f"The {asked}{of} has been {{}} since May.",
    )
    said, beside = draw.choice(forms).format(value), f"The {near}{of} is {other}."
    told = Told.draw(said, [beside], draw)
    question = draw.choice(
        (
            f"What is the {asked}{of}?",
            f"what's the {asked}{of}",
            f"{asked}{of}",
            f"{asked}{of}?",
            f"Please tell me the {asked}{of}.",
            f"Which {asked} do we use{of}?",
        )
    )
    pair = [told.answers(question, value), Told.draw(beside, [], draw).leaves_open(question)]
    if of:
        pair.append(told.leaves_open(question.replace(place, elsewhere)))
    return pair


def neighbours(draw: random.Random) -> Pair:
    """The same thing of two people, or of two people with one name who are told apart by what else is said."""
    header = draw.choice(("phone number", "extension", "email address", "room", "date of birth", "mobile number"))
    one, other = VALUES[header](draw), VALUES[header](draw)
    if draw.random() < 0.5:
        (first, second, third) = people(draw, 3)
        told = Told.draw(f"{first}'s {header} is {one}.", [f"{second}'s {header} is {other}."], draw)
        form = draw.choice((f"What is {{}}'s {header}?", f"{{}} {header}", f"What is the {header} of {{}}?"))
        return (told.answers(form.format(first), one), told.leaves_open(form.format(third)))
    name, (here, there) = (
        person(draw),
        draw.sample(("Finance", "Facilities", "Sales", "Research", "Lisbon", "Recife", "Legal", "Porto"), 2),
    )
    form = draw.choice(("{} ({}) has the {} {}.", "{} of {} can be reached: {} {}.", "{}, {}: {} {}"))
    told = Told.draw(form.format(name, here, header, one), [], draw)
    asked = draw.choice(
        (f"What is the {header} of {name} in {{}}?", f"What is {name}'s {header} ({{}})?", f"{header} {name} {{}}")
    )
    return (told.answers(asked.format(here), one), told.leaves_open(asked.format(there)))


def _row(cells: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{header}: {value}" for header, value in cells)


def rows(draw: random.Random) -> Pair:
    """A row that has both names of a question in their columns; one of them; both in swapped columns."""
    left, right = draw.choice(
        (
            ("home", "away"),
            ("from", "to"),
            ("buyer", "seller"),
            ("trainer", "trainee"),
            ("sender", "receiver"),
            ("winner", "loser"),
        )
    )
    one, two, third = draw.sample(PLACES, 3)
    header = draw.choice(sorted(VALUES))
    value, other = VALUES[header](draw), VALUES[header](draw)
    own, swapped, near = (
        _row(((left, one), (right, two), (header, value))),
        _row(((left, two), (right, one), (header, other))),
        _row(((left, one), (right, third), (header, other))),
    )
    question = draw.choice(
        (
            f"What is the {header} with {one} as {left} and {two} as {right}?",
            f"{header}, {left} {one}, {right} {two}",
            f"What {header} is given for {left} {one} and {right} {two}?",
        )
    )
    lone = tuple(Told.draw(line, [], draw) for line in (swapped, near))
    return (
        Told.draw(own, [swapped, near], draw).answers(question, value),
        *(told.leaves_open(question) for told in lone),
    )


def cells(draw: random.Random) -> Pair:
    """The right cell of the right row; a column that is not there; a row of another name."""
    headers = draw.sample(sorted(VALUES), 4)
    asked, missing = headers[0], headers[3]
    name, other = draw.sample(PLACES, 2)
    key = draw.choice(("name", "site", "item", "supplier", "project", "member", "boat"))
    values = {header: VALUES[header](draw) for header in headers[:3]}
    listed = [(key, name), *draw.sample(sorted(values.items()), 3)]
    told = Told.draw(
        _row(listed), [_row([(key, other), *((header, VALUES[header](draw)) for header, _ in listed[1:])])], draw
    )
    form = draw.choice(("What is the {} of {}?", "{1} {0}", "What {} does {} have?", "{} for {}?"))
    back = draw.choice((f"Which {key} has the {asked} {values[asked]}?", f"{key} with {asked} {values[asked]}"))
    line = told.said
    start = line.index(f"{asked}: ") + len(asked) + 2
    before = len(told.text) - len("\n".join((line, *told.beside[told.place :])))
    right = answered_at(
        SOURCE, form.format(asked, name), told.text, before + start, before + start + len(values[asked])
    )
    return (
        right,
        told.leaves_open(form.format(missing, name)),
        Told.draw(line, [], draw).leaves_open(form.format(asked, other)),
        told.answers(back, name),
    )


def headed(draw: random.Random) -> Pair:
    """The same row in two sections: only the heading tells them apart."""
    (one, other), header = (
        draw.sample(PLACES, 2),
        draw.choice(("price", "rent", "deposit", "capacity", "start time", "closing date", "phone number")),
    )
    item = draw.choice(
        (
            "full service",
            "tyre change",
            "single room",
            "day ticket",
            "evening class",
            "small hall",
            "office",
            "workshop",
        )
    )
    value = VALUES[header](draw)
    line = draw.choice(
        (f"item: {item}; {header}: {value}", f"{item}: {value}", f"The {header} of the {item} is {value}.")
    )
    told = Told(draw.choice((draw.choice(TITLES), "")), f"{one}\n{line}", (), 0)
    question = draw.choice(
        (
            f"What is the {header} of the {item} in {{}}?",
            f"{{}} {item} {header}",
            f"What is the {header} for a {item} at {{}}?",
        )
    )
    return (told.answers(question.format(one), value), told.leaves_open(question.format(other)))


def directed(draw: random.Random) -> Pair:
    """Who did what to whom."""
    one, two = people(draw, 2)
    past, plain, passive = draw.choice(
        (
            ("trained", "train", "trained"),
            ("hired", "hire", "hired"),
            ("replaced", "replace", "replaced"),
            ("beat", "beat", "beaten"),
            ("taught", "teach", "taught"),
            ("sued", "sue", "sued"),
            ("recommended", "recommend", "recommended"),
            ("followed", "follow", "followed"),
            ("drove", "drive", "driven"),
            ("married off", "marry off", "married off"),
        )
    )
    said = draw.choice((f"{one} {past} {two}.", f"{two} was {passive} by {one}.", f"It was {one} who {past} {two}."))
    told = Told.draw(said, [], draw)
    return (
        told.answers(f"Who {past} {two}?", one),
        told.answers(draw.choice((f"Whom did {one} {plain}?", f"Who was {passive} by {one}?")), two),
        told.leaves_open(f"Who {past} {one}?"),
        told.leaves_open(f"Whom did {two} {plain}?"),
        told.decides(f"Did {one} {plain} {two}?", Verdict.YES),
        told.decides(f"Did {two} {plain} {one}?", Verdict.NEITHER),
    )


def replaced(draw: random.Random) -> Pair:
    """A value that was changed: what it is now, and what it was."""
    header = draw.choice(
        ("rent", "price", "deposit", "budget", "capacity", "notice period", "start time", "barrier code", "fee")
    )
    make = VALUES.get(header, VALUES["price"])
    old, new, place = make(draw), make(draw), draw.choice(PLACES)
    said = draw.choice(
        (
            "The {0} of {1} was changed from {2} to {3}.",
            "The {0} of {1} went from {2} to {3} in June.",
            "Instead of {2}, the {0} of {1} is {3} from now on.",
            "The {0} of {1} is now {3} (before: {2}).",
            "{1}: {0} {3}, no longer {2}.",
            "From May on the {0} of {1} will be {3}; until then it stays at {2}.",
        )
    ).format(header, place, old, new)
    if old in new or new in old:
        return plain_facts(draw)
    told = Told.draw(said, [], draw)
    coming = said.startswith("From May")
    return (
        told.answers(
            draw.choice((f"What is the new {header} of {place}?", f"What was the {header} of {place} changed to?")), new
        ),
        told.answers(
            draw.choice((f"What was the {header} of {place} before?", f"What was the old {header} of {place}?")), old
        ),
        told.answers(f"What is the {header} of {place}?", old if coming else new),
    )


def timed(draw: random.Random) -> Pair:
    """The same thing at two times; a time that is not spoken of."""
    years = draw.sample(range(1990, 2027), 3)
    header, place = (
        draw.choice(("number of visitors", "budget", "turnover", "number of members", "harvest", "price")),
        draw.choice(PLACES),
    )
    values = [str(draw.randint(12, 9800)) for _ in years]
    told = Told.draw(
        f"In {years[0]} the {header} of {place} was {values[0]}.",
        [f"In {years[1]} the {header} of {place} was {values[1]}."],
        draw,
    )
    form = draw.choice(
        (
            f"What was the {header} of {place} in {{}}?",
            f"{header} {place} {{}}",
            f"How large was the {header} of {place} in {{}}?",
        )
    )
    return (told.answers(form.format(years[0]), values[0]), told.leaves_open(form.format(years[2])))


def silent(draw: random.Random) -> Pair:
    """A statement about the same people and things that says neither yes nor no."""
    act, who = draw.choice(ACTS), person(draw)
    said = draw.choice(
        (
            "{who} was asked to {plain}.",
            "{who} will {plain} next week.",
            "{who} plans to {plain}.",
            "{who} asked who should {plain}.",
            "If {who} wants to {plain}, the office must be told.",
            "{who} talked about {going}.",
            "Should {who} {plain}?",
            "{who} may {plain} before June.",
            "We hope that {who} will {plain}.",
            "{who} offered help with {going}.",
            "[ ] {who} to {plain}",
        )
    ).format(who=who, plain=act.plain, going=act.going)
    told = Told.draw(said, [], draw)
    when = draw.choice((f"When did {who} {act.plain}?", f"Where did {who} {act.plain}?"))
    return (
        told.decides(_whether(act, who, draw), Verdict.NEITHER),
        told.leaves_open(when),
        Told.draw(_done(act, who, draw), [], draw).decides(_whether(act, who, draw), Verdict.YES),
    )


def ticked(draw: random.Random) -> Pair:
    """Boxes: a ticked one says yes, an empty one says no or nothing."""
    yes, no = draw.choice((("[x]", "[ ]"), ("☒", "☐"), ("☑", "☐"), ("✓", "✗"), ("yes", "no")))
    one, two = draw.sample(
        ("asbestos", "damp", "mould", "lead", "woodworm", "a smoke alarm", "a fire blanket", "radon", "rust", "a leak"),
        2,
    )
    form = draw.choice(("{1} {0} present", "{0}: {1}", "{0} found {1}", "found: {0}; answer: {1}"))
    ticks, empties = (
        Told.draw(form.format(one, yes), [form.format(two, no)], draw),
        Told.draw(form.format(two, no), [form.format(one, yes)], draw),
    )
    ask = draw.choice(("Is there {}?", "Was {} found?", "is {} present"))
    return (ticks.decides(ask.format(one), Verdict.YES), empties.decides(ask.format(two), Verdict.NO))


Kind = Callable[[random.Random], Pair]

KINDS: tuple[Kind, ...] = (
    acts,
    doers,
    dated,
    contents,
    permissions,
    exceptions,
    plain_facts,
    plain_facts,
    neighbours,
    neighbours,
    rows,
    rows,
    cells,
    cells,
    headed,
    headed,
    directed,
    replaced,
    replaced,
    timed,
    silent,
    ticked,
)
"""Named twice: twice as often."""


def pair(draw: random.Random) -> list[Example]:
    """The two or more examples of one pair, each with the question as people may type it."""
    return list(draw.choice(KINDS)(draw))
