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
    form_of,
    people,
    person,
)  # fmt: skip
from training.examples import Example, Verdict, answered_at, under_title

SOURCE = "contrast"
Pair = Sequence[Example]
_ALONE = 0.5  # share of texts that are one statement by itself


@dataclass(frozen=True, slots=True)
class Told:
    """A statement with others beside it, under a title; `place` is its own among the others."""

    title: str
    said: str
    beside: tuple[str, ...]
    place: int

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
        return self.answers_at(question, self.said.index(answer), answer)

    def answers_at(self, question: str, place: int, answer: str) -> Example:
        """The question, answered by the words at this place of the statement."""
        before = under_title(self.title, "".join(f"{line}\n" for line in self.beside[: self.place]))
        start = len(before) + place
        return answered_at(SOURCE, question, self.text, start, start + len(answer))

    def leaves_open(self, question: str) -> Example:
        """The question, which nothing here answers."""
        return Example(SOURCE, question, self.text, answered=False, helps=False)

    def decides(self, question: str, verdict: Verdict) -> Example:
        """A yes/no question and what is said of it."""
        return Example(SOURCE, question, self.text, verdict=verdict, helps=verdict is not Verdict.NEITHER)


def _whether(act: Act, who: str, draw: random.Random) -> str:
    forms = "Did {0} {1}?|did {0} {1}|Is it true that {0} {2}?"
    if not act.past.startswith(IRREGULAR):
        forms += "|Has {0} {2}?|Has {0} {2} yet?"
    return form_of(draw, forms, who, act.plain, act.past)


def _denied(act: Act, who: str, draw: random.Random) -> str:
    return draw.choice(denials(act)).format(who=who, past=act.past, plain=act.plain, going=act.going)


def _done(act: Act, who: str, draw: random.Random) -> str:
    when = form_of(draw, "| on {0}| last week| in March| in {1}", day(draw), draw.choice(PLACES))
    forms = ("{0} {1}{2}.", "{0} {1}{2}, as agreed.", "{0}: {1}{2}.", "Yes, {0} {1}{2}.")
    return draw.choices(forms, (6, 2, 1, 1))[0].format(who, act.past, when)


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
    asked = form_of(draw, "Who {0}?|who {0}|Which person {0}?|Who was it that {0}?", act.past)
    done, denied = _done(act, doer, draw), _denied(act, other, draw)
    left = f"Who did not {act.plain}?"
    if not act.past.startswith(IRREGULAR):
        left = draw.choice((f"Who has not {act.past}?", left))
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
    form = draw.choice(("When did {} {}?", "On what date did {} {}?", "date when {} {}", "when did {} {}"))
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
    forms = "The {0} contains {1}.|There is {1} in the {0}.|{0}: with {1}|The {0} is made with {1}."
    with_it = form_of(draw, forms, has, thing)
    forms = (
        "The {0} contains no {1}.|The {0} is free of {1}.|{0}: without {1}|We leave the {1} out of the {0}.|"
        "The {0} does not contain any {1}."
    )
    without = form_of(draw, forms, lacks, thing)
    asked = form_of(draw, "Which dish contains {0}?|which dish has {0} in it|What is made with {0}?", thing)
    forms = "Which dish contains no {0}?|Which dish is without {0}?|what can I eat that has no {0}"
    lacking = form_of(draw, forms, thing)
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


_PERMITTED = (
    "use the gym|borrow books|park in the yard|bring dogs|enter the lab|vote at the meeting|use the lift|swim in the evening|"
    "see the accounts"
).split("|")


def permissions(draw: random.Random) -> Pair:
    """Who may do what: a group that may, one that may not, and one of whom nothing is said."""
    may, barred, unnamed = draw.sample(GROUPS, 3)
    thing = draw.choice(_PERMITTED)
    forms = "{0} may {1}.|{0} are allowed to {1}.|{0} can {1} at any time.|It is fine for {0} to {1}."
    allowed = form_of(draw, forms, may, thing)
    forms = (
        "{0} may not {1}.|{0} are not allowed to {1}.|{0} must never {1}.|It is forbidden for {0} to {1}.|"
        "{0} are kept from coming here to {1}."
    )
    forbidden = form_of(draw, forms, barred, thing)
    allowed, forbidden = allowed[0].upper() + allowed[1:], forbidden[0].upper() + forbidden[1:]
    yes, no = Told.draw(allowed, [forbidden], draw), Told.draw(forbidden, [allowed], draw)
    who = next(form for form in (may, may.capitalize()) if form in allowed)
    whom = next(form for form in (barred, barred.capitalize()) if form in forbidden)
    return (
        yes.decides(form_of(draw, "May {0} {1}?|can {0} {1}?|Are {0} allowed to {1}?", may, thing), Verdict.YES),
        no.decides(form_of(draw, "May {0} {1}?|can {0} {1}|Are {0} allowed to {1}?", barred, thing), Verdict.NO),
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
    said = form_of(draw, "Nobody except {0} {1}.|No one but {0} {1}.|Only {0} {1}.", one, act.past)
    none_but = Told.draw(said, [], draw)
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
        "The {0}{2} is {3}.|{1}{2}: {3}|Our {0}{2} is {3}.|For the {0}{2}, use {3}.|The {0}{2} has been {3} since May."
    )
    said = form_of(draw, forms, asked, asked.capitalize(), of, value)
    beside = f"The {near}{of} is {other}."
    told = Told.draw(said, [beside], draw)
    forms = "What is the {0}{1}?|what's the {0}{1}|{0}{1}|{0}{1}?|Please tell me the {0}{1}.|Which {0} do we use{1}?"
    question = form_of(draw, forms, asked, of)
    pair = [told.answers(question, value), Told.draw(beside, [], draw).leaves_open(question)]
    if of:
        pair.append(told.leaves_open(question.replace(place, elsewhere)))
    return pair


_PERSONAL = ("phone number", "extension", "email address", "room", "date of birth", "mobile number")
_OFFICES = ("Finance", "Facilities", "Sales", "Research", "Lisbon", "Recife", "Legal", "Porto")


def neighbours(draw: random.Random) -> Pair:
    """The same thing of two people, or of two people with one name who are told apart by what else is said."""
    header = draw.choice(_PERSONAL)
    one, other = VALUES[header](draw), VALUES[header](draw)
    if draw.random() < 0.5:
        first, second, third = people(draw, 3)
        told = Told.draw(f"{first}'s {header} is {one}.", [f"{second}'s {header} is {other}."], draw)
        form = form_of(draw, "What is {{}}'s {0}?|{{}} {0}|What is the {0} of {{}}?", header)
        return (told.answers(form.format(first), one), told.leaves_open(form.format(third)))
    name, (here, there) = person(draw), draw.sample(_OFFICES, 2)
    said = form_of(
        draw,
        "{0} ({1}) has the {2} {3}.|{0} of {1} can be reached: {2} {3}.|{0}, {1}: {2} {3}",
        name,
        here,
        header,
        one,
    )
    told = Told.draw(said, [], draw)
    forms = "What is the {0} of {1} in {{}}?|What is {1}'s {0} ({{}})?|{0} {1} {{}}"
    asked = form_of(draw, forms, header, name)
    return (told.answers(asked.format(here), one), told.leaves_open(asked.format(there)))


def _row(cells: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{header}: {value}" for header, value in cells)


_OPPOSITES = (
    ("home", "away"), ("from", "to"), ("buyer", "seller"), ("trainer", "trainee"), ("sender", "receiver"), ("winner", "loser"),
)  # fmt: skip


def rows(draw: random.Random) -> Pair:
    """A row that has both names of a question in their columns; one of them; both in swapped columns."""
    left, right = draw.choice(_OPPOSITES)
    one, two, third = draw.sample(PLACES, 3)
    header = draw.choice(sorted(VALUES))
    value, other = VALUES[header](draw), VALUES[header](draw)
    own = _row(((left, one), (right, two), (header, value)))
    swapped = _row(((left, two), (right, one), (header, other)))
    near = _row(((left, one), (right, third), (header, other)))
    forms = (
        "What is the {0} with {1} as {2} and {3} as {4}?|{0}, {2} {1}, {4} {3}|"
        "What {0} is given for {2} {1} and {4} {3}?"
    )
    question = form_of(draw, forms, header, one, left, two, right)
    lone = [Told.draw(line, [], draw) for line in (swapped, near)]
    told = Told.draw(own, [swapped, near], draw)
    return (told.answers(question, value), *(other.leaves_open(question) for other in lone))


def cells(draw: random.Random) -> Pair:
    """The right cell of the right row; a column that is not there; a row of another name."""
    headers = draw.sample(sorted(VALUES), 4)
    asked, missing = headers[0], headers[3]
    name, other = draw.sample(PLACES, 2)
    key = draw.choice(("name", "site", "item", "supplier", "project", "member", "boat"))
    values = {header: VALUES[header](draw) for header in headers[:3]}
    listed = [(key, name), *draw.sample(sorted(values.items()), 3)]
    beside = [(key, other), *((header, VALUES[header](draw)) for header, _ in listed[1:])]
    told = Told.draw(_row(listed), [_row(beside)], draw)
    form = draw.choice(("What is the {} of {}?", "{1} {0}", "What {} does {} have?", "{} for {}?"))
    back = form_of(draw, "Which {0} has the {1} {2}?|{0} with {1} {2}", key, asked, values[asked])
    start = told.said.index(f"{asked}: ") + len(asked) + 2
    return (
        told.answers_at(form.format(asked, name), start, values[asked]),
        told.leaves_open(form.format(missing, name)),
        Told.draw(told.said, [], draw).leaves_open(form.format(asked, other)),
        told.answers(back, name),
    )


_OFFERED = "full service|tyre change|single room|day ticket|evening class|small hall|office|workshop".split("|")


def headed(draw: random.Random) -> Pair:
    """The same row in two sections: only the heading tells them apart."""
    one, other = draw.sample(PLACES, 2)
    header = draw.choice("price|rent|deposit|capacity|start time|closing date|phone number".split("|"))
    item = draw.choice(_OFFERED)
    value = VALUES[header](draw)
    line = form_of(draw, "item: {0}; {1}: {2}|{0}: {2}|The {1} of the {0} is {2}.", item, header, value)
    told = Told(draw.choice((draw.choice(TITLES), "")), f"{one}\n{line}", (), 0)
    forms = "What is the {0} of the {1} in {{}}?|{{}} {1} {0}|What is the {0} for a {1} at {{}}?"
    question = form_of(draw, forms, header, item)
    return (told.answers(question.format(one), value), told.leaves_open(question.format(other)))


_DEEDS = (
    "trained train trained|hired hire hired|replaced replace replaced|beat beat beaten|taught teach taught|sued sue sued|"
    "recommended recommend recommended|followed follow followed|drove drive driven"
).split("|")
_DEEDS_IN_FORMS = (*(tuple(deed.split()) for deed in _DEEDS), ("married off", "marry off", "married off"))


def directed(draw: random.Random) -> Pair:
    """Who did what to whom."""
    one, two = people(draw, 2)
    past, plain, passive = draw.choice(_DEEDS_IN_FORMS)
    said = form_of(draw, "{0} {2} {1}.|{1} was {3} by {0}.|It was {0} who {2} {1}.", one, two, past, passive)
    told = Told.draw(said, [], draw)
    return (
        told.answers(f"Who {past} {two}?", one),
        told.answers(draw.choice((f"Whom did {one} {plain}?", f"Who was {passive} by {one}?")), two),
        told.leaves_open(f"Who {past} {one}?"),
        told.leaves_open(f"Whom did {two} {plain}?"),
        told.decides(f"Did {one} {plain} {two}?", Verdict.YES),
        told.decides(f"Did {two} {plain} {one}?", Verdict.NEITHER),
    )


_CHANGING = "rent|price|deposit|budget|capacity|notice period|start time|barrier code|fee".split("|")


def replaced(draw: random.Random) -> Pair:
    """A value that was changed: what it is now, and what it was."""
    header = draw.choice(_CHANGING)
    make = VALUES.get(header, VALUES["price"])
    old, new, place = make(draw), make(draw), draw.choice(PLACES)
    forms = (
        "The {0} of {1} was changed from {2} to {3}.|The {0} of {1} went from {2} to {3} in June.|"
        "Instead of {2}, the {0} of {1} is {3} from now on.|The {0} of {1} is now {3} (before: {2}).|"
        "{1}: {0} {3}, no longer {2}.|From May on the {0} of {1} will be {3}; until then it stays at {2}."
    )
    said = form_of(draw, forms, header, place, old, new)
    if old in new or new in old:
        return plain_facts(draw)
    told = Told.draw(said, [], draw)
    present = old if said.startswith("From May") else new
    forms = "What is the new {0} of {1}?|What was the {0} of {1} changed to?"
    after = form_of(draw, forms, header, place)
    before = form_of(draw, "What was the {0} of {1} before?|What was the old {0} of {1}?", header, place)
    return (
        told.answers(after, new),
        told.answers(before, old),
        told.answers(f"What is the {header} of {place}?", present),
    )


def timed(draw: random.Random) -> Pair:
    """The same thing at two times; a time that is not spoken of."""
    years = draw.sample(range(1990, 2027), 3)
    header = draw.choice("number of visitors|budget|turnover|number of members|harvest|price".split("|"))
    place = draw.choice(PLACES)
    values = [str(draw.randint(12, 9800)) for _ in years]
    said, beside = (f"In {years[at]} the {header} of {place} was {values[at]}." for at in (0, 1))
    told = Told.draw(said, [beside], draw)
    forms = "What was the {0} of {1} in {{}}?|{0} {1} {{}}|How large was the {0} of {1} in {{}}?"
    form = form_of(draw, forms, header, place)
    return (told.answers(form.format(years[0]), values[0]), told.leaves_open(form.format(years[2])))


def silent(draw: random.Random) -> Pair:
    """A statement about the same people and things that says neither yes nor no."""
    act, who = draw.choice(ACTS), person(draw)
    forms = (
        "{0} was asked to {1}.|{0} will {1} next week.|{0} plans to {1}.|{0} asked who should {1}.|"
        "If {0} wants to {1}, the office must be told.|{0} talked about {2}.|Should {0} {1}?|{0} may {1} before June.|"
        "We hope that {0} will {1}.|{0} offered help with {2}.|[ ] {0} to {1}"
    )
    told = Told.draw(form_of(draw, forms, who, act.plain, act.going), [], draw)
    when = draw.choice((f"When did {who} {act.plain}?", f"Where did {who} {act.plain}?"))
    return (
        told.decides(_whether(act, who, draw), Verdict.NEITHER),
        told.leaves_open(when),
        Told.draw(_done(act, who, draw), [], draw).decides(_whether(act, who, draw), Verdict.YES),
    )


_FOUND = "asbestos|damp|mould|lead|woodworm|a smoke alarm|a fire blanket|radon|rust|a leak".split("|")


def ticked(draw: random.Random) -> Pair:
    """Boxes: a ticked one says yes, an empty one says no or nothing."""
    yes, no = draw.choice((("[x]", "[ ]"), ("☒", "☐"), ("☑", "☐"), ("✓", "✗"), ("yes", "no")))
    one, two = draw.sample(_FOUND, 2)
    form = draw.choice(("{1} {0} present", "{0}: {1}", "{0} found {1}", "found: {0}; answer: {1}"))
    said, denied = form.format(one, yes), form.format(two, no)
    ticks, empties = Told.draw(said, [denied], draw), Told.draw(denied, [said], draw)
    ask = draw.choice(("Is there {}?", "Was {} found?", "is {} present"))
    return (ticks.decides(ask.format(one), Verdict.YES), empties.decides(ask.format(two), Verdict.NO))


Kind = Callable[[random.Random], Pair]

KINDS: tuple[Kind, ...] = (
    acts, doers, dated, contents, permissions, exceptions, plain_facts, plain_facts, neighbours, neighbours, rows, rows, cells,
    cells, headed, headed, directed, replaced, replaced, timed, silent, ticked,
)  # fmt: skip
"""Named twice: twice as often."""


def pair(draw: random.Random) -> list[Example]:
    """The two or more examples of one pair, each with the question as people may type it."""
    return list(draw.choice(KINDS)(draw))
