"""Small made-up worlds with questions, to train the offline reader on what real training sets lack: plain prose, full dates,
relations that nobody states. For `train_offline.py`; names are made of syllables, so no name means anything.

A world has people, towns, works, firms and rivers; every page leaves out some facts, and questions ask for those too (nothing
is right to answer then). Questions of one to three hops. The sample corpus and the tests have other names, sentences and
questions: they stay a check.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
PEOPLES = [
    "Danish",
    "Finnish",
    "Chilean",
    "Kenyan",
    "Polish",
    "Portuguese",
    "Scottish",
    "Swedish",
    "Hungarian",
    "Peruvian",
]
TRADES = [
    "painter",
    "surveyor",
    "botanist",
    "printer",
    "sculptor",
    "geologist",
    "cellist",
    "carpenter",
    "economist",
    "shipbuilder",
]
GENRES = ["novel", "ballet", "play", "film", "opera"]
MAKERS = {"novel": "author", "ballet": "choreographer", "play": "author", "film": "director", "opera": "composer"}
MADE = {"novel": "written", "ballet": "choreographed", "play": "written", "film": "directed", "opera": "composed"}
SYLLABLES = [
    "ba",
    "ker",
    "lom",
    "da",
    "vin",
    "tor",
    "es",
    "mi",
    "ran",
    "ul",
    "ga",
    "fen",
    "so",
    "pre",
    "lo",
    "wick",
    "har",
    "ten",
    "ost",
    "ri",
    "cal",
    "der",
    "mun",
    "ty",
    "bel",
    "ar",
    "no",
    "stad",
]


@dataclass(frozen=True, slots=True)
class Fact:
    """One relation of a subject: sentences that may state it, questions that ask for it, a noun phrase that describes it.

    `{s}` is the subject's name, `{p}` its pronoun, `{v}` the value. `describes` stands for the value in a nested question.
    """

    value: str
    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    describes: tuple[str, ...] = ()


@dataclass(slots=True)
class Thing:
    """Something with a page. `stated` are the relations that its page says."""

    name: str
    opening: str
    pronoun: str
    facts: dict[str, Fact]
    stated: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """`answer` None: the pages do not say."""

    question: str
    answer: str | None
    pages: tuple[tuple[str, str], ...]


def made_questions(seed: int, worlds: int, each: int) -> Iterator[MadeQuestion]:
    """`each` questions about each of `worlds` worlds, in every world about a third of them without an answer."""
    for number in range(worlds):
        chance = random.Random(f"world {seed} {number}")
        things = _world(chance)
        pages = tuple((thing.name, _page(thing, chance)) for thing in things.values())
        for _ in range(each):
            asked = _question(things, chance)
            if asked is not None:
                yield MadeQuestion(*asked, tuple(chance.sample(pages, len(pages))))


def _question(things: dict[str, Thing], chance: random.Random) -> tuple[str, str | None] | None:
    thing = chance.choice(list(things.values()))
    described = thing.name
    known = True
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        leads = [(name, fact) for name, fact in thing.facts.items() if fact.describes and fact.value in things]
        if not leads:
            break
        name, fact = chance.choice(leads)
        described = chance.choice(fact.describes).format(s=described)
        known = known and name in thing.stated
        thing = things[fact.value]
    missing = chance.random() < 0.25
    names = [name for name in thing.facts if (name in thing.stated) != missing]
    if not names:
        return None
    name = chance.choice(names)
    question = chance.choice(thing.facts[name].questions).format(s=described)
    value = thing.facts[name].value
    if "year" in question.split()[:3]:
        value = value.split()[-1]
    return question, value if known and not missing else None


def _page(thing: Thing, chance: random.Random) -> str:
    sentences = [thing.opening]
    if {
        "born",
        "died",
    } <= thing.facts.keys() and chance.random() < 0.4:  # `Ada Foss (1 May 1800 – 2 June 1870) was ...`
        lived = f"{thing.name} ({thing.facts['born'].value} – {thing.facts['died'].value})"
        sentences = [thing.opening.replace(thing.name, lived)]
        thing.stated |= {"born", "died"}
    for name in chance.sample(sorted(thing.facts), len(thing.facts)):
        if name not in thing.stated and chance.random() < 0.75:
            thing.stated.add(name)
            subject = chance.choice((thing.name, thing.pronoun, thing.pronoun))
            fact = thing.facts[name]
            sentences.append(chance.choice(fact.sentences).format(s=subject, v=fact.value))
    return " ".join(sentences)


def _word(chance: random.Random, least: int = 2) -> str:
    return "".join(chance.choice(SYLLABLES) for _ in range(chance.randint(least, 3))).capitalize()


def _date(chance: random.Random, year: int) -> str:
    return f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {year}"


def _world(chance: random.Random) -> dict[str, Thing]:
    towns = [
        _word(chance) if chance.random() < 0.7 else f"{chance.choice(('Port', 'Upper', 'East'))} {_word(chance)}"
        for _ in range(4)
    ]
    people = [f"{_word(chance)} {_word(chance)}" for _ in range(6)]
    rivers = [f"River {_word(chance)}" for _ in range(2)]
    firms = [f"{_word(chance)} {chance.choice(('Works', 'Brothers', 'Press', 'Shipyard'))}" for _ in range(2)]
    works = [f"The {_word(chance)} {_word(chance)}" for _ in range(3)]
    things = [_person(one, people, towns, chance) for one in people]
    things += [_town(one, rivers, people, towns, chance) for one in towns]
    things += [_river(one, towns, chance) for one in rivers]
    things += [_firm(one, people, towns, chance) for one in firms]
    things += [_work(one, people, firms, chance) for one in works]
    return {thing.name: thing for thing in things}


def _person(name: str, people: Sequence[str], towns: Sequence[str], chance: random.Random) -> Thing:
    born = chance.randint(1790, 1930)
    others = [one for one in people if one != name]
    trade, nation = chance.choice(TRADES), chance.choice(PEOPLES)
    woman = chance.random() < 0.5
    facts = {
        "born": Fact(
            _date(chance, born),
            ("{s} was born on {v}.", "The birth of {s} is dated {v}."),
            ("When was {s} born?", "In what year was {s} born?", "What is the date of birth of {s}?"),
        ),
        "birthplace": Fact(
            chance.choice(towns),
            ("{s} was born in {v}.", "{s} was a native of {v}."),
            ("Where was {s} born?", "What is the birthplace of {s}?"),
            ("the town where {s} was born", "the birthplace of {s}"),
        ),
        "died": Fact(
            _date(chance, born + chance.randint(30, 80)),
            ("{s} died on {v}.",),
            ("When did {s} die?", "In what year did {s} die?"),
        ),
        "grave": Fact(
            chance.choice(towns), ("{s} died in {v}.",), ("Where did {s} die?",), ("the town where {s} died",)
        ),
        "father": Fact(
            chance.choice(others),
            ("{s} was the child of {v}, a merchant.", "The father of {s} was {v}."),
            ("Who is the father of {s}?",),
            ("the father of {s}",),
        ),
        "spouse": Fact(
            chance.choice(others),
            ("{s} married {v}.",),
            ("Who is the spouse of {s}?", "Who did {s} marry?"),
            ("the spouse of {s}", "the person {s} married"),
        ),
        "teacher": Fact(
            chance.choice(others),
            ("{s} was taught by {v}.",),
            ("Who taught {s}?", "Who was the teacher of {s}?"),
            ("the teacher of {s}", "the person who taught {s}"),
        ),
        "brother": Fact(
            chance.choice(others),
            ("{v} is the brother of {s}.",),
            ("Who is the brother of {s}?",),
            ("the brother of {s}",),
        ),
        "instrument": Fact(
            chance.choice(["flute", "zither", "bassoon", "lute"]),
            ("{s} played the {v}.",),
            ("What instrument did {s} play?",),
        ),
    }
    return Thing(name, f"{name} was a {nation} {trade}.", "She" if woman else "He", facts)


def _town(
    name: str, rivers: Sequence[str], people: Sequence[str], towns: Sequence[str], chance: random.Random
) -> Thing:
    facts = {
        "river": Fact(
            chance.choice(rivers),
            ("{s} lies on the {v}.", "The {v} flows through {s}."),
            ("Which river flows through {s}?",),
            ("the river that flows through {s}",),
        ),
        "population": Fact(
            f"{chance.randint(2, 90)},{chance.randint(100, 999)}",
            ("{s} has {v} inhabitants.", "The population of {s} is {v}."),
            ("How many people live in {s}?", "What is the population of {s}?"),
        ),
        "founded": Fact(
            str(chance.randint(1100, 1800)),
            ("{s} was founded in {v}.",),
            ("When was {s} founded?", "In what year was {s} founded?"),
        ),
        "mayor": Fact(
            chance.choice(people), ("The mayor of {s} is {v}.",), ("Who is the mayor of {s}?",), ("the mayor of {s}",)
        ),
        "twin": Fact(
            chance.choice([one for one in towns if one != name]),
            ("{s} is twinned with {v}.",),
            ("Which town is twinned with {s}?",),
            ("the town twinned with {s}",),
        ),
        "product": Fact(
            chance.choice(["linen", "glass", "cheese", "clocks", "paper"]),
            ("{s} is known for its {v}.",),
            ("What is {s} known for?",),
        ),
    }
    return Thing(
        name, f"{name} is a {chance.choice(('market town', 'fishing town', 'town'))} in the hills.", "It", facts
    )


def _river(name: str, towns: Sequence[str], chance: random.Random) -> Thing:
    facts = {
        "length": Fact(f"{chance.randint(40, 900)}", ("{s} is {v} kilometres long.",), ("How long is the {s}?",)),
        "source": Fact(
            f"Mount {_word(chance)}",
            ("{s} rises on {v}.",),
            ("Where does the {s} rise?", "What is the source of the {s}?"),
        ),
        "mouth": Fact(f"Lake {_word(chance)}", ("{s} flows into {v}.",), ("Which lake does the {s} flow into?",)),
    }
    return Thing(name, f"The {name} is a river that passes {chance.choice(towns)}.", "It", facts)


def _firm(name: str, people: Sequence[str], towns: Sequence[str], chance: random.Random) -> Thing:
    facts = {
        "founder": Fact(
            chance.choice(people),
            ("{s} was founded by {v}.", "{v} established {s}."),
            ("Who founded {s}?", "Who is the founder of {s}?"),
            ("the founder of {s}", "the person who founded {s}"),
        ),
        "seat": Fact(
            chance.choice(towns),
            ("{s} is based in {v}.", "{s} has its headquarters in {v}."),
            ("Where is {s} based?", "In which town is {s} headquartered?"),
            ("the town where {s} is based",),
        ),
        "year": Fact(
            str(chance.randint(1820, 1990)),
            ("{s} was established in {v}.",),
            ("When was {s} established?", "When was {s} founded?"),
        ),
        "staff": Fact(
            str(chance.randint(20, 900)), ("{s} employs {v} people.",), ("How many people does {s} employ?",)
        ),
        "chief": Fact(chance.choice(people), ("{s} is led by {v}.",), ("Who leads {s}?",), ("the leader of {s}",)),
    }
    return Thing(name, f"{name} is a company that sells {chance.choice(('tools', 'books', 'boats'))}.", "It", facts)


def _work(name: str, people: Sequence[str], firms: Sequence[str], chance: random.Random) -> Thing:
    genre = chance.choice(GENRES)
    maker, made = MAKERS[genre], MADE[genre]
    facts = {
        "maker": Fact(
            chance.choice(people),
            (f"{{s}} was {made} by {{v}}.", f"The {maker} of {{s}} is {{v}}."),
            (f"Who {'wrote' if made == 'written' else made} {{s}}?", f"Who is the {maker} of {{s}}?"),
            (f"the {maker} of {{s}}", f"the {maker} of the {genre} {{s}}"),
        ),
        "date": Fact(
            _date(chance, chance.randint(1850, 2000)),
            ("{s} was first shown on {v}.", "{s} came out on {v}."),
            ("When did {s} come out?", "In what year did {s} come out?"),
        ),
        "publisher": Fact(
            chance.choice(firms),
            ("{s} was published by {v}.",),
            ("Who published {s}?", "Which company published {s}?"),
            ("the company that published {s}", "the publisher of {s}"),
        ),
        "prize": Fact(
            f"{_word(chance)} {chance.choice(('Prize', 'Medal'))}", ("{s} won the {v}.",), ("Which prize did {s} win?",)
        ),
        "hero": Fact(
            f"{_word(chance)} {_word(chance)}",
            ("{s} tells of {v}, a smuggler.", "Its main character is {v}."),
            ("Who is the main character of {s}?",),
        ),
    }
    return Thing(name, f"{name} is a {genre} in three parts.", "It", facts)
