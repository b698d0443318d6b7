"""The text of a Word file (.docx): paragraphs and tables in the order of the document.

Changes that are tracked count as accepted. Leaves out headers, footers, footnotes, comments, text boxes, formulas and
pictures. The archive is checked before anything is unpacked, and XML with a document type is refused, so no entity is ever
expanded and nothing is fetched. Meant to run in the child process.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from hoptrail.documents.limits import MIB, ReadingLimits
from hoptrail.documents.text import Parsed, Unreadable

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_OLD_WORD = bytes.fromhex("d0cf11e0a1b11ae1")
_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _RUN, _TABLE, _ROW, _CELL = (f"{_NAMESPACE}{tag}" for tag in ("p", "r", "tbl", "tr", "tc"))
# python-docx reads none of what stands in these but hyperlinks. Not among them: `del` and `moveFrom`, whose text is gone.
_WRAPPERS = {
    f"{_NAMESPACE}{tag}"
    for tag in (
        *("ins", "moveTo", "sdt", "sdtContent", "customXml", "smartTag", "fldSimple", "hyperlink", "dir", "bdo"),
        *("ruby", "rubyBase"),
    )
}


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (from the properties, else the first paragraph in the style Title) and text, paragraphs parted by a blank line.

    Raises:
        Unreadable: not a Word file, damaged, beyond a limit, or with XML that is not safe to parse.
    """
    if data.startswith(_OLD_WORD):
        raise Unreadable("is an old or an encrypted Word file: save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, limits)
            _check_xml(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"is not a Word file, or a damaged one ({error})") from error
    document = _opened(data)
    return Parsed(_title(document), _text(document, limits))


def _check_sizes(archive: zipfile.ZipFile, limits: ReadingLimits) -> None:
    """What the archive says of itself; `zipfile` gives up on a member that unpacks to more than it says."""
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.members:
        raise Unreadable(f"holds {len(members)} files, more than the limit of {limits.members}")
    if unpacked > limits.unpacked:
        raise Unreadable(f"unpacks to {unpacked} bytes, more than the limit of {limits.unpacked}")
    if unpacked > 16 * MIB and unpacked > limits.expansion * packed:
        raise Unreadable(f"unpacks to more than {limits.expansion} times its size: looks like a zip bomb")


def _check_xml(archive: zipfile.ZipFile) -> None:
    """Every member, whatever its name: the archive's own list of types decides which of them are parsed as XML."""
    for name in archive.namelist():
        with archive.open(name) as member:
            _refuse_document_type(name, member)


class _RootReached(Exception):
    """Nothing before the first element was wrong; a document type cannot come later."""


def _refuse_document_type(name: str, member: IO[bytes]) -> None:
    """What is not XML is let pass: whether that matters is for the Word parser to say."""

    def refuse(*_: object) -> None:
        raise Unreadable(f"declares an XML document type in {name}: not safe to parse, and no Word file needs one")

    def stop(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with contextlib.suppress(_RootReached, expat.ExpatError):
        while chunk := member.read(65536):
            parser.Parse(chunk)


def _opened(data: bytes) -> WordDocument:
    from docx import Document
    from docx.opc.exceptions import PackageNotFoundError
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    try:
        return Document(io.BytesIO(data))
    except (PackageNotFoundError, XMLSyntaxError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise Unreadable(f"is not a Word file, or a damaged one ({error})") from error


def _title(document: WordDocument) -> str:
    from docx.text.paragraph import Paragraph

    named = str(document.core_properties.title or "").strip()
    if named:
        return named
    for paragraph in islice(_within(document.element.body, _PARAGRAPH), 20):
        style = Paragraph(paragraph, document).style
        text = _paragraph(paragraph)
        if style is not None and style.name == "Title" and text.strip():
            return text
    return ""


def _text(document: WordDocument, limits: ReadingLimits) -> str:
    pieces: list[str] = []
    room = limits.text
    for block in _within(document.element.body, _PARAGRAPH, _TABLE):
        lines = []
        for line in _lines(block):
            room -= len(line)
            if room < 0:
                raise Unreadable(
                    f"gives more than {limits.text} characters of text: split it, or raise the limit `text`"
                )
            lines.append(line)
        piece = "\n".join(lines)
        if piece.strip():
            pieces.append(piece)
    return "\n\n".join(pieces)


def _within(element: Any, *tags: str) -> Iterator[Any]:
    """The elements with these tags in `element`, in order, also those in wrappers. The XML parser bounds the depth."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, *tags)


def _lines(block: Any) -> Iterator[str]:
    """A paragraph, or a table's rows."""
    if block.tag == _TABLE:
        yield from _rows(block)
    else:
        yield _paragraph(block)


def _paragraph(element: Any) -> str:
    """The text of its runs; a run that holds others has characters with their reading above (`ruby`)."""
    return "".join(run.text + _paragraph(run) for run in _within(element, _RUN))


def _rows(table: Any) -> Iterator[str]:
    """A line a row, cells parted by tabs; a merged cell is said once in every row that it reaches into."""
    above: dict[int, str] = {}
    for row in _within(table, _ROW):
        column = row.grid_before
        cells: dict[int, str] = {}
        for cell in _within(row, _CELL):
            goes_on = cell.vMerge == "continue"
            cells[column] = above.get(column, "") if goes_on else _cell(cell)
            column += max(cell.grid_span, 1)
        yield "\t".join(cells.values())
        above = cells


def _cell(cell: Any) -> str:
    """On one line, tables in it as well."""
    blocks = _within(cell, _PARAGRAPH, _TABLE)
    return " ".join(word for block in blocks for line in _lines(block) for word in line.split())
