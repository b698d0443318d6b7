"""Builds small PDF and DOCX files by hand, sound and hostile ones."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects, the first being the catalogue, with a correct cross-reference table."""
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


def drawn(lines: Sequence[str]) -> bytes:
    """A content stream that draws lines of Latin-1 text below each other."""
    escaped = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252") for line in lines)
    return b"BT /F1 12 Tf 14 TL 72 720 Td " + b" ".join(b"(%s) Tj T*" % line for line in escaped) + b" ET"


def text_pdf(pages: Sequence[Sequence[str]], title: str = "", box: bytes = b"0 0 612 792") -> bytes:
    """A sound PDF with one page for each list of lines."""
    return pdf_with_contents([stream(drawn(lines)) for lines in pages], title, box)


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


def encrypted_pdf(password: str) -> bytes:
    """Encrypted with RC4; an empty password is the lock that anybody's reader opens."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(text_pdf([["The vault opens at nine."]]))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


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
    """A DOCX file with this body, `w:` being the prefix of its elements."""
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
