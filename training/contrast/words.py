"""The words that made pairs are put together from: people, acts, things, places, columns of tables."""

from __future__ import annotations

import random
from calendar import month_name
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FIRST = (
    "Ada Alan Alice Amira Ana Andrea Anna Anton Asha Ben Berta Bram Carla Carlos Celia Chen Clara Dana David "
    "Dora Edda Edwin Elif Emil Emma Enzo Erik Esra Eva Farid Felix Fiona Frank Freya Gita Goran Greta Gustav "
    "Hanna Hassan Helen Henk Hugo Ida Igor Ilona Ines Ivo Jack Jana Jens Joan Jonas Julia Kai Karim Karl Kim "
    "Lars Laura Lea Leo Lina Louis Lucy Maja Marek Maria Marta Max Mei Mia Milo Mona Nadia Nils Nina Noor Olga "
    "Omar Oscar Otto Pavel Petra Priya Rafi Rana Rita Rosa Ruth Sam Sara Selma Sofia Sven Tara Tess Theo Tilda "
    "Tom Ugo Uma Vera Viktor Wanda Will Yara Yusuf Zoe"
).split()
FAMILY = (
    "Abel Adler Ahmed Arden Baker Bakker Bell Berg Blom Boyd Brandt Brook Carter Castro Cole Costa Cruz Dahl "
    "Dale Diaz Dietz Drew Ekman Elder Evans Fell Finch Flores Ford Fox Frost Garcia Gray Grant Hahn Hale Hansen "
    "Hart Haug Hill Holm Horn Howe Ibarra Ito Jansen Jones Keller Khan Kirk Klein Koch Kovac Krug Lamb Lang Lark "
    "Lind Lopez Lund Maier Marsh Meyer Mills Moss Murray Nagy Neri Novak Oakes Olsen Ortiz Park Patel Peck Pohl "
    "Pratt Quist Reed Reyes Ritter Roth Ruiz Sand Santos Sato Schmidt Shaw Silva Singh Stone Strand Tanaka Thorn "
    "Tran Vega Vogel Wade Walsh Weber West Wilde Wolf Wood Yilmaz Young Zander"
).split()
PLACES = (
    "Aldmoor Brenning Caltra Dorsley Elmstead Farrow Gillen Hartwell Ingle Jessop Kelby Lorne Marsk Norrey Orley "
    "Penham Quarley Ressel Sandwick Tolver Ulm Varden Westry Yarrow Utrecht Lisbon Oslo Leeds Porto Turin Ghent "
    "Bergen Lyon Basel Cork Malmo Graz Riga"
).split()
TITLES = (
    "Minutes|Notes|House rules|Handbook|Agenda|Weekly report|Log|Staff list|FAQ|Letter|Terms|Price list|Rota|"
    "Contract|Newsletter|Ticket|Release notes|Recipes|Inventory|Welcome|Site visit|Lab book|Order|Insurance"
).split("|")
GROUPS = (
    "members guests tenants visitors volunteers students contractors trainees staff drivers parents subscribers "
    "residents children pensioners trustees interns suppliers players teachers"
).split()


@dataclass(frozen=True, slots=True)
class Act:
    """Something that people do once: `signed the lease`, `sign the lease`, `signing the lease`."""

    past: str
    plain: str
    going: str

    @classmethod
    def of(cls, verb: str, rest: str) -> Act:
        """From the three forms of the verb, and what follows it."""
        past, plain, going = verb.split()
        return cls(f"{past} {rest}", f"{plain} {rest}", f"{going} {rest}")


_VERBS = {
    "signed sign signing": "the lease|the petition|the contract|the guest book|the safety form|the loan agreement",
    "paid pay paying": "the deposit|the annual fee|the fine|the March invoice|the entry fee|the electricity bill",
    "joined join joining": "the choir|the committee|the pension scheme|the night shift|the rowing club|the mailing list",
    "passed pass passing": "the exam|the driving test|the first aid course|the medical check|the final inspection",
    "approved approve approving": "the budget|the new logo|the travel plan|the minutes|the merger|the floor plan",
    "returned return returning": "the spare key|the ladder|the borrowed drill|the library books|the uniform|the laptop",
    "attended attend attending": "the meeting in May|the fire drill|the annual dinner|the hearing|the workshop|the funeral",
    "visited visit visiting": "Lisbon|the new site|the depot|the head office|the museum|the other branch",
    "repaired repair repairing": "the boiler|the gate|the projector|the roof|the coffee machine|the van",
    "submitted submit submitting": "the report|the tax return|the expense claim|an entry|the application|the risk assessment",
    "bought buy buying": "the new printer|the flowers|a season ticket|the paint|the second freezer",
    "ordered order ordering": "the spare parts|the lunch|the timber|new curtains|the test kit",
    "cleaned clean cleaning": "the filters|the kitchen|the gutters|the pool|the lens",
    "tested test testing": "the alarm|the backup generator|the new release|the smoke detectors|the brakes",
    "booked book booking": "the hall|the flights|a table for Friday|the minibus|the photographer",
    "cancelled cancel cancelling": "the subscription|the order|the insurance|the trip|the second viewing",
    "reported report reporting": "the leak|the theft|the error|the accident|the broken window",
    "received receive receiving": "the parcel|a refund|the certificate|the new badge|a warning",
    "finished finish finishing": "the training|the survey|the audit|the translation|the marathon",
    "gave give giving": "the speech|the key to the caretaker|notice|the talk on Monday|a reference",
    "wrote write writing": "the user guide|the letter to the council|the obituary|the grant proposal",
    "collected collect collecting": "the samples|the rent|the tickets|the parcels|the ballot papers",
    "installed install installing": "the heat pump|the update|the new lock|the water meter|the shelves",
    "sold sell selling": "the old car|the tickets|the shares|the piano|the workshop",
}
ACTS = tuple(Act.of(verb, rest) for verb, listed in _VERBS.items() for rest in listed.split("|"))

DENIALS = (
    "{who} has not {past}.|{who} did not {plain}.|{who} never {past}.|{who} has yet to {plain}.|"
    "{who} declined to {plain}.|{who} refused to {plain}.|{who} failed to {plain}.|{who} forgot to {plain}.|"
    "{who} decided against {going}.|{who} was not allowed to {plain}.|{who} is still not ready to {plain}.|"
    "{who} left without {going}.|{who} was supposed to {plain}, but nothing came of it.|"
    "{who} wanted to {plain} and was turned down.|No, {who} has not {past}.|{who} ended up not {going}.|"
    "{who} could not {plain} because of the weather.|{who} avoided {going}."
).split("|")
"""`past` here is the participle: acts whose participle differs from their past are left out of the first form."""
IRREGULAR = ("gave", "wrote")


def form_of(draw: random.Random, forms: str, *words: str) -> str:
    """One of the forms, which bars divide, with words at its numbers."""
    return draw.choice(forms.split("|")).format(*words)


def denials(act: Act) -> list[str]:
    """The forms of a denial that fit an act."""
    return [form for form in DENIALS if not (act.past.startswith(IRREGULAR) and "not {past}" in form)]


DISHES = (
    "lentil soup|carrot cake|fish pie|bean stew|apple tart|green curry|rye bread|plum jam|cheese board|"
    "rice pudding|lamb roast|tomato salad|nut loaf|pea risotto|lemon sorbet|oat biscuit|mushroom pasta|"
    "potato bake"
).split("|")
CONTENTS = "nuts gluten milk eggs soya celery mustard sesame alcohol garlic pork honey".split()

Value = Callable[[random.Random], str]


def _digits(draw: random.Random, many: int) -> str:
    return str(draw.randint(10 ** (many - 1), 10**many - 1))


def day(draw: random.Random) -> str:
    """A day of some year, in one of the ways people write it."""
    number, month, year = draw.randint(1, 28), draw.randint(1, 12), draw.randint(1985, 2027)
    forms = (
        f"{number} {month_name[month]} {year}",
        f"{month_name[month]} {number}, {year}",
        f"{year}-{month:02}-{number:02}",
    )
    return draw.choice((*forms, f"{number}.{month}.{year}"))


VALUES: Mapping[str, Value] = {
    "barrier code": lambda draw: _digits(draw, 4),
    "door code": lambda draw: f"{_digits(draw, 4)}#",
    "alarm code": lambda draw: _digits(draw, 6),
    "post code": lambda draw: f"{draw.choice('ABDEGLMNS')}{draw.randint(1, 29)} {draw.randint(1, 9)}{draw.choice('AB')}J",
    "phone number": lambda draw: f"0{_digits(draw, 3)} {_digits(draw, 3)} {_digits(draw, 3)}",
    "mobile number": lambda draw: f"+44 7{_digits(draw, 3)} {_digits(draw, 6)}",
    "extension": lambda draw: _digits(draw, 3),
    "fax number": lambda draw: f"({_digits(draw, 3)}) {_digits(draw, 3)}-{_digits(draw, 4)}",
    "email address": lambda draw: f"{draw.choice(FAMILY).lower()}@{draw.choice(PLACES).lower()}.org",
    "account number": lambda draw: _digits(draw, 8),
    "policy number": lambda draw: f"{draw.choice('HKPZ')}{draw.choice('ABC')}-{_digits(draw, 6)}",
    "order number": lambda draw: f"PO-{_digits(draw, 5)}",
    "serial number": lambda draw: f"{draw.choice('QRSX')}{_digits(draw, 4)}-{_digits(draw, 2)}",
    "room": lambda draw: f"{draw.choice('ABCD')}{draw.randint(1, 4)}{draw.randint(0, 2)}{draw.randint(1, 9)}",
    "price": lambda draw: f"{draw.randint(2, 900)} {draw.choice(('EUR', 'euros', 'pounds', 'USD'))}",
    "deposit": lambda draw: f"£{draw.randint(1, 40) * 50}",
    "rent": lambda draw: f"{draw.randint(30, 190) * 10} euros a month",
    "notice period": lambda draw: f"{draw.choice('two three four six eight ten'.split())} {draw.choice(('weeks', 'months'))}",
    "warranty": lambda draw: f"{draw.randint(1, 12)} years",
    "baking time": lambda draw: f"{draw.randint(8, 95)} minutes",
    "oven temperature": lambda draw: f"{draw.randint(12, 25) * 10} °C",
    "weight": lambda draw: f"{draw.randint(2, 980)} {draw.choice(('g', 'kg'))}",
    "length": lambda draw: f"{draw.randint(2, 400)} {draw.choice(('cm', 'm', 'mm'))}",
    "capacity": lambda draw: f"{draw.randint(2, 90) * 10} litres",
    "start time": lambda draw: f"{draw.randint(6, 21)}:{draw.choice(('00', '15', '30', '45'))}",
    "closing date": day,
    "due date": day,
    "date of birth": day,
    "password": lambda draw: f"{draw.choice(PLACES).lower()}-{_digits(draw, 3)}",
    "version": lambda draw: f"{draw.randint(0, 9)}.{draw.randint(0, 20)}.{draw.randint(0, 9)}",
    "maximum speed": lambda draw: f"{draw.randint(2, 24) * 5} km/h",
    "colour": lambda draw: draw.choice("dark green|signal red|navy blue|ivory|slate grey|ochre|teal|plum|silver".split("|")),
    "number of seats": lambda draw: str(draw.randint(4, 420)),
}  # fmt: skip
"""What a plain question asks for (`What is the barrier code?`), with values of its kind."""


def person(draw: random.Random) -> str:
    first = draw.choice(FIRST)
    return first if draw.random() < 0.3 else f"{first} {draw.choice(FAMILY)}"


def people(draw: random.Random, many: int) -> list[str]:
    """People with different first and different family names."""
    firsts, families = draw.sample(FIRST, many), draw.sample(FAMILY, many)
    short = draw.random() < 0.3
    return [first if short else f"{first} {family}" for first, family in zip(firsts, families, strict=True)]
