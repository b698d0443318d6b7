"""What Office files have in common: raised and lowered characters, the signs of symbol fonts, comments, the place of asides,
headers and footers, the order in which a slide is read, formulas (Office Math) in one line, as in
`x = (-b ± √(b^2 - 4ac))/(2a)`, charts as tables of their data, and diagrams as lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from hoptrail.documents.blocks import Piece
from hoptrail.documents.markup import lowered, raised
from hoptrail.documents.sheet_rows import header_piece, row_piece
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DEEPEST_STYLE = 20
ASIDES = ("footnote ", "endnote ", "comment ", "text box ", "drawing ")
"""How the places of asides begin."""


Item = TypeVar("Item")


def inherited(style: Item | None, parent: Callable[[Item], Item | None]) -> Iterator[Item]:
    """Yield a style and those that it inherits from. A chain of more than `_DEEPEST_STYLE` is a cycle."""
    for _ in range(_DEEPEST_STYLE):
        if style is None:
            return
        yield style
        style = parent(style)


def comment_head(author: str, date: str) -> str:
    """What stands before the text of a comment: `Comment by Ada Brun on 2024-03-05`."""
    by, on = squeeze(author), find_date(date[:10])
    return f"Comment{f' by {by}' if by else ''}{f' on {on}' if on else ''}"


def asides_after_lists(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Move asides within a list, or between a list and its lead, behind the list, so that the list stays whole."""
    waiting: list[Piece] = []
    before_list = False
    for piece in pieces:
        if piece.place.startswith(ASIDES):
            waiting.append(piece)
        else:
            if piece.kind is not BlockKind.ITEM:
                yield from waiting
                waiting = []
            before_list = piece.kind is BlockKind.ITEM or piece.text.endswith((":", "："))
            yield piece
        if not before_list:
            yield from waiting
            waiting = []
    yield from waiting


def below_no_heading(parts: Iterable[Iterable[Piece]], furniture: int = 0) -> Iterator[Piece]:
    """Yield the pieces of headers and footers, each text once. Those with at most so many words and no digits, `furniture`, are
    left out.
    """
    yield Piece(BlockKind.HEADING)
    known: set[str] = set()
    for part in parts:
        pieces = [piece for piece in part if piece.text.strip() or piece.cells]
        text = "\n".join(piece.text or "\t".join(value for _, value in piece.cells) for piece in pieces)
        if text not in known and (len(text.split()) > furniture or any(map(str.isdigit, text))):
            yield from pieces
        known.add(text)


def shifted(text: str, before: str, *, is_raised: bool) -> str:
    """Superscript or subscript after this text, with the spaces around it."""
    shown = text.strip()
    return text.replace(shown, raised(before, shown) if is_raised else lowered(shown), 1) if shown else text


_SYMBOL_FONTS = {
    "symbol": str.maketrans(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "¡¢£¤¥¦§¨©ª«¬\xad®¯°±²³´µ¶·¸¹º»¼ÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàåò",
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"
        "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊∑∫",
    ),
    "wingdings": str.maketrans("oqr¨ûüýþ(*JLlnu§Øxßàáâèð", "☐☐☐☐✗✓☒☑☎✉☺☹●■◆▪➢☒←→↑↓➔⇨"),
    "wingdings 2": str.maketrans("OPQRST£", "✗✓☒☑☒☒☐"),
    "webdings": str.maketrans("acgr", "✓☐■✗"),
}
"""The signs of fonts that have them in place of letters."""

UNKNOWN_SIGN = "\N{REPLACEMENT CHARACTER}"


def symbols(text: str, font: str) -> str:
    """The signs that this text shows in this font, as Unicode. Of a symbol font, an unknown one becomes `UNKNOWN_SIGN`; text in
    other fonts stays.
    """
    signs = _SYMBOL_FONTS.get(font.lower())
    if signs is None:
        return text
    keeps_ascii = font.lower() == "symbol"  # which has digits and signs of ASCII in their usual places

    def shown(code: str) -> str:
        if ord(code) in signs:
            return chr(signs[ord(code)])
        return code if code.isspace() or code > "\xff" or (keeps_ascii and code.isascii()) else UNKNOWN_SIGN

    return "".join(shown(chr(ord(one) & 0xFF) if "\uf000" <= one <= "\uf0ff" else one) for one in text)


_OVERLAP = 0.1
"""The share of its size by which a box may reach into the next one."""


class Box(NamedTuple):
    """The edges of a shape, from the upper left corner of its page in any unit."""

    left: float
    top: float
    right: float
    bottom: float


def in_reading_order(shapes: Sequence[Item], box_of: Callable[[Item], Box | None]) -> list[Item]:
    """The shapes from top to bottom, those beside each other from left to right; as they are if the place of one is not known."""
    boxes = [box_of(shape) for shape in shapes]
    placed = [(box, shape) for box, shape in zip(boxes, shapes, strict=True) if box is not None]
    return [shape for _, shape in _ordered(placed)] if len(placed) == len(shapes) else list(shapes)


def _ordered(placed: list[tuple[Box, Item]]) -> list[tuple[Box, Item]]:
    if len(placed) < 2:
        return placed
    columns, between_columns = _apart(placed, 0)
    rows, between_rows = _apart(placed, 1)
    parts = columns if len(rows) == 1 or (len(columns) > 1 and between_columns > between_rows) else rows
    if len(parts) == 1:
        return sorted(placed, key=lambda one: (one[0].top, one[0].left))
    return [one for part in parts for one in _ordered(part)]


def _apart(placed: list[tuple[Box, Item]], axis: int) -> tuple[list[list[tuple[Box, Item]]], float]:
    """The groups of boxes that no box joins in this direction (0 across, 1 down), and the widest gap between them."""
    groups: list[list[tuple[Box, Item]]] = []
    end, widest = float("-inf"), float("-inf")
    for one in sorted(placed, key=lambda one: one[0][axis]):
        start, stop = one[0][axis], one[0][axis + 2]
        if not groups or start < end - _OVERLAP * (stop - start):
            groups = groups or [[]]
            groups[-1].append(one)
        else:
            widest = max(widest, start - end)
            groups.append([one])
        end = max(end, stop)
    return groups, widest


MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PROPERTIES = "Pr"


def formula_text(element: Any) -> str:
    """The text of a formula or of a part of it."""
    tag = str(element.tag).removeprefix(MATH)
    if tag == "t":
        return element.text or ""
    if tag in _SHAPES:
        shape, parts = _SHAPES[tag]
        return shape.format(*(_grouped(_part(element, part)) for part in parts))
    if tag == "d":
        begin, separator, end = (
            _character(element, *one) for one in (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
        )
        return begin + separator.join(formula_text(one) for one in element.findall(f"{MATH}e")) + end
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
