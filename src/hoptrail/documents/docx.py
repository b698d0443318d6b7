"""The text of a Word file (.docx): paragraphs and tables in the order of the document.

Leaves out headers, footers, footnotes, comments, text boxes and pictures. The archive is checked before anything
is unpacked, and XML with a document type is refused, so no entity is ever expanded and nothing is fetched.
Meant to run in the child process.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING
from xml.parsers import expat

from hoptrail.documents.limits import MIB, ReadingLimits
from hoptrail.documents.text import Parsed, Unreadable

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table

_OLD_WORD = bytes.fromhex("d0cf11e0a1b11ae1")


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
    named = str(document.core_properties.title or "").strip()
    if named:
        return named
    for paragraph in document.paragraphs[:20]:
        style = paragraph.style
        if style is not None and style.name == "Title" and paragraph.text.strip():
            return str(paragraph.text)
    return ""


def _text(document: WordDocument, limits: ReadingLimits) -> str:
    from docx.table import Table

    pieces: list[str] = []
    room = limits.text
    for block in document.iter_inner_content():
        piece = "\n".join(_rows(block)) if isinstance(block, Table) else block.text
        room -= len(piece)
        if room < 0:
            raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
        if piece.strip():
            pieces.append(piece)
    return "\n\n".join(pieces)


def _rows(table: Table) -> Iterator[str]:
    """A line a row, cells parted by tabs; a merged cell is said once."""
    for row in table.rows:
        cells = []
        previous = None
        for cell in row.cells:
            if cell._tc is not previous:  # noqa: SLF001 - python-docx offers no other sign of a merged cell
                cells.append(" ".join(cell.text.split()))
            previous = cell._tc  # noqa: SLF001
        yield "\t".join(cells)
