"""Joins the lines of a PDF into text; words split by a hyphen become whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hoptrail.documents.pdf.layout import Line

_HYPHENS = ("-", "\xad", "\u2010")


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """The words of lines, including those with a hyphen. The last word of a line is left out, as it may be incomplete."""
    return frozenset(word.casefold().strip(".,;:()") for line in lines for word in line.split()[:-1])


def joined(lines: Sequence[Line], known: frozenset[str]) -> str:
    """The lines as one text. A hyphen at the end of a line stays if `known` has the word with it, or before a capital."""
    text = ""
    for line in lines:
        text = _append(text, line.text, known) if text else line.text
    # A soft hyphen at the end or before white space becomes a hyphen; elsewhere it is removed.
    return re.sub(r"\xad(?=\s|$)", "-", text).replace("\xad", "")


def _append(text: str, line: str, known: frozenset[str]) -> str:
    if not text.endswith(_HYPHENS) or not text[-2:-1].isalpha():
        return f"{text} {line}"
    head, tail = text[:-1].rsplit(" ", 1)[-1], line.split(" ", 1)[0]
    whole, hyphenated = (f"{head}{mark}{tail}".casefold().strip(".,;:()") for mark in ("", "-"))
    keep_hyphen = not tail[:1].islower() or (whole not in known and (hyphenated in known or "-" in head))
    return f"{text[:-1]}{'-' if keep_hyphen else ''}{line}"
