"""Templates of the English Wikipedia that stand for words in a sentence or in an infobox: dates, measures, lists, wrappers.

A template is expanded by the wiki, whose programs a dump does not run; of some that are common what they show can be told from
their arguments. All others show nothing. Other languages' templates are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hoptrail.text.normal_forms import squeeze

ITEM = "\x1d"
"""Begins a line of its own (a list item, after a forced line break). XML cannot hold this character, so no text has it."""

Arguments = Sequence[str]
"""The unnamed arguments of a template, as text; of one that has none, the argument `text`."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SIGNS = {
    "!": "|",
    "=": "=",
    "'": "'",
    "snd": " – ",
    "spnd": " – ",
    "spaced ndash": " – ",
    "ndash": "–",
    "mdash": "—",
    "nbsp": " ",
    "circa": "c.",
    "c.": "c.",
    "floruit": "fl.",
    "fl.": "fl.",
}
_BETWEEN = {"to", "and", "or", "by", "x", "-", "–", "+/-", "to(-)"}


def template_name(written: str) -> str:
    """Names are equal but for case and underscores, and where they stand."""
    return squeeze(written.replace("_", " ")).casefold().removeprefix("template:").strip()


def shown(name: str, arguments: Arguments) -> str:
    """What the template `name` shows; nothing if that is not known."""
    show = _SHOWN.get(name)
    return show(arguments) if show and arguments else _SIGNS.get(name, "")


def _first(arguments: Arguments) -> str:
    return arguments[0]


def _second(arguments: Arguments) -> str:
    return arguments[min(1, len(arguments) - 1)]


def _last(arguments: Arguments) -> str:
    return arguments[-1]


def _items(arguments: Arguments) -> str:
    return "".join(f"\n{ITEM}{item}" for item in arguments if item) + "\n" + ITEM


def _date(arguments: Arguments) -> str:
    """`1956|7|9` is 9 July 1956; what is not made of numbers is shown as it is."""
    numbers = []
    for argument in arguments[:3]:
        if not argument.isdecimal():
            break
        numbers.append(int(argument))
    if not numbers:
        return arguments[0]
    year, month, day = (*numbers, 0, 0)[:3]
    name = _MONTHS[month - 1] if 1 <= month <= 12 else ""
    return squeeze(f"{day or ''} {name} {year}") if name else str(year)


def _measure(arguments: Arguments) -> str:
    """`90|km|mi` is 90 km, `5|to|7|km` is 5 to 7 km: what was measured, not what it was converted to."""
    if len(arguments) > 3 and arguments[1] in _BETWEEN:
        return squeeze(f"{arguments[0]} {arguments[1]} {arguments[2]} {arguments[3]}")
    return " ".join(arguments[:2])


def _since(arguments: Arguments) -> str:
    return f"As of {_date(arguments)}"


def _marriage(arguments: Arguments) -> str:
    years = "–".join(filter(None, arguments[1:3]))
    return f"{arguments[0]} ({years})" if years else arguments[0]


def _circa(arguments: Arguments) -> str:
    return " – ".join(f"c. {year}" for year in arguments[:2] if year)


def _floruit(arguments: Arguments) -> str:
    return f"fl. {'–'.join(filter(None, arguments[:2]))}"


def _ship(arguments: Arguments) -> str:
    """`HMS|Foss|1900` is HMS Foss: not which of the ships of that name."""
    return squeeze(" ".join(arguments[:2]))


def _dollars(arguments: Arguments) -> str:
    return f"US${arguments[0]}"


def _fraction(arguments: Arguments) -> str:
    """`2` is 1/2, `3|4` is 3/4, `5|3|4` is 5 3/4."""
    *whole, over, under = arguments if len(arguments) > 1 else ("1", *arguments)
    return " ".join((*whole, f"{over}/{under}"))


def _quote(arguments: Arguments) -> str:
    return _items(arguments[:1])


_GROUPS: dict[Callable[[Arguments], str], str] = {
    _first: """nowrap, nobr, small, smaller, big, large, nobold, nobreak, abbr, abbrlink, tooltip, nihongo, ship name, flag,
        flagcountry, flagu, flagdeco, country, mono, visible anchor, vanchor, sic, not a typo, birth-date, death-date,
        birth-date and age, death-date and age, plainlist, plain list, flatlist, center, notatypo, em, strong, var, sup, sub,
        gap, url, official url, official website, winner, won, awards, tlx, bracket, sortname, decade""",
    _second: "lang, langx, color, font color, fontcolor, resize, midsize, hover title",
    _last: "transl, transliteration, script, lang-rtl",
    _items: "ubl, unbulleted list, hlist, bulleted list, ubil, ordered list, cslist, comma separated entries",
    _date: """birth date, birth date and age, death date, death date and age, start date, start date and age, end date,
        end date and age, film date, birth year and age, bya, dob, birth date and age2, release date, launch date, date, dts,
        birthdate, birthdate and age, opening date, death year and age, birth year""",
    _measure: "convert, cvt, val, height, weight",
    _since: "as of",
    _marriage: "marriage, married",
    _circa: "circa, c.",
    _floruit: "floruit, fl.",
    _ship: "ship",
    _dollars: "US$",
    _fraction: "frac, fraction",
    _quote: "quote, blockquote",
}
_SHOWN = {
    name.strip().casefold(): show for show, names in _GROUPS.items() for name in names.replace("\n", " ").split(",")
}
_SHOWN |= {squeeze(name): show for name, show in _SHOWN.items()}
