"""The text of templates for measures, complete or empty: a part would be a wrong fact (3.3 for 3.3 times 10^23)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Arguments = Sequence[str]
Named = Mapping[str, str]

_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:\+\d+/\d+)?|[-−]?\d+/\d+")
_BETWEEN = {"to", "and", "or", "by", "x", "-", "–", "+/-", "to(-)"}
_RAISED = str.maketrans("23", "²³")
_UNITS = {"C": "°C", "F": "°F", "sqmi": "sq mi", "sqft": "sq ft"} | {
    unit: unit.translate(_RAISED) for unit in ("km2", "m2", "cm2", "m3", "km3")
}
_SCALED = re.compile(r"e\d")
_OTHER_SHOWN = {"out", "output only", "number", "output number only", "unit", "unit2", "preunit"}
"""Display options that omit the original measure, or add words."""
_HARMLESS_OF_VAL = {"fmt", "sort", "sortable", "debug"}
_PERSONS = {"m": "m", "cm": "cm", "ft": "ft", "in": "in", "kg": "kg", "lb": "lb", "st": "st"}


def converted(arguments: Arguments, named: Named) -> str:
    """The original measure, not the conversion: `90|km|mi` is 90 km, `5|to|7|km` 5 to 7 km, `5|ft|10|in` 5 ft 10 in."""
    if named.get("disp", "") in _OTHER_SHOWN:
        return ""
    words, place = "", 0
    while place + 1 < len(arguments) and _NUMBER.fullmatch(arguments[place]):
        number, then = arguments[place].replace("+", " "), arguments[place + 1]
        if then in _BETWEEN:
            words, place = f"{words}{number} {then} ", place + 2
            continue
        if not then or _SCALED.match(then):
            return ""
        words = f"{words}{number} {_UNITS.get(then, then)}"
        rest = arguments[place + 2 : place + 4]
        if len(rest) < 2 or not _NUMBER.fullmatch(rest[0]) or _NUMBER.fullmatch(rest[1]):
            return words
        words, place = f"{words} ", place + 2
    return ""


def with_exponent(arguments: Arguments, named: Named) -> str:
    """`3.3|e=23|u=kg` is 3.3×10^23 kg, `11|2` is 11±2; empty if there are unknown arguments."""
    known = {"e", "u", "ul", "up", "upl", "p", "s", *_HARMLESS_OF_VAL}
    if not 1 <= len(arguments) <= 2 or not all(map(_NUMBER.fullmatch, arguments)) or not known.issuperset(named):
        return ""
    exponent = named.get("e", "")
    unit = named.get("u") or named.get("ul") or ""
    per = named.get("up") or named.get("upl") or ""
    number = "±".join(arguments)
    if exponent:
        base = f"({number})" if len(arguments) > 1 else number
        number = f"{base}×10^{exponent}"
    return f"{named.get('p', '')}{number}{named.get('s', '')}{' ' + unit if unit else ''}{'/' + per if per else ''}"


def person_measure(arguments: Arguments, named: Named) -> str:
    """`m=1.80` is 1.80 m, `ft=6|in=2` is 6 ft 2 in; unnamed arguments are read as by `converted`."""
    parts = [f"{named[key]} {unit}" for key, unit in _PERSONS.items() if named.get(key)]
    return " ".join(parts) or converted(arguments, {})
