"""The text of common templates of the English Wikipedia: dates, measures, lists, wrappers.

Only the wiki can expand templates; the text of some common ones follows from their arguments. All others, and those of other
languages, show nothing unless the settings have a pattern for them (`filled`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from string import Template

from hoptrail.documents.wikipedia.measures import converted, person_measure, with_exponent
from hoptrail.text.lexicon import MONTHS
from hoptrail.text.normal_forms import squeeze

ITEM = "\x1d"
"""Starts a separate line (a list item, or after a forced line break). XML cannot contain this character, so no text has it."""

Arguments = Sequence[str]
"""The unnamed arguments of a template as text; if it has none, its argument `text`."""

_SIGNS = {
    **dict(zip(("!", "=", "'", "ndash", "mdash", "nbsp"), ("|", "=", "'", "–", "—", " "), strict=True)),
    **dict.fromkeys(("snd", "spnd", "spaced ndash"), " – "),
    **dict.fromkeys(("circa", "c."), "c."),
    **dict.fromkeys(("floruit", "fl."), "fl."),
}
_FORMATNUM = "formatnum:"
_LINKS = {"ill", "interlanguage link", "illm"}
_SHIPS = "HMS USS SS RMS MV MS HMAS HMCS HMNZS HNLMS HDMS HSwMS SMS USCGC USNS INS ORP RV MT PS TSS ROKS JDS"
_MONEY = {
    "US$": "US$", "USD": "US$", "GBP": "£", "£": "£", "EUR": "€", "€": "€", "euro": "€", "INR": "₹", "JPY": "¥",
    "CNY": "¥", "RMB": "¥",
    "AUD": "A$", "A$": "A$", "CAD": "C$", "C$": "C$", "NZD": "NZ$", "CHF": "CHF ", "SEK": "SEK ", "NOK": "NOK ", "DKK": "DKK ",
    "KRW": "₩", "RUB": "₽", "PHP": "₱", "HKD": "HK$", "SGD": "S$",
}  # fmt: skip


def template_name(written: str) -> str:
    """The normal form of a template's name, without prefix, underscores and differences of case."""
    return squeeze(written.replace("_", " ")).casefold().removeprefix("template:").strip()


def is_known(name: str) -> bool:
    """Whether the text of the template `name` is known."""
    return name.startswith(_FORMATNUM) or name in _SHOWN or name in _MEASURES or name in _SIGNS


def says_nothing(name: str) -> bool:
    """Whether the template `name` is known to show no text of the article: notes for editors, references, links elsewhere."""
    return name in _SILENT or name.startswith(_SILENT_BEGINNINGS) or name.endswith(_SILENT_ENDS)


class Pattern(Template):
    """A user's pattern for the text of a template: `$1` is its first unnamed argument, `$unit` or `${unit of it}` a named one."""

    idpattern = r"(?a:\d+|[a-z][a-z0-9_]*)"
    braceidpattern = r"[^{}]+"


def filled(pattern: str, arguments: Mapping[str, str]) -> str:
    """A pattern filled with a template's arguments by name or number; empty if one of them is missing or empty."""
    template = Pattern(pattern)
    return template.substitute(arguments) if all(map(arguments.get, template.get_identifiers())) else ""


def shown(name: str, arguments: Arguments, named: Mapping[str, str] | None = None) -> str:
    """The text of the template `name` with its unnamed and `named` arguments; empty if unknown."""
    if name.startswith(_FORMATNUM):
        return _formatted(name.removeprefix(_FORMATNUM).strip())
    if measure := _MEASURES.get(name):
        return measure(arguments, named or {})
    if name in _LINKS and named and named.get("lt"):
        return named["lt"]
    show = _SHOWN.get(name)
    return show(arguments) if show and arguments else _SIGNS.get(name, "")


def _formatted(number: str) -> str:
    whole, point, rest = number.partition(".")
    is_number = re.fullmatch(r"-?\d{1,30}", whole) and rest.isdecimal() == bool(point)
    return f"{int(whole):,}{point}{rest}" if is_number else number


def _items(arguments: Arguments) -> str:
    return "".join(f"\n{ITEM}{item}" for item in arguments if item) + "\n" + ITEM


def _date(arguments: Arguments) -> str:
    """`1956|7|9` is 9 July 1956; an argument that is no number is shown as it is."""
    numbers = [int(argument) for argument in takewhile(str.isdecimal, arguments[:3])]
    if not numbers:
        return arguments[0]
    year, month, day = (*numbers, 0, 0)[:3]
    name = MONTHS[month - 1].capitalize() if 1 <= month <= 12 else ""
    return squeeze(f"{day or ''} {name} {year}") if name else str(year)


def _marriage(arguments: Arguments) -> str:
    years = "–".join(filter(None, arguments[1:3]))
    return f"{arguments[0]} ({years})" if years else arguments[0]


def _after(sign: str, arguments: Arguments) -> str:
    """`{{HMS|Foss|1900}}` is HMS Foss, without the year that disambiguates it; `{{GBP|3}}` is £3."""
    return sign + arguments[0]


def _fraction(arguments: Arguments) -> str:
    """`2` is 1/2, `3|4` is 3/4, `5|3|4` is 5 3/4."""
    *whole, over, under = arguments if len(arguments) > 1 else ("1", *arguments)
    return " ".join((*whole, f"{over}/{under}"))


_GROUPS: tuple[tuple[str, Callable[[Arguments], str]], ...] = (
    (
        """nowrap, nobr, small, smaller, big, large, nobold, nobreak, abbr, abbrlink, tooltip, nihongo, ship name, flag,
        flagcountry, flagu, flagdeco, country, mono, visible anchor, vanchor, sic, not a typo, birth-date, death-date,
        birth-date and age, death-date and age, plainlist, plain list, flatlist, center, notatypo, em, strong, var, sup, sub,
        gap, url, official url, official website, winner, won, awards, tlx, bracket, sortname, decade, ill,
        interlanguage link, illm""",
        lambda arguments: arguments[0],
    ),
    ("lang, langx, color, font color, fontcolor, resize, midsize, hover title", lambda arguments: arguments[:2][-1]),
    ("transl, transliteration, script, lang-rtl", lambda arguments: arguments[-1]),
    ("ubl, unbulleted list, hlist, bulleted list, ubil, ordered list, cslist, comma separated entries", _items),
    (
        """birth date, birth date and age, death date, death date and age, start date, start date and age, end date,
        end date and age, film date, birth year and age, bya, dob, birth date and age2, release date, launch date, date, dts,
        birthdate, birthdate and age, opening date, death year and age, birth year""",
        _date,
    ),
    ("as of", lambda arguments: f"As of {_date(arguments)}"),
    ("marriage, married", _marriage),
    ("circa, c.", lambda arguments: " – ".join(f"c. {year}" for year in arguments[:2] if year)),
    ("floruit, fl.", lambda arguments: f"fl. {'–'.join(filter(None, arguments[:2]))}"),
    ("ship", lambda arguments: squeeze(" ".join(arguments[:2]))),
    ("sclass, sclass2, sclass-", lambda arguments: squeeze(f"{arguments[0]}-class {' '.join(arguments[1:2])}")),
    ("frac, fraction", _fraction),
    ("quote, blockquote", lambda arguments: _items(arguments[:1])),
)
_SHOWN = {squeeze(name).casefold(): show for names, show in _GROUPS for name in names.split(",")}
_SHOWN |= {prefix.casefold(): partial(_after, f"{prefix} ") for prefix in _SHIPS.split()}
_SHOWN |= {name.casefold(): partial(_after, sign) for name, sign in _MONEY.items()}
_SILENT_NAMES = """short description, reflist, notelist, refbegin, refend, references, authority control, main, see also, further,
    portal, portal bar, commons, commons category, commonscat, sister project links, wiktionary, wikisource, wikiquote, citation,
    citation needed, cn, fact, clarify, when, who, by whom, efn, sfn, sfnp, harvnb, refn, rp, r, about, for, other uses,
    distinguish, hatnote, italic title, anchor, clear, toc limit, tocleft, tocright, coord, div col, div col end, end, flagicon,
    stub, good article, featured article, refimprove, more citations needed, unreferenced, orphan, multiple issues, redirect,
    multiple image, audio, disambiguation, hndis, geodis, disambig, dab, isbn, oclc, doi, imdb name, imdb title, webarchive"""
_SILENT = set(map(squeeze, _SILENT_NAMES.split(",")))
_SILENT_BEGINNINGS = ("use ", "cite ", "pp-", "defaultsort:", "displaytitle:", "navbox", "ipa", "#")
_SILENT_ENDS = ("-stub", " stub")
_MEASURES = dict.fromkeys(("convert", "cvt"), converted) | dict.fromkeys(("height", "weight"), person_measure)
_MEASURES["val"] = with_exponent
