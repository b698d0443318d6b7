"""Generates one file of each format, a few hundred kilobytes of text: sections with a heading, two paragraphs, a list and a
table.

PDF is missing: no requirement of the benchmarks can write it.
"""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from email.message import EmailMessage

import yaml

SECTIONS = 250
TEXT = (
    "the harbour was widened in 1904 after two winters of storms and its keeper wrote every ship down with cargo port and "
    "master while the council paid 12 crowns a month for oil wicks paint rope and the boat that took him across"
)
WORDS = TEXT.split()


@dataclass(frozen=True, slots=True)
class Section:
    """The content that each format represents in its way."""

    heading: str
    paragraphs: tuple[str, str]
    items: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the first holds the headers

    @property
    def listed(self) -> str:
        return "\n".join(f"- {item}" for item in self.items)


def sections() -> Iterator[Section]:
    """Sections, the same in every run."""
    chance = random.Random(7)

    def sentence(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."

    def paragraph() -> str:
        return " ".join(sentence(chance.randint(8, 22)) for _ in range(5))

    for number in range(SECTIONS):
        rows = [(f"ship {number}.{row}", str(chance.randint(10, 900)), sentence(4)) for row in range(5)]
        items, table = tuple(sentence(9) for _ in range(4)), (("name", "tons", "remark"), *rows)
        yield Section(f"Year {number} of the log", (paragraph(), paragraph()), items, table)


def made_files() -> dict[str, bytes]:
    """A file by the name of its format."""
    made = ((form, make(list(sections()))) for form, make in MAKERS.items())
    return {form: content.encode() if isinstance(content, str) else content for form, content in made}


def _markdown(found: list[Section]) -> str:
    parts = []
    for one in found:
        table = [f"| {' | '.join(row)} |" for row in one.rows]
        table.insert(1, "|---|---|---|")
        parts += [f"## {one.heading}", *one.paragraphs, one.listed, "\n".join(table)]
    return "\n\n".join(parts)


def _text(found: list[Section]) -> str:
    parts = []
    for one in found:
        parts += [f"{one.heading}\n{'=' * len(one.heading)}", *one.paragraphs, one.listed]
    return "\n\n".join(parts)


def _html(found: list[Section]) -> str:
    parts = []
    for one in found:
        paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in one.paragraphs)
        items = "".join(f"<li>{item}</li>" for item in one.items)
        rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in one.rows)
        parts.append(f"<h2>{one.heading}</h2>{paragraphs}<ul>{items}</ul><table>{rows}</table>")
    return f"<!DOCTYPE html><html><head><title>The log</title></head><body>{''.join(parts)}</body></html>"


def _rst(found: list[Section]) -> str:
    parts = []
    for one in found:
        table = [".. list-table::", "   :header-rows: 1", ""]
        table += ["   * - " + "\n     - ".join(row) for row in one.rows]
        parts += [f"{one.heading}\n{'-' * len(one.heading)}", *one.paragraphs, one.listed, "\n".join(table)]
    return "\n\n".join(parts)


def _org(found: list[Section]) -> str:
    parts = []
    for one in found:
        table = "\n".join(f"| {' | '.join(row)} |" for row in one.rows)
        parts += [f"* {one.heading}", *one.paragraphs, one.listed, table]
    return "\n\n".join(parts)


def _csv(found: list[Section]) -> str:
    written = io.StringIO()
    rows = [row for one in found for row in one.rows[1:]]
    csv.writer(written).writerows([found[0].rows[0], *rows * 4])
    return written.getvalue()


def _records(found: list[Section]) -> list[dict[str, object]]:
    return [asdict(one) | {"paragraphs": list(one.paragraphs), "items": list(one.items), "rows": []} for one in found]


def _json(found: list[Section]) -> str:
    return json.dumps(_records(found), indent=1)


def _yaml(found: list[Section]) -> str:
    return yaml.safe_dump(_records(found))


def _ipynb(found: list[Section]) -> str:
    sources = enumerate(_markdown([one]) for one in found)
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text, "id": f"c{at}"} for at, text in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _mail(found: list[Section]) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "keeper@example.org", "council@example.org", "The log"
    message["Date"] = "Mon, 04 Mar 2024 10:00:00 +0000"
    message.set_content(_text(found))
    return bytes(message)


def _mbox(found: list[Section]) -> bytes:
    return b"".join(b"From keeper@example.org Mon Mar  4 10:00:00 2024\n" + _mail([one]) + b"\n" for one in found)


def _epub(found: list[Section]) -> bytes:
    written = io.BytesIO()
    pages = [f"p{at}.xhtml" for at in range(0, len(found), 10)]
    form = '<item id="i{}" href="{}" media-type="application/xhtml+xml"/>'
    manifest = "".join(form.format(at, page) for at, page in enumerate(pages))
    spine = "".join(f'<itemref idref="i{at}"/>' for at in range(len(pages)))
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            '<rootfile full-path="log.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "log.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The log</dc:title></metadata>'
            f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>",
        )
        for at, page in enumerate(pages):
            archive.writestr(page, _html(found[10 * at : 10 * at + 10]))
    return written.getvalue()


def _docx(found: list[Section]) -> bytes:
    from docx import Document

    document = Document()
    for one in found:
        document.add_heading(one.heading, 2)
        for paragraph in one.paragraphs:
            document.add_paragraph(paragraph)
        for item in one.items:
            document.add_paragraph(item, style="List Bullet")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _pptx(found: list[Section]) -> bytes:
    from pptx import Presentation

    slides = Presentation()
    for one in found:
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = one.heading
        slide.placeholders[1].text = "\n".join(one.items)
    written = io.BytesIO()
    slides.save(written)
    return written.getvalue()


def _xlsx(found: list[Section]) -> bytes:
    from xlsxwriter import Workbook

    written = io.BytesIO()
    with Workbook(written) as book:
        sheet = book.add_worksheet()
        for at, row in enumerate((found[0].rows[0], *(row for one in found for row in one.rows[1:]))):
            sheet.write_row(at, 0, row)
    return written.getvalue()


MAKERS: dict[str, Callable[[list[Section]], str | bytes]] = {
    "text": _text, "markdown": _markdown, "html": _html, "rst": _rst, "org": _org, "epub": _epub, "ipynb": _ipynb, "docx": _docx,
    "pptx": _pptx, "xlsx": _xlsx, "csv": _csv, "mail": _mail, "mbox": _mbox, "json": _json, "yaml": _yaml,
}  # fmt: skip
