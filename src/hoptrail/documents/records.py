"""Parses records: JSON, YAML and XML files, and tables as text (CSV, TSV), whose rows have the headers of their columns.

A list of records becomes rows, an object headings with a row for each value. The headers of a row are the paths of its values
(`address.city`). JSON lines are a list of records. Of YAML all documents of a file are read, and aliases are followed up to the
limit on values. A value stays as it is written, whatever type it stands for: `NO`, `007`, `12:30`, `1.10`.

The delimiter of a table (comma, semicolon, tab or bar) is detected from its rows. Lines without one before it are paragraphs.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import yaml
from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.html import html_pieces, parse_html
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import unwrapped
from hoptrail.documents.sheet_rows import GridRow, sheet_pieces
from hoptrail.types import BlockKind

_LONG = 200  # characters. A longer value becomes a paragraph, not a cell.
_NAMES = ("title", "name", "subject", "label", "id", "_id", "key")  # keys that name a record, best first
_TAG = re.compile(r"</[A-Za-z][\w:-]*\s*>|<(?:br|hr|img|li|p)\b[^<>]*>", re.IGNORECASE)
"""What shows that a text is a page, as in feeds; `List<String>` is none."""
_XHTML = "{http://www.w3.org/1999/xhtml}"
_VALUES_PER_ROW = 50  # values visited at most per row of the limit: YAML aliases can make a short file endless
_NESTED = (dict, list)


class _Entry(dict[object, object]):
    """A record that is a row wherever it stands: a short text with the attributes of its element."""


@dataclass(slots=True)
class _Rendering:
    limits: ReadingLimits
    _visited: int = 0

    def pieces(self, value: object, path: str = "", level: int = 1) -> Iterator[Piece]:
        """The pieces of the value of any shape at `path`; a heading within it has `level`."""
        if isinstance(value, _Entry):
            yield self._row(value, path or "value")
        elif isinstance(value, dict):
            yield from self._object(value, path, level)
        elif isinstance(value, list):
            yield from self._list(value, path, level)
        elif text := self._scalar(value):
            yield Piece(BlockKind.PARAGRAPH, text, place=path or "value")

    def _object(self, value: dict[object, object], path: str, level: int) -> Iterator[Piece]:
        """A row for each plain value, then the nested and the long values, each under a heading."""
        later = []
        for key, inner in value.items():
            text = "" if isinstance(inner, _NESTED) else self._scalar(inner)
            if text and not _is_long(text):
                yield Piece(BlockKind.ROW, cells=((str(key), text),), place=_under(path, str(key)), labelled=True)
            else:
                later.append((str(key), inner))
        for name, inner in later:
            place = _under(path, name)
            if level > DEEPEST_HEADING:
                yield self._row({name: inner}, place)
                continue
            for number, piece in enumerate(self.pieces(inner, place, level + 1)):
                if not number:
                    yield Piece(BlockKind.HEADING, name, level, place=place)
                yield piece

    def _list(self, value: list[object], path: str, level: int) -> Iterator[Piece]:
        if len(value) > self.limits.rows:
            raise Unreadable(f"has more than {self.limits.rows} records: split it, or raise the limit `rows`")
        records = [inner for inner in value if isinstance(inner, dict)]
        records += [inner for record in records for inner in record.values() if isinstance(inner, dict)]
        texts = any(isinstance(text, str) and _is_long(text.strip()) for record in records for text in record.values())
        for number, inner in enumerate(value, 1):
            place = f"{path}, record {number}" if path else f"record {number}"
            if isinstance(inner, dict) and texts:
                yield from self._section(inner, place, number, level)
            elif isinstance(inner, _NESTED):
                row = self._row(inner if isinstance(inner, dict) else {"": inner}, place)
                if row.cells:
                    yield row
            elif text := self._scalar(inner):
                yield Piece(BlockKind.ITEM, text, 1, place=place)

    def _section(self, record: dict[object, object], place: str, number: int, level: int) -> Iterator[Piece]:
        """A record in a list with long texts: a heading with its name, a row of its short values, and paragraphs."""
        cells = list(self._flat(record, ""))
        texts = [cell for cell in cells if _is_long(cell[1])]
        short = tuple(cell for cell in cells if not _is_long(cell[1]))
        by_key = {key.lower(): value for key, value in short}
        heading = next((by_key[name] for name in _NAMES if name in by_key), f"Record {number}")
        yield Piece(BlockKind.HEADING, heading, level, place=place)
        yield Piece(BlockKind.ROW, cells=short, place=place, labelled=True)
        for key, text in texts:
            if len(texts) > 1:
                yield Piece(BlockKind.HEADING, key, level + 1, place=place)
            yield Piece(BlockKind.PARAGRAPH, text, place=f"{place}, {key}")

    def _row(self, value: dict[object, object], place: str) -> Piece:
        return Piece(BlockKind.ROW, cells=tuple(self._flat(value, "")), place=place, labelled=True)

    def _flat(self, value: object, path: str) -> Iterator[tuple[str, str]]:
        """Yield the path and text of every value within; a list of plain values is one value."""
        if isinstance(value, list) and any(isinstance(inner, _NESTED) for inner in value):
            value = dict(enumerate(value, 1))
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from self._flat(inner, _under(path, str(key)))
        elif text := ", ".join(filter(None, map(self._scalar, value if isinstance(value, list) else [value]))):
            yield path, text

    def _scalar(self, value: object) -> str:
        self._visited += 1
        most = _VALUES_PER_ROW * self.limits.rows
        if self._visited > most:
            raise Unreadable(f"gives more than {most} values: the limit `rows`, 50 values each")
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()


def _is_long(text: str) -> bool:
    return len(text) > _LONG or "\n" in text


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _title(value: object) -> str:
    name = (value.get("title") or value.get("name")) if isinstance(value, dict) else ""
    return name if isinstance(name, str) else ""


def parse_json(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file. The title is the `title` or `name` of the outermost object, if it has one."""
    decoded = decode(data)
    try:
        value, notes = _load(decoded.text)
        return assemble(_title(value), _Rendering(limits).pieces(value), (*decoded.notes, *notes), limits.text)
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None


def _load(text: str) -> tuple[object, list[str]]:
    """The value of the text; else the values of its lines, and notes on the broken lines if these are the minority."""
    try:
        return _as_written(text), []
    except ValueError as error:
        values, notes = list[object](), list[str]()
        for number, line in enumerate(text.split("\n"), 1):
            try:
                values += [_as_written(line)] if line.strip() else []
            except ValueError:
                notes.append(f"line {number} is not JSON and was left out")
        if len(values) < 2 or len(notes) >= len(values) or not any(isinstance(value, dict) for value in values):
            raise Unreadable(f"is not JSON ({error})") from error
        return values, notes


def _as_written(text: str) -> object:
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_record)


def _record(pairs: Iterable[tuple[Any, object]]) -> dict[object, object]:
    """The values by their keys: a list of them where a key is repeated."""
    values: dict[object, list[object]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {key: known[0] if len(known) == 1 else known for key, known in values.items()}


class _Loader(yaml.SafeLoader):
    """Leaves every scalar but null as it is written, ignores tags, and joins the values of a list that is a key."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {}
    yaml_implicit_resolvers = {  # noqa: RUF012 - as declared there
        first: [(tag, pattern) for tag, pattern in known if tag.endswith((":null", ":merge"))]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _key(value: Any) -> Hashable:
    if isinstance(value, dict):
        value = [f"{key}: {inner}" for key, inner in value.items()]
    key: Hashable = ", ".join(map(str, value)) if isinstance(value, list) else value
    return key


def _untagged(loader: _Loader, tag: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        is_merged = any(key.tag.endswith(":merge") for key, _ in node.value)  # whose own keys replace those merged
        loader.flatten_mapping(node)
        pairs = ([loader.construct_object(part, deep=True) for part in pair] for pair in node.value)
        values = (dict if is_merged else _record)((_key(key), value) for key, value in pairs)
        return list(values) if tag.endswith(":set") else values
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    text: str = loader.construct_scalar(node)  # type: ignore[arg-type]
    return None if tag.endswith(":null") else text


_Loader.add_multi_constructor("", _untagged)


def parse_yaml(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file. The title is the `title` or `name` of the first document, if it has one."""
    decoded = decode(data)
    try:
        documents = list(yaml.load_all(decoded.text, Loader=_Loader))
        return assemble(_title(next(iter(documents), "")), _pieces(documents, limits), decoded.notes, limits.text)
    except yaml.YAMLError as error:
        raise Unreadable(f"is not YAML ({' '.join(str(error).split())[:200]})") from error
    except (RecursionError, ValueError) as error:
        raise Unreadable(f"is nested too deep, or holds an impossible value ({str(error)[:100]})") from None


def _pieces(documents: Sequence[object], limits: ReadingLimits) -> Iterator[Piece]:
    level = 1 if len(documents) == 1 else 2
    for number, document in enumerate(documents, 1):
        if level > 1:
            yield Piece(BlockKind.HEADING, f"Document {number}", 1, place=f"document {number}")
        yield from _Rendering(limits).pieces(document, level=level)


def parse_xml(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file, whose elements are records of attributes and of the elements in them. It expands and fetches nothing."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data.lstrip(), parser)
        if root.tag == f"{_XHTML}html" and not root.prefix:
            return parse_html(data, limits)
        for line_break in root.iter("{*}br"):
            line_break.tail = f"\n{line_break.tail or ''}"
        value = _of_element(root)
        return assemble(_title(value), _Rendering(limits).pieces(value), (), limits.text)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"is not XML ({error})") from error
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None


def _of_element(element: Any) -> object:
    """The text of an element if it has some beside elements or entities, else its attributes and values; no files."""
    if element.get("encoding") == "base64" or _name(element.tag) == "binary":
        return ""
    if element.tag.startswith(_XHTML) and not element.prefix:
        return assemble("", html_pieces(etree.tostring(element, encoding="unicode", with_tail=False))).text
    children = list(element.iterchildren("*"))
    before, *behind = (part or "" for part in (element.text, *(child.tail for child in element)))
    has_blocks = before.rstrip(" \t").endswith("\n") or "" in behind[:-1]  # on lines of their own, or side by side
    if len(children) < len(element) or any(map(str.strip, behind)) or (before.strip() and not has_blocks):
        before, children = "".join(element.itertext()), []
    text = unwrapped("\n".join(map(str.strip, before.strip().split("\n"))))
    text = assemble("", html_pieces(text)).text if _TAG.search(text) else text
    if not element.attrib and not children:
        return text
    within = ((child.tag, _of_element(child)) for child in children)
    named = [*element.attrib.items(), *[("text", text)] * bool(text), *within]
    values = _record((_name(name), value) for name, value in named)
    return _Entry(values) if text and not (children or _is_long(text)) else values


def _name(tag: str) -> str:
    return tag.rpartition("}")[2]  # without its namespace


_DELIMITERS = ",;\t|"
_SAMPLE = 100  # rows examined to detect the delimiter
_LONGEST_CELL = 20  # lines in a cell. More mean that a quotation mark was literal (as for inches) and never closed.


def parse_csv(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file into rows, numbered as in a spreadsheet."""
    decoded = decode(data)
    text, declared = decoded.text, ""
    if text.lower().startswith("sep=") and text[5:6] == "\n":  # which declares the delimiter to Excel
        text, declared = text[6:], text[4]
    delimiter = declared or max(_DELIMITERS, key=partial(_regularity, text))
    closed = all(cell.count("\n") <= _LONGEST_CELL for row in _cells_of(text, delimiter) for cell in row)
    notes = decoded.notes if closed else (*decoded.notes, "a quotation mark is never closed: all were read literally")
    return assemble("", _rows(_cells_of(text, delimiter, quoted=closed), "row", limits), notes, limits.text)


def parse_tabbed(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse text whose lines have cells between tabs, in which quotation marks mean nothing."""
    decoded = decode(data)
    return assemble("", _rows(_cells_of(decoded.text, "\t", quoted=False), "line", limits), decoded.notes, limits.text)


def _rows(rows: Iterator[list[str]], place: str, limits: ReadingLimits) -> Iterator[Piece]:
    return sheet_pieces((GridRow(f"{place} {number}", cells) for number, cells in enumerate(rows, 1)), limits)


def _cells_of(text: str, delimiter: str, *, quoted: bool = True) -> Iterator[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))  # of the whole process, so it is never lowered
    lines, skips = io.StringIO(text, newline="\n"), delimiter != "\t"
    return csv.reader(
        lines, delimiter=delimiter, skipinitialspace=skips, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    )


def _regularity(text: str, delimiter: str) -> tuple[float, int]:
    """The share of rows with the most common number of cells, and that number: the higher, the likelier the delimiter."""
    sample = text[: text.find("\n", 200_000) + 1 or 200_000]
    rows = [len(row) for row in islice(_cells_of(sample, delimiter), _SAMPLE) if row]
    counts = Counter(cells for cells in rows if cells > 1)
    cells, times = counts.most_common(1)[0] if counts else (0, 0)
    return round(times / max(1, len(rows)), 2), cells
