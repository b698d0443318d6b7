"""Reads the charts and diagrams of Word and PowerPoint files: a chart as a table of its data, a diagram as a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoptrail.documents.blocks import Piece
from hoptrail.documents.sheet_rows import header_piece, row_piece
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
GRAPHIC = f"{_MAIN}graphicData"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_NEW_CHART = "chartex"
"""In the namespaces of kinds of charts that came later, such as waterfalls."""


def graphic_pieces(data: Any, part: Any, place: str, unread: list[str]) -> list[Piece]:
    """The pieces of a chart or diagram of a part; none of another drawing. What cannot be read is named in `unread`."""
    from lxml import etree  # type: ignore[import-untyped]

    chart, diagram = data.find(f"{_CHART}chart"), data.find(f"{_DIAGRAM}relIds")
    name = chart.get(f"{_RELATIONS}id") if chart is not None else None
    name = diagram.get(f"{_RELATIONS}dm") if diagram is not None else name
    if name in part.rels:
        target = part.rels[name].target_part
        root = etree.fromstring(target.blob, etree.XMLParser(resolve_entities=False))
        return list(_chart(root, place) if chart is not None else _diagram(root, place))
    if name or _NEW_CHART in data.get("uri", ""):
        unread.append(f"{place}: a chart or diagram was not read")
    return []


def _chart(root: Any, place: str) -> Iterator[Piece]:
    """Yield the title of a chart, and a row for each category with a column for each series; of a scatter chart a row for each
    point.
    """
    title = root.find(f"{_CHART}chart/{_CHART}title")
    if title is not None:
        words = "".join(one.text or "" for one in title.iter(f"{_MAIN}t"))
        yield Piece(BlockKind.PARAGRAPH, squeeze(words), place=place)
    for plot in root.iter(f"{_CHART}plotArea"):
        series = list(plot.iter(f"{_CHART}ser"))
        points = [one for one in series if one.find(f"{_CHART}xVal") is not None]
        for one in points:
            columns = [_points(one.find(f"{_CHART}{tag}")) for tag in ("xVal", "yVal", "bubbleSize")]
            names = ["", "x", "y", "size"]
            yield header_piece(names, place)
            for number in sorted({*columns[0], *columns[1]}):
                yield row_piece(names, [_name(one), *(column.get(number, "") for column in columns)], place)
        if bars := [one for one in series if one not in points]:
            yield from _table(bars, place)


def _table(series: list[Any], place: str) -> Iterator[Piece]:
    names = ["", *map(_name, series)]
    labels: dict[int, str] = {}
    for one in series:
        labels = {**_points(one.find(f"{_CHART}cat")), **labels}
    values = [_points(one.find(f"{_CHART}val")) for one in series]
    yield header_piece(names, place)
    for number in sorted({*labels, *(key for column in values for key in column)}):
        yield row_piece(names, [labels.get(number, ""), *(column.get(number, "") for column in values)], place)


def _name(series: Any) -> str:
    return squeeze(" ".join(_points(series.find(f"{_CHART}tx")).values()))


def _points(data: Any) -> dict[int, str]:
    """The values that a chart stores of its data, by their numbers. Of several levels of labels the outer ones come first."""
    found: dict[int, str] = {}
    levels = list(data.iter(f"{_CHART}lvl")) or [data] if data is not None else []
    for level in levels:
        for point in level.iter(f"{_CHART}pt"):
            text, number = point.findtext(f"{_CHART}v") or "", int(point.get("idx", "0"))
            found[number] = f"{_shown(text)} {found.get(number, '')}".strip()
    if data is not None and not found:
        found = {0: text} if (text := data.findtext(f"{_CHART}v")) else {}
    return found


def _shown(text: str) -> str:
    """A number without the noise of its binary form; other text stays."""
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text


def _diagram(root: Any, place: str) -> Iterator[Piece]:
    """Yield the texts of a diagram in order, each at its depth."""
    above = {
        one.get("destId"): one.get("srcId")
        for one in root.iter(f"{_DIAGRAM}cxn")
        if one.get("type", "parOf") == "parOf"
    }
    for point in root.iter(f"{_DIAGRAM}pt"):
        if point.get("type", "node") not in {"node", "asst"}:
            continue
        depth, parent = 0, above.get(point.get("modelId"))
        while parent in above and depth < len(above):
            depth, parent = depth + 1, above[parent]
        lines = ("".join(one.text or "" for one in line.iter(f"{_MAIN}t")) for line in point.iter(f"{_MAIN}p"))
        yield Piece(BlockKind.ITEM, squeeze(" ".join(lines)), depth + 1, place=place)
