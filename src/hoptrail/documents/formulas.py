"""Writes the formulas of Word and PowerPoint (Office Math) in one line, as in `x = (-b ± √(b^2 - 4ac))/(2a)`."""

from __future__ import annotations

from typing import Any

NAMESPACE = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PROPERTIES = "Pr"


def formula_text(element: Any) -> str:
    """The text of a formula or of a part of it."""
    tag = str(element.tag).removeprefix(NAMESPACE)
    if tag == "t":
        return element.text or ""
    if tag in _SHAPES:
        shape, parts = _SHAPES[tag]
        return shape.format(*(_grouped(_part(element, part)) for part in parts))
    if tag == "d":
        begin, separator, end = (
            _character(element, *one) for one in (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
        )
        return begin + separator.join(formula_text(one) for one in element.findall(f"{NAMESPACE}e")) + end
    if tag == "nary":
        limits = (
            f"{sign}{_grouped(text)}" for sign, part in (("_", "sub"), ("^", "sup")) if (text := _part(element, part))
        )
        return f"{_character(element, 'chr', '∫')}{''.join(limits)} {_part(element, 'e')}"
    if tag == "rad":
        return f"{_part(element, 'deg')}√({_part(element, 'e')})"
    if tag == "func":
        return f"{_part(element, 'fName')}({_part(element, 'e').removeprefix('(').removesuffix(')')})"
    if tag in {"m", "eqArr"}:
        return "; ".join(formula_text(one) for one in element if not one.tag.endswith(_PROPERTIES))
    if tag == "mr":
        return ", ".join(map(formula_text, element))
    return "".join(formula_text(one) for one in element if not str(one.tag).endswith(_PROPERTIES))


_SHAPES = {
    "f": ("{}/{}", ("num", "den")),
    "sSup": ("{}^{}", ("e", "sup")),
    "sSub": ("{}_{}", ("e", "sub")),
    "sSubSup": ("{}_{}^{}", ("e", "sub", "sup")),
    "sPre": ("_{}^{} {}", ("sub", "sup", "e")),
    "limLow": ("{}_{}", ("e", "lim")),
    "limUpp": ("{}^{}", ("e", "lim")),
}
"""How the parts of an expression are written, by its tag."""


def _part(element: Any, tag: str) -> str:
    part = element.find(f"{NAMESPACE}{tag}")
    return "" if part is None else formula_text(part)


def _grouped(text: str) -> str:
    """In brackets if it is more than a number or a word."""
    is_one = len(text) < 2 or text.replace(".", "").isalnum() or (text[0] == "(" and text.find(")") == len(text) - 1)
    return text if is_one else f"({text})"


def _character(element: Any, tag: str, default: str) -> str:
    """A sign that the properties of an expression name; empty if they say that there is none."""
    mark = element.find(f"*/{NAMESPACE}{tag}")
    return default if mark is None else str(mark.get(f"{NAMESPACE}val", ""))
