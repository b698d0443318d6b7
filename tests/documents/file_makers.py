"""Builds small PDF and DOCX files by hand, valid and hostile ones."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects with a correct cross-reference table. The first object is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start)
    return bytes(out)


def stream(data: bytes, *, packed: bool = False) -> bytes:
    if packed:
        data = zlib.compress(data, 9)
        return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(data), data)
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data)


def content_stream(lines: Sequence[str]) -> bytes:
    """A content stream that draws lines of Latin-1 text below each other."""
    escaped = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252") for line in lines)
    return b"BT /F1 12 Tf 14 TL 72 720 Td " + b" ".join(b"(%s) Tj T*" % line for line in escaped) + b" ET"


def text_pdf(pages: Sequence[Sequence[str]], title: str = "", box: bytes = b"0 0 612 792") -> bytes:
    """A valid PDF with one page for each list of lines."""
    return pdf_with_contents([stream(content_stream(lines)) for lines in pages], title, box)


def pdf_with_contents(contents: Sequence[bytes], title: str = "", box: bytes = b"0 0 612 792") -> bytes:
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        _FONT,
        b"<< /Title (%s) >>" % title.encode("latin-1"),
    ]
    for number, content in enumerate(contents):
        resources = b"/Resources << /Font << /F1 3 0 R >> >>"
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents %d 0 R %s >>"
        objects += [page % (box, 6 + 2 * number, resources), content]
    return pdf_of(objects, b"/Info 4 0 R")


def word_file(path: Path, paragraphs: Sequence[tuple[str, str]], title: str = "") -> Path:
    """A DOCX file of (style, text) paragraphs."""
    from docx import Document

    document = Document()
    document.core_properties.title = title
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    document.save(str(path))
    return path


def word_body(path: Path, xml: str) -> Path:
    """A DOCX file with this body, whose elements have the prefix `w:`."""
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = Document()
    body = document.element.body
    for element in reversed(parse_xml(f"<w:body {nsdecls('w')}>{xml}</w:body>")):
        body.insert(0, element)
    document.save(str(path))
    return path


def with_member(path: Path, name: str, data: bytes) -> bytes:
    """The DOCX file at `path` with one member replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            if member.filename != name:
                new.writestr(member, old.read(member))
        new.writestr(name, data)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class Placed:
    """Text at a position in points from the lower left corner, in the font F1 (Helvetica), F2 (bold) or F3 (Courier)."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "F1"


def placed_pdf(
    pages: Sequence[Sequence[Placed]],
    rules: Sequence[tuple[float, float, float, float]] = (),
    title: str = "",
    outlined: str = "",
) -> bytes:
    """A PDF of positioned text, with lines from point to point on every page. Its outline has one heading, of the first page."""
    fonts = [_FONT, *(_FONT.replace(b"Helvetica", name) for name in (b"Helvetica-Bold", b"Courier"))]
    first = 6 + len(fonts)
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>" if outlined else b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        *fonts,
        b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
        b"<< /Title (%s) /Parent 6 0 R /Dest [%d 0 R /Fit] >>" % (outlined.encode("latin-1"), first),
        b"<< /Title (%s) >>" % title.encode("latin-1"),
    ]
    lines = " ".join("{} {} m {} {} l S".format(*rule) for rule in rules)
    for number, page in enumerate(pages):
        operators = [
            f"BT /{piece.font} {piece.size} Tf {piece.x} {piece.y} Td ({_escaped(piece.text)}) Tj ET" for piece in page
        ]
        resources = b"/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >>"
        head = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R %s >>"
        objects += [head % (first + 2 * number + 1, resources), stream(" ".join([*operators, lines]).encode("cp1252"))]
    return pdf_of(objects, b"/Info 8 0 R")


def compound_file(tree: Mapping[str, Any]) -> bytes:
    """An OLE file of streams (bytes) and storages (mappings of the same kind), all in sectors of 512 bytes."""
    nodes: list[list[Any]] = [
        ["Root Entry", 5, -1, -1, b""]
    ]  # name, kind, next one beside it, first one in it, content

    def add(inside: Mapping[str, Any], around: int) -> None:
        before, link = around, 3
        for name, content in inside.items():
            nodes[before][link] = number = len(nodes)
            is_stream = isinstance(content, bytes)
            nodes.append([name, 1 + is_stream, -1, -1, content if is_stream else b""])
            if not is_stream:
                add(content, number)
            before, link = number, 2

    add(tree, 0)
    chain, sectors, directory = [-3], b"", b""  # the first sector is the table of the others
    sizes = [-(-len(nodes) // 4), *(-(-len(node[4]) // 512) for node in nodes)]
    starts = [len(chain) + sum(sizes[:number]) for number in range(len(sizes))]
    for start, size in zip(starts, sizes, strict=True):
        chain += [*range(start + 1, start + size), -2] if size else []
    for (name, kind, beside, inner, content), start in zip(nodes, starts[1:], strict=True):
        wide = name.encode("utf-16-le")
        links = struct.pack("<HBBiii", len(wide) + 2, kind, 1, -1, beside, inner)
        directory += wide.ljust(64, b"\0") + links + bytes(36) + struct.pack("<iii", start, len(content), 0)
        sectors += content + bytes(-len(content) % 512)
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + bytes(10)
    head += struct.pack("<8i", 1, 1, 0, 0, -2, 0, -2, 0) + struct.pack("<109i", 0, *[-1] * 108)
    table = struct.pack("<128i", *chain, *[-1] * (128 - len(chain)))
    return head + table + directory + bytes(-len(directory) % 512) + sectors


def column(x: float, y: float, lines: Sequence[str], size: float = 10, font: str = "F1") -> list[Placed]:
    """Lines below each other with a leading of 1.2."""
    return [Placed(x, y - 1.2 * size * number, line, size, font) for number, line in enumerate(lines)]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
