"""Formats the numbers of spreadsheets as their cells show them: by format codes such as `#,##0.00 "EUR"`, `0.0%` and `mmm yyyy`.

Dates and times are in ISO 8601, but a date whose code shows no day is written as it says. Source: ECMA-376, part 1, 18.8.30 and
18.8.31.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from math import isfinite
from operator import eq, ge, gt, le, lt, ne

from hoptrail.text.normal_forms import squeeze

GENERAL = "General"
# The built-in formats, which need not be in the file.
BUILT_IN = {
    **dict(zip((1, 2, 3, 4, 9, 10, 11), ("0", "0.00", "#,##0", "#,##0.00", "0%", "0.00%", "0.00E+00"), strict=True)),
    **dict.fromkeys((14, 15, 16, *range(27, 32), *range(50, 59)), "yyyy-mm-dd"),
    17: "mmm yy",
    22: "yyyy-mm-dd h:mm",
    **dict.fromkeys((18, 20), "h:mm"),
    **dict.fromkeys((19, 21, 32, 33, 45, 47), "h:mm:ss"),
    **dict.fromkeys((37, 38), "#,##0"),
    **dict.fromkeys((39, 40), "#,##0.00"),
    46: "[h]:mm:ss",
}
_DIGITS = re.compile(r"General|[#0?](?:[#0?,]*[#0?])?(?:\.[#0?]*)?")
_SPREAD = re.compile(r"[0#?]+(?:[^0#?.,%E]+[0#?]+)+(?![0#?,])(?:\.[0#?]*)?")
"""Digits with other signs between them, as of telephone numbers: `000-00-0000`."""
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_COMPARE = {"<=": le, ">=": ge, "<>": ne, "<": lt, ">": gt, "=": eq}
_POWER = re.compile(r"E[+-]0+")
_FRACTION = re.compile(r"[#0?]\s*/\s*[#0?\d]")
_MARKS = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]|_.|\*.')
"""Quoted text, an escaped character or a currency, in groups; and without a group colours, conditions, gaps and fillers."""
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_PART_OF_DATE = re.compile(r"y+|m+|d+|h+|s+|am/pm|a/p", re.IGNORECASE)
_DAY, _WITH_TIME, _TIME = "%Y-%m-%d", "%Y-%m-%d %H:%M", "%H:%M:%S"
_MONTH_PARTS = {"yyyy": "%Y", "yyy": "%Y", "yy": "%Y", "y": "%Y", "mmmm": "%B", "mmm": "%b", "mm": "%m", "m": "%m"}


def shown_number(value: float, code: str, *, from_1904: bool = False) -> str:
    """A number, date or time as a cell with this format code shows it."""
    if code == GENERAL or not isfinite(value):
        return _plain(value)
    pattern = _date_pattern(code)
    if pattern is None:
        return apply_format(value, code)
    try:
        if not pattern:  # hours, minutes and, unless they are zero, seconds
            minutes, seconds = divmod(round(dt.timedelta(days=value).total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
        return _shown_date(value, pattern, from_1904=from_1904)
    except OverflowError:
        return _plain(value)


@lru_cache(maxsize=1000)
def _date_pattern(code: str) -> str | None:
    """How what a code shows of a date or time is written; empty for a duration, and None if it shows none of these."""
    if _ELAPSED.search(code):
        return ""
    bare = _MARKS.sub("", code.split(";", maxsplit=1)[0]).replace(GENERAL, "")
    if _DIGITS.match(bare) or _POWER.search(bare):
        return None
    parts = [part[0] if part[0] in "hs" else part for part in map(str.lower, _PART_OF_DATE.findall(bare))]
    days = [
        part
        for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False)
        if part[0] in "yd" or (part[0] == "m" and (len(part) > 2 or not {before, after} & {"h", "s"}))  # else minutes
    ]
    if days and not any(part[0] == "d" for part in days):
        return " ".join(_MONTH_PARTS.get(part, "%b") for part in days)
    has_time = not {"h", "s"}.isdisjoint(parts)
    return (_WITH_TIME if has_time else _DAY) if days else _TIME if parts else None


def _shown_date(value: float, pattern: str, *, from_1904: bool) -> str:
    leap = value < 60  # Excel counts a 29 February 1900
    first = dt.datetime(1904, 1, 1, tzinfo=dt.UTC) if from_1904 else dt.datetime(1899, 12, 30 + leap, tzinfo=dt.UTC)
    date = first + dt.timedelta(seconds=round(value * 86400))
    pattern = _DAY if pattern == _WITH_TIME and date.time() == dt.time() else pattern
    return f"{date:{pattern}}".removesuffix(":00" if pattern == _TIME else "")


def _plain(value: float) -> str:
    text = f"{value:.15g}"
    return text if "e" not in text or abs(value) >= 1e15 else f"{value:.15f}".rstrip("0").rstrip(".")


def apply_format(value: float, code: str) -> str:
    """Format a number by a code such as `#,##0.00 "EUR"` or `0.0%`, of up to four sections separated by semicolons. A negative
    number gets a minus sign unless the code has a section for it that shows one, or brackets. An empty section shows nothing.
    """
    section = _section(value, code.split(";"))
    if not section or _FRACTION.search(section):
        return section and _plain(value)
    texts = ["".join(part or "" for part in mark.groups()) for mark in _MARKS.finditer(section)]
    bare = _MARKS.sub("\0", section).replace("_", " ")
    digits = _DIGITS.search(bare)
    if digits is None:
        return squeeze("".join(texts)) or _plain(value)
    if _POWER.search(bare, digits.end()):
        return f"{value:.{len(digits[0].partition('.')[2])}E}"
    spread = _SPREAD.match(bare, digits.start())
    before, after = bare[: digits.start()], bare[(spread or digits).end() :]
    number = _spread(value, spread[0]) if spread else _number(abs(value), digits[0], after, percent="%" in bare)
    rest = iter(texts)
    head, number, tail = (re.sub("\0", lambda _: next(rest), part) for part in (before, number, after.lstrip(",")))
    is_shown = ";" in code and ("(" in head or "-" in head or tail.strip().endswith("-"))
    return ("-" if value < 0 and not is_shown else "") + squeeze(f"{head}{number}{tail}")


def _section(value: float, sections: list[str]) -> str:
    """The section for a value: the first whose condition it meets, or if there are no conditions by its sign."""
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        met = (one is None or _COMPARE[one[1]](value, float(one[2])) for one in conditions)
        return next((section for section, is_met in zip(sections, met, strict=True) if is_met), sections[-1])
    which = 1 if value < 0 else 2 if value == 0 else 0
    return sections[which if which < len(sections) else 0]


def _spread(value: float, shape: str) -> str:
    """The digits of a number in their places, from the right."""
    whole, point, places = shape.partition(".")
    written, _, fraction = f"{_rounded(Decimal(abs(value)), len(places)):f}".partition(".")
    digits, out = list(written), ""
    for sign in reversed(whole):
        out = (sign if sign not in "0#?" else digits.pop() if digits else "0" * (sign == "0")) + out
    return "".join(digits) + out + point + fraction


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=400))  # half up: as Excel does


def _number(value: float, shape: str, after: str, *, percent: bool) -> str:
    """The digits of a number; each comma in `after` divides it by a thousand."""
    if shape == "General":
        return _plain(value)
    places = shape.partition(".")[2]
    power = 2 * percent - 3 * (len(after) - len(after.lstrip(",")))
    scaled = _rounded(Decimal(f"{value:.15g}").scaleb(power), len(places))
    digits = shape.partition(".")[0].count("0")
    width = f"0{digits + bool(places) + len(places)}" if digits > 1 and "," not in shape else ""
    number = f"{scaled:{width or (',' if ',' in shape else '')}.{len(places)}f}"
    kept = len(number) - (len(places) - len(places.rstrip("#?")))
    return (number[:kept] + number[kept:].rstrip("0")).rstrip(".") if places else number
