"""Reads what is drawn or set in Office files: formulas (Office Math) in one line, as in `x = (-b ± √(b^2 - 4ac))/(2a)`, charts as
tables of their data, and diagrams as lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

from hoptrail.documents.blocks import Piece
from hoptrail.documents.office_package import Package, relation_of
from hoptrail.documents.sheet_rows import header_piece, row_piece
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def formula_text(element: Any) -> str:
    tag = str(element.tag).removeprefix(MATH)
    if tag == "t":
        return element.text or ""
    if tag in _SHAPES:
        shape, parts = _SHAPES[tag]
        return shape.format(*(_grouped(_part(element, part)) for part in parts))
    if tag == "d":
        signs = (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
        begin, separator, end = (_character(element, *one) for one in signs)
        return begin + separator.join(formula_text(one) for one in element.findall(f"{MATH}e")) + end
    if tag == "nary":
        limits = ((sign, _part(element, part)) for sign, part in (("_", "sub"), ("^", "sup")))
        written = "".join(f"{sign}{_grouped(text)}" for sign, text in limits if text)
        return f"{_character(element, 'chr', '∫')}{written} {_part(element, 'e')}"
    if tag == "rad":
        return f"{_part(element, 'deg')}√({_part(element, 'e')})"
    if tag == "func":
        return f"{_part(element, 'fName')}({_part(element, 'e').removeprefix('(').removesuffix(')')})"
    inner = (formula_text(one) for one in element if not str(one.tag).endswith("Pr"))  # properties
    return {"m": "; ", "eqArr": "; ", "mr": ", "}.get(tag, "").join(inner)


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
    part = element.find(f"{MATH}{tag}")
    return "" if part is None else formula_text(part)


def _grouped(text: str) -> str:
    """In brackets if it is more than a number or a word."""
    is_one = len(text) < 2 or text.replace(".", "").isalnum() or (text[0] == "(" and text.find(")") == len(text) - 1)
    return text if is_one else f"({text})"


def _character(element: Any, tag: str, default: str) -> str:
    """A sign that the properties of an expression name; empty if they say that there is none."""
    mark = element.find(f"*/{MATH}{tag}")
    return default if mark is None else str(mark.get(f"{MATH}val", ""))


_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
GRAPHIC = f"{_MAIN}graphicData"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_NEW_CHART = "chartex"  # in the namespaces of kinds of charts that came later, such as waterfalls


def graphic_pieces(data: Any, package: Package, part: str, place: str) -> Iterator[Piece]:
    """Yield the pieces of a chart or diagram of a part; none of another drawing. A note names what cannot be read."""
    chart, diagram = data.find(f"{_CHART}chart"), data.find(f"{_DIAGRAM}relIds")
    name = "" if chart is None else relation_of(chart)
    name = name if diagram is None else relation_of(diagram, "dm")
    root = package.root(package.related(part).get(name, ""))
    if len(root):
        yield from (_diagram if chart is None else _chart)(root, place)
    elif name or _NEW_CHART in data.get("uri", ""):
        package.notes.append(f"{place}: a chart or diagram was not read")


def _chart(root: Any, place: str) -> Iterator[Piece]:
    """Yield the title of a chart, and a row for each category, with a column for each series, or point of a scatter chart."""
    title = root.find(f"{_CHART}chart/{_CHART}title")
    if title is not None:
        text = "".join(one.text or "" for one in title.iter(f"{_MAIN}t"))
        yield Piece(BlockKind.PARAGRAPH, squeeze(text), place=place)
    for plot in root.iter(f"{_CHART}plotArea"):
        bars = []
        for series in plot.iter(f"{_CHART}ser"):
            if series.find(f"{_CHART}xVal") is None:
                bars.append(series)
                continue
            columns = [_points(series, tag) for tag in ("xVal", "yVal", "bubbleSize")]
            names = dict.fromkeys(columns[0] | columns[1], _name(series))
            yield from _table(["", "x", "y", "size"], [names, *columns], place)
        if bars:
            labels: dict[int, str] = reduce(lambda known, one: _points(one, "cat") | known, bars, {})
            yield from _table(["", *map(_name, bars)], [labels, *(_points(one, "val") for one in bars)], place)


def _table(names: Sequence[str], columns: Sequence[dict[int, str]], place: str) -> Iterator[Piece]:
    yield header_piece(names, place)
    for number in sorted({number for column in columns for number in column}):
        yield row_piece(names, [column.get(number, "") for column in columns], place)


def _name(series: Any) -> str:
    return squeeze(" ".join(_points(series, "tx").values()))


def _points(series: Any, tag: str) -> dict[int, str]:
    """The values that a chart stores of its data, by their numbers. Of several levels of labels the outer ones come first."""
    data, found = series.find(f"{_CHART}{tag}"), dict[int, str]()
    if data is None:
        return found
    for level in list(data.iter(f"{_CHART}lvl")) or [data]:
        for point in level.iter(f"{_CHART}pt"):
            text, number = point.findtext(f"{_CHART}v") or "", int(point.get("idx", "0"))
            with suppress(ValueError):  # a number without the noise of its binary form; other text stays
                text = f"{float(text):.15g}"
            found[number] = f"{text} {found.get(number, '')}".strip()
    return found or ({0: text} if (text := data.findtext(f"{_CHART}v")) else {})


def _diagram(root: Any, place: str) -> Iterator[Piece]:
    links = (one for one in root.iter(f"{_DIAGRAM}cxn") if one.get("type", "parOf") == "parOf")
    above = {one.get("destId"): one.get("srcId") for one in links}
    for point in root.iter(f"{_DIAGRAM}pt"):
        if point.get("type", "node") not in {"node", "asst"}:
            continue
        depth, parent = 0, above.get(point.get("modelId"))
        while parent in above and depth < len(above):
            depth, parent = depth + 1, above[parent]
        lines = ("".join(one.text or "" for one in line.iter(f"{_MAIN}t")) for line in point.iter(f"{_MAIN}p"))
        yield Piece(BlockKind.ITEM, squeeze(" ".join(lines)), depth + 1, place=place)
