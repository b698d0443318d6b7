"""Lines of a PDF joined to text: words that a hyphen parts become whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hoptrail.documents.pdf.layout import Line

_HYPHENS = ("-", "\xad", "\u2010")


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """The words within lines, those with a hyphen among them; not the last ones, which may be halves."""
    return frozenset(word.casefold().strip(".,;:()") for line in lines for word in line.split()[:-1])


def joined(lines: Sequence[Line], known: frozenset[str]) -> str:
    """The lines as one text. A hyphen at the end of one stays where the document has the word with it, or it joins names."""
    text = ""
    for line in lines:
        text = _appended(text, line.text, known) if text else line.text
    return _without_soft_hyphens(text)


def _appended(text: str, line: str, known: frozenset[str]) -> str:
    if not text.endswith(_HYPHENS) or not text[-2:-1].isalpha():
        return f"{text} {line}"
    head, tail = text[:-1].rsplit(" ", 1)[-1], line.split(" ", 1)[0]
    whole, parted = (f"{head}{mark}{tail}".casefold().strip(".,;:()") for mark in ("", "-"))
    keeps = not tail[:1].islower() or (whole not in known and (parted in known or "-" in head))
    return f"{text[:-1]}{'-' if keeps else ''}{line}"


def _without_soft_hyphens(text: str) -> str:
    """At the end, and before white space, one is a hyphen; elsewhere it marks only where a word may be parted."""
    return re.sub(r"\xad(?=\s|$)", "-", text).replace("\xad", "")
