"""Parses Org files (Emacs): outline, lists, tables, source and quote blocks, properties, planning lines.

Task states (`TODO`) and checkboxes stay in the text; tags, priorities and comments are left out. Nothing is evaluated or
included. Every line is read once, so time is linear.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import Flow, TableCell, table_rows, unwrapped
from hoptrail.text.dates import find_date
from hoptrail.types import BlockKind

_HEADING = re.compile(r"(\*+)[ \t](.*)")
_COMMENTED = re.compile(r"(?:(?:TODO|DONE)[ \t]+)?COMMENT(?:[ \t]|$)")
_PLANNING = re.compile(r"[ \t]*(?:CLOSED|DEADLINE|SCHEDULED|CLOCK):[ \t]")
_TAGS = re.compile(r"(?<![ \t])[ \t]+:[\w@#%:]+:[ \t]*$")
_PRIORITY = re.compile(r"\[#\w\][ \t]*")
_BLOCK = re.compile(r"[ \t]*#\+begin_(?P<name>\S+)", re.IGNORECASE)
_KEYWORD = re.compile(r"[ \t]*#\+[\w-]+(?:\[[^\]\n]*\])?:")
_PROPERTIES = re.compile(r"[ \t]*:properties:[ \t]*$", re.IGNORECASE)
_PROPERTY = re.compile(r"[ \t]*:(?!end:)([^\s:]+):(?:[ \t]+(.*))?$", re.IGNORECASE)
_SKIPPED = re.compile(r"[ \t]*(?:#(?:[ \t]|\+|$)|:[\w-]+:[ \t]*$|-{5,}[ \t]*$|$)")
"""A comment, the beginning or end of a drawer, a rule, a blank line."""
_FIXED = re.compile(r"[ \t]*:(?:[ \t]|$)")
_ROW = re.compile(r"[ \t]*\|")
_RULE_IN_TABLE = re.compile(r"[ \t]*\|-[-+|: \t]*$")
_WIDTH = re.compile(r"(?:<[lcr]?\d*>)?")
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:[-+]|(?<=[ \t])\*|(?P<number>(?:\d+|[A-Za-z])[.)]))(?:[ \t]+(?:\[@\d+\][ \t]*)?(?P<text>.*)|$)"
)
_DEFINES = re.compile(r"[ \t]::(?:\s+|$)")

_LINK = re.compile(r"\[\[(?P<target>[^\[\]\n]+)\](?:\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])+)\])?\]|@@[\w-]+:[^\n]*?@@")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp)\Z", re.IGNORECASE)
_TIME = re.compile(r"[<\[](\d{4}-\d\d-\d\d[^<>\[\]\n]{0,40})[>\]]")
_ADDRESS = re.compile(r"<(\w+:[^<>\s]+)>")
_NOTE = re.compile(r"\[fn:([\w-]+)\]")
_MARKED = re.compile(r"""(?<![^\s\-–—({'"])([*/_=~+])(?=\S)([^\n]{0,400}?\S)\1(?![^\s\-–—.,;:!?'")}\[\]\\])""")
_LOWERED = re.compile(r"[_^]\{([^{}\n]*)\}")
_ESCAPED = re.compile(r"^([ \t]*),(?=\*|#\+|,)", re.MULTILINE)

_CODE = frozenset(("src", "example"))
_LEFT_OUT = frozenset(("comment", "export"))
_QUOTES = frozenset(("quote", "verse"))
_SHOWN_KEYWORDS = ("author", "date", "subtitle", "description", "filetags")  # keywords with information about the file
_NAMES = frozenset(("id", "custom_id"))  # properties that only identify a heading


def parse_org(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (`#+TITLE`, else the first heading), date (`#+DATE`) and blocks."""
    decoded = decode(data)
    reader = _Reader(decoded.text)
    pieces = reader.read()
    keywords = tuple((key, reader.keywords[key]) for key in _SHOWN_KEYWORDS if key in reader.keywords)
    front = Piece(BlockKind.ROW, cells=keywords, place=reader.place_of_keywords, labelled=True)
    title = reader.keywords.get("title") or first_heading(pieces)
    date = find_date(reader.keywords.get("date", ""))
    return assemble(title, [front, *pieces], decoded.notes, limits.text, (date, "front matter"))


class _Reader:
    """Turns the lines of a file into pieces. Each method takes the lines of one element, starting with the next line."""

    def __init__(self, text: str) -> None:
        self.keywords: dict[str, str] = {}
        self.place_of_keywords = ""
        self.flow = Flow()
        self._lines = text.split("\n")
        self._ends = {line.strip().lower(): number for number, line in enumerate(self._lines) if "#+" in line}
        self._taken = 0
        self._indents: list[int] = []
        self._quotes: list[str] = []

    def read(self) -> list[Piece]:
        while self._taken < len(self._lines):
            line = self._lines[self._taken]
            take = self._taker(line) or _Reader._paragraph
            self._taken += 1
            take(self, f"line {self._taken}", line)
            self.flow.quotes = len(self._quotes)
        return self.flow.pieces

    def _taker(self, line: str) -> Callable[[_Reader, str, str], None] | None:
        return next((take for pattern, take in self._TAKERS if pattern.match(line)), None)

    def _take(self, goes_on: Callable[[str], object]) -> list[str]:
        """Take the lines from the next one on of which this holds."""
        start = self._taken
        while self._taken < len(self._lines) and goes_on(self._lines[self._taken]):
            self._taken += 1
        return self._lines[start : self._taken]

    def _close_lists(self, indent: int) -> None:
        """End the lists whose items have at least this indentation."""
        while self._indents and indent <= self._indents[-1]:
            self._indents.pop()
            self.flow.end_list()

    def _heading(self, place: str, line: str) -> None:
        self._close_lists(0)
        self._quotes.clear()
        [(stars, text)] = _HEADING.findall(line)
        text = _PRIORITY.sub("", _TAGS.sub("", f" {text}"), count=1).strip()
        if _COMMENTED.match(text):
            self._take(lambda line: not re.match(rf"\*{{1,{len(stars)}}}[ \t]", line))
        else:
            self.flow.add(Piece(BlockKind.HEADING, _visible_text(text), len(stars), place=place))

    def _planning(self, place: str, line: str) -> None:
        self.flow.add(Piece(BlockKind.PARAGRAPH, _visible_text(line.strip()), place=place))

    def _block(self, _place: str, line: str) -> None:
        self._close_lists(_indent(line))
        name = _BLOCK.split(line)[1].lower()
        self._quotes += [name] * (name in _QUOTES)
        is_closed = self._ends.get(f"#+end_{name}", 0) >= self._taken
        if name not in _CODE and not (name in _LEFT_OUT and is_closed):
            return
        place = f"line {self._taken + 1}"
        lines = self._take(lambda line: line.strip().lower() != f"#+end_{name}")
        self._taken += 1
        if name in _CODE:
            self.flow.code(_ESCAPED.sub(r"\1", textwrap.dedent("\n".join(lines))), place)

    def _keyword(self, place: str, line: str) -> None:
        """Write a caption as a paragraph; keep the keywords about the file for its title, date and first row."""
        name, _, text = line.strip().removeprefix("#+").partition(":")
        key, value = name.partition("[")[0].lower(), _visible_text(text).strip()
        if key == "caption":
            self.flow.add(Piece(BlockKind.PARAGRAPH, value, place=place))
        elif value and key in ("title", *_SHOWN_KEYWORDS):
            self.keywords[key] = f"{self.keywords[key]} {value}" if key in self.keywords else value
            self.place_of_keywords = self.place_of_keywords or place

    def _skip(self, _place: str, line: str) -> None:
        if self._quotes and line.strip().lower() == f"#+end_{self._quotes[-1]}":
            self._quotes.pop()

    def _properties(self, _place: str, _line: str) -> None:
        place = f"line {self._taken + 1}"
        pairs = (_PROPERTY.findall(line)[0] for line in self._take(_PROPERTY.match))
        cells = tuple((key, _visible_text(value)) for key, value in pairs if value and key.lower() not in _NAMES)
        self.flow.add(Piece(BlockKind.ROW, cells=cells, place=place, labelled=True))

    def _fixed(self, place: str, line: str) -> None:
        self._close_lists(_indent(line))
        lines = [one.strip().removeprefix(":").removeprefix(" ") for one in (line, *self._take(_FIXED.match))]
        self.flow.code("\n".join(lines), place)

    def _table(self, _place: str, line: str) -> None:
        """Rows above the first rule are headers if there are rows below it."""
        self._close_lists(_indent(line))
        rows: list[tuple[str, list[TableCell]]] = []
        heads, first = 0, self._taken
        for number, row in enumerate([line, *self._take(_ROW.match)], first):
            texts = row.strip().removeprefix("|").removesuffix("|").split("|")
            cells = [TableCell(_visible_text(text.strip())) for text in texts]
            if _RULE_IN_TABLE.match(row):
                heads = heads or len(rows)
            elif not all(_WIDTH.fullmatch(cell.text) for cell in cells):
                rows.append((f"line {number}", cells))
        self.flow.pieces += table_rows(rows, heads)

    def _item(self, place: str, line: str) -> None:
        number, text = _ITEM.findall(line)[0][1:]
        indent = _indent(line)
        self._close_lists(indent + 1)
        if not self._indents or indent > self._indents[-1]:
            self._indents.append(indent)
            self.flow.begin_list(ordered=bool(number))
        self.flow.item()
        lines = [text, *self._take(lambda line: _indent(line) > indent and self._taker(line) is None)]
        term, *definition = _DEFINES.split("\n".join(lines), maxsplit=1)
        text = f"{_visible_text(term)}: {_visible_text(definition[0])}" if definition else _join(lines)
        if text.strip():
            self.flow.text(text, place)

    def _paragraph(self, place: str, line: str) -> None:
        self._close_lists(_indent(line))
        self.flow.text(_join([line, *self._take(lambda line: self._taker(line) is None)]), place)

    _TAKERS = (
        (_HEADING, _heading),
        (_PLANNING, _planning),
        (_BLOCK, _block),
        (_KEYWORD, _keyword),
        (_PROPERTIES, _properties),
        (_SKIPPED, _skip),
        (_FIXED, _fixed),
        (_ROW, _table),
        (_ITEM, _item),
    )
    """The first pattern that a line matches decides on its method."""


def _indent(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def _join(lines: list[str]) -> str:
    written = "\n".join(line.strip() for line in lines)
    return unwrapped(_visible_text(written), written)


def _visible_text(text: str) -> str:
    """Text without its markup: links show their description, times lose their brackets."""
    text = _LINK.sub(_link_text, text)
    text = _NOTE.sub(r"[\1]", _ADDRESS.sub(r"\1", _TIME.sub(r"\1", text)))
    return _LOWERED.sub(r"\1", _without_marks(text)).replace("\\\\\n", "\n")


def _link_text(link: re.Match[str]) -> str:
    target = link["target"] or ""  # a comment, or what is for one format only, has none
    return link["text"] or ("" if _PICTURE.search(target) else target.removeprefix("file:").lstrip("*#"))


def _without_marks(text: str) -> str:
    return _MARKED.sub(lambda match: match[2] if match[1] in "=~" else _without_marks(match[2]), text)
