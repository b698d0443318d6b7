"""The text of common templates of the English Wikipedia (dates, measures, lists, wrappers). Only the wiki can expand the others,
which show nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from hoptrail.text.lexicon import MONTHS
from hoptrail.text.normal_forms import squeeze

Arguments = Sequence[str]

_WRAPPERS = """nowrap, nobr, nobold, small, smaller, big, larger, abbr, tooltip, mono, sic, not a typo, visible anchor,
    vanchor, flag, flagcountry, flagu, country, plainlist, plain list, flatlist, nihongo, url, official url, official website,
    won, ill, interlanguage link, ship name, sortname, birth-date, death-date, birth-date and age, death-date and age, em,
    strong, sup, sub"""
_SECOND = "lang, langx, color, font color, fontcolor, resize, hover title"
_LAST = "transl, transliteration, script"
_LISTS = "ubl, unbulleted list, hlist, bulleted list, ordered list, cslist, comma separated entries"
_DATES = """birth date, birth date and age, death date, death date and age, start date, start date and age, end date,
    end date and age, film date, birth year and age, bya, dob, release date, launch date, date, dts, birthdate, birthdate and age,
    opening date, death year and age, birth year"""
_MEASURES = "convert, cvt"
_SIGNS = {
    "!": "|",
    "=": "=",
    "ndash": "–",
    "mdash": "—",
    "snd": " – ",
    "spnd": " – ",
    "spaced ndash": " – ",
    "nbsp": " ",
    "circa": "c.",
    "c.": "c.",
    "floruit": "fl.",
    "fl.": "fl.",
}


def template_name(written: str) -> str:
    """The normal form of a template's name: without prefix, underscores and differences of case."""
    return squeeze(written.replace("_", " ")).casefold().removeprefix("template:").strip()


def shown(name: str, arguments: Arguments, named: Mapping[str, str]) -> str:
    """The text of the template `name` with its unnamed and `named` arguments; empty if unknown."""
    if name.startswith("formatnum:"):
        return _number(name.removeprefix("formatnum:").strip())
    if name in {"ill", "interlanguage link"} and named.get("lt"):
        return named["lt"]
    show = _SHOWN.get(name)
    return show(arguments) if show and arguments else _SIGNS.get(name, "")


def _number(text: str) -> str:
    whole, point, rest = text.partition(".")
    is_number = whole.removeprefix("-").isdecimal() and len(whole) < 30 and rest.isdecimal() == bool(point)
    return f"{int(whole):,}{point}{rest}" if is_number else text


def _items(arguments: Arguments) -> str:
    return "\n".join(("", *filter(None, arguments), ""))


def _date(arguments: Arguments) -> str:
    """`1956|7|9` is 9 July 1956; an argument that is no number is shown as it is."""
    numbers = [int(argument) for argument in takewhile(str.isdecimal, arguments[:3])]
    if not numbers:
        return arguments[0]
    year, month, day = (*numbers, 0, 0)[:3]
    name = MONTHS[month - 1].capitalize() if 1 <= month <= 12 else ""
    return squeeze(f"{day or ''} {name} {year}") if name else str(year)


def _measure(arguments: Arguments) -> str:
    """`90|m|ft` is 90 m: what is written, not what it is converted to."""
    return " ".join(arguments[:2])


def _marriage(arguments: Arguments) -> str:
    years = "–".join(filter(None, arguments[1:3]))
    return f"{arguments[0]} ({years})" if years else arguments[0]


_GROUPS: tuple[tuple[str, Callable[[Arguments], str]], ...] = (
    (_WRAPPERS, lambda arguments: arguments[0]),
    (_SECOND, lambda arguments: arguments[:2][-1]),
    (_LAST, lambda arguments: arguments[-1]),
    (_LISTS, _items),
    (_DATES, _date),
    (_MEASURES, _measure),
    ("marriage, married", _marriage),
    ("as of", lambda arguments: f"As of {_date(arguments)}"),
    ("circa, c.", lambda arguments: f"c. {arguments[0]}"),
    ("floruit, fl.", lambda arguments: f"fl. {'–'.join(arguments[:2])}"),
    ("quote, blockquote", lambda arguments: _items(arguments[:1])),
)
_SHOWN = {squeeze(name).casefold(): show for names, show in _GROUPS for name in names.split(",")}
